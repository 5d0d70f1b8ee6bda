"""NOTEBOOK FUNCTIONS AS TOOLS: what the user wrote in a cell, offered to the model as it is.

May import `toolkit`, `store` and `domain`. Read `decorator.py` first (how a function becomes a tool), then `calling.py` (one call).
"""

from tt_kernel.tools.functions.calling import Bench, function_tools
from tt_kernel.tools.functions.context import ToolContext
from tt_kernel.tools.functions.decorator import tool
from tt_kernel.tools.functions.description import FunctionTool, as_function_tool
from tt_kernel.tools.functions.finding import find_functions, live_lookup

__all__ = [
    "Bench",
    "FunctionTool",
    "ToolContext",
    "as_function_tool",
    "find_functions",
    "function_tools",
    "live_lookup",
    "tool",
]
