"""The widget that edits a profile: its code, its looks, and messages to and fro. It has no state of its own.

Its form, what stands in it and what is wrong with it go in messages, never in traits: traits may be saved in the notebook.
Every message is a JSON object with a `type`.

Front end -> kernel
    open            {view}                          says that a view is there and wants everything
    change          {view, number, path, value}     exchange one value of the document
    preview         {}                              the first request of a run with the draft
    save            {}
    take_both       {}  after a conflict: what the file is now, with the draft's changes on it
    take_theirs     {}  after a conflict: give the draft up
    close           {}  without saving

Kernel -> front end
    form            {view, title, target, isCopy, groups, tools, models, …state}     to the one view that opened
    state           {view, number, document, base, problems, changed, changes, diff, canSave, toolStates}
                    after every change; `view` and `number` are those of the change, so that a view does not take back what was
                    typed since
    preview         {title, sections: [{title, body}], notes} or {problem}
    conflict        {message, changes}
    merged          {message}      after take_both or take_theirs; a `state` follows
    failed          {message}
    closed          {message}      the widget ends
"""

from collections.abc import Callable
from typing import Any

import anywidget

from tt_kernel.domain.canonical import JsonObject
from tt_kernel.widgets.esm import STATIC, bundled


class ProfileEditorWidget(anywidget.AnyWidget):
    """Args:
    heard: Called with each message of a front end.
    """

    _esm = bundled("profile_editor.js")
    _css = (STATIC / "profile_editor.css").read_text(encoding="utf-8")

    def __init__(self, heard: Callable[[JsonObject], None]) -> None:
        super().__init__()
        self.on_msg(lambda _, content, __: heard(content) if isinstance(content, dict) else None)

    def tell(self, message: JsonObject) -> None:
        self.send(message)

    def end(self) -> None:
        """Close it, and what ipywidgets made beside it."""
        layout: Any = self.layout
        self.close()
        layout.close()
