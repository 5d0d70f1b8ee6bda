"""spec tauritavern §9.4: <= 16,000 characters each, <= 8 pending, <= 64,000 in total."""

import pytest

from tt_kernel.domain.errors import UsageProblem
from tt_kernel.runtime.guidance import Guidance


@pytest.mark.parametrize(
    "texts",
    [["x" * 16_001], ["x"] * 9, ["x" * 16_000] * 5, [" "]],
    ids=["one too long", "nine", "too long together", "blank"],
)
def test_limits(texts):
    guidance = Guidance()
    with pytest.raises(UsageProblem) as caught:
        for text in texts:
            guidance.submit(text)
    assert caught.value.code == "agent.guidance_too_large"


def test_within_the_limits_in_order():
    guidance = Guidance()
    texts = ["a" * 16_000, "b" * 16_000, "c" * 16_000, "d" * 16_000]
    for text in texts:
        guidance.submit(text)
    assert guidance.take() == texts
    assert guidance.take() == []


def test_after_the_end_nothing_is_accepted():
    guidance = Guidance()
    guidance.submit("late")
    assert guidance.close() == ["late"]
    with pytest.raises(UsageProblem) as caught:
        guidance.submit("later")
    assert caught.value.code == "agent.guidance_run_not_accepting"
