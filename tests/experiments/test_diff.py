"""Issue 6.4: what differs between two runs, aligned by tool and arguments."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from support import drive, make_session

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.calls import ToolCall
from tt_kernel.domain.canonical import canonical_json
from tt_kernel.domain.ids import CallId, InvocationId, ToolId
from tt_kernel.domain.runs import CallRecord
from tt_kernel.domain.views import DIFF_MIME, MAX_VIEW_BYTES, DiffView
from tt_kernel.experiments.alignment import align_calls
from tt_kernel.experiments.diff import diff
from tt_kernel.experiments.diff_view import diff_document, diff_view
from tt_kernel.widgets.differences import pieces_text, word_diff

SCRIPT = """
script: 1
conversations:
  - when: one
    turns:
      - say: I look.
        call: lookup
        with: {key: a}
      - calls:
          - {call: lookup, with: {key: b}}
          - {call: workspace_write_file, with: {path: output/a.md, content: "first line\\nsecond line\\n"}}
      - say: The answer is four.
  - when: two
    turns:
      - say: I look now.
        call: lookup
        with: {key: b}
      - calls:
          - {call: workspace_list_files}
          - {call: workspace_write_file, with: {path: output/a.md, content: "first line\\nother line\\n"}}
          - {call: workspace_write_file, with: {path: output/b.md, content: "new\\n"}}
      - say: The answer is five.
