"""The budget of a notebook, `budget.json` in its agent folder, and the check that it is not used up.

Everybody who works on the notebook reads the same files, so two kernels share it. A check costs one look at each run's folder:
what ended is read once.
"""

from pathlib import Path

from pydantic import TypeAdapter

from tt_kernel.domain.budget import Budget
from tt_kernel.domain.errors import BudgetUsedUp, NotFound, ProfileInvalid
from tt_kernel.domain.runs import TERMINAL, RunRecord
from tt_kernel.domain.turns import Usage
from tt_kernel.store.atomic import decoded, read_if_there, write_json
from tt_kernel.store.layout import AgentFolder
from tt_kernel.store.locks import locked
from tt_kernel.store.runs import RunIndex
from tt_kernel.store.spending import Spending

NAME = "budget.json"
_BUDGET = TypeAdapter(Budget)


class BudgetShelf:
    """The budget of one agent folder."""

    def __init__(self, folder: AgentFolder) -> None:
        self._folder = folder
        self._path = folder.root / NAME
        self._index = RunIndex(folder)
        self._spending = Spending(folder)
        self._ended: dict[str, tuple[tuple[int, int], RunRecord]] = {}

    def load(self) -> Budget:
        """An absent document limits nothing.

        Raises:
            ProfileInvalid: `agent.budget_invalid`: it cannot be understood. Nothing is spent then.
        """
        data = read_if_there(self._path)
        if not data:
            return Budget()
        budget = decoded(_BUDGET, data)
        if budget is None:
            raise ProfileInvalid(
                "agent.budget_invalid",
                f"{self._path} is no budget: it needs cost_usd or tokens, numbers from 0. Mend or delete the file.",
            )
        return budget

    def save(self, budget: Budget) -> Budget:
        """Keep it; one without limits removes the document. One that is kept already changes nothing: Run All sets it again."""
        if budget == self.load():
            return budget
        self._folder.create()
        with locked(self._folder.root):
            if budget == Budget():
                self._path.unlink(missing_ok=True)
            else:
                write_json(self._path, budget)
        return budget

    def spent(self) -> Usage:
        """What all runs of the notebook paid for, those that go on now and those that were deleted included."""
        total = Usage()
        for one in self._spending.all(self._records()):
            total = total.plus(one.usage)
        return total

    def problem(self) -> BudgetUsedUp | None:
        """Why nothing more may be spent; None where it may."""
        budget = self.load()
        over = None if budget == Budget() else budget.used_up(self.spent())
        if over is None:
            return None
        return BudgetUsedUp(
            message=f"The budget of this notebook is used up: {over} spent. Raise it (%agent budget 5 USD, or 100000 tokens) or "
            "end it (%agent budget off). What is recorded replays for free."
        )

    def check(self) -> None:
        """Raises BudgetUsedUp when nothing more may be spent."""
        problem = self.problem()
        if problem is not None:
            raise problem

    def _records(self) -> list[RunRecord]:
        records = []
        for run in self._index.names():
            try:
                stamp = _stamp(self._folder.run(run).run_json)
                known = self._ended.get(run)
                record = known[1] if known is not None and known[0] == stamp else self._index.load(run)
            except NotFound:
                continue  # deleted a moment ago: the books know
            if stamp is not None and record.status in TERMINAL:
                self._ended[run] = (stamp, record)
            records.append(record)
        return records


def _stamp(path: Path) -> tuple[int, int] | None:
    """What changes when a file is replaced."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size
