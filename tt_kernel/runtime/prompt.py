"""The initial messages of an invocation: spec tauritavern §17.3, §17.4.

The default system prompt is generated from the bound tools only: a line appears only if its tool is bound, and names tools by
their call names. Nothing volatile enters it.
"""

from collections.abc import Sequence

from tt_kernel.domain.calls import StoredFile
from tt_kernel.domain.ids import builtin
from tt_kernel.domain.messages import Message, SystemMessage, UserMessage
from tt_kernel.domain.profiles import Profile
from tt_kernel.domain.specs import Snapshot

_GUIDANCE: tuple[tuple[str, str], ...] = (
    ("workspace.list_files", "{name}: see what files there are. An empty listing is normal in a new run."),
    ("workspace.search_files", "{name}: find the place first, then read only the range you need."),
    (
        "workspace.read_file",
        "{name}: read a file before you change it. The line numbers it shows are not part of the text.",
    ),
    ("workspace.apply_patch", "{name}: change part of a file you have read; the old text must be exact and unique."),
    ("workspace.write_file", "{name}: create a file, append to it, or rewrite one you have read."),
    ("workspace.shell", "{name}: Bash with jq, Python and JavaScript in a sandbox; files stay, variables do not."),
    ("dice.roll", "{name}: only where dice or chance are asked for."),
    ("workspace.commit", "{name}: publish a file of the workspace as the answer ({body} by default)."),
    ("workspace.finish", "{name}: end the run. It must be the last call of its turn."),
)


def initial_messages(
    profile: Profile,
    snapshot: Snapshot,
    prompt: str,
    attachments: tuple[StoredFile, ...] = (),
    history: Sequence[Message] = (),
) -> list[Message]:
    """System prompt, the conversation that is continued (without its own system prompt), the prompt."""
    earlier = [message for message in history if not isinstance(message, SystemMessage)]
    system = SystemMessage(text=system_prompt(profile, snapshot))
    return [system, *earlier, UserMessage(text=prompt, images=attachments)]


def system_prompt(profile: Profile, snapshot: Snapshot) -> str:
    """The profile's instruction, or the default text for the tools that are bound."""
    own = profile.instructions.agent_system_prompt
    return own if own is not None else default_system_prompt(profile, snapshot)


def default_system_prompt(profile: Profile, snapshot: Snapshot) -> str:
    parts = [_opening(snapshot), _tool_lines(profile, snapshot), _roots(profile, snapshot), _ending(profile, snapshot)]
    return "\n\n".join(part for part in parts if part)


def _opening(snapshot: Snapshot) -> str:
    if not snapshot.bindings:
        return "You answer a request from a cell of a Jupyter notebook."
    names = ", ".join(binding.name for binding in snapshot.bindings)
    return (
        "You are an agent that works on a request from a cell of a Jupyter notebook, with these tools: "
        f"{names}. Tool results are working material: the user sees your answer, not them."
    )


def _tool_lines(profile: Profile, snapshot: Snapshot) -> str:
    lines = []
    for native, text in _GUIDANCE:
        name = snapshot.call_name(builtin(native))
        if name is not None:
            lines.append("- " + text.format(name=name, body=profile.message_body.path))
    return "\n".join(lines)


def _roots(profile: Profile, snapshot: Snapshot) -> str:
    if not any(binding.spec.group in ("workspace", "shell") for binding in snapshot.bindings):
        return ""
    visible = ", ".join(f"{root}/" for root in profile.workspace.visible_roots)
    writable = ", ".join(f"{root}/" for root in profile.workspace.writable_roots) or "none"
    return f"Folders you can see: {visible}. Folders you can write to: {writable}."


def _ending(profile: Profile, snapshot: Snapshot) -> str:
    finish = snapshot.call_name(builtin("workspace.finish"))
    commit = snapshot.call_name(builtin("workspace.commit"))
    if snapshot.completion == "reply" or finish is None:
        return "When you are done, answer the user in plain text; that ends the run."
    first = f"publish the answer with {commit}, then " if commit and profile.run.presentation == "foreground" else ""
    return f"Every message must call a tool; plain text does not reach the user. To end: {first}call {finish}."
