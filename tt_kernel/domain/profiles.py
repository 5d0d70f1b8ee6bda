"""A profile describes an agent: spec tauritavern §11 (schema 5), extended by DESIGN §5.2."""

import re
from typing import Annotated, Literal, NamedTuple, get_args

from pydantic import BeforeValidator, Field, StringConstraints

from tt_kernel.domain.frozen import Frozen
from tt_kernel.domain.sessions import KEEP_GROUPS
from tt_kernel.domain.specs import Completion, PermissionRule
from tt_kernel.domain.turns import Sampling
from tt_kernel.domain.worldinfo import WorldInfoSettings

ProfileId = Annotated[str, StringConstraints(pattern=re.compile(r"^[a-z0-9_-]{1,128}$"))]

RootName = Literal["output", "scratch", "plan", "summaries", "persist"]

WORKSPACE_ROOTS: tuple[RootName, ...] = ("output", "scratch", "plan", "summaries", "persist")
"""The roots a profile may show and open for writing; `tool-results` and `skills` are added read-only by the runtime."""


class PresetRef(Frozen):
    api_id: str
    name: str


class PresetChoice(Frozen):
    """Which SillyTavern preset a profile was written for. Accepted and kept; a notebook has no presets.

    `currentPromptSnapshot` and `none` are the same here: the prompt is the cell's. Mode `ref` with `required` cannot run
    (`agent.profile_preset_missing`), without it runs without the preset. `reasoning_effort` belongs to mode `ref`: None follows
    the preset, `auto` sends nothing, anything else is `sampling.reasoning_effort` where that is not set.
    """

    mode: Literal["currentPromptSnapshot", "ref", "none"] = "currentPromptSnapshot"
    ref: PresetRef | None = None
    required: bool = False
    reasoning_effort: str | None = None


ModelName = Annotated[str, StringConstraints(pattern=re.compile(r"^[A-Za-z0-9_./-]+:\S.*\Z"))]
"""`provider:model`."""


class ModelChoice(Frozen):
    """`currentPromptSnapshot`: the notebook's default model (option -m, setting, environment), or `model_id` as a whole name;
    `connectionRef`: `model_id` (or the connection's own model) of a named connection; `requiresConfiguration`: imported, not
    runnable until a model is chosen.

    `fallbacks` are models, `provider:model` each, that answer in this order when the first cannot (spec liveagent §18), and
    `max_switches` how often that may happen in a run.
    """

    mode: Literal["currentPromptSnapshot", "connectionRef", "requiresConfiguration"] = "currentPromptSnapshot"
    connection_ref: str | None = None
    model_id: str | None = None
    fallbacks: tuple[ModelName, ...] = ()
    max_switches: int = Field(default=3, ge=1, le=10)


class ModelRetry(Frozen):
    """Retries of one model request: only transient faults, only before output was shown. Interval in milliseconds."""

    max_retries: int = Field(default=3, ge=0)
    interval_ms: int = Field(default=3000, ge=0)


class RunPolicy(Frozen):
    """`plan`: the run only looks and ends with a plan, which a person approves (spec liveagent §16; option `--plan`)."""

    presentation: Literal["foreground", "background"] = "foreground"
    stream: bool = True
    direct_runnable: bool = True
    model_retry: ModelRetry = ModelRetry()
    completion: Completion = "reply"
    plan: bool = False


class ContextPolicy(Frozen):
    """What of the notebook stands in the first request.

    `initial_chat_history_messages`: -1 all cells above, 0 none, N the last N; then a token budget. The specification's
    default is -1; here it is 0, because a notebook's cells change more often than a chat, and each change would be a new
    request. Documents of the specification's own kind keep -1 (store/migrations.py).

    `compact_above_tokens`: estimated tokens of a conversation above which its older part is pruned and summarised while the run
    goes on (spec liveagent §19); None: never. `keep_groups`: how many of the newest groups, a reply with the results of its calls
    each, a summary leaves alone.

    `world_info`: how the lorebooks are scanned; what is active stands in the prompt unless `include_activated_world_info` is off.
    """

    initial_chat_history_messages: int = Field(default=0, ge=-1)
    include_activated_world_info: bool = True
    compact_above_tokens: int | None = Field(default=None, ge=1)
    keep_groups: int = Field(default=KEEP_GROUPS, ge=1)
    world_info: WorldInfoSettings = WorldInfoSettings()


