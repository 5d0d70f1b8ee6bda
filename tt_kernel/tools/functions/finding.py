"""Which tool functions a notebook has, and which object a name means at the moment of a call."""

import re
from collections.abc import Callable, Mapping, Sequence

from tt_kernel.domain.errors import UsageProblem
from tt_kernel.tools.functions.description import FunctionTool, as_function_tool
from tt_kernel.tools.functions.mark import mark_of

_OUTPUT_CACHE = re.compile(r"_+|_+i*\d*")
"""IPython keeps earlier values under such names, and with them functions that have been defined anew since."""


def find_functions(namespace: Mapping[str, object]) -> list[FunctionTool]:
    """The marked callables of a namespace, by tool name.

    Where two have one tool name, the one that is bound to that name is meant.

    Raises:
        UsageProblem: `extension.tool_already_registered`: two functions have one tool name and neither is bound to it.
    """
    found: dict[str, tuple[str, FunctionTool]] = {}
    for variable, value in list(namespace.items()):
        if (
            _OUTPUT_CACHE.fullmatch(variable)
            or mark_of(value) is None
            or not callable(value)
            or isinstance(value, type)
        ):
            continue
        function = as_function_tool(value)
        other = found.get(function.name)
        if other is None or variable == function.name:
            found[function.name] = (variable, function)
        elif other[1].function is not value and other[0] != function.name:
            raise UsageProblem(
                "extension.tool_already_registered",
                f"The functions {other[0]!r} and {variable!r} are both the tool {function.name!r}. "
                f"Give one another name with tool(name=...), or delete it: del {other[0]}.",
            )
    return [found[name][1] for name in sorted(found)]


def live_lookup(namespace: Mapping[str, object], functions: Sequence[object] = ()) -> Callable[[str], object | None]:
    """How calls find their function: in the namespace as it is then, so that a redefinition or a `del` counts.

    Args:
        namespace: The notebook's names.
        functions: Callables of the run. Those that the namespace does not hold now were passed by hand: they stay what
            they are, whatever the namespace has of that name.
    """
    tools = [as_function_tool(function) for function in functions]
    by_hand = {tool.name: tool.function for tool in tools if _now(namespace, tool.name) is not tool.function}

    def lookup(name: str) -> object | None:
        return by_hand[name] if name in by_hand else _now(namespace, name)

    return lookup


def _now(namespace: Mapping[str, object], name: str) -> object | None:
    """The marked callable that is the tool `name` at this moment."""
    direct = namespace.get(name)
    if direct is not None and mark_of(direct) is not None and as_function_tool(direct).name == name:
        return direct
    return next((tool.function for tool in find_functions(namespace) if tool.name == name), None)
