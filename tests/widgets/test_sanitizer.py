"""The styles against the sanitizer that JupyterLab shows untrusted notebooks through: its own expressions, taken from it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tt_kernel.widgets import styles

LAB = Path(sys.prefix) / "share/jupyter/lab/static"

SCRIPT = """
%s
const allowed = %s['*'];
const bad = [];
for (const declaration of JSON.parse(process.argv[1])) {
  const colon = declaration.indexOf(':'), name = declaration.slice(0, colon), value = declaration.slice(colon + 1);
  if (!(allowed[name] || []).some(expression => expression.test(value))) bad.push(declaration);
}
console.log(JSON.stringify(bad));
"""


@pytest.mark.skipif(not shutil.which("node") or not LAB.is_dir(), reason="needs node and JupyterLab")
def test_every_style_passes_jupyterlabs_sanitizer(tmp_path):
    core = next(LAB.glob("jlab_core.*.js")).read_text(encoding="utf-8", errors="replace")
    table = re.search(r'allowedStyles:(\{"\*":\{.*?\}\})', core)[1]
    name = re.search(r"\[(\w+)\.BACKFACE_VISIBILITY\]", table)[1]
    start = core.index(f"class {name}{{static reg(")
    end = core.index(f"{name}.PLACE_SELF={name}.reg({name}.AP.place_self)", start)
    expressions = core[start:end].rstrip(",") + f",{name}.PLACE_SELF={name}.reg({name}.AP.place_self);"
    script = tmp_path / "check.cjs"
    script.write_text(SCRIPT % (expressions, table), encoding="utf-8")
    texts = [value for key, value in vars(styles).items() if key.isupper() and ":" in value]
    import json

    declarations = sorted({part for text in texts for part in text.split(";")})
    assert len(declarations) > 40
    command = ["node", "-e", script.read_text(encoding="utf-8"), json.dumps(declarations)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