class DelegationPolicy(Frozen):
    """Who may work for whom. `can_*`: this agent may hand work on. `callable` and `allow_as_*`: others may give it work.

    `allowed_callers` are ids of profiles, `*` for any. The counters are those of schema 4; the specification leaves open
    which of them schema 5 keeps, so all of them are.
    """

    can_delegate: bool = False
    can_handoff: bool = False
    callable: bool = False
    allow_as_subagent: bool = False
    allow_as_handoff_target: bool = False
    allow_nested_delegation: bool = False
    allowed_callers: tuple[str, ...] = ("*",)
    description_for_agents: str | None = None
    max_concurrent_invocations: int = Field(default=3, ge=1)
    max_invocations_per_run: int = Field(default=8, ge=1)
    result_budget_tokens: int = Field(default=8000, ge=1)
    max_handoff_depth: int = Field(default=8, ge=1)


class Instructions(Frozen):
    """None = the default system prompt, generated from the bound tools."""

    agent_system_prompt: str | None = None


class ToolDescription(Frozen):
    description: str | None = None
    properties: dict[str, str] = Field(default_factory=dict)


class ToolPolicy(Frozen):
    """Stable tool ids or globs of them (`extension/notebook:*`). deny wins.

    `http_get_test_url`: where `HttpGetTest` asks; without one there is no such tool (spec liveagent §12).
    """

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    tool_descriptions: dict[str, ToolDescription] = Field(default_factory=dict)
    external_result_inline_char_limit: int = Field(default=50_000, ge=1)
    http_get_test_url: str | None = None


class SkillPolicy(Frozen):
    """Names of skills, `*` for all. deny wins."""

    visible: tuple[str, ...] = ("*",)
    deny: tuple[str, ...] = ()


class WorkspacePolicy(Frozen):
    visible_roots: tuple[RootName, ...] = WORKSPACE_ROOTS
    writable_roots: tuple[RootName, ...] = WORKSPACE_ROOTS


class PlanNode(Frozen):
    id: str
    title: str
    locked: bool = False


class PlanPolicy(Frozen):
    """Kept for documents that have it; there is no plan engine, so every mode but `none` is refused."""

    mode: Literal["none", "free", "strict", "hybrid"] = "none"
    beta: bool = True
    nodes: tuple[PlanNode, ...] = ()


class Artifact(Frozen):
    id: str
    path: str
    kind: str = "markdown"
    target: str = "messageBody"
    required: bool = True
    assembly_order: int = 0


class Output(Frozen):
    artifacts: tuple[Artifact, ...] = (Artifact(id="main", path="output/main.md"),)


class Limits(Frozen):
    """All optional, none by default. Reaching one ends the run with status `limit`, code `agent.limit_reached`; nothing is raised."""

    turns: int | None = Field(default=None, ge=1)
    tool_calls: int | None = Field(default=None, ge=1)
    tokens: int | None = Field(default=None, ge=1)
    cost_usd: float | None = Field(default=None, gt=0)
    wall_seconds: float | None = Field(default=None, gt=0)


Safety = Literal["auto", "ask", "sandbox", "sandbox-offline"]


class Permissions(Frozen):
    """`safety` unknown or `ask`: everything that is not read-only asks. Rules: deny wins, then the first that matches.

    `answer_seconds`: how long a person has to answer an approval or a question; the nearest document that says it counts,
    180 when none does.
    """

    safety: Annotated[Safety, BeforeValidator(lambda mode: mode if mode in get_args(Safety) else "ask")] = "auto"
    rules: tuple[PermissionRule, ...] = ()
    answer_seconds: float | None = Field(default=None, gt=0, le=86_400)


class Breach(NamedTuple):
    """A rule that a profile breaks, or something that it asks for and does not get.

    Attributes:
        code: `agent.profile_...` of spec tauritavern §11.2, or the code of a diagnostic.
        message: One sentence for a person.
        blocks: A run of the profile cannot start; otherwise it goes on without what is missing.
    """

    code: str
    message: str
    blocks: bool = True


class Profile(Frozen):
    """The document, schema 5. `kind` is kept as it was written; both kinds mean the same."""

    schema_version: Literal[5] = 5
    kind: Literal["tt_kernel.agentProfile", "tauritavern.agentProfile"] = "tt_kernel.agentProfile"
    id: ProfileId
    display_name: str
    description: str | None = None
    preset: PresetChoice = PresetChoice()
    model: ModelChoice = ModelChoice()
    run: RunPolicy = RunPolicy()
    context: ContextPolicy = ContextPolicy()
    delegation: DelegationPolicy = DelegationPolicy()
    instructions: Instructions = Instructions()
    tools: ToolPolicy = ToolPolicy()
    skills: SkillPolicy = SkillPolicy()
    workspace: WorkspacePolicy = WorkspacePolicy()
    plan: PlanPolicy = PlanPolicy()
    output: Output = Output()
    permissions: Permissions = Permissions()
    limits: Limits = Limits()
    sampling: Sampling = Sampling()

    @property
    def message_body(self) -> Artifact:
        """The artifact that `workspace_commit` publishes by default."""
        return next(a for a in self.output.artifacts if a.target == "messageBody")
