"""The tools of a session: which exist, and the same bound to one run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tt_kernel.domain.ports import Asker
from tt_kernel.domain.profiles import Profile
from tt_kernel.domain.specs import Context, Snapshot
from tt_kernel.runtime.foreground import Foreground
from tt_kernel.session.bench import Bench
from tt_kernel.session.beside import BESIDE, Beside
from tt_kernel.store.tasks import TaskBoard
from tt_kernel.store.workspace import Root, Workspace
from tt_kernel.toolkit.catalog import Catalog, means
from tt_kernel.toolkit.deferral import SEARCH, deferring
from tt_kernel.toolkit.planning import EXIT, plan_snapshot
from tt_kernel.toolkit.snapshot import make_snapshot
from tt_kernel.toolkit.tool import Tool
from tt_kernel.tools.chat import CHAT_TOOLS, ChatDesk, chat_tools
from tt_kernel.tools.dice import DICE_TOOLS, dice_tools
from tt_kernel.tools.functions import Bench as FunctionBench
from tt_kernel.tools.functions import FunctionTool, as_function_tool, find_functions, function_tools, live_lookup
from tt_kernel.tools.http_get import http_get_spec, http_get_tools
from tt_kernel.tools.plan import PLAN_TOOLS, PlanDesk, exit_plan_mode, plan_tools
from tt_kernel.tools.processes import ProcessDesk
from tt_kernel.tools.project import ProjectDesk
from tt_kernel.tools.questions import QUESTION_TOOLS, QuestionDesk, question_tools
from tt_kernel.tools.shell import SHELL_TOOLS, Mount, ShellDesk, ShellWorker
from tt_kernel.tools.tasks import TASK_TOOLS, task_tools
from tt_kernel.tools.tool_search import tool_search, tool_search_tools
from tt_kernel.tools.workspace import WORKSPACE_TOOLS, Desk, ReadStates, workspace_tools
from tt_kernel.tools.worldinfo import WORLDINFO_TOOLS, WorldInfoDesk, worldinfo_tools

BUILTIN = (
    *WORKSPACE_TOOLS,
    *SHELL_TOOLS,
    *DICE_TOOLS,
    *BESIDE,
    *TASK_TOOLS,
    *QUESTION_TOOLS,
    *PLAN_TOOLS,
    *CHAT_TOOLS,
    *WORLDINFO_TOOLS,
    tool_search,
)


@dataclass(frozen=True)
class Bound:
    """The tools of one run, and what others need of them."""

    tools: list[Tool]
    shell: ShellDesk
    project: ProjectDesk
    processes: ProcessDesk


class Toolbox:
    """Owns what tools share between runs: the namespace of notebook functions and the shell's child process.

    Attributes:
        asker: Who answers questions; None: nobody, so recommended answers are taken.
    """

    def __init__(self, namespace: Mapping[str, object], foreground: Foreground, beside: Beside) -> None:
        self.beside = beside
        self.asker: Asker | None = None
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

    def catalog(self, functions: Sequence[FunctionTool], *, endpoint: str | None = None) -> Catalog:
        """Every tool there is. `endpoint`: the address of `HttpGetTest`, which exists only with one."""
        specs = [declaration.spec for declaration in BUILTIN]
        specs += [http_get_spec(endpoint)] if endpoint else []
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
        endpoint = profile.tools.http_get_test_url
        snapshot = make_snapshot(
            self.catalog(functions, endpoint=endpoint),
            _with_endpoint(profile) if endpoint else profile,
            completion="reply" if profile.run.plan else profile.run.completion,
            context=context,
            accepts_images=accepts_images,
            extra_tools=extra,
        )
        return _for_mode(snapshot, profile)

    def bind(self, bench: Bench, functions: Sequence[FunctionTool], reads: ReadStates) -> Bound:
        """The snapshot's tools, bound to one run that knows files as `reads` say."""
        roots = _roots(bench)
        desk = Desk(
            workspace=Workspace(roots),
            reads=reads,
            body=bench.profile.message_body,
            call_name=bench.snapshot.call_name,
        )
        shell = ShellDesk(worker=self._shell, mounts=lambda: _mounts(roots), clock=bench.clock)
        project, processes = self.beside.project(bench), self.beside.processes(bench)
        tools = [
            *workspace_tools(desk),
            *self.beside.tools(project, processes),
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
            *self._talking(bench),
            *_looking_around(bench),
        ]
        return Bound(tools, shell, project, processes)

    def _talking(self, bench: Bench) -> list[Tool]:
        """The tools with which an agent keeps track, asks, hands over a plan and finds other tools."""
        endpoint = bench.profile.tools.http_get_test_url
        board = TaskBoard(lambda: bench.folder.layout.tasks, lambda: bench.folder.run_id, bench.results.clean)
        return [
            *task_tools(board),
            *question_tools(QuestionDesk(self.asker, bench.answer_seconds, bench.run_id())),
            *plan_tools(PlanDesk(lambda: bench.folder.layout.workspace_root("plan"))),
            *tool_search_tools(bench.snapshot),
            *(http_get_tools(endpoint) if endpoint else ()),
        ]

    async def aclose(self) -> None:
        await self._shell.aclose()
        await self.beside.aclose()


def _looking_around(bench: Bench) -> list[Tool]:
    """The tools that read the notebook and its lorebooks, as they were when the run was prepared."""
    around, name = bench.surroundings, bench.snapshot.call_name
    return [
        *chat_tools(ChatDesk(around.chat, name)),
        *worldinfo_tools(WorldInfoDesk(bench.activation, around.books, name)),
    ]


def _with_endpoint(profile: Profile) -> Profile:
    """A configured address is enough to have the tool, unless it is denied."""
    tools = profile.tools.model_copy(update={"allow": (*profile.tools.allow, "builtin:HttpGetTest")})
    return profile.model_copy(update={"tools": tools})


def _for_mode(snapshot: Snapshot, profile: Profile) -> Snapshot:
    """ExitPlanMode is there in plan mode, ToolSearch where it is needed; neither because a profile names it."""
    kept = tuple(binding for binding in snapshot.bindings if binding.spec.id not in (EXIT, SEARCH))
    plain = snapshot.model_copy(update={"bindings": kept})
    if profile.run.plan:
        return plan_snapshot(plain, exit_plan_mode.spec)
    return (
        plain if any(means(pattern, SEARCH) for pattern in profile.tools.deny) else deferring(plain, tool_search.spec)
    )


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
