"""What a guarded kernel tells of its runs: one line each, in a file of the process that watches it."""

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tt_kernel.domain.canonical import canonical_json, encode_json
from tt_kernel.domain.errors import ReplayMiss, TTError
from tt_kernel.domain.frozen import Frozen
from tt_kernel.domain.runs import Run
from tt_kernel.domain.views import RunView
from tt_kernel.session.here import here
from tt_kernel.session.prepared import PreparedRun


class Testimony(Frozen):
    """One run, as the kernel saw it.

    `id` is empty where it could not begin. `kind` is that of a miss: what differs, `drift`, `call`, or `nothing`.
    """

    id: str = ""
    prompt: str = ""
    status: str = "failed"
    code: str | None = None
    kind: str = ""
    message: str = ""
    replayed: bool = False
    view: RunView | None = None


def start_witness(report: str) -> None:
    """Append a Testimony to the file `report` for every run of this process."""
    here().witness = partial(_testify, Path(report))


def _testify(report: Path, prepared: PreparedRun, run: Run | None, problem: TTError | None) -> None:
    said = Testimony(
        id=run.id if run else "",
        prompt=prepared.request.prompt,
        status=run.status if run else "failed",
        code=problem.code if problem else None,
        kind=problem.kind if isinstance(problem, ReplayMiss) else "",
        message=problem.message if problem else "",
        replayed=run.replayed if run else False,
        view=run.view if run else None,
    )
    with report.open("ab") as file:
        file.write(encode_json(canonical_json(said.model_dump(mode="json"))) + b"\n")


@dataclass
class Testimonies:
    """Reads a report as it grows."""

    report: Path
    read: int = 0

    def news(self) -> list[Testimony]:
        """What was said since the last call."""
        data = self.report.read_bytes() if self.report.exists() else b""
        lines = data[self.read :].splitlines()
        self.read = len(data)
        return [Testimony.model_validate(json.loads(line)) for line in lines]
