"""A session on a temporary notebook with a scripted model; runs are driven on the agent loop, as in a notebook."""

import textwrap
from pathlib import Path

from tt_kernel.runtime.loop_thread import submit
from tt_kernel.session.core import Session

MADE: list[Session] = []
"""The sessions of the running test, to be closed after it."""


def make_session(folder: Path, script: str = "", *, namespace=None, **options) -> Session:
    folder.mkdir(parents=True, exist_ok=True)
    if script:
        (folder / "script.yaml").write_text(textwrap.dedent(script), encoding="utf-8")
    session = Session(folder / "nb.ipynb", namespace=namespace if namespace is not None else {}, **options)
    session.default_model = "scripted:script.yaml"
    MADE.append(session)
    return session


def drive(session: Session, prompt: str, **options):
    """Run to the end; returns (run, events)."""
    stream_options = {k: options.pop(k) for k in ("cell", "execution") if k in options}
    stream = session.stream(session.prepare(prompt, **options), **stream_options)
    return stream.run if (events := _collect(session, stream)) is None else (stream.run, events)


def replay(session: Session, run_id: str):
    """A stored run again, strictly from its record."""
    stream = session.stream(session.prepare_replay(run_id))
    _collect(session, stream)
    return stream.run


def _collect(session, stream):
    async def collect():
        return [event async for event in stream]

    future, cancel = submit(collect())
    return session.foreground.wait(future, cancel)


def snapshot_of(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(p.relative_to(folder)): (p.read_bytes(), p.stat().st_mtime_ns)
        for p in sorted(folder.rglob("*"))
        if p.is_file()
    }


def types(events) -> list[str]:
    return [event.type for event in events]
