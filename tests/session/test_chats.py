"""spec tauritavern §10.7: sessions survive kernels, replay turn by turn, have their own files and tools, and are compacted."""

import pytest

from tt_kernel.domain.errors import UsageProblem
from tt_kernel.domain.sessions import SessionCompaction, SessionRecord, estimated_tokens, history_messages, turns_of
from tt_kernel.runtime.loop_thread import submit

from .support import make_session, snapshot_of, types

SCRIPT = """
script: 1
conversations:
  - when: remember
    turns:
      - call: workspace_write_file
        with: {path: work/notes.md, content: "cat: Mia"}
      - say: I wrote it down.
      - asked: what
        call: workspace_read_file
        with: {path: work/notes.md}
      - expect: Mia
        say: Mia.
      - asked: bye
        say: Bye.
  - when: hello
    turns:
      - say: Hi.
      - asked: hello
        say: Hi again.
"""


def say(session, prompt, name="tutor", cell=None, **options):
    stream = session.stream(session.prepare_chat(name, prompt, cell=cell, **options), cell=cell, execution=cell)

    async def collect():
        return [event async for event in stream]

    future, cancel = submit(collect())
    events = session.foreground.wait(future, cancel)
    return stream.run, events


def conversation(session):
    return [say(session, prompt)[0] for prompt in ("remember the cat", "what is her name", "bye")]


def test_a_conversation_goes_on_with_its_files(tmp_path):
    session = make_session(tmp_path, SCRIPT)
    runs = conversation(session)
    assert [r.text for r in runs] == ["I wrote it down.", "Mia.", "Bye."]
    turns = turns_of(session.chats.shelf.entries("tutor"))
    assert [t.run for t in turns] == [r.id for r in runs]
    assert turns[1].before == turns[0].after == runs[0].id
    assert all(r.in_session == "tutor" for r in runs)


def test_its_tools_and_folders_are_a_sessions(tmp_path):
    """spec tauritavern §2.4(2), §23(4): no chat, no commit, no finish; roots work and tmp."""
    session = make_session(tmp_path, SCRIPT)
    run, events = say(session, "hello", tools=["builtin:workspace.*"])
    started = next(e for e in events if e.type == "agent_invocation_started")
    assert "workspace_write_file" in started.tools
    assert not {"workspace_commit", "workspace_finish", "chat_search"} & set(started.tools)
    assert "work/, tmp/" in run.messages[0].text
    assert "output/" not in run.messages[0].text


def test_run_all_in_a_fresh_kernel_replays_it_and_a_new_message_goes_to_its_end(tmp_path):
    first = conversation(make_session(tmp_path, SCRIPT))
    before = snapshot_of(tmp_path)
    fresh = make_session(tmp_path)
    again = conversation(fresh)
    assert [r.view for r in again] == [r.view for r in first]
    assert all(r.replayed for r in again)
    assert snapshot_of(tmp_path) == before
    script = SCRIPT.replace("        say: Bye.\n", "        say: Bye.\n      - asked: one more\n        say: Yes?\n")
    (tmp_path / "script.yaml").write_text(script)
    more, _ = say(make_session(tmp_path, script), "one more thing")
    assert (more.text, more.replayed) == ("Yes?", False)


def test_strict_replay_of_a_conversation(tmp_path):
    conversation(make_session(tmp_path, SCRIPT))
    fresh = make_session(tmp_path)
    assert say(fresh, "remember the cat", mode="replay")[0].replayed


def test_the_same_cell_again_replays_and_live_says_it_again(tmp_path):
    session = make_session(tmp_path, SCRIPT)
    one, _ = say(session, "hello", cell="c1")
    again, _ = say(session, "hello", cell="c1")
    assert again.replayed
    live, _ = say(session, "hello", cell="c1", mode="live")
    assert (one.text, live.text) == ("Hi.", "Hi again.")
    assert len(turns_of(session.chats.shelf.entries("tutor"))) == 2


