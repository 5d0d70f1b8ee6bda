"""What tools may touch beside the notebook: its folder, the folders that were granted, and processes of this machine."""

from collections.abc import Sequence
from pathlib import Path

from tt_kernel.session.bench import Bench
from tt_kernel.store.layout import AgentFolder, user_folder
from tt_kernel.store.preimages import PreImages
from tt_kernel.store.roots import RootGrants, project_root
from tt_kernel.store.workspace import FileLocks, Root, Workspace
from tt_kernel.toolkit.tool import Tool
from tt_kernel.tools.processes import PROCESS_TOOLS, ProcessDesk, ProcessTable, process_tools
from tt_kernel.tools.project import PROJECT_TOOLS, ProjectDesk, project_tools

BESIDE = (*PROJECT_TOOLS, *PROCESS_TOOLS)


class Beside:
    """One notebook's surroundings. Owns the processes that its agents start; close it on the agent loop."""

    def __init__(self, base_dir: Path, agent_folder: AgentFolder, notebook: Path | None) -> None:
        self.grants = RootGrants(user_folder(), base_dir)
        self._base_dir = base_dir
        self._agent_folder = agent_folder
        self._notebook = notebook
        self._table = ProcessTable()
        self._locks = FileLocks()

    def roots(self) -> Sequence[Root]:
        """The notebook's folder, and what is granted now; using an unusable grant tells why."""
        return [project_root(self._base_dir), *self.grants.roots()]

    def project(self, bench: Bench) -> ProjectDesk:
        sealed = (self._agent_folder.root, user_folder(), *([self._notebook] if self._notebook else []))
        return ProjectDesk(
            workspace=Workspace(self.roots(), self._locks),
            save_file=bench.results.save_file,
            call_name=bench.snapshot.call_name,
            checkpoints=PreImages(lambda: bench.folder.layout.checkpoints),
            accepts_images=bench.accepts_images,
            sealed=sealed,
        )

    def processes(self, bench: Bench) -> ProcessDesk:
        return ProcessDesk(
            table=self._table,
            roots=self.roots,
            clock=bench.clock,
            call_name=bench.snapshot.call_name,
            safety=bench.safety,
            synchronous=not bench.interactive,
            provider=bench.model.partition(":")[0],
            protected=lambda: [self._agent_folder.root],
        )

    def tools(self, project: ProjectDesk, processes: ProcessDesk) -> list[Tool]:
        return [*project_tools(project), *process_tools(processes)]

    async def aclose(self) -> None:
        await self._table.aclose()
