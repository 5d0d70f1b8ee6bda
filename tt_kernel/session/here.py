"""Where this process is: a notebook says so when the extension is loaded, so that `tt_kernel.run` in its cells is its own run.

Light: the extension imports it before any session exists.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tt_kernel.domain.errors import TTError
    from tt_kernel.domain.runs import Run
    from tt_kernel.session.prepared import PreparedRun


@dataclass
class Here:
    """`session` gives the notebook's Session; `cell` the cell that runs now and its execution, None where cells have no names.

    `witness` is told of every run that ended, or could not begin (then there is no Run), and of what went wrong.
    """

    session: Callable[[], Any] | None = None
    cell: Callable[[], tuple[str | None, str | None]] | None = None
    witness: "Callable[[PreparedRun, Run | None, TTError | None], None] | None" = None


@cache
def here() -> Here:
    """The one of this process."""
    return Here()
