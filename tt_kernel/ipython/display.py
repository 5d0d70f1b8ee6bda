"""The one output that a run has in its cell (DESIGN §8, notes/frontend.md §2).

Where a person watches, it is updated in place while the run goes on: at most MAX_HZ times a second, in at most MAX_SHARE of
the time, and with bounded traffic, because a notebook server drops messages of a kernel that sends too much. Everywhere else
it is displayed once, at the end: nbval sees only the first version of an output, the saved file holds the last.
"""

import asyncio
import sys
import time
import uuid
from collections.abc import Callable
from typing import Any

from IPython.core.displaypub import CapturingDisplayPublisher

from tt_kernel.domain.canonical import JsonObject
from tt_kernel.ipython.cell import parent_of

MAX_HZ = 8
MAX_SHARE = 0.10
MAX_BYTES_PER_SECOND = 500_000

Bundle = tuple[JsonObject, JsonObject]
"""Data and metadata of a display_data message."""
Publish = Callable[[JsonObject, JsonObject, bool], None]
"""Send a bundle; True: as an update of the one before."""


def watched(shell: Any) -> bool:
    """Whether the front end of this request shows updates to a person: it names the cell and takes input.

    JupyterLab and Notebook do; nbclient, papermill, nbval and consoles do not (notes/frontend.md §2).
    """
    parent = parent_of(shell)
    captured = isinstance(shell.display_pub, CapturingDisplayPublisher)  # `%%capture` would keep every version
    return bool((parent.get("metadata") or {}).get("cellId")) and can_ask(shell) and not captured


def can_ask(shell: Any) -> bool:
    """Whether `input()` reaches a person: the request allows it, or there is a terminal."""
    if getattr(shell, "kernel", None) is None:
        return hasattr(shell, "simple_prompt") and sys.stdin.isatty()  # a terminal shell, at a terminal
    return bool((parent_of(shell).get("content") or {}).get("allow_stdin"))


class CellOutput:
    """Used on the agent loop only, in the context of the cell: that is what sends it to the right one."""

    def __init__(self, publish: Publish, *, live: bool) -> None:
        self._publish = publish
        self._live = live
        self._draw: Callable[[], Bundle] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0
        self.is_shown = False

    def changed(self, draw: Callable[[], Bundle]) -> None:
        """Something happened: show what `draw` gives, now or when it is due. Cheap enough to be called for every event."""
        if not self._live:
            return
        self._draw = draw
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(max(self._due - loop.time(), 0), self._update)

    def end(self, bundle: Bundle) -> None:
        """Show the final version; nothing is shown after it."""
        self._live = False
        if self._timer is not None:
            self._timer.cancel()
        self._send(bundle)

    def _update(self) -> None:
        self._timer = None
        if self._draw is None or not self._live:
            return
        began = time.perf_counter()
        bundle = self._draw()
        self._send(bundle)
        cost = time.perf_counter() - began
        # The view's JSON is about as long as its pictures together.
        size = 2 * sum(len(text) for text in bundle[0].values() if isinstance(text, str))
        pause = max(1 / MAX_HZ, cost / MAX_SHARE, size / MAX_BYTES_PER_SECOND)
        self._due = asyncio.get_running_loop().time() + pause

    def _send(self, bundle: Bundle) -> None:
        self._publish(*bundle, self.is_shown)
        self.is_shown = True


def cell_publisher(
    shell: Any, heard: Callable[..., None] = lambda *_, **__: None, *, widget: str | None = None
) -> Publish:
    """Publishes with one display id. The publisher is looked up at each use: `%%capture` exchanges it.

    Args:
        shell: Whose display.
        heard: `CellLog.displayed`, told where the log does not hear other threads: hooks belong to a thread.
        widget: The widget in this output, for a page that was loaded since: it knows no display ids (labextension/src/forms.ts).
    """
    transient = {"display_id": f"tt-{uuid.uuid4().hex}"}  # transient: not saved, so it may be random
    if widget is not None:
        transient["tt_widget"] = widget

    def publish(data: JsonObject, metadata: JsonObject, update: bool) -> None:
        if hasattr(shell.display_pub, "register_hook"):
            heard(data, transient["display_id"], update=update)
        shell.display_pub.publish(data=data, metadata=metadata, transient=transient, update=update)

    return publish
