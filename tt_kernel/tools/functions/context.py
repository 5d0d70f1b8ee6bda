"""What a tool function may know of its call, and how it hands over images."""

import threading
import time

from tt_kernel.domain.calls import ToolCall
from tt_kernel.tools.functions.pictures import given_picture


class ToolContext:
    """The call that a tool function serves: a parameter named `ctx`, or annotated `ToolContext`, receives it.

    Attributes:
        tool_id: Stable id, `extension/notebook:<name>`.
        run_id: The run that calls.
        invocation_id: The agent of the run that calls.
        call_id: The call, as the model service named it.
    """

    def __init__(self, call: ToolCall, run_id: str, timeout: float) -> None:
        self.tool_id = str(call.tool_id)
        self.run_id = run_id
        self.invocation_id = str(call.invocation_id)
        self.call_id = str(call.id)
        self._pictures: list[bytes] = []
        self._cancelled = threading.Event()
        self._timeout = timeout
        self._deadline = float("inf")

    @property
    def cancelled(self) -> bool:
        """True from when the run was stopped or the time limit was reached: a long function looks at it and returns."""
        return self._cancelled.is_set() or time.monotonic() > self._deadline

    def attach_image(self, image: object) -> None:
        """Show the model an image with the result. If the function raises, its images are dropped.

        Args:
            image: Encoded bytes, a path, a PIL image, a matplotlib figure or axes, or an array of height x width (x 3 or 4)
                of uint8.

        Raises:
            TypeError: It is nothing of that.
            OSError: The path cannot be read.
        """
        self._pictures.append(given_picture(image))


def pictures_of(context: ToolContext) -> tuple[bytes, ...]:
    """The encoded images that were attached, in order."""
    return tuple(context._pictures)  # noqa: SLF001  hidden from the author of a tool, not from this package


def begin(context: ToolContext) -> None:
    """The function starts now, and with it its time."""
    context._deadline = time.monotonic() + context._timeout  # noqa: SLF001


def cancel(context: ToolContext) -> None:
    context._cancelled.set()  # noqa: SLF001
