"""Why a strict replay found nothing: the first thing that differs from the nearest recording (DESIGN §7)."""

from dataclasses import dataclass

from tt_kernel.domain.canonical import JsonObject
from tt_kernel.domain.errors import ReplayMiss
from tt_kernel.session.contrasts import Contrast, Side, contrasts, distance
from tt_kernel.store.recordings import Chain
from tt_kernel.store.tape import Position, Tape

NOTHING = "Nothing is recorded for this request."


@dataclass(frozen=True)
class Miss:
    """A request without a recording.

    Attributes:
        turn: Which request of the run, from 1.
        head: What is missing, a sentence.
        reason: Why, if there is nothing to compare with; a sentence.
        contrasts: What differs from the nearest recording, the first first.
    """

    turn: int
    head: str
    reason: str = ""
    contrasts: tuple[Contrast, ...] = ()

    @property
    def sentence(self) -> str:
        first = self.contrasts[0].sentence if self.contrasts else self.reason
        return f"{self.head} {first}"


def explain_miss(tape: Tape) -> ReplayMiss:
    """The error for a person: which request has no recording, and what differs first. Its kind is that of the difference,
    `nothing` where there is nothing to compare with.
    """
    miss = miss_of(tape)
    return ReplayMiss(message=miss.sentence, kind=miss.contrasts[0].kind if miss.contrasts else "nothing")


def miss_of(tape: Tape) -> Miss:
    """What there is to say about the request that the tape is at."""
    position = tape.position
    now = Side(position.line, position.fixed)
    if position.parent is not None:
        head = f"No recording for turn {position.turn}."
        siblings = [r for r in position.chain.requests.values() if r.get("parent") == position.parent]
        if not siblings:
            return Miss(position.turn, head, "The recorded run ended before it.")
        return _told(position, head, side_of(siblings[-1], position.chain), now)
    roots = [side_of(line, chain) for line, chain in tape.all_roots()]
    if not roots:
        return Miss(1, NOTHING, "This notebook has no recordings yet; run it once with --live.")
    return _told(position, NOTHING, min(roots, key=lambda side: distance(side, now)), now)


def side_of(line: JsonObject, chain: Chain) -> Side:
    """A recorded request with what its line refers to."""
    return Side(line, chain.bodies.get(line["fixed"], {}))


def _told(position: Position, head: str, then: Side, now: Side) -> Miss:
    reason = "It was recorded for another run of the same cell."
    return Miss(position.turn, head, reason, tuple(contrasts(then, now)))
