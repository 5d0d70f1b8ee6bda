"""What the tools of one run stand on."""

from collections.abc import Callable
from dataclasses import dataclass

from tt_kernel.domain.profiles import Profile
from tt_kernel.domain.specs import Snapshot
from tt_kernel.domain.worldinfo import Activation
from tt_kernel.runtime.surroundings import Surroundings
from tt_kernel.store.results import ResultStore
from tt_kernel.store.runs import RunFolder
from tt_kernel.toolkit.clockwork import Clockwork


@dataclass(frozen=True)
class Bench:
    """One run, as its tools need it.

    Attributes:
        run_id: The id that is shown; asked at call time.
        model: `provider:model`.
        safety: The strictest safety mode of the permission documents.
        answer_seconds: How long a person has to answer.
        interactive: A person is there.
        session: The run is a turn of a session.
        surroundings: The chat and the lorebooks, frozen.
        activation: What of the lorebooks is active; None where there are none.
    """

    profile: Profile
    snapshot: Snapshot
    folder: RunFolder
    results: ResultStore
    clock: Clockwork
    run_id: Callable[[], str]
    model: str
    safety: Callable[[], str]
    answer_seconds: float
    interactive: bool = False
    accepts_images: bool = True
    session: bool = False
    surroundings: Surroundings = Surroundings()
    activation: Activation | None = None
