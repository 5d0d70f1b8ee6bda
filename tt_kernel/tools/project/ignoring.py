"""What .gitignore files leave out: spec liveagent §5.7. They count outside of a repository too.

Rules begin at the top of the repository that the folder is in, or at the folder itself when it is in none: a .gitignore in some
folder above that has nothing to do with it (a home folder kept in git) does not count. `.git` and agent folders are left out
always. A folder that is named explicitly is shown whatever the rules above it say.

ripgrep knows the rules below the folder that it searches; `outer_rules` gives it those above. Listings, which show folders too,
go by `IgnoreRules`.
"""

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tt_kernel.domain.errors import ToolError
from tt_kernel.tools.project.globs import Segment, fits, segment
from tt_kernel.tools.project.sealed import is_hidden

MAX_BYTES = 1 << 20
"""Of one .gitignore; a longer one counts up to there."""


def rules_top(folder: str) -> str:
    """The top of the repository that holds a folder (both real paths), or the folder."""
    current = folder
    while True:
        if os.path.lexists(os.path.join(current, ".git")):  # noqa: PTH118  the disk path is text here
            return current
        parent = os.path.dirname(current)  # noqa: PTH120
        if parent == current:
            return folder
        current = parent


def outer_rules(top: str, base: str) -> str:
    """The rules of the folders from `top` down to, but not including, `base`, as one .gitignore of `top`."""
    parts = _between(top, base)
    lines: list[str] = []
    for count in range(len(parts)):
        folder = "/".join(parts[:count])
        if not folder:
            lines += _rules(os.path.join(top, ".git", "info", "exclude"))  # noqa: PTH118
        lines += [_moved(rule, folder) for rule in _rules(os.path.join(top, *parts[:count], ".gitignore"))]  # noqa: PTH118
    return "\n".join(lines)


def _between(top: str, base: str) -> tuple[str, ...]:
    relative = os.path.relpath(base, top)
    return () if relative == os.curdir else tuple(relative.split(os.sep))  # noqa: PTH206


def _moved(rule: str, folder: str) -> str:
    """A rule of `folder/.gitignore` as a rule of the top's."""
    if not folder:
        return rule
    negated = "!" if rule.startswith("!") else ""
    body = rule.removeprefix("!")
    anchored = "/" in body.rstrip("/ ")
    prefix = "".join(f"\\{c}" if c in "\\*?[]!# " else c for c in folder)
    return f"{negated}/{prefix}/{'' if anchored else '**/'}{body.removeprefix('/')}"


def _rules(path: str) -> Iterator[str]:
    """The lines of a .gitignore that say something."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116
            return
        with open(path, encoding="utf-8-sig", errors="replace") as file:  # noqa: PTH123
            lines = file.read(MAX_BYTES).split("\n")
    except OSError:
        return
    yield from (line.removesuffix("\r") for line in lines if line.strip() and not line.startswith("#"))


@dataclass(frozen=True)
class _Rule:
    """One line of a .gitignore. `named` rules are for names at any depth, the others for paths from its folder on."""

    excludes: bool
    folders_only: bool
    named: bool
    segments: tuple[Segment, ...]

    def covers(self, parts: tuple[str, ...], *, folder: bool) -> bool:
        if self.folders_only and not folder:
            return False
        return fits(self.segments, parts[-1:] if self.named else parts)


def _rule(line: str) -> _Rule | None:
    """None for a line that means nothing (git skips such lines too)."""
    body = line.removeprefix("!")
    while body.endswith(" ") and not body.endswith("\\ "):
        body = body[:-1]
    plain = body.rstrip("/") if body.endswith("/") else body
    parts = [part for part in plain.split("/") if part]
    if not parts:
        return None
    try:
        segments: list[Segment] = [None if part == "**" else segment(part, line) for part in parts]
        if segments[-1] is None:
            segments.append(segment("*", line))
    except ToolError:
        return None
    named = "/" not in plain
    return _Rule(not line.startswith("!"), body.endswith("/"), named and parts != ["**"], tuple(segments))


class _Rules:
    """The rules of one .gitignore, asked often: most entries are seen at a glance to be touched by none of them."""

    def __init__(self, rules: list[_Rule]) -> None:
        self._last_first = rules[::-1]
        names = [rule.segments[0].pattern for rule in rules if rule.named and rule.segments[0]]
        self._names = re.compile("|".join(f"(?:{name})" for name in names)) if names else None
        paths = [rule.segments[0] for rule in rules if not rule.named]
        self._anywhere = any(first is None for first in paths)
        starts = [first.pattern for first in paths if first is not None]
        self._starts = re.compile("|".join(f"(?:{start})" for start in starts)) if starts else None

    def verdict(self, parts: tuple[str, ...], *, folder: bool) -> bool | None:
        """What the last rule that covers an entry says; None when none does."""
        if not self._last_first or not self._may_touch(parts):
            return None
        return next((rule.excludes for rule in self._last_first if rule.covers(parts, folder=folder)), None)

    def _may_touch(self, parts: tuple[str, ...]) -> bool:
        if self._anywhere or (self._names is not None and self._names.fullmatch(parts[-1])):
            return True
        return self._starts is not None and self._starts.fullmatch(parts[0]) is not None


class IgnoreRules:
    """Asked about one entry after another, from the top down: below an ignored folder nobody asks.

    Args:
        base: Real path of the folder that is listed.
    """

    def __init__(self, base: str) -> None:
        self._base = base
        self._known: dict[tuple[str, ...], _Rules] = {}

    @cached_property
    def _top(self) -> str:
        return rules_top(self._base)

    @cached_property
    def _prefix(self) -> tuple[str, ...]:
        return _between(self._top, self._base)

    def ignores(self, parts: tuple[str, ...], *, folder: bool) -> bool:
        """Whether an entry (below the base) is left out: the last rule of the nearest .gitignore that has one says so."""
        if folder and is_hidden(parts[-1]):
            return True
        whole = (*self._prefix, *parts)
        for count in range(len(whole) - 1, -1, -1):
            verdict = self._of(whole[:count]).verdict(whole[count:], folder=folder)
            if verdict is not None:
                return verdict
        return False

    def _of(self, folder: tuple[str, ...]) -> _Rules:
        if folder not in self._known:
            lines = [*_rules(os.path.join(self._top, *folder, ".gitignore"))]  # noqa: PTH118
            if not folder:
                lines = [*_rules(os.path.join(self._top, ".git", "info", "exclude")), *lines]  # noqa: PTH118
            self._known[folder] = _Rules([rule for line in lines if (rule := _rule(line)) is not None])
        return self._known[folder]
