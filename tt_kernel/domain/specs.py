"""What a tool is: its description (ToolSpec), and the frozen set offered to one invocation (Snapshot)."""

from typing import Literal

from pydantic import Field

from tt_kernel.domain.canonical import Json, JsonObject, digest
from tt_kernel.domain.frozen import Frozen
from tt_kernel.domain.ids import Digest, ToolId

Effect = Literal["none", "workspace", "project", "host", "external"]
"""What a call can change. none: nothing. workspace: files of this run. project: files next to the notebook.
host: processes of this machine. external: anything else (MCP servers, notebook functions).
`none` and `workspace` are executed again on replay; the others are answered from the record (DESIGN §7)."""

RE_EXECUTED: frozenset[str] = frozenset({"none", "workspace"})

Context = Literal["cell", "session"]

Completion = Literal["finish", "return", "reply"]
"""How an invocation may end: `workspace_finish`, `task_return`, or a message without tool calls."""


class ToolSpec(Frozen):
    """Everything known about a tool except how to run it.

    `version` is what a recording of an external result is bound to: the source digest of a notebook function, the schema
    digest of an MCP tool. `input_schema` is a JSON schema with root type object.
    """

    id: ToolId
    description: str
    input_schema: JsonObject
    output_schema: JsonObject | None = None
    group: str
    effect: Effect
    read_only: bool = False
    contexts: tuple[Context, ...] = ("cell", "session")
    returns_images: bool = False
    version: str = "1"


class Binding(Frozen):
    """A tool accepted for one invocation, under the name that the model sees."""

    name: str
    spec: ToolSpec


class Diagnostic(Frozen):
    """Why something the profile asked for is not there."""

    code: str
    subject: str
    message: str


class Snapshot(Frozen):
    """The frozen tool set of one invocation. Tools are not added or removed while it runs.

    `deferred` are tools of the set that the model is not shown before it has found them (toolkit/deferral.py).
    """

    completion: Completion
    bindings: tuple[Binding, ...]
    diagnostics: tuple[Diagnostic, ...] = ()
    deferred: tuple[ToolId, ...] = ()

    def find(self, name: str) -> Binding | None:
        """Exact call name, then a unique case-insensitive match."""
        for binding in self.bindings:
            if binding.name == name:
                return binding
        folded = [b for b in self.bindings if b.name.casefold() == name.strip().casefold()]
        return folded[0] if len(folded) == 1 else None

    def call_name(self, tool: ToolId) -> str | None:
        return next((b.name for b in self.bindings if b.spec.id == tool), None)

    @property
    def shown(self) -> tuple[Binding, ...]:
        """What the model is shown from the start."""
        return tuple(binding for binding in self.bindings if binding.spec.id not in self.deferred)

    @property
    def digest(self) -> Digest:
        """Covers names, schemas, descriptions and versions, in order; not diagnostics."""
        deferred = [list(self.deferred)] if self.deferred else []
        return digest([self.completion, [b.model_dump(mode="json") for b in self.bindings], *deferred])


class ToolOffer(Frozen):
    """A tool as a model request carries it."""

    name: str
    description: str
    input_schema: JsonObject

    @classmethod
    def of(cls, binding: Binding) -> "ToolOffer":
        spec = binding.spec
        return cls(name=binding.name, description=spec.description, input_schema=spec.input_schema)


class PermissionRule(Frozen):
    """One line of a permission document (DESIGN §10).

    `tool`: a tool id, a call name, a glob of either, `server:<id>` or `group:<name>`.
    `arguments`: argument name -> glob that its text must match; all must match for the rule to apply.
    """

    tool: str
    decision: Literal["allow", "ask", "deny"]
    arguments: dict[str, str] = Field(default_factory=dict)


class ToolChoice(Frozen):
    """Whether the model may, must or must not call a tool in a turn; `specific` names it."""

    kind: Literal["auto", "none", "required", "specific"] = "auto"
    name: str | None = None


__all__ = [
    "RE_EXECUTED",
    "Binding",
    "Completion",
    "Context",
    "Diagnostic",
    "Effect",
    "Json",
    "PermissionRule",
    "Snapshot",
    "ToolChoice",
    "ToolOffer",
    "ToolSpec",
]
