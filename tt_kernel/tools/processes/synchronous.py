"""The synchronous path: a command is run to its end, within a time limit, and told once (spec liveagent §6.1)."""

from asyncio import CancelledError
from dataclasses import dataclass, field

from tt_kernel.domain.calls import ToolCall
from tt_kernel.toolkit.tool import Outcome
from tt_kernel.tools.processes.answers import ERROR_CODES, exit_advice, launch_facts, launch_lines, running_details
from tt_kernel.tools.processes.cleaning import as_text
from tt_kernel.tools.processes.desk import ProcessDesk
from tt_kernel.tools.processes.launching import launch
from tt_kernel.tools.processes.limits import SYNCHRONOUS_OUTPUT, synchronous_timeout
from tt_kernel.tools.processes.ring import Stream, cut_before
from tt_kernel.tools.processes.running import Running

CANCELLED = "process.cancelled"
HELD_OPEN = "process.output_held_open"


@dataclass
class Head:
    """The first bytes of a stream, and how many there were."""

    data: bytearray = field(default_factory=bytearray)
    size: int = 0

    def take(self, data: bytes) -> None:
        room = SYNCHRONOUS_OUTPUT - len(self.data)
        if room > 0 and self.size == len(self.data):
            self.data += data[: cut_before(data, 0, room)]
        self.size += len(data)


async def run_to_end(
    desk: ProcessDesk, call: ToolCall, command: str, cwd: str | None, timeout_ms: int | None
) -> Outcome:
    """Run a command and wait for its end.

    Raises:
        ToolError: It was refused or could not be started.
    """
    limit = synchronous_timeout(desk.provider, timeout_ms)
    heads: dict[Stream, Head] = {"stdout": Head(), "stderr": Head()}
    async with desk.table.slots:
        started = await launch(desk, command, cwd, limit)
        running = Running(
            started, desk.table.next_tag(), desk.table.limits, lambda stream, data: heads[stream].take(data)
        )
        async with desk.table.borrowed(running):
            try:
                await running.ended.wait()
            except CancelledError:
                await running.end("cancelled")
                desk.keep_interrupted(call, _outcome(desk, running, heads))
                raise
    return _outcome(desk, running, heads)


def _outcome(desk: ProcessDesk, running: Running, heads: dict[Stream, Head]) -> Outcome:
    display = desk.display()
    texts = {stream: display.text(as_text(bytes(head.data))).rstrip("\n") for stream, head in heads.items()}
    status = "none" if running.exit_code is None else str(running.exit_code)
    lines = ["# Shell", *launch_lines(running.launch), f"status: {running.status}", f"exit_code: {status}"]
    lines += exit_advice(running)
    for stream, head in heads.items():
        if head.size > len(head.data):
            lines.append(f"{stream} was cut: it had {head.size} bytes, the first {len(head.data)} are shown.")
    lines += ["", "command:", running.launch.command]
    for stream, text in texts.items():
        lines += ["", f"{stream}:", text] if text else []
    return Outcome(
        content="\n".join(lines),
        structured={
            "status": running.status,
            "exitCode": running.exit_code,
            "heldOpen": running.held_open,
            **launch_facts(running.launch),
            "output": [{"stream": stream, "text": text} for stream, text in texts.items() if text],
        },
        details=running_details(running),
        error_code=_error_code(running),
    )


def _error_code(running: Running) -> str | None:
    if running.status == "cancelled":
        return CANCELLED
    return ERROR_CODES.get(running.status) or (HELD_OPEN if running.held_open else None)
