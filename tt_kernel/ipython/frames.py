"""Who is calling: the one question that IPython's hooks leave open."""

import sys
from types import CodeType


def called_from(*codes: CodeType) -> bool:
    """Whether a function with one of these code objects is being executed further up on this thread."""
    frame = sys._getframe(1)  # noqa: SLF001  the only way
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_code in codes:
            return True
    return False
