"""Where everything is: the agent folder, a run's folder, and the user's own documents (DESIGN §4)."""

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tt_kernel.domain.errors import ContractBroken
from tt_kernel.domain.profiles import WORKSPACE_ROOTS
from tt_kernel.store.atomic import create_bytes, storage_fault

LOCK_NAME = ".lock"
"""A lock file stands in the folder that it protects, always under this name."""

FOLDERS_VARIABLE = "TT_AGENT_FOLDERS"
"""A folder that agent folders are in, if they are not beside their notebooks."""

GITIGNORE = b"""\
# Written by tt_kernel. Everything else in this folder is meant to be kept.
/.cache/
.lock
"""


@dataclass(frozen=True)
class RunLayout:
    """The paths of one run's folder (spec tauritavern §7.3). Nothing is created by asking for a path."""

    root: Path

    @cached_property
    def run_json(self) -> Path:
        return self.root / "run.json"

    @cached_property
    def events(self) -> Path:
        return self.root / "events.jsonl"

    @cached_property
    def input(self) -> Path:
        return self.root / "input"

    @cached_property
    def tool_args(self) -> Path:
        return self.root / "tool-args"

    @cached_property
    def tool_results(self) -> Path:
        return self.root / "tool-results"

    @cached_property
    def tasks(self) -> Path:
        return self.root / "tasks.json"

    @cached_property
    def session(self) -> Path:
        """The files of a session as this run has them."""
        return self.root / "session"

    @cached_property
    def checkpoints(self) -> Path:
        return self.root / "checkpoints"

    def workspace_root(self, name: str) -> Path:
        """The folder of a root that tools can see: `output scratch plan summaries persist tool-results`."""
        if name not in WORKSPACE_ROOTS and name != "tool-results":
            raise ContractBroken(message=f"{name!r} is not a workspace root of a run.")
        return self.root / name


@dataclass(frozen=True)
class AgentFolder:
    """`<notebook stem>.agent/` beside a notebook (or a script). The properties name its parts."""

    root: Path

    @classmethod
    def for_notebook(cls, path: Path) -> "AgentFolder":
        """The one beside it; where TT_AGENT_FOLDERS names a folder, the one of that name in there (`tt verify` works on a copy)."""
        beside = path.with_name(f"{path.stem}.agent")
        elsewhere = os.environ.get(FOLDERS_VARIABLE)
        return cls(Path(elsewhere, beside.name) if elsewhere else beside)

    @cached_property
    def runs(self) -> Path:
        return self.root / "runs"

    @cached_property
    def recordings(self) -> Path:
        return self.root / "recordings"

    @cached_property
    def profiles(self) -> Path:
        return self.root / "profiles"

    @cached_property
    def persist(self) -> Path:
        return self.root / "persist"

    @cached_property
    def sessions(self) -> Path:
        return self.root / "sessions"

    @cached_property
    def cache(self) -> Path:
        return self.root / ".cache"

    @cached_property
    def worldinfo(self) -> Path:
        return self.root / "worldinfo"

    @cached_property
    def skills(self) -> Path:
        return self.root / "skills"

    @cached_property
    def memory(self) -> Path:
        return self.root / "memory"

    @cached_property
    def permissions_file(self) -> Path:
        return self.root / "permissions.json"

    @cached_property
    def mcp_file(self) -> Path:
        return self.root / "mcp.json"

    def run(self, run_id: str) -> RunLayout:
        return RunLayout(self.runs / run_id)

    def create(self) -> None:
        """Make the folder if it is missing. `.gitignore` is written then and never again: it is the user's afterwards.

        Raises:
            StorageFault: naming the folder and the reason.
        """
        if self.root.is_dir():
            return
        try:
            self.root.parent.mkdir(parents=True, exist_ok=True)
            self.root.mkdir()
        except FileExistsError as error:
            if not self.root.is_dir():
                raise storage_fault("create", self.root, error) from error
            return
        except OSError as error:
            raise storage_fault("create", self.root, error) from error
        create_bytes(self.root / ".gitignore", GITIGNORE)


def user_folder() -> Path:
    """The user's own documents, in the shapes of an agent folder: `<jupyter config dir>/tt_kernel`."""
    from jupyter_core.paths import jupyter_config_dir  # noqa: PLC0415  18 ms that most runs do not need

    return Path(jupyter_config_dir()) / "tt_kernel"
