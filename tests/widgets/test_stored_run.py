"""What front ends make of a run's folder without a kernel, against what the kernel makes of it."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tt_kernel.session.core import Session

ROOT = Path(__file__).parent.parent.parent
SCRIPT = """
import { readFileSync } from "node:fs";
import { journalEvents, cutResults, storedRun } from %s;
const read = (path) => readFileSync(path, "utf8");
const views = JSON.parse(process.argv[2]).map(([root, folder]) => {
  const events = journalEvents(read(`${root}/events.jsonl`));
  const results = new Map(cutResults(events).map((path) => [path, JSON.parse(read(`${root}/${path}`))]));
  return storedRun(JSON.parse(read(`${root}/run.json`)), events, folder, results);
});
console.log(JSON.stringify(views));
"""


@pytest.mark.skipif(not shutil.which("node"), reason="needs node")
def test_every_stored_run_of_the_notebooks_is_seen_as_the_kernel_sees_it(tmp_path):
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks")
    kernels, places = [], []
    for notebook in sorted((tmp_path / "notebooks").glob("*.ipynb")):
        session = Session(notebook)
        for record in session.index.list():
            run = session.load_stored(record.id)
            kernels.append(run.view.model_dump(mode="json"))
            places.append((str(run.folder), run.view.folder))
    module = (ROOT / "tt_kernel" / "widgets" / "static" / "stored_run.js").as_uri()
    script = tmp_path / "views.mjs"
    script.write_text(SCRIPT % json.dumps(module), encoding="utf-8")
    command = ["node", str(script), json.dumps(places)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert len(kernels) > 20
    for ours, theirs in zip(json.loads(ran.stdout), kernels, strict=True):
        for call in theirs["calls"]:
            for image in call["images"]:
                assert image["data"], "the kernel draws it, and a front end reads the file"
                image |= {"data": None, "dataMimeType": None}
        assert ours == theirs
