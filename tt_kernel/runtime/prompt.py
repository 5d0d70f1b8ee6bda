"""The initial messages of an invocation: spec tauritavern §17.3, §17.4.

The default system prompt is generated from the bound tools only: a line appears only if its tool is bound, and names tools by
their call names. Nothing volatile enters it. The directories (of skills, of agents that can be called) stand at the end of the
system prompt, be it the default one or the profile's own.
"""

from collections.abc import Sequence

from tt_kernel.domain.calls import StoredFile
from tt_kernel.domain.ids import ToolId, builtin
from tt_kernel.domain.messages import Message, SystemMessage, UserMessage
from tt_kernel.domain.profiles import Profile
from tt_kernel.domain.specs import Snapshot

_GUIDANCE: tuple[tuple[str, str], ...] = (
    ("chat.search", "{name}: find a message of the notebook, then read only those you need."),
    ("chat.read_messages", "{name}: read messages by their indexes, which begin with 0."),
    ("worldinfo.read_activated", "{name}: read the background knowledge that is active in this run."),
    ("worldinfo.search", "{name}: look for background knowledge that is not active."),
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
    ("ToolSearch", "{name}: there are more tools than are shown; look for one before you say that it cannot be done."),
    ("TaskCreate", "{name}: keep a list where the work has three steps or more, and keep it up to date."),
    ("AskUserQuestion", "{name}: only what the user must decide and you cannot find out."),
    ("agent.delegate", "{name}: give a part of the work to another agent, if that helps. It works while you go on."),
    ("agent.await", "{name}: wait for agents that work for you, or see how far they are."),
    ("agent.handoff", "{name}: give the whole task to another agent. It must be your last call."),
    ("workspace.commit", "{name}: publish a file of the workspace as the answer ({body} by default)."),
    ("workspace.finish", "{name}: end the run. It must be the last call of its turn."),
    ("task.return", "{name}: give your result to the agent that asked. It must be your last call."),
)

EXIT_PLAN = builtin("ExitPlanMode")
_WRITERS = ("workspace.write_file", "workspace.apply_patch", "workspace.shell")


def initial_messages(
    profile: Profile,
    snapshot: Snapshot,
    prompt: str,
    attachments: tuple[StoredFile, ...] = (),
    history: Sequence[Message] = (),
    directories: Sequence[str] = (),
    *,
    session: bool = False,
) -> list[Message]:
    """System prompt, the conversation that is continued (without its own system prompt and world info), the prompt."""
    earlier = [message for message in history if not _is_of_its_run(message)]
    system = SystemMessage(text=system_prompt(profile, snapshot, directories, session=session))
    return [system, *earlier, UserMessage(text=prompt, images=attachments)]


def _is_of_its_run(message: Message) -> bool:
    """Each run makes it anew."""
    return isinstance(message, SystemMessage) or getattr(message, "source", "") == "worldinfo"


def system_prompt(
    profile: Profile, snapshot: Snapshot, directories: Sequence[str] = (), *, session: bool = False
) -> str:
    """The profile's instruction, or the default text for the tools that are bound; then the directories.

    Args:
        profile: The agent.
        snapshot: Its tools.
        directories: Texts to append, in order: the skills, then the agents that can be called. Empty ones are left out.
        session: The conversation is free-standing: it has its own folders, and no memory of the notebook.
    """
    own = profile.instructions.agent_system_prompt
    text = own if own is not None else default_system_prompt(profile, snapshot, session=session)
    if own is not None and EXIT_PLAN in _ids(snapshot):
        text = f"{own}\n\n{_planning(snapshot)}"
    return "\n\n".join([text, *(directory for directory in directories if directory)])


def default_system_prompt(profile: Profile, snapshot: Snapshot, *, session: bool = False) -> str:
    parts = [
        _opening(snapshot),
        _tool_lines(profile, snapshot),
        _roots(profile, snapshot) if not session else _session_roots(snapshot),
        _memory(profile, snapshot) if not session else "",
        _ending(profile, snapshot),
    ]
    return "\n\n".join(part for part in parts if part)


def _opening(snapshot: Snapshot) -> str:
    if not snapshot.bindings:
        return "You answer a request from a cell of a Jupyter notebook."
    names = ", ".join(binding.name for binding in snapshot.shown)
    if snapshot.completion == "return":
        return f"You are an agent that works on a task for another agent, with these tools: {names}."
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
    text = f"Folders you can see: {visible}. Folders you can write to: {writable}."
    if snapshot.completion == "return":
        return f"{text} The agent that asked sees the same files under the same names."
    return text


def _session_roots(snapshot: Snapshot) -> str:
    if not any(binding.spec.group in ("workspace", "shell") for binding in snapshot.bindings):
        return ""
    return "Folders you can see and write to: work/, tmp/. Their files stay for the whole conversation."


def _memory(profile: Profile, snapshot: Snapshot) -> str:
    """What belongs into the folder that outlives the run, where it can be written."""
    workspace = profile.workspace
    writes = any(snapshot.call_name(builtin(writer)) for writer in _WRITERS)
    if not writes or "persist" not in workspace.visible_roots or "persist" not in workspace.writable_roots:
        return ""
    return (
        "persist/ outlives the run. Keep there what later runs need: facts, open threads, relations, preferences of style; "
        "not the conversation, final answers, tool results or passing thoughts."
    )


def _ending(profile: Profile, snapshot: Snapshot) -> str:
    if snapshot.completion == "return":
        return _returning(snapshot)
    if EXIT_PLAN in _ids(snapshot):
        return _planning(snapshot)
    if snapshot.completion == "reply" or snapshot.call_name(builtin("workspace.finish")) is None:
        return "When you are done, answer the user in plain text; that ends the run."
    return _finishing(profile, snapshot)


def _ids(snapshot: Snapshot) -> set[ToolId]:
    return {binding.spec.id for binding in snapshot.bindings}


def _planning(snapshot: Snapshot) -> str:
    """Spec liveagent §16. A profile's own prompt knows nothing of this, so it is added to that one too."""
    return (
        "This run only plans: look around and change nothing. When you know what should be done, call "
        f"{snapshot.call_name(EXIT_PLAN)} with the whole plan; that ends the run. The plan is carried out after the user has approved it."
    )


def _returning(snapshot: Snapshot) -> str:
    name = snapshot.call_name(builtin("task.return"))
    return f"Every message must call a tool; plain text reaches nobody. To end: call {name} with your result."


def _finishing(profile: Profile, snapshot: Snapshot) -> str:
    finish = snapshot.call_name(builtin("workspace.finish"))
    commit = snapshot.call_name(builtin("workspace.commit"))
    handoff = snapshot.call_name(builtin("agent.handoff"))
    publishes = commit is not None and profile.run.presentation == "foreground"
    first = f"publish the answer with {commit}, then " if publishes else ""
    instead = f" Or give the task away with {handoff}, and call nothing after it." if handoff else ""
    rule = f"Every message must call a tool; plain text does not reach the user. To end: {first}call {finish}.{instead}"
    write = snapshot.call_name(builtin("workspace.write_file"))
    if not publishes or write is None:
        return rule
    body = profile.message_body.path
    return (
        f"{rule}\n{body} is yours to write; there is nothing to read in it before your first {commit}.\n"
        f"For example: {write} {body}, {commit}, {finish}. "
        f"A long answer may grow: {write}, {commit}, {write} with more, {commit} again, {finish}."
    )
