import pytest

from tt_kernel.domain.calls import StoredFile, ToolResult
from tt_kernel.domain.ids import CallId, builtin
from tt_kernel.runtime.summaries import SUMMARY_CHARS, call_summary

IMAGE = StoredFile(path="p", mime_type="image/png", sha256="0", size=1)


@pytest.mark.parametrize(
    ("fields", "summary"),
    [
        ({"structured": {"entries": [1, 2, 3], "truncated": False}}, "3 entries"),
        ({"structured": {"entries": [1], "truncated": True}}, "1 entry, truncated"),
        ({"structured": {"exitCode": 0, "outputTruncated": True}}, "exit 0, output truncated"),
        ({"structured": {"exitCode": 3}, "is_error": True, "error_code": "workspace.shell_exit"}, "exit 3"),
        (
            {"structured": {"exitCode": 1, "status": "failed"}, "is_error": True, "error_code": "process.failed"},
            "exit 1",
        ),
        ({"structured": {"exitCode": None, "status": "running"}}, "running"),
        ({"content": "first\nsecond"}, "first"),
        ({"content": "No file.", "is_error": True, "error_code": "x", "structured": {"entries": []}}, "No file."),
        ({"content": "", "images": (IMAGE,)}, "1 image"),
        ({"content": "x" * 500}, "x" * SUMMARY_CHARS + "..."),
        ({"content": "Rolled", "structured": {"total": 7}}, "total 7"),
    ],
)
def test_one_line(fields, summary):
    fields = {"content": "text"} | fields
    assert call_summary(ToolResult(call_id=CallId("c"), tool_id=builtin("t"), **fields)) == summary
