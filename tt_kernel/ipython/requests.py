"""What a cell asks for, as `Session.prepare` takes it: the same for one run and for many."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from tt_kernel.domain.errors import UsageProblem
from tt_kernel.ipython.arguments import Options


def require_prompt(prompt: str) -> None:
    """Raises UsageProblem: there is nothing to ask."""
    if not prompt.strip():
        raise UsageProblem(message="The prompt is empty. Write it below the %%agent line, or after %agent.")


def arguments_of(options: Options, images: Sequence[bytes]) -> dict[str, Any]:
    """The arguments of `Session.prepare` that the line decides; `images` are those of the prompt."""
    return {
        "profile": options.profile or "assistant",
        "model": options.model,
        "tools": options.tools,
        "mode": options.mode,
        "settings": dict(options.settings),
        "images": tuple(images),
        "raw": options.raw,
    }


def settled_with(future: "Future[Any]", then: Callable[[Any], object] = lambda _: None) -> "Future[None]":
    """A future that is done when another has ended, however; `then` is called with the other before."""
    future.add_done_callback(then)
    settled: Future[None] = Future()
    future.add_done_callback(lambda _: settled.set_result(None))
    return settled
