"""What can be said of a few trials: intervals and paired comparisons. Exact or seeded: the same data give the same numbers."""

import math
import random
from collections.abc import Sequence
from statistics import NormalDist, fmean
from typing import NamedTuple

CONFIDENCE = 0.95
RESAMPLES = 2_000


class Interval(NamedTuple):
    low: float
    high: float


def wilson(passed: int, trials: int, confidence: float = CONFIDENCE) -> Interval:
    """The Wilson score interval of a proportion (E. B. Wilson, 1927). Without trials everything is possible.

    Args:
        passed: Trials that passed.
        trials: All trials.
        confidence: Of the two-sided interval.
    """
    if not 0 <= passed <= trials:
        raise ValueError(f"{passed} of {trials} cannot pass.")
    if trials == 0:
        return Interval(0.0, 1.0)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share, spread = passed / trials, z * z / trials
    middle = (share + spread / 2) / (1 + spread)
    half = z * math.sqrt(share * (1 - share) / trials + spread / (4 * trials)) / (1 + spread)
    low, high = max(0.0, middle - half), min(1.0, middle + half)
    return Interval(0.0 if passed == 0 else low, 1.0 if passed == trials else high)


def mcnemar(pairs: Sequence[tuple[bool, bool]]) -> float:
    """The exact two-sided p-value of McNemar's test, whether two treatments of the same cases pass equally often."""
    better = sum(1 for one, other in pairs if other and not one)
    worse = sum(1 for one, other in pairs if one and not other)
    changed = better + worse
    tail: float = sum(math.comb(changed, k) for k in range(min(better, worse) + 1)) / 2**changed
    return min(1.0, 2 * tail)


def bootstrap(pairs: Sequence[tuple[float, float]], confidence: float = CONFIDENCE, seed: int = 0) -> Interval:
    """The percentile interval of the mean difference (second minus first) of paired numbers, by seeded resampling."""
    if not pairs:
        raise ValueError("There are no pairs to resample.")
    differences = [other - one for one, other in pairs]
    chance = random.Random(seed)  # noqa: S311  reproducible on purpose
    means = sorted(fmean(chance.choices(differences, k=len(differences))) for _ in range(RESAMPLES))
    cut = (1 - confidence) / 2
    return Interval(means[int(cut * RESAMPLES)], means[min(RESAMPLES - 1, int((1 - cut) * RESAMPLES))])
