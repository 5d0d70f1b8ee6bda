"""What .gitignore files leave out: spec liveagent §5.7. They count outside of a repository too.

Rules begin at the top of the repository that the folder is in, or at the folder itself when it is in none: a .gitignore in some
folder above that has nothing to do with it (a home folder kept in git) does not count. `.git` and agent folders are left out
always. A folder that is named explicitly is shown whatever the rules above it say.

ripgrep knows the rules below the folder that it searches; `outer_rules` gives it those above. Listings, which show folders too,
go by `IgnoreRules`.
"""

import os
import stat
from collections.abc import Callable, Iterator
from functools import cached_property

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


class IgnoreRules:
    """Asked about one entry after another, from the top down: below an ignored folder nobody asks.

    Args:
        base: Real path of the folder that is listed.
    """

    def __init__(self, base: str) -> None:
        self._base = base
        self._specs: dict[tuple[str, ...], Callable[[str], bool | None] | None] = {}

    @cached_property
    def _top(self) -> str:
        return rules_top(self._base)

    @cached_property
    def _prefix(self) -> tuple[str, ...]:
        return _between(self._top, self._base)

    def ignores(self, parts: tuple[str, ...], *, folder: bool) -> bool:
        """Whether an entry (below the base) is left out."""
        if folder and is_hidden(parts[-1]):
            return True
        whole = (*self._prefix, *parts)
        for count in range(len(whole) - 1, -1, -1):
            decide = self._spec(whole[:count])
            verdict = decide("/".join(whole[count:]) + ("/" if folder else "")) if decide else None
            if verdict is not None:
                return verdict
        return False

    def _spec(self, folder: tuple[str, ...]) -> Callable[[str], bool | None] | None:
        if folder not in self._specs:
            rules = [*_rules(os.path.join(self._top, *folder, ".gitignore"))]  # noqa: PTH118
            if not folder:
                rules = [*_rules(os.path.join(self._top, ".git", "info", "exclude")), *rules]  # noqa: PTH118
            self._specs[folder] = _decider(rules)
        return self._specs[folder]


def _decider(rules: list[str]) -> Callable[[str], bool | None] | None:
    if not rules:
        return None
    import pathspec  # noqa: PLC0415  most folders that are listed have no rules

    try:
        spec = pathspec.GitIgnoreSpec.from_lines(rules)
    except ValueError:
        spec = pathspec.GitIgnoreSpec.from_lines(filter(_is_valid, rules))
    return lambda path: spec.check_file(path).include


def _is_valid(rule: str) -> bool:
    import pathspec  # noqa: PLC0415

    try:
        pathspec.GitIgnoreSpec.from_lines([rule])
    except ValueError:
        return False
    return True
