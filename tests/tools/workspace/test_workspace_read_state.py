"""spec tauritavern §5.9: what the state says is what was seen, whatever happened in between."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tt_kernel.domain.canonical import digest_bytes
from tt_kernel.domain.errors import ToolError
from tt_kernel.domain.profiles import Artifact
from tt_kernel.store.workspace import Root, Workspace
from tt_kernel.tools.workspace import Desk, ReadState, ReadStates
from tt_kernel.tools.workspace.patching import apply_patch
from tt_kernel.tools.workspace.read_state import Span, after_read
from tt_kernel.tools.workspace.reading import read_file
from tt_kernel.tools.workspace.writing import write_file


def test_it_is_serialisable():
    state = ReadState(sha256="0" * 64, full_read=False, observed=(Span(start=0, end=3),), patch_requires_full_read=True)
    assert ReadState.model_validate_json(state.model_dump_json()) == state
    assert set(state.model_dump()) == {"sha256", "fullRead", "observed", "patchRequiresFullRead"}
    states = ReadStates()
    states.put("output/x", state)
    assert ReadStates(states.dump()).get("output/x") == state
    assert states.paths == ["output/x"]


def test_it_cannot_contradict_itself():
    with pytest.raises(ValidationError):
        ReadState(sha256="0" * 64, full_read=True, patch_requires_full_read=True)
    with pytest.raises(ValidationError):
        ReadState(sha256="0" * 64, full_read=True, observed=(Span(start=0, end=1),))


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=8))
def test_reads_join(ranges):
    total = 30
    state, seen = None, set()
    for a, b in ranges:
        span = Span(start=min(a, b), end=max(a, b))
        seen |= set(range(span.start, span.end))
        state = after_read(state, "sha", span, total)
    if state is None:
        return
    assert state.full_read == (len(seen) == total)
    for start in range(total):
        for end in range(start + 1, total + 1):
            assert state.covers(start, end) == set(range(start, end)).issubset(seen)
    starts = [s.start for s in state.observed]
    assert starts == sorted(starts)
    assert all(a.end < b.start for a, b in zip(state.observed, state.observed[1:], strict=False)), (
        "joined where they touch"
    )


def test_a_read_of_other_content_forgets_the_old_one():
    full = after_read(None, "a", Span(start=0, end=5), 5)
    assert full.full_read
    assert after_read(full, "b", Span(start=0, end=2), 5) == ReadState(
        sha256="b", full_read=False, observed=(Span(start=0, end=2),)
    )
    assert after_read(full, "a", Span(start=0, end=1), 5) is full


ACTION = st.one_of(
    st.tuples(st.just("read"), st.integers(1, 6), st.integers(1, 3)),
    st.tuples(st.just("patch"), st.integers(0, 40), st.integers(1, 4), st.text("xy\n", max_size=3)),
    st.tuples(st.just("append"), st.text("pq\n", max_size=3)),
    st.tuples(st.just("shell"), st.text("uv\n", max_size=12)),
)


class Model:
    """The rule, told without spans: the content that the invocation last knew, and which characters of it were seen."""

    def __init__(self, folder: Path, start: str) -> None:
        self.file = folder / "f"
        self.file.write_bytes(start.encode())
        root = Root("output", folder, writable=True)
        self.desk = Desk(Workspace([root]), ReadStates(), Artifact(id="m", path="output/f"), str)
        self.content: str | None = None
        self.seen: list[bool] = []

    @property
    def text(self) -> str:
        return self.file.read_bytes().decode()

    def read(self, line: int, count: int) -> None:
        text = self.text
        lines = text.split("\n")
        begin = sum(len(part) + 1 for part in lines[: line - 1])
        end = min(begin + sum(len(part) + 1 for part in lines[line - 1 : line - 1 + count]), len(text))
        try:
            asyncio.run(read_file(self.desk, "output/f", line, count))
        except ToolError as error:
            assert error.code == "workspace.invalid_line_range"
            assert begin >= len(text)
            return
        if self.content != text:
            self.content, self.seen = text, [False] * len(text)
        self.seen[begin:end] = [True] * (end - begin)

    def patch(self, at: int, length: int, new: str) -> None:
        text = self.text
        old = text[at : at + length]
        try:
            apply_patch(self.desk, "output/f", old, new)
        except ToolError as error:
            assert self.text == text, error.code
            return
        at = text.index(old)
        assert text.count(old) == 1
        assert self.content == text
        assert all(self.seen[at : at + len(old)]), "a patch hits only what was seen"
        self.content = text[:at] + new + text[at + len(old) :]
        self.seen[at : at + len(old)] = [True] * len(new)

    def append(self, more: str) -> None:
        text = self.text
        write_file(self.desk, "output/f", more, "append")
        if self.content == text:
            self.content, self.seen = text + more, [*self.seen, *[True] * len(more)]

    def shell(self, content: str) -> None:
        self.file.write_bytes(content.encode())

    def check(self) -> None:
        state = self.desk.reads.get("output/f")
        assert (state is None) == (self.content is None)
        if state is not None and self.content is not None:
            assert state.sha256 == digest_bytes(self.content.encode())
            assert [state.covers(at, at + 1) for at in range(len(self.content))] == self.seen
            assert state.full_read == all(self.seen)


@settings(max_examples=60)
@given(start=st.text("abcdefgh\n", max_size=24), actions=st.lists(ACTION, max_size=10))
def test_the_state_is_what_was_seen_whatever_happens(start, actions):
    """Own writes refresh it; the shell neither creates nor updates it; appending teaches nothing about the rest."""
    with TemporaryDirectory() as folder:
        model = Model(Path(folder), start)
        for name, *arguments in actions:
            getattr(model, name)(*arguments)
            model.check()
