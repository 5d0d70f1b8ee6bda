"""A process that makes runs of one key as fast as it can. Arguments: agent folder, name of this process, number of runs.

Starts when the file `go` appears beside the agent folder. Prints the ids.
"""

import sys
import time
from pathlib import Path

from tt_kernel.domain.events import RunCreated, RunEnded
from tt_kernel.domain.ids import Digest, RunId
from tt_kernel.domain.profiles import Profile
from tt_kernel.domain.runs import RunRecord
from tt_kernel.store.journal import Journal
from tt_kernel.store.layout import AgentFolder
from tt_kernel.store.runs import RunFolder
from tt_kernel.store.secrets import Scrubber

KEY = "3fa92c17" + "0" * 56
root, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
scrub = Scrubber()


def one(number: int) -> RunId:
    record = RunRecord(
        id=RunId(KEY[:8]),
        key=Digest(KEY),
        slot=1,
        status="running",
        profile=Profile(id="assistant", display_name="Assistant"),
        model=name,
        prompt=str(number),
        mode="live",
        seed=7,
        started_at="2026-11-30T19:03:00.000Z",
    )
    with RunFolder.stage(scrub) as folder, Journal(None, None, scrub) as journal:
        folder.layout.workspace_root("output").mkdir()
        (folder.layout.workspace_root("output") / "whose").write_text(f"{name} {number}")
        journal.append(RunCreated(key=KEY, model=name, profile_id="assistant", prompt=str(number)))
        folder.save(record)
        run_id = folder.materialise(AgentFolder(root), KEY)
        journal.attach(folder.layout.events, run_id)
        journal.append(RunEnded(type="run_completed", text=f"{name} {number}"))
        folder.save(record.model_copy(update={"status": "completed", "text": f"{name} {number}"}))
    return run_id


print("ready", flush=True)
while not (root.parent / "go").exists():
    time.sleep(0.001)
print(*[one(number) for number in range(count)])
