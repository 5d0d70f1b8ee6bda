"""workspace.commit and workspace.finish: spec tauritavern §5.11, §5.12. Admission (§2.7) is the runtime's business."""

from typing import Annotated, Literal

from pydantic import Field

from tt_kernel.domain.calls import Commit, Finish
from tt_kernel.domain.errors import ToolError
from tt_kernel.domain.text import count_words
from tt_kernel.store.workspace import shown
from tt_kernel.toolkit.declare import builtin_tool
from tt_kernel.toolkit.tool import Outcome
from tt_kernel.tools.workspace.desk import Desk, size

MODES: dict[str, Literal["replace", "append"]] = {"replace": "replace", "append": "append"}


@builtin_tool("workspace.commit", group="workspace", effect="workspace", contexts=("cell",))
def commit(
    desk: Desk,
    path: str | None = None,
    mode: Annotated[str, Field(json_schema_extra={"enum": list(MODES)})] = "replace",
    reason: str | None = None,
) -> Outcome:
    """Publish a file of the workspace as the answer of the cell. Later commits update the same answer.

    Args:
        path: The file; leave it out for the default answer file.
        mode: replace makes the file the answer; append adds it to the answer.
        reason: Why, in a few words.
    """
    if mode not in MODES:
        raise ToolError("workspace.commit_mode_invalid", f"mode is {mode!r}; it must be replace or append.")
    place = desk.file(desk.workspace.place(path if path is not None else desk.body.path))
    text = desk.workspace.read_text(place)
    name = shown(place.logical)
    if not text.strip():
        message = f"{name} is empty, so it is not published.\nWrite the answer into it first."
        raise ToolError("workspace.required_artifact_empty", message)
    verb = "Published" if mode == "replace" else "Added"
    target = "as the answer" if mode == "replace" else "to the answer"
    chars, words = len(text), count_words(text)
    ending = desk.pointer("finish", "Go on with tools, or call {} to end. Do not answer in plain text.")
    return Outcome(
        f"{verb} {name} ({size(chars, words)}) {target}.{ending or _ANSWER}",
        structured={"path": place.logical, "mode": mode, "chars": chars, "words": words, "reason": reason},
        resource_refs=(f"workspace:{place.logical}",),
        effects=(Commit(path=place.logical, text=text, mode=MODES[mode], reason=reason),),
    )


_ANSWER = "\nGo on with tools, or answer to end."


@builtin_tool("workspace.finish", group="workspace", effect="workspace", contexts=("cell",))
def finish(desk: Desk, reason: str | None = None) -> Outcome:  # noqa: ARG001  one desk for the whole family
    """End the work. It must be the last call; what was committed is the answer.

    Args:
        reason: Why the work is done, in a few words.
    """
    return Outcome("Finished.", structured={"reason": reason}, effects=(Finish(reason=reason),))
