"""What a run does to its session's history: a compaction before it, where one is due, and its turn after it."""

from dataclasses import replace

from tt_kernel.domain.messages import Message
from tt_kernel.domain.runs import Run
from tt_kernel.domain.sessions import SessionCompaction, SessionTurn, history_messages, turns_of
from tt_kernel.providers.names import describe_model
from tt_kernel.runtime.compaction import compaction_request, summarised, turns_to_compact
from tt_kernel.session.models import first_prompt, live_provider
from tt_kernel.session.prepared import PreparedRun, Shared


async def compacted(shared: Shared, prepared: PreparedRun) -> PreparedRun:
    """The run with a shorter history, where it has become too long. The summary becomes an entry of the history.

    Raises:
        ProviderError, ModelUnavailable, BudgetUsedUp: The model gave no summary; nothing was changed.
    """
    chat = prepared.chat
    assert chat is not None
    count = turns_to_compact(chat.entries, chat.record)
    if not count or prepared.request.mode == "replay":
        return prepared
    shared.budget.check()
    turns = turns_of(chat.entries)
    old = chat.entries[: chat.entries.index(turns[count])]
    request = prepared.request
    provider = live_provider(
        request.model, request.connection, base_dir=shared.base_dir, connections=shared.connections
    )
    try:
        summary = await summarised(provider, compaction_request(history_messages(old), request.profile.sampling))
    finally:
        await provider.aclose()
    entry = SessionCompaction(turns=count, summary=shared.scrubber.text(summary), run=prepared.key[:8])
    shared.chats.shelf.append(chat.record.name, entry, shared.scrubber, seen=chat.seen)
    entries = (*chat.entries, entry)
    assert prepared.opening is not None
    begins = first_prompt(request.prompt, history_messages(entries))
    return replace(
        prepared,
        facts=describe_model(request.model, base_dir=shared.base_dir, prompt=begins, connection=request.connection),
        chat=replace(chat, entries=entries, seen=chat.seen + 1),
        history=tuple(history_messages(entries)),
        opening=(prepared.opening[0], *history_messages(entries), *chat.opening),
    )


def keep_turn(shared: Shared, prepared: PreparedRun, run: Run, state: str | None) -> None:
    """Add the run to its session's history, unless it was a replay of a turn that is there.

    Raises:
        UsageProblem: `agent.session_history_changed`.
    """
    chat = prepared.chat
    assert chat is not None
    assert prepared.opening is not None
    if chat.replays is not None and run.replayed:
        return
    answered: tuple[Message, ...] = tuple(run.messages[len(prepared.opening) :])
    spoken = (*chat.opening, *answered)
    entry = SessionTurn(
        run=run.id,
        prompt=prepared.request.prompt,
        status=run.status,
        opening=chat.opening,
        messages=answered,
        before=prepared.persist_base,
        after=state,
        kernel=shared.chats.kernel,
        names=shared.chats.names_in(spoken),
    )
    shared.chats.shelf.save(chat.record)
    shared.chats.shelf.append(chat.record.name, entry, shared.scrubber, seen=chat.seen)
