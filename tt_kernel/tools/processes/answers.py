"""What the model is told of a session (spec liveagent §6.2). What changes from run to run (times, process ids) is in `details`."""

from tt_kernel.domain.canonical import JsonObject
from tt_kernel.toolkit.tool import Outcome
from tt_kernel.tools.processes.cleaning import as_text
from tt_kernel.tools.processes.desk import ProcessDesk
from tt_kernel.tools.processes.display import page_text
from tt_kernel.tools.processes.ring import Page
from tt_kernel.tools.processes.running import Launch, Running, Session

ERROR_CODES = {"failed": "process.failed", "timed_out": "process.timed_out"}
"""Of the states that are errors; a stopped session is none."""

_SHELL_CODES = {
    126: "The shell found the program but may not execute it.",
    127: "The shell did not find the program.",
}


def session_outcome(desk: ProcessDesk, session: Session, page: Page, *, started: bool = False) -> Outcome:
    """The response of Bash, ProcessWait and ProcessStop.

    Args:
        desk: The invocation's desk.
        session: The session.
        page: The output to tell.
        started: Also tell what it was started with.
    """
    display = desk.display()
    facts = _facts(session, page)
    lines = [f"{name}: {_spelled(value)}" for name, value in facts.items()]
    if started:
        lines += launch_lines(session.launch)
    lines += advice(desk, session, page)
    output = page_text(page, display)
    lines += ["", "output:", output] if output else ["", "No output." if page.cursor == 0 else "No new output."]
    return Outcome(
        content="\n".join(lines),
        structured={
            **{_camel(name): value for name, value in facts.items()},
            **launch_facts(session.launch),
            "output": [{"stream": stream, "text": display.text(as_text(data))} for stream, data in page.pieces],
        },
        details=running_details(session),
        error_code=ERROR_CODES.get(session.status),
    )


def launch_lines(launch: Launch) -> list[str]:
    """How a command was started, for the model."""
    shell = launch.shell
    return [
        f"shell: {shell.name}, platform: {shell.platform}, profile: {shell.profile}, shell_family: {shell.family}",
        f"sandbox: {launch.sandbox}",
        f"cwd: {launch.cwd}",
        f"timeout_ms: {_spelled(launch.timeout_ms)}",
    ]


def launch_facts(launch: Launch) -> JsonObject:
    """The same, for records."""
    shell = launch.shell
    return {
        "shell": shell.name,
        "platform": shell.platform,
        "profile": shell.profile,
        "shellFamily": shell.family,
        "sandbox": launch.sandbox,
        "cwd": launch.cwd,
        "timeoutMs": launch.timeout_ms,
    }


def running_details(running: Running) -> JsonObject:
    """Volatile facts."""
    return {"kind": "process", "durationMs": running.duration_ms, "pid": running.pid}


def exit_advice(running: Running) -> list[str]:
    """What the end of a command tells about its cause."""
    lines = []
    if running.signal_name is not None:
        lines.append(f"It was ended by {running.signal_name}, which nobody here sent.")
    elif running.exit_code in _SHELL_CODES:
        lines.append(_SHELL_CODES[running.exit_code])
    if running.status == "timed_out":
        lines.append(f"It was stopped at its time limit of {running.launch.timeout_ms} ms.")
    if running.status == "failed" and running.launch.sandbox != "off":
        network = " and has no network" if running.launch.sandbox == "sandbox-offline" else ""
        lines.append(f"In the sandbox it can write in the project and the temporary folder only{network}.")
    if running.held_open:
        lines.append("A process that it started still holds its output open; what that one prints is not kept.")
    return lines


def advice(desk: ProcessDesk, session: Session, page: Page) -> list[str]:
    wait = desk.other("ProcessWait")
    lines = []
    if session.status == "running" and wait is not None:
        lines.append(
            f"It is still running. Go on with {wait}, this session_id and cursor {page.cursor}. Do not start it again, do not sleep."
        )
    elif session.status == "running":
        lines.append("It is still running.")
    elif page.has_more and wait is not None:
        lines.append(f"There is more output: call {wait} with cursor {page.cursor}.")
    if page.truncated:
        lines.append(f"Output before byte {page.start} is no longer kept.")
    return lines + exit_advice(session)


def _facts(session: Session, page: Page) -> JsonObject:
    return {
        "status": session.status,
        "session_id": session.id,
        "cursor": page.cursor,
        "output_truncated": page.truncated,
        "has_more": page.has_more,
        "exit_code": session.exit_code,
    }


def _spelled(value: object) -> str:
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
