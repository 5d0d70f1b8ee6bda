"""The version of a notebook function: what a recorded result is bound to (DESIGN §7)."""

import functools
import inspect
import textwrap
import types
from typing import Any

from tt_kernel.domain.canonical import Json, digest
from tt_kernel.domain.ids import Digest
from tt_kernel.toolkit.signature import plain_function

_SIMPLE = (str, int, float, bool, type(None))


def source_digest(function: Any) -> Digest:
    """Digest of the source text; of the byte code where there is no source; with what partials have fixed.

    Values that a closure or the notebook's namespace holds are not part of it.
    """
    plain = plain_function(function)
    return digest([_source(plain) or _code(plain), _fixed(function)])


def _source(plain: Any) -> str | None:
    try:
        text = textwrap.dedent(inspect.getsource(plain))
    except (OSError, TypeError, SyntaxError, IndexError):
        return None
    # Code made by exec can share its file name with other text; a lambda's line may hold several.
    return text if f"def {getattr(plain, '__name__', '')}" in text else None


def _code(plain: Any) -> Json:
    code = getattr(plain, "__code__", None)
    if code is None:
        return f"{getattr(plain, '__module__', '')}.{getattr(plain, '__qualname__', type(plain).__qualname__)}"
    return [
        _fingerprint(code),
        _plain(getattr(plain, "__defaults__", None)),
        _plain(getattr(plain, "__kwdefaults__", None)),
    ]


def _fingerprint(code: types.CodeType) -> Json:
    """Without file name and line numbers, which change when the cell above does."""
    return [
        code.co_name,
        code.co_code.hex(),
        list(code.co_names),
        list(code.co_varnames),
        [_plain(c) for c in code.co_consts],
    ]


def _plain(value: Any) -> Json:
    if isinstance(value, types.CodeType):
        return _fingerprint(value)
    if isinstance(value, _SIMPLE):
        return repr(value)
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if isinstance(value, (frozenset, set)):
        return sorted(repr(item) for item in value)
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return type(value).__qualname__


def _fixed(function: Any) -> Json:
    fixed: list[Json] = []
    while isinstance(function, functools.partial):
        fixed.append([_plain(function.args), _plain(function.keywords)])
        function = function.func
    return fixed
