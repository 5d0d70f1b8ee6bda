"""The JavaScript of a widget as one module."""

import re

import pytest
import quickjs

from tt_kernel.widgets import esm


def test_the_editor_s_code_is_one_module_that_loads():
    code = esm.bundled("profile_editor.js")
    assert not re.search(r"^\s*import\b", code, re.MULTILINE)
    assert re.findall(r"^export .*", code, re.MULTILINE) == ["export default $profile_editor_js.default;"]
    script = code.replace("export default", "globalThis.found =")
    assert quickjs.Context().eval(f"{script}\ntypeof found.render") == "function"


@pytest.fixture
def static(tmp_path, monkeypatch):
    monkeypatch.setattr(esm, "STATIC", tmp_path)
    esm.bundled.cache_clear()
    yield tmp_path
    esm.bundled.cache_clear()


def test_modules_keep_their_names_to_themselves(static):
    (static / "a.js").write_text("const secret = 1;\nexport function one() { return secret; }\n")
    (static / "b.js").write_text(
        'import { one } from "./a.js";\nconst secret = 2;\nexport const two = secret + one();\n'
    )
    (static / "c.js").write_text(
        'import { one } from "./a.js";\nimport { two } from "./b.js";\nexport default { sum: one() + two };\n'
    )
    script = esm.bundled("c.js").replace("export default", "globalThis.found =")
    assert quickjs.Context().eval(f"{script}\nfound.sum") == 4


def test_another_form_of_import_is_an_error(static):
    (static / "a.js").write_text('import * as all from "./b.js";\n')
    with pytest.raises(ValueError, match=r"a\.js has an import"):
        esm.bundled("a.js")
