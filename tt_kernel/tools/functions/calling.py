"""One call of a notebook function: found, run where it belongs, its result stored (spec tauritavern §15.2)."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from tt_kernel.domain.calls import ToolCall, ToolResult
from tt_kernel.domain.errors import ToolError, UserError
from tt_kernel.toolkit.declare import argument_object, error_result
from tt_kernel.toolkit.long_results import SaveFile
from tt_kernel.toolkit.pipeline import timeout_fault
from tt_kernel.toolkit.tool import Tool
from tt_kernel.tools.functions.context import ToolContext, begin, cancel, pictures_of
from tt_kernel.tools.functions.description import FunctionTool, as_function_tool
from tt_kernel.tools.functions.failure import told
from tt_kernel.tools.functions.keeping import keep
from tt_kernel.tools.functions.returns import NOTHING, Part, Picture, parts_of

T = TypeVar("T")

GONE = "extension.tool_not_registered"
BROKEN = "extension.tool_definition_invalid"
RAISED = "extension.tool_error"
BUSY = "extension.tool_busy"
TIMEOUT = "extension.tool_timeout"


class RunOnMain(Protocol):
    """`Foreground.call`: run a function on the thread of the notebook while the cell waits.

    Raises TimeoutError when it did not begin, or did not end, within `timeout` seconds.
    """

    def __call__(self, fn: Callable[[], T], timeout: float) -> Awaitable[T]: ...


@dataclass(frozen=True)
class Bench:
    """What calls need of the session.

    Attributes:
        lookup: The callable that a tool name means now, or None (`live_lookup`).
        save_file: Stores a file of a result.
        run_on_main: Runs a function on the notebook's thread.
        run_id: The id of the run, asked at call time.
    """

    lookup: Callable[[str], object | None]
    save_file: SaveFile
    run_on_main: RunOnMain
    run_id: Callable[[], str]


@dataclass(frozen=True)
class _Raised:
    """An exception as a value, so that it is not mistaken for one of the machinery."""

    error: ToolError


@dataclass(frozen=True)
class _Later:
    """A plain function gave something to await."""

    value: Awaitable[Any]


def function_tools(functions: Iterable[FunctionTool], bench: Bench) -> list[Tool]:
    """Executable tools for the functions of a snapshot."""
    return [_tool(function, bench) for function in functions]


def _tool(frozen: FunctionTool, bench: Bench) -> Tool:
    async def call(request: ToolCall) -> ToolResult:
        try:
            live = _live(frozen, bench)
            values = live.arguments.read(argument_object(request), request.name)
            context = ToolContext(request, bench.run_id(), live.mark.timeout)
            parts = await _run(live, values, context, request, bench)
        except ToolError as error:
            return error_result(request, error)  # images that it attached are dropped
        outcome = await keep(request, parts, bench.save_file, details={"version": live.spec.version})
        return outcome.to_result(request)

    def check(request: ToolCall) -> None:
        frozen.arguments.read(argument_object(request), request.name)

    return Tool(frozen.spec, call, check)


def _live(frozen: FunctionTool, bench: Bench) -> FunctionTool:
    """The function as it is now; a redefinition counts, a deleted function is an error that says so."""
    try:
        found = bench.lookup(frozen.name)
        if found is None:
            raise ToolError(GONE, f"The notebook has no tool function {frozen.name!r} any more. Nothing was done.")
        live = frozen if found is frozen.function else as_function_tool(found)
        _ = live.spec
    except UserError as problem:
        raise ToolError(BROKEN, f"{problem.message} Nothing was done.") from None
    return live


async def _run(
    live: FunctionTool, values: dict[str, Any], context: ToolContext, request: ToolCall, bench: Bench
) -> list[Part]:
    """Run within the time limit. Raises ToolError for what the function raised, OutcomeUnknown when it took too long."""
    values.update(dict.fromkeys(live.signature.injected, context))
    args, kwargs = live.signature.arguments(values)
    job = _Job(request, bench, context, live.mark.timeout)

    def work() -> Any:
        return live.function(*args, **kwargs)

    done = await (job.awaited(work) if live.is_async else job.on_main(work))
    if isinstance(done, _Raised):
        raise done.error
    pictures = [Picture(data) for data in pictures_of(context)]
    return [*(part for part in done if not (pictures and part == NOTHING)), *pictures]


@dataclass(frozen=True)
class _Job:
    """One execution, on the thread that it belongs to."""

    request: ToolCall
    bench: Bench
    context: ToolContext
    seconds: float

    async def on_main(self, work: Callable[[], Any]) -> list[Part] | _Raised:
        """A plain function, and what it returned taken apart, on the notebook's thread."""
        began = False

        def job() -> list[Part] | _Raised | _Later:
            nonlocal began
            began = True
            begin(self.context)
            try:
                value = work()
                return _Later(value) if inspect.isawaitable(value) else parts_of(value)
            except (Exception, SystemExit) as error:  # noqa: BLE001  the user's code
                return self._raised(error)

        try:
            done = await self._watched(self.bench.run_on_main(job, self.seconds))
        except TimeoutError:
            if began:
                raise timeout_fault(self.request, self.seconds, TIMEOUT) from None
            message = (
                f"{self.request.name} was not run: the notebook was busy for {self.seconds:g} s. Nothing was done."
            )
            return _Raised(ToolError(BUSY, message))
        if isinstance(done, _Later):
            return await self.awaited(lambda: done.value)
        return done

    async def awaited(self, work: Callable[[], Awaitable[Any]]) -> list[Part] | _Raised:
        """An async function, here on the agent's loop; what it returned is taken apart where the user's objects live."""
        try:
            async with asyncio.timeout(self.seconds) as scope:
                begin(self.context)
                value = await work()
        except asyncio.CancelledError:
            cancel(self.context)
            raise
        except TimeoutError as error:
            if scope.expired():
                raise timeout_fault(self.request, self.seconds, TIMEOUT) from None
            return self._raised(error)
        except (Exception, SystemExit) as error:  # noqa: BLE001  the user's code
            return self._raised(error)
        if value is None or isinstance(value, (str, int, float)):
            return parts_of(value)
        return await self.on_main(lambda: value)

    async def _watched(self, work: Awaitable[T]) -> T:
        """Await `work`; a cancellation is told to the function before it is waited for."""
        task = asyncio.ensure_future(work)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            cancel(self.context)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            raise

    def _raised(self, error: BaseException) -> _Raised:
        if isinstance(error, ToolError):
            return _Raised(error)
        return _Raised(ToolError(RAISED, f"{self.request.name} failed with {told(error)}"))
