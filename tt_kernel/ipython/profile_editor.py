"""`%agent profile edit`: a form in the cell's output where a person watches, and the profile as a page everywhere else.

The page is also what stands in the output when the form is closed, and below it in the bundle while it is open. So a saved
notebook has the same output whether the cell was executed by hand or by nbclient, nbval and the like.
"""

import contextvars
import json
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tt_kernel.domain.canonical import JsonObject
from tt_kernel.domain.errors import ProfileChanged, ProfileInvalid, TTError
from tt_kernel.ipython.display import cell_publisher, watched
from tt_kernel.ipython.profile_page import ProfilePage, own_rows, place, shown
from tt_kernel.widgets.pages import Section
from tt_kernel.widgets.table import CELL_CHARS

if TYPE_CHECKING:
    from tt_kernel.domain.profiles import Profile
    from tt_kernel.session.core import Session
    from tt_kernel.session.profile_draft import Checked, ProfileDraft

BELOW = "(below)"
WIDGET_MIME = "application/vnd.jupyter.widget-view+json"


def edit_page(session: "Session", profile_id: str) -> ProfilePage:
    """The profile as it stands, which shows itself as a form where it can be edited.

    Raises:
        NotFound: No profile is called so.
    """
    path, origin = session.profiles.find(profile_id)
    notes = [
        f"The document is {place(session, path, origin)}.",
        f"Change a field: %agent profile set {profile_id} FIELD=VALUE, for example limits.turns=20",
        f"Add to a list or take from it: %agent profile set {profile_id} tools.allow+=TOOL tools.allow-=TOOL",
    ]
    if origin == "shipped":
        notes[0] = (
            "It is shipped with tt_kernel; a change is stored in a copy beside the notebook, which then counts instead."
        )
    from tt_kernel.session.profile_draft import ProfileDraft  # noqa: PLC0415  wires everything

    try:
        draft = ProfileDraft(session, profile_id)
    except ProfileInvalid as problem:
        return ProfilePage(None, path, f"profile {profile_id}", notes=[notes[0], problem.message])
    broken = [problem.message for problem in draft.check().problems if problem.blocks]
    return EditPage(session, draft, path=path, notes=[notes[0], *broken, *notes[1:]])


class EditPage(ProfilePage):
    """The page, and the form where there is one."""

    def __init__(self, session: "Session", draft: "ProfileDraft", **parts: Any) -> None:
        self._session = session
        profile = draft.base
        self.profile_id = profile.id
        rows, sections = [], []
        for field, text in own_rows(profile):
            is_long = len(text) > CELL_CHARS or "\n" in text
            rows.append((field, BELOW if is_long else text))
            sections += [Section(field, _by_lines(text))] if is_long else []
        title = f"profile {profile.id}"
        super().__init__(profile, title=title, columns=("field", "value"), rows=rows, sections=sections, **parts)

    def bundle(self) -> JsonObject:
        return {"text/plain": self.text, "text/html": self.html, "text/markdown": self.markdown}

    def _ipython_display_(self) -> None:
        from IPython.core.getipython import get_ipython  # noqa: PLC0415  whose cell shows it

        shell = get_ipython()
        if shell is None:
            raise NotImplementedError
        if watched(shell):
            EditorDesk(self._session, self.profile_id, shell).open(self.bundle())
        else:
            cell_publisher(shell)(self.bundle(), {}, False)


