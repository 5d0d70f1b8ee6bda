"""What the model reads of a command: the result table of spec tauritavern §6."""

import codecs

from tt_kernel.domain.errors import ToolError
from tt_kernel.toolkit.tool import Outcome
from tt_kernel.tools.shell.job import MAX_STREAM, TIMEOUT_SECONDS, Ending, Printed

TRUNCATED = f"[output truncated: more than {MAX_STREAM // 1024} KiB on one stream; write long output to a file]"
CANCELLED = "The command was cancelled before it ended. Files it changed stay changed."
TIMED_OUT = f"The command ran longer than {TIMEOUT_SECONDS:.0f} s and was stopped. Files it changed stay changed."


def answer(ending: Ending, printed: Printed) -> Outcome:
    """The outcome of a command that ended. Raises ToolError when there was none to speak of."""
    if ending.reason == "refused":
        raise ToolError(ending.code, ending.message)
    if ending.reason == "died":
        raise ToolError("workspace.shell_failed", ending.message)
    structured = {"exitCode": ending.exit, "outputTruncated": ending.truncated}
    if ending.reason == "timeout":
        return Outcome(_text(TIMED_OUT, printed, ending.truncated), structured, error_code="workspace.shell_timeout")
    if ending.reason == "cancelled":
        return Outcome(_text(CANCELLED, printed, ending.truncated), structured, error_code="workspace.shell_cancelled")
    content = _text(f"exit code {ending.exit}", printed, ending.truncated)
    return Outcome(content, structured, error_code="workspace.shell_exit" if ending.exit else None)


def cancelled(printed: Printed) -> str:
    """The content of a cancelled call, with the output so far."""
    full = max(len(printed.stdout), len(printed.stderr)) >= MAX_STREAM
    return _text(CANCELLED, printed, full)


def _text(first: str, printed: Printed, truncated: bool) -> str:
    stdout, stderr = _decoded(printed.stdout), _decoded(printed.stderr)
    parts = [first]
    if stdout:
        parts.append(stdout)
    if stderr:
        parts += ["[stderr]", stderr]
    if truncated:
        parts.append(TRUNCATED)
    return "\n".join(part.removesuffix("\n") for part in parts)


def _decoded(data: bytearray) -> str:
    """Text of an output stream; bytes that are no UTF-8 are marked. A character cut in half by the limit is left out."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    return decoder.decode(bytes(data), final=len(data) < MAX_STREAM)
