"""`%agent worldinfo`, and the chat of a shell as its runs get it."""

import json

import pytest

from tt_kernel.domain.errors import UserError
from tt_kernel.ipython.listing import Listing
from tt_kernel.ipython.subcommands import find_command

BOOK = {
    "entries": {
        "0": {"uid": 0, "key": ["mill"], "content": "The mill is old.", "comment": "Mill", "sticky": 3},
        "1": {"uid": 1, "key": ["quay"], "content": "Ropes.", "position": 4, "depth": 2, "probability": 0},
        "2": {"uid": 2, "key": ["x"], "content": "Off.", "disable": True},
    }
}


@pytest.fixture
def notebook(shell, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "town.json").write_text(json.dumps(BOOK), encoding="utf-8")
    notebook = shell.magics_manager.registry["AgentMagics"].notebook
    notebook.path.chosen = tmp_path / "nb.ipynb"
    return notebook


def run(notebook, line):
    command = find_command(line)
    assert command is not None, line
    return command(notebook)


def test_a_book_is_imported_listed_and_shown(notebook):
    assert "no lorebooks" in repr(run(notebook, "worldinfo"))
    shown = run(notebook, "worldinfo import town.json --as saltmarsh")
    assert isinstance(shown, Listing)
    assert [(row[1], row[2], row[3]) for row in shown.rows] == [
        ("Mill", "mill; sticky 3 messages", "before"),
        ("quay", "quay (0 %)", "depth 2"),
        ("x", "disabled", "before"),
    ]
    (row,) = run(notebook, "worldinfo list").rows
    assert row == ("saltmarsh", "notebook", "3 entries, 1 disabled")
    assert run(notebook, "worldinfo show saltmarsh").rows == shown.rows


def test_activate_shows_what_a_prompt_would_make_active_and_keeps_nothing(notebook):
    run(notebook, "worldinfo import town.json")
    found = run(notebook, "worldinfo activate is the mill at the quay?")
    assert [(row[0], row[2], row[3]) for row in found.rows] == [("town", "Mill", "key")]
    assert "Nothing is active" in repr(run(notebook, "worldinfo activate hello"))
    folder = notebook.session.folder
    assert not folder.runs.exists()
    assert not (folder.worldinfo / "state").exists()


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("worldinfo show twon", "worldinfo.book_not_found"),
        ("worldinfo import town.json", "worldinfo.book_exists"),
        ("worldinfo show", None),
        ("worldinfo activate", None),
        ("worldinfo list --as x", None),
    ],
)
def test_errors_say_the_way_out(notebook, line, code):
    run(notebook, "worldinfo import town.json")
    with pytest.raises(UserError) as caught:
        run(notebook, line)
    assert caught.value.code == code if code else "%agent worldinfo" in caught.value.message
    assert caught.value.message.count("town") or not code


def test_other_words_are_a_prompt():
    assert find_command("worldinfo is what?") is None


def test_runs_of_a_shell_see_the_cells_above(shell, notebook, tmp_path):
    script = "script: 1\nturns:\n  - call: chat_search\n    with: {query: harbour}\n  - say: Done."
    (tmp_path / "s.yaml").write_text(script, encoding="utf-8")
    shell.run_cell("harbour = 'open'", store_history=True)
    shell.run_cell("%agent -m scripted:s.yaml -t chat.search -o r Is it open?", store_history=True)
    shell.run_cell("%agent -m scripted:s.yaml -t chat.search -o again And now?", store_history=True)
    first, second = shell.user_ns["r"], shell.user_ns["again"]
    assert "message 0 user" in first.tool_calls[0].result.content
    assert "in 1 message" in first.tool_calls[0].result.content
    kept = json.loads((second.folder / "input" / "chat.json").read_text())
    assert [m["role"] for m in kept["messages"]] == ["user", "user", "assistant"]
    assert kept["messages"][0]["text"] == "harbour = 'open'"
    assert kept["messages"][-1]["text"] == "Done."
    assert kept["origin"] == "history"


def test_answers_of_several_lines_in_one_cell_are_in_the_chat(shell, notebook, tmp_path):
    script = (
        "script: 1\nconversations:\n  - {when: one, turns: [{say: First.}]}\n  - {when: two, turns: [{say: Second.}]}\n"
    )
    (tmp_path / "s.yaml").write_text(script, encoding="utf-8")
    shell.run_cell("%agent -m scripted:s.yaml one\n%agent -m scripted:s.yaml two\nNone", store_history=True)
    chat = notebook.chat.freeze()
    assert [m.text for m in chat.messages if m.role == "assistant"] == ["First.", "Second."]
