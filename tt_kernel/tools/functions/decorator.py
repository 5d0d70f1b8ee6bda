"""`@tool`: how a user offers a function to agents."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar, overload

from tt_kernel.domain.errors import UsageProblem
from tt_kernel.toolkit.signature import UNRESOLVED
from tt_kernel.tools.functions.description import FunctionTool
from tt_kernel.tools.functions.mark import ATTRIBUTE, TIMEOUT_SECONDS, ToolMark

F = TypeVar("F", bound=Callable[..., Any])


@overload
def tool(fn: F, /) -> F: ...
@overload
def tool(
    fn: None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    read_only: bool = False,
    returns_images: bool = False,
    timeout: float = TIMEOUT_SECONDS,
) -> Callable[[F], F]: ...
@overload
def tool(
    fn: F,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    read_only: bool = False,
    returns_images: bool = False,
    timeout: float = TIMEOUT_SECONDS,
) -> F: ...
def tool(
    fn: Any = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    read_only: bool = False,
    returns_images: bool = False,
    timeout: float = TIMEOUT_SECONDS,
) -> Any:
    """Offer a function to agents.

    Written `@tool`, `@tool(timeout=5)` or `search = tool(database.search)`.

    The function stays what it is and can be called as before. Its annotations become the parameters that the model fills
    (str, int, float, bool, list, dict, Literal, Enum, dataclass, pydantic model ...), its docstring the manual. It may return
    text, anything that JSON can say, a DataFrame or array (stored as a file, summarised for the model), a figure or an image.
    A parameter named `ctx` receives a ToolContext.

    A plain function runs on the notebook's main thread while the cell waits, so it may use every object of the notebook. An
    `async def` runs on the agent's own event loop in another thread: do not block in it, and do not use objects that belong
    to the notebook's event loop.

    Args:
        fn: A function, method, partial or callable object.
        name: Name of the tool; default the function's.
        description: Text for the model; default the docstring.
        read_only: It changes nothing; several such calls of one turn may overlap.
        returns_images: Offer it only to models that accept images.
        timeout: Seconds after which a call is given up; the run then ends, because what the call did is unknown.

    Raises:
        UsageProblem: It cannot be a tool: no function, or a parameter that no model can fill.
    """
    mark = ToolMark(_checked_name(name), description, read_only, returns_images, _checked_timeout(timeout))
    if fn is None:
        return lambda function: _marked(function, mark)
    return _marked(fn, mark)


def _marked(function: Any, mark: ToolMark) -> Any:
    if isinstance(function, (staticmethod, classmethod)):
        setattr(function.__func__, ATTRIBUTE, mark)
        return function
    if isinstance(function, type) or not callable(function):
        raise UsageProblem("tool.not_a_function", f"tool() takes a function, not {function!r}.")
    try:
        setattr(function, ATTRIBUTE, mark)
    except AttributeError:  # a bound method or a function made in C: a partial is the same thing with room for the mark
        function = functools.update_wrapper(functools.partial(function), function)
        setattr(function, ATTRIBUTE, mark)
    _check(function, mark)
    return function


def _check(function: Any, mark: ToolMark) -> None:
    """Say now, in the cell that defines it, what would only be found at the first run."""
    try:
        _ = FunctionTool(function, mark).spec
    except UsageProblem as problem:
        if problem.code != UNRESOLVED:  # the type may be defined further down
            raise


def _checked_name(name: str | None) -> str | None:
    if name is not None and not name.strip():
        raise UsageProblem(
            "extension.tool_definition_invalid", "tool(name=...) is empty; leave it out to use the function's name."
        )
    return name


def _checked_timeout(timeout: float) -> float:
    if not timeout > 0:
        raise UsageProblem(
            "extension.tool_definition_invalid", f"tool(timeout={timeout!r}) must be more than 0 seconds."
        )
    return timeout
