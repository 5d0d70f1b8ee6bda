"""A profile describes an agent: spec tauritavern §11 (schema 5), extended by DESIGN §5.2."""

import re
from typing import Annotated, Literal, get_args

from pydantic import BeforeValidator, Field, StringConstraints

from tt_kernel.domain.frozen import Frozen
from tt_kernel.domain.specs import Completion, PermissionRule
from tt_kernel.domain.turns import Sampling

ProfileId = Annotated[str, StringConstraints(pattern=re.compile(r"^[a-z0-9_-]{1,128}$"))]

RootName = Literal["output", "scratch", "plan", "summaries", "persist"]

WORKSPACE_ROOTS: tuple[RootName, ...] = ("output", "scratch", "plan", "summaries", "persist")
"""The roots a profile may show and open for writing; `tool-results` and `skills` are added read-only by the runtime."""


class ModelChoice(Frozen):
    """`currentPromptSnapshot`: the notebook's default model (option -m, setting, environment); `connectionRef`: `model_id` of a
    named connection; `requiresConfiguration`: imported, not runnable until a model is chosen.
    """

    mode: Literal["currentPromptSnapshot", "connectionRef", "requiresConfiguration"] = "currentPromptSnapshot"
    connection_ref: str | None = None
    model_id: str | None = None


class ModelRetry(Frozen):
    """Retries of one model request: only transient faults, only before output was shown. Interval in milliseconds."""

    max_retries: int = Field(default=3, ge=0)
    interval_ms: int = Field(default=3000, ge=0)


class RunPolicy(Frozen):
    presentation: Literal["foreground", "background"] = "foreground"
    stream: bool = True
    direct_runnable: bool = True
    model_retry: ModelRetry = ModelRetry()
    completion: Completion = "reply"


class Instructions(Frozen):
    """None = the default system prompt, generated from the bound tools."""

    agent_system_prompt: str | None = None


class ToolDescription(Frozen):
    description: str | None = None
    properties: dict[str, str] = Field(default_factory=dict)


class ToolPolicy(Frozen):
    """Stable tool ids or globs of them (`extension/notebook:*`). deny wins."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    tool_descriptions: dict[str, ToolDescription] = Field(default_factory=dict)
    external_result_inline_char_limit: int = Field(default=50_000, ge=1)


class WorkspacePolicy(Frozen):
    visible_roots: tuple[RootName, ...] = WORKSPACE_ROOTS
    writable_roots: tuple[RootName, ...] = WORKSPACE_ROOTS


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
    """`safety` unknown or `ask`: everything that is not read-only asks. Rules: deny wins, then the first that matches."""

    safety: Annotated[Safety, BeforeValidator(lambda mode: mode if mode in get_args(Safety) else "ask")] = "auto"
    rules: tuple[PermissionRule, ...] = ()


class Profile(Frozen):
    schema_version: Literal[5] = 5
    kind: Literal["tt_kernel.agentProfile", "tauritavern.agentProfile"] = "tt_kernel.agentProfile"
    id: ProfileId
    display_name: str
    description: str | None = None
    model: ModelChoice = ModelChoice()
    run: RunPolicy = RunPolicy()
    instructions: Instructions = Instructions()
    tools: ToolPolicy = ToolPolicy()
    workspace: WorkspacePolicy = WorkspacePolicy()
    output: Output = Output()
    permissions: Permissions = Permissions()
    limits: Limits = Limits()
    sampling: Sampling = Sampling()

    @property
    def message_body(self) -> Artifact:
        """The artifact that `workspace_commit` publishes by default."""
        return next(a for a in self.output.artifacts if a.target == "messageBody")
