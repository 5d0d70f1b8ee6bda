"""The tools of a session: which exist, and the same bound to one run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tt_kernel.domain.canonical import Json
from tt_kernel.domain.profiles import Profile
from tt_kernel.domain.specs import Context, Snapshot
from tt_kernel.runtime.foreground import Foreground
from tt_kernel.store.results import ResultStore
from tt_kernel.store.runs import RunFolder
from tt_kernel.store.workspace import Root, Workspace
from tt_kernel.toolkit.catalog import Catalog
from tt_kernel.toolkit.clockwork import Clockwork
from tt_kernel.toolkit.snapshot import make_snapshot
from tt_kernel.toolkit.tool import Tool
from tt_kernel.tools.dice import DICE_TOOLS, dice_tools
from tt_kernel.tools.functions import Bench as FunctionBench
from tt_kernel.tools.functions import FunctionTool, as_function_tool, find_functions, function_tools, live_lookup
from tt_kernel.tools.shell import SHELL_TOOLS, Mount, ShellDesk, ShellWorker
from tt_kernel.tools.workspace import WORKSPACE_TOOLS, Desk, ReadState, ReadStates, workspace_tools

BUILTIN = (*WORKSPACE_TOOLS, *SHELL_TOOLS, *DICE_TOOLS)


@dataclass(frozen=True)
class Bench:
    """What the tools of one run stand on."""

    profile: Profile
    snapshot: Snapshot
    folder: RunFolder
    results: ResultStore
    clock: Clockwork
    run_id: Callable[[], str]
    session: bool = False


@dataclass(frozen=True)
class Bound:
    """The tools of one run, and what others need of them."""

    tools: list[Tool]
    shell: ShellDesk
    reads: ReadStates


class Toolbox:
    """Owns what tools share between runs: the namespace of notebook functions and the shell's child process."""

    def __init__(self, namespace: Mapping[str, object], foreground: Foreground) -> None:
        self._namespace = namespace
        self._foreground = foreground
        self._shell = ShellWorker()

    def functions(self, given: Sequence[Callable[..., object]]) -> list[FunctionTool]:
        """The `@tool` functions of the namespace, and functions given explicitly."""
        found = {function.name: function for function in find_functions(self._namespace)}
        found.update({function.name: function for function in map(as_function_tool, given)})
        return [found[name] for name in sorted(found)]

    def ids_of(self, given: Sequence[Callable[..., object]]) -> list[str]:
        """Functions given by hand are offered whatever the profile says."""
        return [str(as_function_tool(function).spec.id) for function in given]

    def catalog(self, functions: Sequence[FunctionTool]) -> Catalog:
        """Every tool there is."""
        specs = [declaration.spec for declaration in BUILTIN]
        return Catalog([*specs, *(function.spec for function in functions)])

    def snapshot(
        self,
        profile: Profile,
        extra: Sequence[str],
        functions: Sequence[FunctionTool],
        *,
        accepts_images: bool,
        context: Context = "cell",
    ) -> Snapshot:
        """The frozen tool set of a root invocation of this profile."""
        return make_snapshot(
            self.catalog(functions),
            profile,
            completion=profile.run.completion,
            context=context,
            accepts_images=accepts_images,
            extra_tools=extra,
        )

    def bind(self, bench: Bench, functions: Sequence[FunctionTool], read_states: Mapping[str, Json]) -> Bound:
        """The snapshot's tools, bound to one run that knows files as `read_states` say."""
        roots = _roots(bench)
        desk = Desk(
            workspace=Workspace(roots),
            reads=ReadStates({path: ReadState.model_validate(known) for path, known in read_states.items()}),
            body=bench.profile.message_body,
            call_name=bench.snapshot.call_name,
        )
        shell = ShellDesk(worker=self._shell, mounts=lambda: _mounts(roots), clock=bench.clock)
        tools = [
            *workspace_tools(desk),
            *(declaration.bind(shell) for declaration in SHELL_TOOLS),
            *dice_tools(bench.clock.random("dice")),
            *function_tools(
                functions,
                FunctionBench(
                    lookup=live_lookup(self._namespace, [function.function for function in functions]),
                    save_file=bench.results.save_file,
                    run_on_main=self._foreground.call,
                    run_id=bench.run_id,
                ),
            ),
        ]
        return Bound(tools, shell, desk.reads)

    async def aclose(self) -> None:
        await self._shell.aclose()


def _roots(bench: Bench) -> list[Root]:
    """The profile's roots of this run, or a session's, and the results, read-only (spec tauritavern §7.1)."""
    workspace = bench.profile.workspace
    if bench.session:
        return [
            Root("work", lambda: bench.folder.layout.session / "work", writable=True, life="session"),
            Root("tmp", lambda: bench.folder.layout.session / "tmp", writable=True, life="session"),
            Root("tool-results", lambda: bench.folder.layout.tool_results),
        ]

    def place(name: str) -> Callable[[], "object"]:
        return lambda: bench.folder.layout.workspace_root(name)

    own = [Root(name, place(name), writable=name in workspace.writable_roots) for name in workspace.visible_roots]  # type: ignore[arg-type]
    return [*own, Root("tool-results", place("tool-results"))]  # type: ignore[arg-type]


def _mounts(roots: Sequence[Root]) -> list[Mount]:
    for root in roots:
        root.folder.mkdir(parents=True, exist_ok=True)
    return [Mount(root.name, root.folder, root.writable) for root in roots]
