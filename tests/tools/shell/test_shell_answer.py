"""The result table of spec tauritavern §6."""

import pytest

from tt_kernel.domain.errors import ToolError
from tt_kernel.tools.shell.answer import CANCELLED, TIMED_OUT, TRUNCATED, answer, cancelled
from tt_kernel.tools.shell.job import MAX_STREAM, Ending, Printed


def printed(out: str = "", err: str = "") -> Printed:
    return Printed(bytearray(out.encode()), bytearray(err.encode()))


@pytest.mark.parametrize(
    ("ending", "code", "first"),
    [
        (Ending("exit", 0), None, "exit code 0"),
        (Ending("exit", 7), "workspace.shell_exit", "exit code 7"),
        (Ending("timeout", 1), "workspace.shell_timeout", TIMED_OUT),
        (Ending("cancelled", 1), "workspace.shell_cancelled", CANCELLED),
    ],
)
def test_endings_with_output(ending, code, first):
    outcome = answer(ending, printed("out\n", "err\n"))
    assert outcome.error_code == code
    assert outcome.content == f"{first}\nout\n[stderr]\nerr"
    assert outcome.structured == {"exitCode": ending.exit, "outputTruncated": False}


@pytest.mark.parametrize("reason", ["died", "refused"])
def test_an_engine_failure_is_a_message(reason):
    with pytest.raises(ToolError, match="it broke") as caught:
        answer(Ending(reason, code="workspace.shell_failed", message="it broke"), printed("out"))
    assert caught.value.code == "workspace.shell_failed"


def test_truncation_is_noted():
    outcome = answer(Ending("exit", 0, truncated=True), printed("x" * MAX_STREAM))
    assert outcome.content.endswith(TRUNCATED)
    assert outcome.structured == {"exitCode": 0, "outputTruncated": True}


def test_the_partial_output_of_a_cancelled_call():
    assert cancelled(printed("a\nb\n")) == f"{CANCELLED}\na\nb"
    assert cancelled(printed("x" * MAX_STREAM)).endswith(TRUNCATED)


def test_bytes_that_are_no_text_are_marked():
    outcome = answer(Ending("exit", 0), Printed(bytearray(b"a\xffb"), bytearray()))
    assert outcome.content == "exit code 0\na\ufffdb"


@pytest.mark.parametrize("tail", [b"\xc3", b"\xe6\x97", b"\xf0\x9f\x98"])
def test_a_character_cut_by_the_limit_is_left_out(tail):
    data = bytearray(b"x" * (MAX_STREAM - len(tail)) + tail)
    outcome = answer(Ending("exit", 0, truncated=True), Printed(data, bytearray()))
    assert outcome.content.split("\n")[1] == "x" * (MAX_STREAM - len(tail))