def test_a_new_kernel_is_told_what_is_gone(tmp_path):
    """Field report 76."""
    say(make_session(tmp_path, SCRIPT, namespace={"df": 1, "other": 2}), "remember the cat in df")
    session = make_session(tmp_path, SCRIPT, namespace={"other": 2})
    run, _ = say(session, "what is her name")
    note = next(m for m in run.messages if m.role == "user" and m.source == "kernel")
    assert "restarted" in note.text
    assert "No longer defined: df." in note.text
    assert run.text == "Mia."
    assert not any(m.role == "user" and m.source == "kernel" for m in say(session, "bye")[0].messages[-2:])


def test_two_sessions_know_nothing_of_each_other(tmp_path):
    session = make_session(tmp_path, SCRIPT)
    say(session, "hello", name="a")
    assert say(session, "hello", name="b")[0].text == "Hi."


def test_one_active_run(tmp_path):
    session = make_session(tmp_path, SCRIPT.replace("say: Hi.", "say: Hi you there, slowly.\n        pace: 60"))
    stream = session.stream(session.prepare_chat("tutor", "hello"))
    other = make_session(tmp_path)

    async def both():
        async for event in stream:
            if event.type == "live_text":
                second = other.stream(other.prepare_chat("tutor", "hello"))
                with pytest.raises(UsageProblem) as caught:
                    async for _ in second:
                        pass
                return caught.value.code
        return None

    future, cancel = submit(both())
    assert session.foreground.wait(future, cancel) == "agent.session_busy"


def test_an_empty_message_and_a_bad_name(tmp_path):
    session = make_session(tmp_path, SCRIPT)
    with pytest.raises(UsageProblem) as caught:
        session.prepare_chat("tutor", " ")
    assert caught.value.code == "agent.session_text_required"
    for name in ("../x", "", "a/b", "x" * 65, "a\n"):
        with pytest.raises(UsageProblem) as caught:
            session.prepare_chat(name, "hi")
        assert caught.value.code == "agent.session_name_invalid"


def test_a_sessions_run_is_neither_resumed_nor_revised_nor_guided(tmp_path):
    session = make_session(tmp_path, SCRIPT)
    run, _ = say(session, "hello")
    for refuse in (lambda: session.prepare_resume(run.id), lambda: session.prepare_fix(run.id, "x")):
        with pytest.raises(UsageProblem) as caught:
            refuse()
        assert caught.value.code == "agent.session_run"


def test_a_session_does_not_touch_the_notebooks_memory(tmp_path):
    session = make_session(tmp_path, SCRIPT)
    say(session, "remember the cat")
    assert session.planner.state is None
    assert not session.folder.persist.exists()


LONG = """
script: 1
conversations:
  - when: "User: begin"
    turns:
      - say: They began and spoke of letters.
  - when: begin
    turns:
      - say: {repeat: "a ", times: 300}
      - say: {repeat: "b ", times: 300}
      - say: {repeat: "c ", times: 300}
  - when: Earlier messages
    turns:
      - say: the summary and the kept turn come before this one
      - asked: and on
        say: {repeat: "c ", times: 300}
"""


def test_a_long_conversation_is_compacted_by_whole_turns_and_replays(tmp_path):
    session = make_session(tmp_path, LONG)
    session.chats.shelf.save(
        SessionRecord(name="tutor", profile="assistant", model="m", compact_above_tokens=200, keep_groups=1)
    )
    say(session, "begin now")
    say(session, "go on")
    assert estimated_tokens(history_messages(session.chats.shelf.entries("tutor"))) > 200
    say(session, "and on")
    entries = session.chats.shelf.entries("tutor")
    compactions = [e for e in entries if isinstance(e, SessionCompaction)]
    assert [c.turns for c in compactions] == [1]
    assert len(turns_of(entries)) == 3, "the file keeps everything"
    seen = history_messages(entries)
    assert "spoke of letters" in seen[0].text
    assert not any("begin now" in m.text for m in seen)
    fresh = make_session(tmp_path)
    again = [say(fresh, p)[0] for p in ("begin now", "go on", "and on")]
    assert all(r.replayed for r in again)
    assert len(fresh.chats.shelf.entries("tutor")) == len(entries)


def test_the_loaded_run_knows_its_session(tmp_path):
    session = make_session(tmp_path, SCRIPT)
    run, events = say(session, "hello")
    assert make_session(tmp_path).load(run.id).in_session == "tutor"
    assert types(events)[-1] == "run_completed"
