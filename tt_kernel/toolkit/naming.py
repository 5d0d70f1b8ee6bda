"""Call names: what the model calls a tool, made once per snapshot from stable ids (spec tauritavern §2.3, DESIGN §5.1).

Built-in: the native name with `_` for `.`; fixed and reserved first. Extension: the registered name. MCP:
`mcp_<server>_<tool>` by the rule of spec liveagent §11.1. Earlier tools keep the clean name, later ones get `__2`, `__3` ...
"""

import re
from collections.abc import Iterable
from itertools import count

from tt_kernel.domain.ids import ToolId

MAX_NAME = 64
"""Bytes; the limit of the strictest model protocol."""
RESERVED = frozenset({"task_return"})
"""Names that no tool but their own may have, bound or not."""

_MCP_PART = 48
_MCP_CUT_SERVER = 16
_MCP_CUT_TOOL = 24
_FNV_OFFSET = 0x811C9DC5
_FNV_PRIME = 0x01000193


def call_names(tools: Iterable[ToolId]) -> dict[ToolId, str]:
    """The call name of each tool, in the given order (that of the profile's allow list)."""
    order = list(dict.fromkeys(tools))
    names = {tool: plain_name(tool) for tool in order if tool.provider == "builtin"}
    taken = RESERVED | set(names.values())
    for tool in order:
        if tool not in names:
            names[tool] = _free(plain_name(tool), taken)
            taken = taken | {names[tool]}
    return {tool: names[tool] for tool in order}


def plain_name(tool: ToolId) -> str:
    """The call name before collisions are resolved."""
    if tool.provider == "builtin":
        return tool.native.replace(".", "_")
    if tool.provider.startswith("mcp/"):
        return mcp_name(tool.provider.removeprefix("mcp/"), tool.native)
    return re.sub(r"[^A-Za-z0-9_-]", "_", tool.native)[:MAX_NAME]


def mcp_name(server: str, tool: str) -> str:
    """`mcp_<server>_<tool>`; cut with a hash of the raw names when it would be too long.

    Cutting to 48 happens after stripping, so a part may end in `_` (kept as specified).
    """
    server_part = _mcp_part(server) or "server"
    tool_part = _mcp_part(tool) or "tool"
    name = f"mcp_{server_part}_{tool_part}"
    if len(name) <= MAX_NAME:
        return name
    return f"mcp_{server_part[:_MCP_CUT_SERVER]}_{tool_part[:_MCP_CUT_TOOL]}_{_fnv1a(f'{server}::{tool}'):08x}"


def _mcp_part(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "_", text.strip()).strip("_")[:_MCP_PART]


def _fnv1a(text: str) -> int:
    """FNV-1a, 32 bit, over UTF-16 code units."""
    data = text.encode("utf-16-le", "surrogatepass")
    value = _FNV_OFFSET
    for low, high in zip(data[::2], data[1::2], strict=True):
        value = ((value ^ (low | high << 8)) * _FNV_PRIME) & 0xFFFFFFFF
    return value


def _free(base: str, taken: frozenset[str] | set[str]) -> str:
    if base not in taken:
        return base
    for number in count(2):
        suffix = f"__{number}"
        name = base[: MAX_NAME - len(suffix)] + suffix
        if name not in taken:
            return name
    raise AssertionError  # count() does not end
