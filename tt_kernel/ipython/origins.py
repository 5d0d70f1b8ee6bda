"""What an output was made from, so that a front end can tell when the cell or its profile was changed since."""

import re
import zlib
from typing import TYPE_CHECKING, Any

from tt_kernel.domain.canonical import digest
from tt_kernel.domain.errors import TTError
from tt_kernel.domain.views import OriginView
from tt_kernel.ipython.cell import parent_of

if TYPE_CHECKING:
    from tt_kernel.session.core import Session

_MODE = re.compile(r"[ \t]+--(?:live|replay)(?=\s|$)")


def origin(shell: Any, session: "Session", profile: str) -> OriginView | None:
    """Of a run that is started now; None where no front end sent the code."""
    code = (parent_of(shell).get("content") or {}).get("code")
    if not isinstance(code, str):
        return None
    return OriginView(source_crc=source_crc(code), profile=profile, profile_digest=profile_digest(session, profile))


def source_crc(code: str) -> int:
    """The same number as `sourceCrc` of labextension/src/stale.ts: asking for a mode once does not change the prompt."""
    first, *rest = code.split("\n")
    return zlib.crc32("\n".join([_MODE.sub("", first).rstrip(), *rest]).encode("utf-8", "replace"))


def profile_digest(session: "Session", profile: str) -> str | None:
    """Of a profile as it is stored; None where it is not, or cannot be read."""
    try:
        return digest(session.profiles.load(profile).model_dump(mode="json"))
    except TTError:
        return None
