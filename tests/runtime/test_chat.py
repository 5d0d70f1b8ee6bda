"""DESIGN §5.2: the notebook as a chat. spec tauritavern §17.1, §17.3, §21 (agent.input_history_conflict)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_kernel.domain.chat import FrozenChat, anchor_of
from tt_kernel.domain.errors import StorageFault
from tt_kernel.domain.views import RUN_MIME
from tt_kernel.runtime.cells import MAX_OUTPUT, Answer, Cell, CellOutputs, prompt_of, read_cell, tidy
from tt_kernel.runtime.chat import chat_messages, initial_history, thaw_chat, with_prompt


def code(source, *outputs, **more):
    return {"cell_type": "code", "source": source, "outputs": list(outputs), "metadata": {}, **more}


def markdown(source):
    return {"cell_type": "markdown", "source": source, "metadata": {}}


def stdout(text, name="stdout"):
    return {"output_type": "stream", "name": name, "text": text}


def display(kind="display_data", **data):
    return {"output_type": kind, "data": {k.replace("_", "/"): v for k, v in data.items()}, "metadata": {}}


def run(text, profile="assistant"):
    return {
        "output_type": "display_data",
        "data": {RUN_MIME: {"profile": profile, "text": text}, "text/plain": "Run ...", "text/html": "<p>"},
        "metadata": {},
    }


def messages(*cells):
    read = [cell for raw in cells if (cell := read_cell(raw)) is not None]
    return [(m.role, m.name, m.text) for m in chat_messages(read)]


def test_sources_are_the_users_messages_in_order():
    assert messages(markdown("# Title"), code("x = 1"), {"cell_type": "raw", "source": "raw"}, code(["a\n", "b"])) == [
        ("user", "markdown", "# Title"),
        ("user", "code", "x = 1"),
        ("user", "code", "a\nb"),
    ]
    assert [m.index for m in chat_messages([Cell("code", "a"), Cell("code", "b")])] == [0, 1]


def test_the_text_outputs_of_a_cell_belong_to_its_message():
    cell = code(
        "go()",
        stdout("one\n"),
        display(text_plain="<Figure size 640x480 with 1 Axes>", image_png="aaaa"),
        stdout(["two\n", "three\n"]),
        stdout("a warning", name="stderr"),
        display(text_markdown="**bold**"),
        display(kind="execute_result", text_plain="42", text_html="<b>42</b>"),
        {"output_type": "error", "ename": "ValueError", "evalue": "bad", "traceback": ["..."]},
    )
    text = "go()\n\n[output]\none\ntwo\nthree\n**bold**\n42\nValueError: bad"
    assert messages(cell) == [("user", "code", text)]


def test_an_agents_cell_is_a_prompt_and_its_answers_are_the_assistants():
    cell = code("%%agent writer -m x:y\nTidy the notes.\n\n  Please.\n", run("Done.", "writer"), stdout("seen\n"))
    assert messages(cell) == [
        ("user", "prompt", "Tidy the notes.\n\n  Please.\n\n[output]\nseen"),
        ("assistant", "writer", "Done."),
    ]


def test_a_code_cell_may_have_several_answers():
    cell = code("for t in texts:\n    tt.run(t)", run("A"), run(""), run("B", "engineer"))
    assert messages(cell)[1:] == [("assistant", "assistant", "A"), ("assistant", "engineer", "B")]


def test_cells_without_a_word_are_no_messages():
    assert messages(code(""), markdown(" \n"), code("%%agent\n"), code("", stdout("x"))) == [
        ("user", "code", "\n\n[output]\nx"),
    ]


@pytest.mark.parametrize(
    ("source", "prompt"),
    [
        ("%%agent\nHi", "Hi"),
        ("\n# NBVAL_SKIP\n%%agent writer\n# NBVAL_CHECK_OUTPUT\nHi\n", "Hi"),
        ("  %%agent\nHi", "Hi"),
        ("%%agent", ""),
        ("%%agents\nx", None),
        ("%agent hello", None),
        ("%%time\n%%agent\nx", None),
        ("x = 1", None),
        ("", None),
        ("# only\n# comments", None),
    ],
)
def test_what_an_agents_cell_is(source, prompt):
    assert prompt_of(source) == prompt


def test_what_is_volatile_in_outputs_is_left_out():
    assert tidy("\x1b[31mred\x1b[0m\n") == "red"
    assert tidy("10%\r20%\r100%\ndone\r\n") == "100%\ndone"
    assert tidy("<Thing object at 0x7f6e0c21a010>") == "<Thing object at 0x...>"


def test_a_long_output_is_cut_and_the_rest_is_counted():
    text = CellOutputs(printed="x" * (MAX_OUTPUT + 7)).text
    assert text.endswith("\n[output cut: 7 more characters]")
    assert len(text) < MAX_OUTPUT + 50


def test_the_kind_of_an_output_orders_it_not_the_time_it_came():
    one = code("x", stdout("p\n"), display(text_plain="d"), stdout("q\n"))
    two = code("x", display(text_plain="d"), stdout("p\nq\n"))
    assert messages(one) == messages(two)


def test_the_digest_is_of_what_is_shown_not_of_where_it_is_from():
    cells = [Cell("code", "a"), Cell("markdown", "b")]
    saved, history = (FrozenChat(messages=chat_messages(cells), origin=o) for o in ("saved", "history"))
    assert saved.digest == history.digest
    assert FrozenChat(messages=chat_messages(cells[:1])).digest != saved.digest


def test_a_message_is_found_again_by_what_was_written():
    with_output = chat_messages([Cell("code", "a = 1\n", CellOutputs(printed="x"))])[0]
    without = chat_messages([Cell("markdown", "above"), Cell("code", "a = 1")])[1]
    assert with_output.anchor == without.anchor == anchor_of("a = 1")


# The prompt and the history


CHAT = FrozenChat(
    messages=chat_messages(
        [Cell("markdown", "m0"), Cell("code", "%%agent\nm1", CellOutputs(answers=(Answer("p", "m2"),)))]
    ),
    calling=anchor_of("@{x}"),
)


def test_the_prompt_is_the_last_message_of_a_scan():
    scanned = with_prompt(CHAT, "value of x")
    assert [m.text for m in scanned] == ["m0", "m1", "m2", "value of x"]
    assert (scanned[3].index, scanned[3].role, scanned[3].anchor) == (3, "user", anchor_of("@{x}"))
    assert with_prompt(None, "p")[0].anchor == anchor_of("p")


@pytest.mark.parametrize(
    ("window", "texts"), [(-1, ["m0", "m1", "m2"]), (0, []), (2, ["m1", "m2"]), (99, ["m0", "m1", "m2"])]
)
def test_initial_chat_history_messages(window, texts):
    assert [m.text for m in initial_history(CHAT, window)] == texts
    assert initial_history(None, window) == []


def test_the_history_is_then_cut_to_a_token_budget_newest_first():
    def count(text):
        return 10

    assert [m.text for m in initial_history(CHAT, -1, 25, count)] == ["m1", "m2"]
    assert initial_history(CHAT, -1, 9, count) == []
    assert [m.role for m in initial_history(CHAT, -1)] == ["user", "user", "assistant"]
    assert initial_history(CHAT, 3)[0].source == "chat"


# The stored chat


def test_a_stored_chat_must_be_what_the_run_was_started_with():
    document = CHAT.model_dump(mode="json")
    assert thaw_chat(document, CHAT.digest) == CHAT
    changed = FrozenChat(messages=CHAT.messages[:2]).model_dump(mode="json")
    for wrong in (changed, {}, None, {"messages": [1]}):
        with pytest.raises(StorageFault) as caught:
            thaw_chat(wrong, CHAT.digest)
        assert caught.value.code == "agent.input_history_conflict"


_VALUES = st.recursive(
    st.none() | st.text(max_size=10) | st.integers(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
)
_OUTPUT = st.fixed_dictionaries(
    {"output_type": st.sampled_from(["stream", "error", "display_data", "execute_result", "x"])},
    optional={"name": st.just("stdout"), "text": _VALUES, "ename": _VALUES, "evalue": _VALUES, "data": st.none() | st.dictionaries(
        st.sampled_from(["text/plain", "text/markdown", RUN_MIME]), _VALUES)},
)  # fmt: skip


@given(st.lists(st.fixed_dictionaries({}, optional={"cell_type": st.sampled_from(["code", "markdown", "raw"]),
                "source": _VALUES, "id": _VALUES, "outputs": st.none() | st.lists(_OUTPUT, max_size=3)}), max_size=4))  # fmt: skip
def test_any_cells_are_read(cells):
    read = [cell for raw in cells if (cell := read_cell(raw)) is not None]
    chat = FrozenChat(messages=chat_messages(read))
    assert thaw_chat(chat.model_dump(mode="json"), chat.digest) == chat
