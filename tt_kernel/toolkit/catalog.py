"""All known tools, and which of them a list of ids and globs means."""

import difflib
import fnmatch
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tt_kernel.domain.errors import NotFound, UsageProblem
from tt_kernel.domain.ids import ToolId
from tt_kernel.domain.specs import ToolSpec
from tt_kernel.toolkit.naming import plain_name

_GLOB = frozenset("*?[")


@dataclass(frozen=True)
class Selection:
    """`specs` in the order of the patterns (a glob gives its tools by id); `absent`: patterns that meant no known tool."""

    specs: tuple[ToolSpec, ...]
    absent: tuple[str, ...]


class Catalog:
    """The tools that exist in a session, sorted by id.

    Raises:
        UsageProblem: `tool.catalog_duplicate_id` when two tools have one id (spec tauritavern §2.1).
    """

    def __init__(self, tools: Iterable[ToolSpec]) -> None:
        by_id: dict[ToolId, ToolSpec] = {}
        for spec in tools:
            other = by_id.setdefault(spec.id, spec)
            if other is not spec:
                raise UsageProblem("tool.catalog_duplicate_id", _duplicate(other, spec))
        self._by_id = {tool: by_id[tool] for tool in sorted(by_id)}

    def __iter__(self) -> Iterator[ToolSpec]:
        return iter(self._by_id.values())

    def __len__(self) -> int:
        return len(self._by_id)

    def __contains__(self, tool: object) -> bool:
        return tool in self._by_id

    def get(self, tool: str) -> ToolSpec | None:
        return self._by_id.get(ToolId(tool))

    def select(self, allow: Sequence[str], deny: Sequence[str] = (), extra: Sequence[str] = ()) -> Selection:
        """The tools that `allow` and then `extra` mean, without those that `deny` means: deny wins.

        Args:
            allow: Ids or globs of a profile. What is not there is reported as absent.
            deny: Ids or globs.
            extra: Ids, globs or names that a person typed (option -t): an unknown or denied one is an error.

        Raises:
            NotFound: `tool.not_found`: an `extra` means no known tool.
            UsageProblem: `tool.denied`: everything that an `extra` means is denied.
        """
        found: dict[ToolId, ToolSpec] = {}
        absent: list[str] = []
        for pattern in allow:
            specs = self.matching(pattern)
            if not specs:
                absent.append(pattern)
            found.update({s.id: s for s in specs if s.id not in found and not denying(s, deny)})
        for pattern in extra:
            found.update({s.id: s for s in self._wanted(pattern, deny) if s.id not in found})
        return Selection(tuple(found.values()), tuple(absent))

    def matching(self, pattern: str) -> list[ToolSpec]:
        """The tools that an id, a glob of ids, a native name or a call name means, by id."""
        return [spec for spec in self if means(pattern, spec.id)]

    def nearest(self, name: str) -> list[str]:
        """Up to three ids that look like `name`."""
        spellings = {text: spec.id for spec in self for text in (spec.id, spec.id.native, plain_name(spec.id))}
        near = difflib.get_close_matches(name, spellings, n=3)
        return list(dict.fromkeys(spellings[text] for text in near))

    def _wanted(self, pattern: str, deny: Sequence[str]) -> list[ToolSpec]:
        specs = self.matching(pattern)
        if not specs:
            near = self.nearest(pattern)
            hint = f" Nearest: {', '.join(near)}." if near else ""
            raise NotFound("tool.not_found", f"No tool is called {pattern!r}.{hint} %agent tools lists them.")
        kept = [spec for spec in specs if not denying(spec, deny)]
        if not kept:
            by = denying(specs[0], deny)
            raise UsageProblem("tool.denied", f"Tool {specs[0].id!r} is denied by {by!r} in the profile's tools.deny.")
        return kept


def means(pattern: str, tool: ToolId) -> bool:
    """True when `pattern` is the tool's id, native name or call name, or a glob of one of them."""
    spellings = (str(tool), tool.native, plain_name(tool)) if ":" not in pattern else (str(tool),)
    if pattern in spellings:
        return True
    return is_glob(pattern) and any(fnmatch.fnmatchcase(text, pattern) for text in spellings)


def is_glob(pattern: str) -> bool:
    return not _GLOB.isdisjoint(pattern)


def denying(spec: ToolSpec, deny: Sequence[str]) -> str | None:
    """The entry of `deny` that means the tool."""
    return next((pattern for pattern in deny if means(pattern, spec.id)), None)


def _duplicate(one: ToolSpec, other: ToolSpec) -> str:
    return (
        f"Two tools have the id {one.id!r}: {_told(one)} and {_told(other)}. "
        "Give one of them another name, for example with tool(name=...)."
    )


def _told(spec: ToolSpec) -> str:
    first = spec.description.strip().splitlines()[0] if spec.description.strip() else "no description"
    return f"{first!r} (group {spec.group}, version {spec.version[:12]})"
