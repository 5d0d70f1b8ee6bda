"""Reading the notebook through whole runs: spec tauritavern §5.1, §5.2, §17.1; DESIGN §5.2, §7."""

import json

import pytest

from tt_kernel.domain.chat import FrozenChat
from tt_kernel.domain.errors import ReplayMiss
from tt_kernel.runtime.cells import Answer, Cell, CellOutputs
from tt_kernel.runtime.chat import chat_messages

from .support import drive, make_session, replay, snapshot_of, types

SCRIPT = """
script: 1
conversations:
  - when: quay
    turns:
      - calls:
          - {call: chat_search, with: {query: lantern}}
          - {call: chat_read_messages, with: {messages: [{index: 1}]}}
          - {call: chat_read_messages, with: {messages: [{index: 99}]}}
      - say: Found.
  - when: window
    turns:
      - say: Seen.
"""
TOOLS = ("chat.search", "chat.read_messages")
CELLS = (
    Cell("markdown", "# The quay at 夜"),
    Cell(
        "code", "%%agent\nWho lights the lantern?", CellOutputs(answers=(Answer("writer", "Ilse lights the lantern."),))
    ),
    Cell("code", "print(3)", CellOutputs(printed="3\n")),
)


def chat(*cells):
    return lambda: FrozenChat(messages=chat_messages(cells))


def session_with(tmp_path, *cells, script=SCRIPT):
    session = make_session(tmp_path, script)
    session.lookout.chat = chat(*cells)
    return session


def test_tools_see_the_cells_above_as_messages_from_0(tmp_path):
    run, _ = drive(session_with(tmp_path, *CELLS), "at the quay", tools=TOOLS)
    found, read, missing = [record.result for record in run.tool_calls]
    assert [hit["index"] for hit in found.structured["hits"]] == [2, 1, 3]  # the last shares letters only
    assert read.content.endswith("Who lights the lantern?")
    assert missing.error_code == "chat.message_not_found"
    assert "messages 0 to 3" in missing.content


def test_without_a_notebook_there_is_a_code(tmp_path):
    run, _ = drive(make_session(tmp_path, SCRIPT), "at the quay", tools=TOOLS)
    assert [record.result.error_code for record in run.tool_calls] == ["chat.not_found"] * 3


def test_the_key_holds_the_chat_only_where_the_run_sees_it(tmp_path):
    session = session_with(tmp_path, *CELLS)

    def keys(**options):
        session.lookout.chat = chat(*CELLS)
        one = session.prepare("at the quay", **options)
        session.lookout.chat = chat(Cell("code", "other"))
        return one.key == session.prepare("at the quay", **options).key, one.request.chat_digest is None

    assert keys() == (True, True)
    assert keys(tools=TOOLS) == (False, False)
    assert keys(settings={"context.initialChatHistoryMessages": -1}) == (False, False)
    session.lookout.chat = lambda: pytest.fail("nothing of this run looks at the chat")
    session.prepare("at the quay")


def test_the_window_puts_the_latest_messages_before_the_prompt(tmp_path):
    session = session_with(tmp_path, *CELLS)
    run, _ = drive(session, "the window", settings={"context.initialChatHistoryMessages": 2})
    assert [(m.role, m.text) for m in run.messages[1:]] == [
        ("assistant", "Ilse lights the lantern."),
        ("user", "print(3)\n\n[output]\n3"),
        ("user", "the window"),
        ("assistant", "Seen."),
    ]
    assert [m.source for m in run.messages[1:3]] == ["chat", "chat"]
    whole, _ = drive(session, "the window", settings={"context.initialChatHistoryMessages": -1})
    assert [m.text for m in whole.messages[1:3]] == ["# The quay at 夜", "Who lights the lantern?"]


def test_a_run_is_replayed_to_the_byte_while_the_cells_above_stay(tmp_path):
    live, _ = drive(session_with(tmp_path, *CELLS), "at the quay", tools=TOOLS)
    before = snapshot_of(tmp_path)
    again, _ = drive(session_with(tmp_path, *CELLS, script=""), "at the quay", tools=TOOLS, mode="replay")
    assert (again.replayed, again.id, again.messages, again.view) == (True, live.id, live.messages, live.view)
    assert snapshot_of(tmp_path) == before


def test_a_result_that_changed_with_the_cells_above_is_drift(tmp_path):
    """DESIGN §7: in `auto` the recorded result counts and the difference is told, in `replay` it is an error."""
    live, _ = drive(session_with(tmp_path, *CELLS), "at the quay", tools=TOOLS)
    more = (Cell("markdown", "# Another lantern"), *CELLS)
    again, events = drive(session_with(tmp_path, *more, script=""), "at the quay", tools=TOOLS)
    assert (again.replayed, again.messages) == (True, live.messages)
    assert types(events).count("tool_call_drifted") == 3
    strict, _ = drive(session_with(tmp_path, *more, script=""), "at the quay", tools=TOOLS, mode="replay")
    assert strict.problem.code == "replay.miss"
    anew, _ = drive(session_with(tmp_path, *more), "at the quay", tools=TOOLS, mode="live")
    assert anew.id != live.id
    assert "message 3 assistant" in anew.tool_calls[0].result.content


def test_a_run_is_replayed_by_its_id_after_the_cells_changed(tmp_path):
    session = session_with(tmp_path, *CELLS)
    live, _ = drive(session, "at the quay", tools=TOOLS)
    session.lookout.chat = chat(Cell("code", "all is new"))
    again = replay(session, live.id)
    assert (again.replayed, again.id, again.messages) == (True, live.id, live.messages)


def test_a_replayed_window_needs_the_same_cells(tmp_path):
    settings = {"context.initialChatHistoryMessages": -1}
    drive(session_with(tmp_path, *CELLS), "the window", settings=settings)
    with pytest.raises(ReplayMiss):
        drive(session_with(tmp_path, Cell("code", "new")), "the window", settings=settings, mode="replay")


def test_the_chat_is_kept_with_its_origin_and_without_secrets(tmp_path):
    secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
    session = session_with(tmp_path, *CELLS, Cell("code", f"key = '{secret}'  # lantern"))
    run, _ = drive(session, "at the quay", tools=TOOLS)
    kept = json.loads((run.folder / "input" / "chat.json").read_text())
    assert kept["origin"] == "saved"
    assert len(kept["messages"]) == 5
    assert secret not in str(kept) + str(run.messages)
    assert replay(session, run.id).messages == run.messages


def test_a_continued_conversation_stands_in_place_of_the_window(tmp_path):
    script = "script: 1\nturns:\n  - say: One.\n  - say: Two."
    session = session_with(tmp_path, *CELLS, script=script)
    settings = {"context.initialChatHistoryMessages": 1}
    first, _ = drive(session, "go", settings=settings)
    second, _ = drive(session, "on", settings=settings, continue_from=first)
    assert [m.text for m in second.messages[1:]] == ["print(3)\n\n[output]\n3", "go", "One.", "on", "Two."]