"""


def lookup(key: str) -> str:
    """Look a key up."""
    return f"value of {key}"


@pytest.fixture
def runs(tmp_path):
    session = make_session(tmp_path, SCRIPT)
    return [drive(session, prompt, functions=[lookup], tools=["lookup"])[0] for prompt in ("do one", "do two")]


def test_a_run_is_the_same_as_itself_and_as_what_is_loaded_from_disk(runs, tmp_path):
    assert runs[0].diff(runs[0]).is_same
    loaded = make_session(tmp_path).load(runs[0].id)
    assert runs[0].diff(loaded).is_same
    assert "The runs are the same." in repr(runs[0].diff(loaded))


def test_calls_are_aligned_by_tool_and_arguments_not_by_position(runs):
    found = [(c.state, c.call.call.name, c.before is not None, c.after is not None) for c in diff(*runs).calls]
    assert found == [
        ("removed", "lookup", True, False),  # key=a
        ("same", "lookup", True, True),  # key=b, turn 2 there and turn 1 here
        ("added", "workspace_list_files", False, True),
        ("changed", "workspace_write_file", True, True),
        ("added", "workspace_write_file", False, True),
    ]


def test_changed_arguments_name_both_values(runs):
    (changed,) = [c for c in diff(*runs).calls if c.state == "changed"]
    assert changed.arguments == {"content": ("first line\nsecond line\n", "first line\nother line\n")}


def test_turns_that_made_the_same_call_belong_together(runs):
    turns = [(t.state, t.before, t.after) for t in diff(*runs).turns]
    assert turns == [("removed", 1, None), ("changed", 2, 1), ("added", None, 2), ("changed", 3, 3)]


def test_texts_are_compared_by_words_and_files_by_lines(runs):
    found = diff(*runs)
    assert pieces_text(found.text) == "The answer is [-four-]{+five+}."
    assert pieces_text(found.prompt) == "do [-one-]{+two+}"
    files = {file.path: file for file in found.files}
    assert {path: file.state for path, file in files.items()} == {"output/a.md": "changed", "output/b.md": "added"}
    assert "-second line\n+other line" in files["output/a.md"].diff


def test_it_shows_itself_in_three_forms_without_anything_volatile(runs, tmp_path):
    found = diff(*runs)
    for shown in (repr(found), found._repr_html_(), found._repr_markdown_()):
        assert "other line" in shown
        assert str(tmp_path) not in shown
        assert "0x" not in shown
    assert "<del" in found._repr_html_()
    assert "<script" not in found._repr_html_()
    session = make_session(tmp_path)
    again = diff(*(session.load(run.id) for run in runs))
    assert again._repr_html_() == found._repr_html_()
    assert repr(again) == repr(found)


def test_front_ends_get_a_view_that_is_the_same_from_disk(runs, tmp_path):
    found = diff(*runs)._repr_mimebundle_()[DIFF_MIME]
    view = DiffView.model_validate(found)
    assert [pair.state for pair in view.pairs] == ["removed", "same", "added", "changed", "added"]
    same, changed = view.pairs[1], view.pairs[3]
    assert (same.before.content, same.after.content) == ("value of b", ""), "what is equal is sent once"
    assert changed.arguments[0].name == "content"
    assert "-second line\n+other line" in changed.arguments[0].diff
    assert [(file.path, file.state) for file in view.file_diffs] == [
        ("output/a.md", "changed"),
        ("output/b.md", "added"),
    ]
    assert "".join(piece.text for piece in view.answer if piece.kind != "old") == "The answer is five."
    assert ("calls", 3, 4) in [(number.name, number.before, number.after) for number in view.numbers]
    session = make_session(tmp_path)
    assert diff_document(diff(*(session.load(run.id) for run in runs))) == found
    assert str(tmp_path) not in canonical_json(found)


def test_the_view_of_a_large_comparison_is_bounded_and_keeps_what_differs(tmp_path):
    script = "script: 1\nconversations:\n" + "".join(
        f"  - when: {name}\n    turns:\n      - calls:\n"
        + "".join(f"          - {{call: tell, with: {{what: {n if n != odd else -n}}}}}\n" for n in range(300))
        + "      - Done.\n"
        for name, odd in (("one", -1), ("two", 250))
    )

    def tell(what: int) -> str:
        """Tell much."""
        return f"{what} " * 800

    session = make_session(tmp_path, script)
    one, two = (drive(session, prompt, functions=[tell], tools=["tell"])[0] for prompt in ("one", "two"))
    found = diff_document(diff(one, two))
    assert len(canonical_json(found).encode()) <= MAX_VIEW_BYTES
    view = DiffView.model_validate(found)
    assert "changed" in [pair.state for pair in view.pairs]
    assert len(view.pairs) + view.hidden_pairs == 300
    whole = diff_view(diff(one, two))
    assert whole.pairs[150].before.summary, "a call that the run's own view leaves out is drawn too"


def test_the_dataframe_has_a_row_a_call(runs):
    frame = diff(*runs).to_df()
    assert list(frame["state"]) == ["removed", "same", "added", "changed", "added"]
    assert frame.loc[1, "turn_before"] == 2
    assert frame.loc[1, "turn_after"] == 1


def test_images_are_compared_by_their_bytes_and_shown_side_by_side(tmp_path):
    colours = iter(["red", "blue"])

    def paint() -> Image.Image:
        """Paint."""
        return Image.new("RGB", (8, 8), next(colours))

    session = make_session(tmp_path, "script: 1\nturns:\n  - call: paint\n  - say: Done.\n")
    one, two = (drive(session, prompt, functions=[paint], tools=["paint"])[0] for prompt in ("a", "b"))
    (call,) = diff(one, two).calls
    assert call.state == "changed"
    assert call.images[0] != call.images[1]
    html = diff(one, two)._repr_html_()
    assert html.count("<img ") == 2
    assert html.count("data:image/png;base64,") == 2
    sizes = [Image.open(io.BytesIO(path.read_bytes())).size for run in (one, two) for path in run.images]
    assert sizes == [(8, 8), (8, 8)]


def test_text_of_models_is_data(tmp_path):
    hostile = "<img src=x onerror=alert(1)>\\n```\\n</pre><script>alert(2)</script>"
    script = f'script: 1\nconversations:\n  - when: a\n    turns: [{{say: "{hostile}"}}]\n  - turns: [{{say: plain}}]\n'
    session = make_session(tmp_path, script)
    found = diff(drive(session, "a")[0], drive(session, "b")[0])
    html = found._repr_html_()
    assert "<script" not in html
    assert "<img src=x" not in html


WORDS = st.lists(st.sampled_from(["a", "b", " ", "\n", "word", "é", "."]), max_size=40).map("".join)


@given(WORDS, WORDS)
def test_the_pieces_are_both_texts(old, new):
    pieces = word_diff(old, new)
    assert "".join(p.text for p in pieces if p.kind != "new") == old
    assert "".join(p.text for p in pieces if p.kind != "old") == new
    assert (old == new) == all(p.kind == "same" for p in pieces)


def record(tool: str, key: int) -> CallRecord:
    call = ToolCall(
        id=CallId("c"),
        tool_id=ToolId(f"builtin:{tool}"),
        name=tool,
        arguments=ToolArguments(value={"k": key}),
        invocation_id=InvocationId("i"),
        turn=1,
        index=0,
    )
    return CallRecord(call, None)


CALLS = st.lists(st.builds(record, st.sampled_from("xyz"), st.integers(0, 3)), max_size=12)


@given(CALLS, CALLS)
def test_every_call_is_in_the_alignment_once_and_in_order(one, other):
    pairs = align_calls(one, other)
    assert [i for i, _ in pairs if i is not None] == list(range(len(one)))
    assert [j for _, j in pairs if j is not None] == list(range(len(other)))
    assert all(one[i].call.tool_id == other[j].call.tool_id for i, j in pairs if i is not None and j is not None)


def test_long_runs_are_aligned_in_a_moment():
    one = [record("x", n) for n in range(1_600)]
    other = [record("x", n + 1) for n in range(1_600)]
    assert len(align_calls(one, other)) == 1_601
    different = [record("x", n + 10_000) for n in range(1_600)]
    assert all(i is not None and j is not None for i, j in align_calls(one, different))
