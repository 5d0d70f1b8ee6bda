r"""JavaScript's regular expressions, as lorebooks are written for them, with a limit on time and memory.

The engine is the one that has these semantics, QuickJS; a translation to Python's would be wrong in the corners (`\b` and `\w`
are ASCII, `i` is not; `$`; sticky and unicode flags). It runs only the expressions of `/…/flags` keys: no script of a book.
"""

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

SECONDS = 0.2
"""For one test."""
MEMORY = 64 * 1024 * 1024
TOTAL_SECONDS = 2.0
"""For all tests of expressions that took too long; after that, no further expression is tried."""

_KEY = re.compile(r"/(.+)/([dgimsuvy]*)", re.DOTALL)
_TEST = "(function (source, flags, text) { return new RegExp(source, flags).test(text) })"


def regex_key(key: str) -> tuple[str, str] | None:
    """Source and flags of a key written as `/source/flags`; None for plain text, also when a `/` inside is not escaped."""
    found = _KEY.fullmatch(key)
    if found is None or re.search(r"(?<!\\)(?:\\\\)*/", found[1]):
        return None
    return found[1], found[2]


@dataclass
class JsRegexes:
    """Tests expressions; one per scan, used on one thread.

    Attributes:
        slow: Expressions that were stopped; they match nothing from then on.
    """

    slow: dict[str, None] = field(default_factory=dict)
    _invalid: set[tuple[str, str]] = field(default_factory=set)

    def test(self, source: str, flags: str, text: str) -> bool | None:
        """Whether the expression occurs in the text; None when it is no expression at all. The text has no lone surrogates."""
        shown = f"/{source}/{flags}"
        if (source, flags) in self._invalid:
            return None
        if shown in self.slow or len(self.slow) * SECONDS >= TOTAL_SECONDS:
            return False
        try:
            return bool(self._run(source.encode("utf-8", "replace").decode("utf-8"), flags, text))
        except Exception as error:  # noqa: BLE001  the engine has an exception type of its own
            if "SyntaxError" in str(error):
                self._invalid.add((source, flags))
                return None
            self.slow[shown] = None
            self.__dict__.pop("_run", None)  # an engine that ran out of memory is of no more use
            return False

    @cached_property
    def _run(self) -> Any:
        import quickjs  # noqa: PLC0415  for books with such keys only

        context = quickjs.Context()
        context.set_time_limit(SECONDS)
        context.set_memory_limit(MEMORY)
        return context.eval(_TEST)
