"""PreImages of a run: copies of its files and where its conversation was (spec tauritavern §7.7, §10.4).

`checkpoints/cp_000001/` holds `checkpoint.json` and the workspace files below `files/`. `terminal_seq` is the last event of the
journal when it was taken; the conversation itself is in the journal.
"""

import os
import shutil
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError, model_validator

from tt_kernel.domain.canonical import Json
from tt_kernel.domain.errors import NotFound, StorageFault
from tt_kernel.domain.frozen import Frozen
from tt_kernel.store.atomic import read_json, storage_fault, write_json
from tt_kernel.store.layout import RunLayout

CHECKPOINT = "checkpoint.json"
ROOTS = ("output", "scratch", "plan", "summaries", "persist")
RETIRED = frozenset({"roundCount", "callCount", "callsPerTool", "maxRounds", "maxCalls", "additionalRounds"})
"""Counters of earlier schemas: read and dropped (spec tauritavern §10.4)."""

Reason = Literal["commit", "end"]


class Progress(Frozen):
    """`read_states`: path -> what the invocation knows of the file. `drift_attempts` is reset on resume."""

    turn: int
    step: Literal["model", "tools", "exited"]
    read_states: dict[str, Json] = Field(default_factory=dict)
    drift_attempts: int = 0
    blocked_reason: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _without_counters(cls, data: Json) -> Json:
        return _dropped(data)


class CheckpointState(Frozen):
    foreground: bool
    commits: int = 0
    published: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _without_counters(cls, data: Json) -> Json:
        return _dropped(data)


class Checkpoint(Frozen):
    schema_version: Literal[2] = 2
    id: str
    run: str
    terminal_seq: int
    reason: Reason
    state: CheckpointState
    progress: Progress


def _dropped(data: Json) -> Json:
    return {k: v for k, v in data.items() if k not in RETIRED} if isinstance(data, dict) else data


class RunCheckpoints:
    """The checkpoints of one run's folder."""

    def __init__(self, layout: RunLayout) -> None:
        self._layout = layout

    def ids(self) -> list[str]:
        """In the order in which they were taken; unfinished ones are left out."""
        return sorted(path.parent.name for path in self._layout.checkpoints.glob(f"cp_*/{CHECKPOINT}"))

    def take(
        self, *, run: str, terminal_seq: int, reason: Reason, state: CheckpointState, progress: Progress
    ) -> Checkpoint:
        """Copy the workspace and describe it; the description is written last.

        Raises:
            StorageFault: There is no new checkpoint.
        """
        there = self._there()
        first = self._layout.checkpoints.name not in there
        name = f"cp_{1 if first else len(self.ids()) + 1:06d}"
        folder = self._layout.checkpoints / name
        checkpoint = Checkpoint(
            id=name, run=run, terminal_seq=terminal_seq, reason=reason, state=state, progress=progress
        )
        try:
            if not first:
                shutil.rmtree(folder, ignore_errors=True)  # what a crash left of the same number
            for root in there.intersection(ROOTS):
                source = self._layout.workspace_root(root)
                if source.is_dir() and any(source.iterdir()):
                    shutil.copytree(source, folder / "files" / root)
            os.makedirs(folder, exist_ok=True)  # noqa: PTH103  looks before it leaps: two calls instead of three
        except OSError as error:
            raise storage_fault("write the checkpoint", folder, error) from error
        write_json(folder / CHECKPOINT, checkpoint)
        return checkpoint

    def _there(self) -> frozenset[str]:
        """What is in the run's folder, in one look: each run of a sweep takes a checkpoint, mostly of nothing."""
        try:
            return frozenset(path.name for path in self._layout.root.iterdir())
        except OSError as error:
            raise storage_fault("write a checkpoint in", self._layout.root, error) from error

    def load(self, name: str) -> Checkpoint:
        """Raises NotFound: there is none of this name (naming those there are), or it cannot be read."""
        path = self._layout.checkpoints / name / CHECKPOINT
        if name not in self.ids():
            known = ", ".join(self.ids()) or "none"
            raise NotFound("agent.checkpoint_not_found", f"There is no checkpoint {name!r}; there are: {known}.")
        try:
            return Checkpoint.model_validate(read_json(path))
        except (StorageFault, ValidationError) as error:
            why = str(error).splitlines()[0]
            raise NotFound("agent.checkpoint_mismatch", f"Checkpoint {name} cannot be read: {why}") from error

    def latest(self) -> Checkpoint | None:
        ids = self.ids()
        return self.load(ids[-1]) if ids else None

    def restore(self, name: str) -> None:
        """Make the workspace what it was at a checkpoint.

        Raises:
            NotFound: There is no such checkpoint.
            StorageFault: The workspace is partly restored; the checkpoint is untouched, so it can be tried again.
        """
        self.load(name)
        files = self._layout.checkpoints / name / "files"
        for root in ROOTS:
            _mirror(files / root, self._layout.workspace_root(root))


def _mirror(source: Path, target: Path) -> None:
    try:
        if target.exists():
            shutil.rmtree(target)
        if source.is_dir():
            shutil.copytree(source, target)
    except OSError as error:
        raise storage_fault("restore", target, error) from error
