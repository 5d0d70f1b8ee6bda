"""Commands that draw lots: `shuf`, `mktemp`, `uuidgen`, from the run's seed."""

import random
import string
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tt_kernel.tools.shell.child.call import Call
from tt_kernel.tools.shell.child.files import Files
from tt_kernel.tools.shell.child.options import Options, Usage, complain

MAX_RANGE = 1_000_000
"""Most numbers that `shuf -i` shuffles."""


async def uuidgen(context: Any, call: Call) -> int:
    if context.argv not in ([], ["-r"], ["--random"]):
        return await complain(context, f"only random ids are available, not {' '.join(context.argv)}")
    number = call.random("uuidgen").getrandbits(128)
    await context.stdout.write(f"{uuid.UUID(int=number, version=4)}\n".encode())
    return 0


async def shuf(context: Any, call: Call) -> int:
    files = Files(context.fs, context.cwd)
    try:
        ask = _Shuffle.read(context.argv)
        items = await ask.items(files, context.stdin)
        end = b"\0" if ask.zero else b"\n"
        data = b"".join(item + end for item in _drawn(items, ask, call.random("shuf", *context.argv)))
        if ask.output is not None:
            files.write(ask.output, data)
            return 0
    except Usage as error:
        return await complain(context, str(error))
    except OSError as error:
        return await complain(context, f"{error.filename}: {error.strerror}")
    await context.stdout.write(data)
    return 0


@dataclass
class _Shuffle:
    count: int | None
    repeat: bool
    zero: bool
    output: str | None
    echo: bool
    bounds: tuple[int, int] | None
    words: list[str]

    @classmethod
    def read(cls, argv: list[str]) -> "_Shuffle":
        options = Options.read(
            argv,
            flags={"-e": "--echo", "-r": "--repeat", "-z": "--zero-terminated"},
            values={"-n": "--head-count", "-i": "--input-range", "-o": "--output"},
        )
        count = options.value("--head-count")
        if count is not None and not count.isdigit():
            raise Usage(f"invalid line count: {count}")
        bounds = _bounds(options.value("--input-range"))
        echo = options.has("--echo")
        if bounds and options.words:
            raise Usage(f"extra operand {options.words[0]}")
        if not echo and len(options.words) > 1:
            raise Usage(f"extra operand {options.words[1]}")
        return cls(
            None if count is None else int(count),
            options.has("--repeat"),
            options.has("--zero-terminated"),
            options.value("--output"),
            echo,
            bounds,
            options.words,
        )

    async def items(self, files: Files, stdin: Any) -> Sequence[bytes] | range:
        if self.bounds is not None:
            low, high = self.bounds
            return range(low, high + 1)
        if self.echo:
            return [word.encode("utf-8", "replace") for word in self.words]
        if self.words and self.words[0] != "-":
            data = files.read(self.words[0])
        else:
            data = b"".join([chunk async for chunk in stdin])
        return _split(data, b"\0" if self.zero else b"\n")


def _bounds(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    low, dash, high = text.partition("-")
    if not dash or not low.isdigit() or not high.isdigit() or int(low) > int(high) + 1:
        raise Usage(f"invalid input range: {text}")
    if int(high) - int(low) >= MAX_RANGE:
        raise Usage(f"input range {text} has more than {MAX_RANGE} numbers")
    return int(low), int(high)


def _split(data: bytes, end: bytes) -> list[bytes]:
    items = data.split(end)
    return items[:-1] if items[-1] == b"" else items


def _drawn(items: Sequence[bytes] | range, ask: _Shuffle, chance: random.Random) -> list[bytes]:
    if ask.repeat:
        # Without a count the original never ends; here it ends where a reader would have stopped.
        count = MAX_RANGE if ask.count is None else min(ask.count, MAX_RANGE)
        drawn = chance.choices(items, k=count) if items else []
    else:
        drawn = chance.sample(items, len(items) if ask.count is None else min(ask.count, len(items)))
    return [item if isinstance(item, bytes) else str(item).encode() for item in drawn]


async def mktemp(context: Any, call: Call) -> int:
    try:
        options = Options.read(
            context.argv,
            flags={"-d": "--directory", "-u": "--dry-run", "-q": "--quiet", "-t": "--t"},
            values={"-p": "--tmpdir", "": "--suffix"},
        )
        path = _temporary(context, call, options)
        _make(context, path, options)
    except Usage as error:
        return await complain(context, str(error))
    except OSError as error:
        return await complain(context, f"failed to create {path}: {error.strerror}")
    await context.stdout.write(f"{path}\n".encode())
    return 0


def _temporary(context: Any, call: Call, options: Options) -> str:
    template = options.words[0] if options.words else "tmp.XXXXXXXXXX"
    suffix = options.value("--suffix") or ""
    stem = template.rstrip("X")
    marks = len(template) - len(stem)
    if not suffix and marks < 3 and "XXX" in template:  # noqa: PLR2004  `logXXX.txt` has an implied suffix
        stem, _, suffix = template.rpartition("XXX")
        marks = 3 + len(stem) - len(stem.rstrip("X"))
        stem = stem.rstrip("X")
    if marks < 3:  # noqa: PLR2004  as the original asks
        raise Usage(f"too few X's in template {template}")
    folder = options.value("--tmpdir")
    if folder is None and (options.has("--t") or not options.words):
        folder = context.env.get("TMPDIR") or "/tmp"  # noqa: S108  in the interpreter
    chance = call.random("mktemp", *context.argv)
    letters = string.ascii_letters + string.digits
    while True:
        name = stem + "".join(chance.choice(letters) for _ in range(marks)) + suffix
        path = f"{folder.rstrip('/')}/{name}" if folder is not None else name
        if not Files(context.fs, context.cwd).exists(path):
            return path


def _make(context: Any, path: str, options: Options) -> None:
    if options.has("--dry-run"):
        return
    files = Files(context.fs, context.cwd)
    if options.has("--directory"):
        files.make_folder(path, parents=False)
        files.chmod(path, 0o700)
    else:
        files.write(path, b"")
        files.chmod(path, 0o600)
