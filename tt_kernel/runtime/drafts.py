"""Automatic progress commits: the answer as it grows, before the first explicit commit (spec tauritavern §7.5)."""

from collections.abc import Callable
from dataclasses import dataclass

from tt_kernel.domain.events import AnswerDrafted, CallEnded, Event, FileWritten
from tt_kernel.runtime.progress import Progress


@dataclass
class Drafts:
    """Watches one invocation. `body` is the file that would be published; None where no answer is published from a file.

    A turn that wrote the file shows it once, after the turn. An error in the turn (a failed shell command too) clears that, and
    none of this counts as a commit.
    """

    body: str | None
    read: Callable[[str], str | None]
    _written: bool = False
    _shown: str | None = None

    def see(self, event: Event) -> None:
        if isinstance(event, FileWritten) and event.path == self.body:
            self._written = True
        elif isinstance(event, CallEnded) and event.result.is_error:
            self._written = False

    def after_turn(self, progress: Progress) -> AnswerDrafted | None:
        """The draft to show, if the turn made one."""
        written, self._written = self._written, False
        if not written or self.body is None or progress.commits:
            return None
        text = self.read(self.body)
        if not text or text == self._shown:
            return None
        self._shown = text
        return AnswerDrafted(path=self.body, text=text)
