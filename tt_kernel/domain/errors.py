"""Every error of tt_kernel, as a tree named by who must act.

    TTError
    ├── ToolError            the model: a recoverable tool result; the run goes on
    ├── UserError            the user: says what is wrong and what to do
    │   ├── InvalidToolId, UsageProblem, ProfileInvalid, ProfileChanged, NotFound
    │   ├── ModelUnavailable     not configured, no key, not installed
    │   ├── BudgetUsedUp         the notebook's budget is spent
    │   ├── ReplayMiss           strict replay: no recording, or a re-executed tool differs
    │   └── RunFailed, RunInterrupted   what a failed or stopped run raises in the notebook
    ├── ProviderError        the model service: retried when transient, else ends the run
    └── Fault                ends the run
        ├── StorageFault         the disk or a damaged file
        ├── OutcomeUnknown       an external call may have happened; never repeated by itself
        └── ContractBroken       the maintainer: a bug

`code` is a stable dotted name from the specifications; `message` is one sentence or two for a person.
"""


class TTError(Exception):
    default_code = "internal.error"

    def __init__(self, code: str | None = None, message: str = "") -> None:
        self.code = code or self.default_code
        self.message = message or self.code
        super().__init__(self.message)

    def __reduce__(self) -> tuple[type["TTError"], tuple[str, str]]:
        return type(self), (self.code, self.message)


class ToolError(TTError):
    """Recoverable: becomes a tool result with `is_error`. `structured` may add facts for records."""

    default_code = "tool.error"

    def __init__(self, code: str | None = None, message: str = "", structured: dict[str, object] | None = None) -> None:
        super().__init__(code, message)
        self.structured = structured or {}


class UserError(TTError):
    default_code = "user.error"


class InvalidToolId(UserError):
    default_code = "tool.id_invalid"


class UsageProblem(UserError):
    """A magic, command line or API argument that makes no sense."""

    default_code = "usage.invalid"


class ProfileInvalid(UserError):
    default_code = "agent.profile_contract_invalid"


class ProfileChanged(UserError):
    """The document is not what it was when it was read."""

    default_code = "agent.profile_changed"


class NotFound(UserError):
    default_code = "user.not_found"


class ModelUnavailable(UserError):
    default_code = "model.unavailable"


class BudgetUsedUp(UserError):
    """A live request would go beyond the budget of the notebook. A run that has paid for turns ends as `limit`; one that has not
    does not begin.
    """

    default_code = "agent.budget_used_up"


class ReplayMiss(UserError):
    """Strict replay found a difference. `kind` says of what: see `session/misses.py`; `drift` is a tool's result, `permission` a
    rule that decides otherwise now.
    """

    default_code = "replay.miss"

    def __init__(self, code: str | None = None, message: str = "", *, kind: str = "") -> None:
        super().__init__(code, message)
        self.kind = kind


class RunFailed(UserError):
    """A run ended as failed. Raised once, after its view was shown; never an ExceptionGroup."""

    default_code = "agent.run_failed"


class RunInterrupted(UserError):
    default_code = "agent.run_interrupted"


class ProviderError(TTError):
    """The model service refused or broke.

    Args of note: `retryable` (transient: rate limit, 5xx, cut connection, invalid upstream response),
    `retry_after` seconds when the service said so.
    """

    default_code = "model.request_failed"

    def __init__(
        self, code: str | None = None, message: str = "", *, retryable: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(code, message)
        self.retryable = retryable
        self.retry_after = retry_after


class Fault(TTError):
    default_code = "agent.fault"


class StorageFault(Fault):
    default_code = "storage.fault"


class OutcomeUnknown(Fault):
    default_code = "tool.outcome_unknown"


class ContractBroken(Fault):
    default_code = "internal.contract"
