"""YAML with line numbers, in which text stays text: only null, true, false and JSON's numbers are special."""

import re
from typing import Any

import yaml

from tt_kernel.domain.canonical import Json

MAX_NODES = 200_000


class Mapping(dict[str, Any]):
    """A mapping that knows the line it begins on, and the line of each key."""

    line: int = 0

    def __init__(self) -> None:
        super().__init__()
        self.lines: dict[str, int] = {}


class LineProblem(Exception):
    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  pyyaml's way to be configured


_TAG = "tag:yaml.org,2002:"
_Loader.add_implicit_resolver(_TAG + "null", re.compile(r"^(?:null|~|)$"), ["n", "~", ""])
_Loader.add_implicit_resolver(_TAG + "bool", re.compile(r"^(?:true|false)$"), list("tf"))
_Loader.add_implicit_resolver(_TAG + "int", re.compile(r"^-?(?:0|[1-9][0-9]*)$"), list("-0123456789"))
_Loader.add_implicit_resolver(
    _TAG + "float",
    re.compile(r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)$"),
    list("-0123456789"),
)


def parse(text: str) -> Json:
    """The document's value; mappings are `Mapping`.

    Raises:
        LineProblem: It is not YAML, has a key twice or a key that is no text, repeats itself without end, or is too large.
    """
    try:
        node = yaml.compose(text, Loader=_Loader)
        return None if node is None else _Builder().value(node)
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        raise LineProblem(mark.line + 1 if mark else 1, problem.problem or "is not YAML") from None
    except yaml.YAMLError as problem:
        raise LineProblem(1, " ".join(str(problem).split())) from None
    except RecursionError:
        raise LineProblem(1, "is nested too deep") from None


class _Builder:
    """Values of nodes. Aliases share nodes, so a small text can be an endless or an enormous value."""

    def __init__(self) -> None:
        self._made = 0
        self._open: set[int] = set()

    def value(self, node: yaml.Node) -> Json:
        line = node.start_mark.line + 1
        self._made += 1
        if self._made > MAX_NODES:
            raise LineProblem(line, f"the script is too large: more than {MAX_NODES} values")
        if id(node) in self._open:
            raise LineProblem(line, "this value repeats itself without end")
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node)
            if isinstance(node, yaml.SequenceNode):
                return [self.value(child) for child in node.value]
            return _scalar(node)
        finally:
            self._open.discard(id(node))

    def _mapping(self, node: yaml.MappingNode) -> Mapping:
        mapping = Mapping()
        mapping.line = node.start_mark.line + 1
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise LineProblem(line, "a key must be text")
            key = str(key_node.value)
            if key in mapping:
                raise LineProblem(line, f"key {key!r} is there twice")
            mapping[key] = self.value(value_node)
            mapping.lines[key] = line
        return mapping


def _scalar(node: yaml.Node) -> Json:
    kind = node.tag.removeprefix(_TAG)
    text = str(node.value)
    if kind == "null":
        return None
    if kind == "bool":
        return text == "true"
    if kind == "int":
        return int(text)
    if kind == "float":
        return float(text)
    if kind == "str":
        return text
    raise LineProblem(node.start_mark.line + 1, f"tag {node.tag} is not known here")
