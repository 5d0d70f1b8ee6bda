"""One line for a closed card: the tool's own facts, nothing volatile."""

from tt_kernel.domain.calls import ToolResult

SUMMARY_CHARS = 120


def call_summary(result: ToolResult) -> str:
    """`3 entries`, `exit 0`, `running`, `1 image`, the first line of an error ..."""
    if result.is_error and result.error_code not in _BY_EXIT_CODE:
        return _line(result.content)
    facts = result.structured if isinstance(result.structured, dict) else {}
    parts = [_fact(key, facts[key]) for key in _FACTS if facts.get(key) is not None]
    if "exitCode" in facts and facts["exitCode"] is None:
        parts.append(str(facts.get("status", "")))
    if result.images:
        parts.append(_plural(len(result.images), "image"))
    return ", ".join(part for part in parts if part) or _line(result.content)


_BY_EXIT_CODE = ("workspace.shell_exit", "process.failed")
"""Errors that say no more than an exit code does."""
_FACTS = ("entries", "hits", "exitCode", "totalLines", "replacements", "total", "outputTruncated", "truncated")


def _fact(key: str, value: object) -> str:
    if key in ("entries", "hits") and isinstance(value, list):
        return _plural(len(value), "entry" if key == "entries" else "hit")
    texts = {
        "exitCode": f"exit {value}",
        "totalLines": _plural(value, "line"),
        "replacements": _plural(value, "replacement"),
        "total": f"total {value}",
        "outputTruncated": "output truncated" if value else "",
        "truncated": "truncated" if value else "",
    }
    return texts.get(key, "")


def _plural(count: object, noun: str) -> str:
    if count == 1:
        return f"1 {noun}"
    return f"{count} {noun[:-1]}ies" if noun.endswith("y") else f"{count} {noun}s"


def _line(text: str) -> str:
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return first if len(first) <= SUMMARY_CHARS else first[:SUMMARY_CHARS] + "..."
