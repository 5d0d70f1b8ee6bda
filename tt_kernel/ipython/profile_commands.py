"""`%agent profile ACTION …`: each action returns an object that shows itself."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tt_kernel.domain.errors import ProfileInvalid, StorageFault, UsageProblem
from tt_kernel.domain.profiles import Breach, Profile
from tt_kernel.ipython.command_words import Parsed, parsed, plain_words
from tt_kernel.ipython.listing import Listing
from tt_kernel.ipython.notebook import Notebook
from tt_kernel.ipython.profile_page import ProfilePage, own_rows, place, shown
from tt_kernel.widgets.pages import Page, Section

if TYPE_CHECKING:
    from tt_kernel.session.core import Session
    from tt_kernel.store.profiles import Origin
    from tt_kernel.toolkit.catalog import Catalog


def is_profile_command(rest: Sequence[str]) -> bool:
    """An action with no more words than it takes; anything else is the beginning of a prompt."""
    action = ACTIONS.get(rest[0]) if rest else ACTIONS["list"]
    if action is None:
        return False
    words = plain_words(rest[1:])
    return len(words) <= action.most or (action.fields and all("=" in word for word in words[action.most :]))


def profile_command(notebook: Notebook, rest: Sequence[str]) -> object:
    """Run one action; `list` where none is named.

    Raises:
        UserError: What is wrong, and how the action is written.
    """
    name = rest[0] if rest else "list"
    action = ACTIONS[name]
    usage = f"%agent profile {name} {action.usage}".rstrip()
    line = parsed(rest[1:], usage, takes=action.takes)
    if len(line.words) < action.least:
        raise UsageProblem(message=f"Write: {usage}")
    return action.run(notebook.session, line)


def profile_listing(session: "Session") -> Listing[Profile]:
    """All profiles with where they are from, and the files that are none."""
    found = session.profiles.list()
    rows = [(p.id, origin, _model(p), p.run.completion, p.description or p.display_name) for p, origin in found]
    broken = [f"{path.name}: {problem.message}" for path, problem in session.profiles.broken().items()]
    hint = ["%agent profile repair lists what can be done."] if broken else []
    return Listing([p for p, _ in found], ("id", "from", "model", "ends by", "description"), rows, broken + hint)


def _show(session: "Session", line: Parsed) -> ProfilePage:
    profile, path, origin = _load(session, line.words[0])
    rows = own_rows(profile)
    document = Section("document", json.dumps(profile.model_dump(mode="json"), ensure_ascii=False, indent=2))
    title = f"profile {profile.id} from {place(session, path, origin)}"
    notes = ["Fields that are not listed are at their defaults; the document has all of them."]
    return ProfilePage(profile, path, title, columns=("field", "value"), rows=rows, sections=[document], notes=notes)


def _new(session: "Session", line: Parsed) -> ProfilePage:
    profile_id, *fields = line.words
    if profile_id in {path.stem for path, _ in session.profiles.files()} and "--replace" not in line.flags:
        raise UsageProblem(message=f"There is a profile {profile_id!r} already. Change it with set, or add --replace.")
    template = session.profiles.load(line.value("--from") or "assistant")
    name = profile_id.replace("-", " ").replace("_", " ").strip().capitalize()
    named = {"id": _json(profile_id), "displayName": _json(name or profile_id), "description": "null"}
    profile = _changed(session, template, {**named, **_assignments(template, fields)}, line)
    path = session.profiles.save(profile, to=_target(line, None))
    return _differences(session, template, profile, f"profile {profile_id} made from {template.id}", path)


def _edit(session: "Session", line: Parsed) -> ProfilePage:
    from tt_kernel.ipython.profile_editor import edit_page  # noqa: PLC0415

    return edit_page(session, line.words[0])


def _set(session: "Session", line: Parsed) -> ProfilePage:
    profile_id, *fields = line.words
    if not fields and line.value("--model") is None:
        raise UsageProblem(message=f"Nothing to set. Write: %agent profile set {profile_id} FIELD=VALUE")
    before, _, origin = _load(session, profile_id)
    after = _changed(session, before, _assignments(before, fields), line)
    if after.id != before.id:
        raise UsageProblem(message=f"A profile keeps its id. A copy: %agent profile new {after.id} --from {before.id}")
    path = session.profiles.save(after, to=_target(line, origin))
    return _differences(session, before, after, f"profile {profile_id} changed", path)


def _diff(session: "Session", line: Parsed) -> ProfilePage:
    one, *rest = line.words
    before, _, origin = _load(session, one)
    if rest:
        after, _, _ = _load(session, rest[0])
        return _differences(session, before, after, f"{before.id} and {after.id}")
    hidden = _hidden(session, one, origin)
    if hidden is None:
        raise UsageProblem(message=f"Compare with what? %agent profile diff {one} OTHER")
    return _differences(session, hidden, before, f"{one}: what it hides, and what it is")


def _diagnose(session: "Session", line: Parsed) -> Listing[Breach]:
    names = line.words or tuple(profile.id for profile, _ in session.profiles.list())
    found = [(name, breach) for name in names for breach in _findings(session, name)]
    rows = [(name, breach.code, "no run" if breach.blocks else "goes on", breach.message) for name, breach in found]
    nothing = [] if found else [f"Nothing is wrong with {', '.join(names)}."]
    broken = [] if line.words else [problem.message for problem in session.profiles.broken().values()]
    return Listing([b for _, b in found], ("profile", "code", "then", "what"), rows, nothing + broken)


def _import(session: "Session", line: Parsed) -> ProfilePage:
    from tt_kernel.store.profile_exchange import import_profile  # noqa: PLC0415

    profile = import_profile(_file(session, line.words[0]), profile_id=line.value("--as"))
    to = _target(line, None)
    if (session.profiles.folder(to) / f"{profile.id}.json").exists() and "--replace" not in line.flags:
        raise UsageProblem(message=f"There is a profile {profile.id!r} already. Add --as ID, or --replace.")
    profile = _with_model(profile, line)
    path = session.profiles.save(profile, to=to)
    notes = [f"{breach.code}: {breach.message}" for breach in _findings(session, profile.id)]
    return ProfilePage(profile, path, f"profile {profile.id} imported to {place(session, path, to)}", notes=notes)


def _export(session: "Session", line: Parsed) -> ProfilePage:
    from tt_kernel.store.profile_exchange import export_profile, portable  # noqa: PLC0415

    profile, _, _ = _load(session, line.words[0])
    path = _file(session, line.words[1] if len(line.words) > 1 else f"{profile.id}.json")
    export_profile(profile, path, replace="--replace" in line.flags)
    notes = ["Its model is left to whoever imports it."]
    return ProfilePage(portable(profile), path, f"profile {profile.id} exported to {shown(session, path)}", notes=notes)


def _repair(session: "Session", line: Parsed) -> object:
    from tt_kernel.store.profile_repair import Action, broken_files, repair  # noqa: PLC0415

    if not line.words:
        files = broken_files(session.profiles)
        rows = [(shown(session, f.path), " or ".join(f.actions), f.problem.message) for f in files]
        hint = "%agent profile repair FILE ACTION" if files else "No profile is broken."
        return Listing(files, ("file", "action", "what"), rows, [hint])
    actions: dict[str, Action] = {"delete": "delete", "normalizeidentity": "normalizeIdentity"}
    chosen = actions.get(line.words[1].replace("-", "").lower()) if len(line.words) > 1 else None
    if chosen is None:
        raise UsageProblem(message="Write: %agent profile repair FILE delete, or FILE normalizeIdentity.")
    path = repair(session.profiles, line.words[0], chosen)
    done = "deleted" if chosen == "delete" else "has its identity; it is a profile again"
    return Page(f"{shown(session, path)} {done}")


# ---- the parts of the actions


def _load(session: "Session", profile_id: str) -> "tuple[Profile, Path, Origin]":
    path, origin = session.profiles.find(profile_id)
    return session.profiles.load(profile_id), path, origin


def _hidden(session: "Session", profile_id: str, origin: "Origin") -> Profile | None:
    """The profile of the same id that would count without this document."""
    from tt_kernel.store.profiles import read_profile  # noqa: PLC0415

    order: tuple[Origin, ...] = ("notebook", "user", "shipped")
    for farther in order[order.index(origin) + 1 :]:
        path = session.profiles.folder(farther) / f"{profile_id}.json"
        if path.is_file():
            return read_profile(path)
    return None


def _assignments(profile: Profile, words: Sequence[str]) -> dict[str, Any]:
    """`FIELD=VALUE`, and for lists `FIELD+=ITEM` and `FIELD-=ITEM`."""
    settings: dict[str, Any] = {}
    for word in words:
        field, equals, value = word.partition("=")
        if not equals or not field.strip("+-"):
            raise UsageProblem(message=f"{word!r} is no assignment. Write FIELD=VALUE, or FIELD+=ITEM for a list.")
        if field[-1] not in "+-":
            settings[field] = value
            continue
        name = field[:-1]
        items = settings.get(name, _list(profile, name))
        rest = [item for item in items if item != value]
        if field[-1] == "-" and len(rest) == len(items):
            raise UsageProblem(message=f"{name} has no {value!r}. It has: {', '.join(map(str, items)) or 'nothing'}.")
        settings[name] = [*rest, value] if field[-1] == "+" else rest
    return settings


def _list(profile: Profile, name: str) -> list[Any]:
    from pydantic.alias_generators import to_camel, to_snake  # noqa: PLC0415  loaded by then

    value: Any = profile.model_dump(mode="json")
    for part in name.split("."):
        value = value.get(to_camel(to_snake(part))) if isinstance(value, dict) else None
    if not isinstance(value, list):
        raise UsageProblem(message=f"{name} is no list of a profile; += and -= are for lists.")
    return value


def _changed(session: "Session", before: Profile, settings: Mapping[str, Any], line: Parsed) -> Profile:
    """The profile with the settings and the model of the line; what is newly allowed must be there (spec §11.3)."""
    from tt_kernel.session.settings import with_settings  # noqa: PLC0415
    from tt_kernel.toolkit.profile_tools import newly_enabled  # noqa: PLC0415

    after = with_settings(_with_model(before, line), settings)
    for breach in newly_enabled(before, after, _catalog(session, after)):
        raise ProfileInvalid(breach.code, breach.message)
    return after


def _with_model(profile: Profile, line: Parsed) -> Profile:
    from tt_kernel.store.profile_exchange import with_model  # noqa: PLC0415

    name = line.value("--model")
    return with_model(profile, name) if name else profile


def _findings(session: "Session", profile_id: str) -> list[Breach]:
    from tt_kernel.session.diagnosis import diagnose  # noqa: PLC0415
    from tt_kernel.store.profiles import read_draft  # noqa: PLC0415

    path, _ = session.profiles.find(profile_id)
    try:
        profile, _ = read_draft(path)
    except (ProfileInvalid, StorageFault) as problem:
        return [Breach(problem.code, problem.message)]
    return diagnose(profile, _catalog(session, profile), session.connections)


def _catalog(session: "Session", profile: Profile) -> "Catalog":
    """Every tool that there is for this profile."""
    return session.toolbox.catalog(session.toolbox.functions(()), endpoint=profile.tools.http_get_test_url)


def _differences(
    session: "Session", before: Profile, after: Profile, title: str, saved: Path | None = None
) -> ProfilePage:
    from tt_kernel.session.profile_changes import changes  # noqa: PLC0415

    rows = [(change.field, *change.told()) for change in changes(before, after)]
    notes = [] if rows else ["No field differs."]
    notes += [f"Document: {shown(session, saved)}"] if saved else []
    columns = ("field", "before", "after") if before.id == after.id else ("field", before.id, after.id)
    path = saved or session.profiles.find(after.id)[0]
    return ProfilePage(after, path, title, columns=columns, rows=rows, notes=notes)


def _target(line: Parsed, origin: "Origin | None") -> Literal["notebook", "user"]:
    """Where to save: where the profile is; a new or shipped one beside the notebook, or for all notebooks."""
    return "user" if "--user" in line.flags or origin == "user" else "notebook"


def _file(session: "Session", name: str) -> Path:
    return session.base_dir / Path(name).expanduser()


def _model(profile: Profile) -> str:
    model = profile.model
    if model.mode == "requiresConfiguration":
        return "(to be chosen)"
    return ":".join(part for part in (model.connection_ref, model.model_id) if part)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _list_all(session: "Session", _: Parsed) -> Listing[Profile]:
    return profile_listing(session)


@dataclass(frozen=True)
class Action:
    """`least` and `most` count the words after it, without options; `fields`: assignments may follow."""

    run: Callable[["Session", Parsed], object]
    usage: str = ""
    least: int = 0
    most: int = 0
    fields: bool = False
    takes: tuple[str, ...] = ()


ACTIONS: Mapping[str, Action] = {
    "list": Action(_list_all),
    "show": Action(_show, "PROFILE", 1, 1),
    "new": Action(
        _new,
        "ID [--from PROFILE] [-m MODEL] [--user] [FIELD=VALUE …]",
        1,
        1,
        fields=True,
        takes=("--from", "--model", "--user", "--replace"),
    ),
    "edit": Action(_edit, "PROFILE", 1, 1),
    "set": Action(_set, "PROFILE [-m MODEL] [--user] FIELD=VALUE …", 1, 1, fields=True, takes=("--model", "--user")),
    "diff": Action(_diff, "PROFILE [OTHER]", 1, 2),
    "diagnose": Action(_diagnose, "[PROFILE]", 0, 1),
    "import": Action(
        _import,
        "FILE [--as ID] [-m MODEL] [--user] [--replace]",
        1,
        1,
        takes=("--as", "--model", "--user", "--replace"),
    ),
    "export": Action(_export, "PROFILE [FILE] [--replace]", 1, 2, takes=("--replace",)),
    "repair": Action(_repair, "[FILE delete|normalizeIdentity]", 0, 2),
}
