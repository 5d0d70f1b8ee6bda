"""Plan mode: a run that only looks, and ends with a plan that a person approves (spec liveagent §16).

The tools are filtered when the run is prepared (`plan_snapshot`); the wrapper (`Planning.guard`) refuses what gets through all
the same. The bounds: MAX_ROUNDS model requests of research; then the model is told to hand over its plan and has MAX_NUDGES
more requests, in which it can call nothing else; then its last text is the plan.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from tt_kernel.domain.calls import ToolCall, ToolResult
from tt_kernel.domain.canonical import canonical_json
from tt_kernel.domain.ids import builtin
from tt_kernel.domain.ports import Caller
from tt_kernel.domain.specs import Binding, Snapshot, ToolChoice, ToolSpec
from tt_kernel.toolkit.pipeline import SpecOf, Wrapper

EXIT = builtin("ExitPlanMode")
MAX_ROUNDS = 32
"""Model requests."""
MAX_NUDGES = 4
MAX_SAME = 2
"""How often one call with the same arguments is executed."""

NOT_IN_PLAN_MODE = "plan.tool_not_available"
SAME_CALL = "plan.repeated_call"
RESEARCH_OVER = "plan.research_over"

_BESIDES = frozenset({EXIT, builtin("Agent"), builtin("SendMessage"), builtin("AskUserQuestion")})

Step = Literal["go", "nudge", "over"]


def may_plan(spec: ToolSpec) -> bool:
    """Whether a tool is there in plan mode: what only reads this machine, and functions of the notebook that say so.

    What an MCP server says of itself is no reason to trust it.
    """
    trusted = spec.effect != "external" or spec.id.provider == "extension/notebook"
    return spec.id in _BESIDES or (spec.read_only and trusted)


def plan_snapshot(snapshot: Snapshot, exit_tool: ToolSpec) -> Snapshot:
    """The tools of a run in plan mode. The plan is its answer, whatever protocol the profile ends by."""
    kept = tuple(b for b in snapshot.bindings if may_plan(b.spec) and b.spec.id != EXIT)
    return Snapshot(
        completion="reply",
        bindings=(*kept, Binding(name=exit_tool.id.native, spec=exit_tool)),
        diagnostics=snapshot.diagnostics,
    )


@dataclass
class Planning:
    """The bounds of one invocation in plan mode.

    Args:
        save: Keeps a plan that the model did not hand over itself.
    """

    save: Callable[[str], None]
    nudges: int = field(default=0, init=False)
    _rounds: int = field(default=0, init=False)
    _talked: bool = field(default=False, init=False)
    _calls: Counter[str] = field(default_factory=Counter, init=False)

    @property
    def exit_name(self) -> str:
        return EXIT.native

    def step(self) -> Step:
        """What the next model request is: counts it. `nudge`: tell the model `reminder` first. `over`: make none."""
        if self.nudges >= MAX_NUDGES:
            return "over"
        if self.nudges == 0 and not self._talked and self._rounds < MAX_ROUNDS:
            self._rounds += 1
            return "go"
        tell = self.nudges == 0 or self._talked
        self.nudges += 1
        self._talked = False
        return "nudge" if tell else "go"

    def talked(self) -> None:
        """The model answered without a call: the research is over."""
        self._talked = True

    @property
    def choice(self) -> ToolChoice:
        return ToolChoice(kind="specific", name=self.exit_name) if self.nudges else ToolChoice()

    @property
    def reminder(self) -> str:
        return (
            f"The time for research is over. Call {self.exit_name} now, with the whole plan: what will be done, in which files, "
            "in which order, and how it will be checked. Nothing else can be called."
        )

    def guard(self, spec_of: SpecOf) -> Wrapper:
        """Refuse what is not for planning, and the same call for the third time."""

        def wrap(inner: Caller) -> Caller:
            async def call(request: ToolCall) -> ToolResult:
                refusal = self._refusal(request, spec_of(request))
                if refusal is not None:
                    return ToolResult.error(request, *refusal)
                return await inner(request)

            return call

        return wrap

    def _refusal(self, call: ToolCall, spec: ToolSpec) -> tuple[str, str] | None:
        if not may_plan(spec):
            return NOT_IN_PLAN_MODE, (
                f"{call.name} was not run: this run only plans. Put into the plan what should be done, and hand it over with "
                f"{self.exit_name}."
            )
        if spec.id == EXIT:
            return None
        if self.nudges:
            return RESEARCH_OVER, f"{call.name} was not run: the time for research is over. Call {self.exit_name} now."
        key = canonical_json([call.tool_id, call.arguments.value, call.arguments.raw])
        self._calls[key] += 1
        if self._calls[key] > MAX_SAME:
            return SAME_CALL, (
                f"{call.name} was not run: this call was made {MAX_SAME} times already with the same arguments. Use the earlier "
                f"result, look elsewhere, or call {self.exit_name}."
            )
        return None
