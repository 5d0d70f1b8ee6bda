"""Fallback models through whole runs: spec liveagent §18, DESIGN §9; and profile field `run.stream`."""

import json

from .support import drive, make_session, types

DOWN = """
script: 1
turns:
  - {say: from the first, fail: {error: 503, times: always}}
  - {say: from the first}
"""
BACKUP = "script: 1\nturns:\n  - {say: from the backup, chunk: 4}\n  - {say: more}\n"
SETTINGS = {
    "model.fallbacks": ["openai:gpt-5", "scripted:backup.yaml"],
    "run.modelRetry.maxRetries": 1,
    "run.modelRetry.intervalMs": 100,
}


def session_with_backup(folder, monkeypatch, script=DOWN):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    session = make_session(folder, script)
    (folder / "backup.yaml").write_text(BACKUP, encoding="utf-8")
    return session


def replies(run):
    lines = [json.loads(line)["event"] for line in (run.folder / "events.jsonl").read_text().splitlines()]
    return [event["reply"]["model"] for event in lines if event["type"] == "model_completed"]


def test_the_backup_answers_and_the_record_says_so(tmp_path, monkeypatch):
    run, events = drive(session_with_backup(tmp_path, monkeypatch), "go", settings=SETTINGS)
    assert (run.status, run.text) == ("completed", "from the backup")
    (switch,) = [event for event in events if event.type == "model_switched"]
    assert (switch.from_model, switch.to_model) == ("scripted:script.yaml", "scripted:backup.yaml")
    assert "openai:gpt-5 was passed over" in switch.message
    assert replies(run) == ["scripted:backup.yaml"]


def test_its_answer_replays_as_the_first_models_without_any_of_them(tmp_path, monkeypatch):
    first, _ = drive(session_with_backup(tmp_path, monkeypatch), "go", settings=SETTINGS)
    (tmp_path / "backup.yaml").unlink()
    for settings in (SETTINGS, {}):
        again, events = drive(make_session(tmp_path), "go", mode="replay", settings=settings)
        assert again.replayed
        assert again.text == first.text
        assert "model_switched" not in types(events)


def test_the_session_remembers_that_a_model_is_down(tmp_path, monkeypatch):
    """Two attempts a run: after four failures the circuit is open, and the third run does not wait for a retry."""
    session = session_with_backup(tmp_path, monkeypatch)
    for prompt in ("one", "two"):
        _, events = drive(session, prompt, settings=SETTINGS)
        assert "model_call_retry_scheduled" in types(events)
    _, events = drive(session, "three", settings=SETTINGS)
    assert "model_call_retry_scheduled" not in types(events)
    assert [event.code for event in events if event.type == "model_switched"] == ["model.circuit_open"]


def test_without_fallbacks_a_fault_ends_the_run(tmp_path, monkeypatch):
    run, events = drive(session_with_backup(tmp_path, monkeypatch), "go", settings=dict(list(SETTINGS.items())[1:]))
    assert run.status == "failed"
    assert run.problem is not None
    assert run.problem.code == "model.upstream_unavailable"
    assert "model_switched" not in types(events)


def test_an_empty_reply_is_asked_for_again_although_it_was_recorded(tmp_path, monkeypatch):
    """A live run must not take its own unusable reply for the answer to its retry."""
    from tt_kernel.providers.scripted import ScriptedProvider

    session = make_session(tmp_path, 'script: 1\nturns:\n  - {say: ""}\n')
    asked = []
    original = ScriptedProvider.stream

    async def counted(self, request):
        asked.append(request)
        async for chunk in original(self, request):
            yield chunk

    monkeypatch.setattr(ScriptedProvider, "stream", counted)
    settings = {"run.modelRetry.maxRetries": 2, "run.modelRetry.intervalMs": 100}
    run, _ = drive(session, "go", settings=settings)
    assert run.status == "failed"
    assert len(asked) == 3


def test_run_stream_false_asks_for_the_whole_reply(tmp_path):
    long = "script: 1\nturns:\n  - {say: one two three four five six, chunk: 4}\n"
    _, streamed = drive(make_session(tmp_path / "a", long), "go")
    _, whole = drive(make_session(tmp_path / "b", long), "go", settings={"run.stream": False})
    assert types(streamed).count("live_text") > 1
    assert types(whole).count("live_text") == 1
