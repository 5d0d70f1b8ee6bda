"""Publishing what a run left in `persist/`: only a successful end does (spec tauritavern §7.4)."""

from tt_kernel.domain.errors import StorageFault
from tt_kernel.domain.events import PersistChanged
from tt_kernel.session.ledger import Ledger
from tt_kernel.session.prepared import PreparedRun, Shared
from tt_kernel.store.persist import PersistShelf


def memory_of(shared: Shared, prepared: PreparedRun) -> PersistShelf:
    """Where the files that outlive the run are kept."""
    return shared.chats.shelf.states(prepared.chat.record.name) if prepared.chat else shared.persist


def publish_memory(shared: Shared, prepared: PreparedRun, ledger: Ledger) -> PersistChanged | None:
    """The event of the new state, or of the conflict; None where the run's memory did not change.

    While everything is replayed nothing is written: the recorded run has published its state.
    """
    workspace = prepared.request.profile.workspace
    shelf = memory_of(shared, prepared)
    base, state = prepared.persist_base, ledger.shown_id
    writable = {"persist"} <= set(workspace.visible_roots) & set(workspace.writable_roots)
    untouched = base is None and not ledger.folder.is_made
    if untouched or (prepared.chat is None and not writable):
        return None
    source = ledger.folder.layout.root / prepared.files_root
    if not ledger.is_live:
        return shelf.replayed(state, source, base)
    try:
        published = shelf.publish(state, source, base, ledger.started_at)
    except StorageFault as fault:
        return PersistChanged(
            type="persistent_changes_failed", state=base, base=base, code=fault.code, message=fault.message
        )
    if not published.is_new:
        return None
    if published.conflict is not None:
        return PersistChanged(
            type="persistent_changes_failed",
            state=base,
            base=base,
            code="agent.persist_conflict",
            message=f"Run {published.conflict} published its memory from the same state meanwhile. This run's is kept as state {state}.",
        )
    return PersistChanged(type="persistent_changes_committed", state=state, base=base)
