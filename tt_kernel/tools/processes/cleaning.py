r"""From the bytes of a pipe to text for a model (spec liveagent §6.2).

- Terminal escapes go, `\r\n` becomes `\n`: at once, before bytes are counted, so that positions are those of what is read.
- What a read cut in two (a character, an escape, a line end) waits for the rest, so that a chunk holds whole characters.
- As text: UTF-8, broken bytes replaced; of a line that was overwritten (a progress bar), what a terminal would show.
"""

import re

from tt_kernel.tools.processes.ring import is_continuation

_MAX_ESCAPE = 4096
"""A longer escape sequence is none: it is let through."""

_ESCAPE = re.compile(
    rb"""\x1b(?:
      \[[0-?]*[ -/]*[@-~]                    # colours, cursor movement
    | [\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)    # titles, links, device control
    | [ -/]+[0-~]                            # character sets
    | [0-OQ-WYZ\\`-~]                        # one letter
    )""",
    re.VERBOSE,
)
_CUT_ESCAPE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)\Z")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")

_LEADS = ((0b1111_0000, 4), (0b1110_0000, 3), (0b1100_0000, 2))


class OutputFilter:
    """One stream's bytes, cleaned piece by piece."""

    def __init__(self) -> None:
        self._waiting = b""

    def feed(self, data: bytes) -> bytes:
        """What of the data so far is complete, cleaned."""
        data = self._waiting + data
        keep = len(data) - _unfinished(data)
        self._waiting = data[keep:]
        return _cleaned(data[:keep])

    def flush(self) -> bytes:
        """The rest: the stream has ended."""
        rest, self._waiting = self._waiting, b""
        return _cleaned(rest)


def as_text(data: bytes) -> str:
    """Cleaned bytes as the model sees them."""
    text = data.decode("utf-8", "replace")
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def _cleaned(data: bytes) -> bytes:
    if b"\x1b" in data:
        data = _ESCAPE.sub(b"", data)
    return data.replace(b"\r\n", b"\n") if b"\r" in data else data


def _unfinished(data: bytes) -> int:
    """How many bytes at the end may be the start of something."""
    escape = data.rfind(b"\x1b", -_MAX_ESCAPE)
    if escape >= 0:
        if escape == len(data) - 1:  # perhaps the end of one that began earlier
            earlier = data.rfind(b"\x1b", -_MAX_ESCAPE, escape)
            escape = earlier if earlier >= 0 else escape
        cut = _CUT_ESCAPE.search(data, escape)
        if cut is not None:
            return len(data) - cut.start()
    if data.endswith(b"\r"):
        return 1
    return _half_character(data)


def _half_character(data: bytes) -> int:
    """Length of a UTF-8 character at the end that is not complete; 0 when there is none."""
    for back in range(1, min(4, len(data) + 1)):
        byte = data[-back]
        if is_continuation(byte):
            continue
        length = next((length for bits, length in _LEADS if byte & bits == bits), 1)
        return back if length > back else 0
    return 0