class EditorDesk:
    """One open form: answers what it sends (messages: `widgets/profile_editor.py`).

    Messages come on the main thread or on that of a subshell, so one at a time is worked on.

    Args:
        session: Whose profile.
        profile_id: Which.
        shell: In whose running cell the form is shown.
    """

    def __init__(self, session: "Session", profile_id: str, shell: Any) -> None:
        from tt_kernel.session.profile_draft import ProfileDraft  # noqa: PLC0415  wires everything
        from tt_kernel.widgets.profile_editor import ProfileEditorWidget  # noqa: PLC0415  imports ipywidgets

        self._session, self._draft = session, ProfileDraft(session, profile_id)
        self._cell = contextvars.copy_context()
        self._lock = threading.RLock()
        self._widget = ProfileEditorWidget(self.heard)
        self._publish = cell_publisher(shell, widget=self._widget.model_id)
        self._answers: Mapping[str, Callable[[JsonObject], None]] = {
            "open": self._opened,
            "change": self._changed,
            "preview": self._previewed,
            "save": self._saved,
            "take_both": self._take_both,
            "take_theirs": self._take_theirs,
            "close": lambda _: self._end("Closed; nothing was saved."),
        }

    def open(self, page: JsonObject) -> None:
        """Show the form, with the page for those that cannot."""
        view = {"version_major": 2, "version_minor": 1, "model_id": self._widget.model_id}
        self._publish({**page, WIDGET_MIME: view}, {}, False)

    def heard(self, message: JsonObject) -> None:
        answer = self._answers.get(str(message.get("type")))
        if answer is None:
            return
        with self._lock:
            try:
                answer(message)
            except TTError as error:
                self._tell("failed", message=error.message)

    def _opened(self, message: JsonObject) -> None:
        from tt_kernel.session.profile_choices import model_choices, tool_choices  # noqa: PLC0415
        from tt_kernel.session.profile_form import form  # noqa: PLC0415

        draft = self._draft
        self._tell(
            "form",
            **self._state(message),
            title=draft.base.id,
            target=shown(self._session, draft.target),
            isCopy=draft.is_copy,
            groups=form(),
            tools=tool_choices(draft.catalog()),
            models=model_choices(self._session),
        )

    def _changed(self, message: JsonObject) -> None:
        path = message.get("path")
        if isinstance(path, list):
            self._draft.change(tuple(map(str, path)), message.get("value"))
        self._tell("state", **self._state(message))

    def _previewed(self, _: JsonObject) -> None:
        checked = self._draft.check()
        if checked.profile is None:
            self._tell("preview", problem="There is no preview while a field is wrong.")
            return
        try:
            self._tell("preview", **self._cell.copy().run(_preview, self._session, checked.profile))
        except TTError as error:
            self._tell("preview", problem=error.message)

    def _saved(self, _: JsonObject) -> None:
        try:
            self._draft.save()
        except ProfileChanged:
            self._conflict()
        else:
            self._end(f"Saved: {shown(self._session, self._draft.target)}")

    def _conflict(self) -> None:
        from tt_kernel.session.profile_changes import changes  # noqa: PLC0415

        now = self._draft.theirs()
        told = changes(self._draft.base, now) if now is not None else []
        rows = [[change.field, *change.told()] for change in told]
        where = shown(self._session, self._draft.target)
        what = f"{where} was changed meanwhile, by another editor or by hand." if now else f"{where} is gone."
        self._tell("conflict", message=f"{what} Nothing was written, and your changes are still here.", changes=rows)

    def _take_both(self, message: JsonObject) -> None:
        clashes = self._draft.take_both()
        said = "Both sides' changes are in the form now. Look at them once more, then save."
        if clashes:
            said += f" Where both changed a field, yours counts: {', '.join(clashes)}."
        self._tell("merged", message=said)
        self._tell("state", **self._state(message))

    def _take_theirs(self, message: JsonObject) -> None:
        self._draft.take_theirs()
        self._tell("merged", message="The form shows the document as it is now; your changes are gone.")
        self._tell("state", **self._state(message))

    def _end(self, message: str) -> None:
        """The page takes the form's place."""
        self._tell("closed", message=message)
        page = edit_page(self._session, self._draft.base.id)
        data = page.bundle() if isinstance(page, EditPage) else {"text/plain": page.text}
        self._cell.copy().run(self._publish, data, {}, True)
        self._widget.end()

    def _state(self, message: JsonObject) -> JsonObject:
        from tt_kernel.session.profile_choices import tool_states  # noqa: PLC0415

        draft, checked = self._draft, self._draft.check()
        return {
            "view": message.get("view"),
            "number": message.get("number", 0),
            "document": draft.document,
            "base": draft.base.model_dump(mode="json"),
            "problems": [
                {"path": list(one.path), "message": one.message, "blocks": one.blocks} for one in checked.problems
            ],
            "changed": [list(path) for path in checked.changed],
            "changes": _rows(checked),
            "diff": draft.file_diff() if checked.changes else "",
            "canSave": checked.can_be_saved and bool(checked.changed),
            "toolStates": tool_states(draft.catalog(), draft.document),
        }

    def _tell(self, kind: str, **fields: Any) -> None:
        self._widget.tell({"type": kind, **fields})


def _by_lines(text: str) -> str:
    """A list by its items, anything else as it is."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "\n".join(value)
    return json.dumps(value, ensure_ascii=False, indent=2)


def _rows(checked: "Checked") -> list[list[str]]:
    return [[change.field, *change.told()] for change in checked.changes]


def _preview(session: "Session", profile: "Profile") -> JsonObject:
    """What `%agent prompt` shows."""
    from tt_kernel.ipython.prompt_commands import PLACEHOLDER, PromptPage  # noqa: PLC0415
    from tt_kernel.session.preview import preview  # noqa: PLC0415

    page = PromptPage(preview(session, profile, prompt=PLACEHOLDER))
    sections = [{"title": one.title, "body": one.body, "isOpen": one.is_open} for one in page.sections]
    return {"title": page.title, "sections": sections, "notes": list(page.notes)}
