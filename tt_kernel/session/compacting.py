"""How a run compacts its conversation: what its profile says, wired to its tape and tools (spec liveagent §19)."""

from collections.abc import Callable, Sequence

from tt_kernel.domain.ids import ROOT_INVOCATION
from tt_kernel.domain.messages import Message
from tt_kernel.domain.ports import Provider
from tt_kernel.domain.specs import ToolChoice
from tt_kernel.runtime.compactor import FAILED, Compactor, summary_request
from tt_kernel.runtime.history import CompactionRule, opening_length
from tt_kernel.session.ledger import Ledger
from tt_kernel.session.prepared import PreparedRun
from tt_kernel.store.recordings import RecordedReply
from tt_kernel.store.tape import Tape


def rule_of(prepared: PreparedRun, messages: Sequence[Message]) -> CompactionRule | None:
    """The rule of a run that begins with `messages`; None: its profile sets no threshold.

    A turn of a session leaves the history before it alone: a session has a compaction of its own.
    """
    context = prepared.request.profile.context
    if context.compact_above_tokens is None:
        return None
    floor = len(messages) if prepared.chat is not None else opening_length(messages)
    return CompactionRule(context.compact_above_tokens, context.keep_groups, floor)


def first_reply(tape: Tape, prepared: PreparedRun, messages: Sequence[Message]) -> RecordedReply | None:
    """What is recorded for the very first request: the one for a summary, where the run begins with that."""
    rule = rule_of(prepared, messages)
    step = rule.due(messages, 0) if rule else None
    if step is None:
        return tape.ask(messages, ToolChoice())
    if step.cut is None:
        return tape.ask(step.messages, ToolChoice())
    request = summary_request(step.messages, step.cut, prepared.request.profile.sampling)
    return tape.ask(request.messages, request.tool_choice)


def compactor_of(
    prepared: PreparedRun,
    messages: Sequence[Message],
    provider: Provider,
    ledger: Ledger,
    forget: Callable[[], None],
) -> Compactor | None:
    """The compactor of a run; None where its profile wants none. `forget` as of `Compactor`."""
    rule = rule_of(prepared, messages)
    profile = prepared.request.profile
    if rule is None:
        return None
    return Compactor(
        rule=rule,
        provider=provider,
        sampling=profile.sampling,
        retry=profile.run.model_retry,
        invocation_id=ROOT_INVOCATION,
        write=ledger.write,
        keep_failure=lambda: ledger.tape.record_reply(FAILED),
        forget=forget,
    )
