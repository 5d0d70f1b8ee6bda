"""The JavaScript of a widget as one module.

An anywidget gets its code as one text, in which relative imports lead nowhere. The files of `static/` are small modules that
import one another; here each becomes a function that runs once and gives what it exports, in the order in which they need one
another. Only the forms of import and export that the files use are understood, and anything else is an error.
"""

import re
from functools import cache
from pathlib import Path

STATIC = Path(__file__).parent / "static"

_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./([\w.]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?:(?:async )?function|const|class) (\w+)", re.MULTILINE)
_DEFAULT = re.compile(r"^export default ", re.MULTILINE)


@cache
def bundled(entry: str) -> str:
    """One module that exports what the file `entry` exports by default.

    Raises:
        ValueError: A file imports or exports in another way than described above.
    """
    parts: dict[str, str] = {}
    _add(entry, parts)
    last = _name(entry)
    return "\n".join([*parts.values(), f"export default {last}.default;\n"])


def _add(file: str, parts: dict[str, str]) -> None:
    if file in parts:
        return
    source = (STATIC / file).read_text(encoding="utf-8")
    for _, needed in _IMPORT.findall(source):
        _add(needed, parts)
    given = [*_EXPORT.findall(source), *(["default: $default"] if _DEFAULT.search(source) else [])]
    body = _IMPORT.sub(lambda found: f"const {found[1]} = {_name(found[2])};\n", source)
    body = _DEFAULT.sub("const $default = ", body)
    body = re.sub(r"^export ", "", body, flags=re.MULTILINE)
    if re.search(r"^import\b", body, re.MULTILINE):
        raise ValueError(f'{file} has an import that is not of the form `import {{ a, b }} from "./file.js";`.')
    parts[file] = f"const {_name(file)} = (() => {{\n{body}\nreturn {{ {', '.join(given)} }};\n}})();"


def _name(file: str) -> str:
    return "$" + re.sub(r"\W", "_", file)
