"""DESIGN §5.2: the cells above the calling cell, from the kernel's history and the saved file; the source is recorded."""

import json
import os
import time
from types import SimpleNamespace

import nbformat
import pytest
from live_kernels import kernel

from tt_kernel.domain.errors import StorageFault
from tt_kernel.domain.views import RUN_MIME
from tt_kernel.ipython.cell_log import CellLog, Executed
from tt_kernel.ipython.chat_source import ChatSource, SavedNotebook, cells_above
from tt_kernel.runtime.cells import Answer, Cell, CellOutputs
from tt_kernel.runtime.chat import chat_messages


def saved(*sources, ids=True):
    """Cells of a file; `# ...` is Markdown."""
    return [
        Cell("markdown" if source.startswith("#") else "code", source, id=f"id{n}" if ids else "")
        for n, source in enumerate(sources)
    ]


def ran(source, cell_id="", **more):
    return Executed(source, cell_id, complete=True, **more)


def above(saved_cells, executed, calling):
    cells, origin = cells_above(saved_cells, [*executed, calling], calling)
    return [cell.source for cell in cells], origin


# In which order


def test_the_file_gives_the_cells_above_the_calling_one():
    file = saved("# T", "a", "b", "%%agent\nx", "later")
    assert above(file, [], ran("%%agent\nx", "id3")) == (["# T", "a", "b"], "saved")


def test_what_was_executed_counts_as_it_was_executed():
    file = saved("# T", "a", "b", "call")
    executed = [ran("a edited", "id1", outputs=CellOutputs(printed="1"))]
    cells, origin = cells_above(file, [*executed, ran("call", "id3")], None)
    assert above(file, executed, ran("call", "id3")) == (["# T", "a edited", "b"], "history")
    assert cells[1].outputs.printed == "1"
    assert origin == "history"


def test_cells_without_ids_are_found_by_their_source():
    file = saved("# T", "a", "b", "call", ids=False)
    assert above(file, [ran("a"), ran("b")], ran("call")) == (["# T", "a", "b"], "history")


def test_of_equal_sources_the_next_one_down_is_meant():
    file = saved("call", "a", "call", "b", "call", ids=False)
    executed = []
    places = []
    for source in ("call", "a", "call", "b", "call"):
        calling = ran(source)
        places.append(len(above(file, executed, calling)[0]))
        executed.append(calling)
    assert places == [0, 1, 2, 3, 4]


def test_ids_of_another_kind_fall_back_to_the_source():
    file = saved("# T", "a", "call")
    assert above(file, [ran("a", "vscode:1")], ran("call", "vscode:2"))[0] == ["# T", "a"]


def test_a_cell_that_ran_twice_counts_once_as_it_ran_last():
    file = saved("a", "call")
    assert above(file, [ran("a", "id0"), ran("a2", "id0")], ran("call", "id1"))[0] == ["a2"]


def test_running_the_calling_cell_again_leaves_out_what_is_below():
    file = saved("a", "call", "below")
    executed = [ran("a", "id0"), ran("call", "id1"), ran("below", "id2")]
    assert above(file, executed, ran("call", "id1"))[0] == ["a"]


def test_a_cell_that_is_not_saved_yet_stands_below_what_was_executed():
    file = saved("# T", "a", "b", "# end")
    assert above(file, [ran("a", "id1"), ran("b", "id2"), ran("a", "id1")], ran("new", "n1"))[0] == ["# T", "a", "b"]
    first = above(file, [ran("a", "id1"), ran("n", "n1"), ran("b", "id2")], ran("m", "n2"))
    assert first[0] == ["# T", "a", "n", "b"]


def test_a_new_cell_in_a_fresh_kernel_stands_at_the_end():
    assert above(saved("# T", "a"), [], ran("new", "n")) == (["# T", "a"], "saved")
    assert above(saved("# T", "a"), [ran("%load_ext", "n0")], ran("new", "n"))[0] == ["# T", "a", "%load_ext"]


def test_without_a_file_the_history_is_all():
    executed = [ran("a", "1"), ran("b", "2"), ran("a2", "1")]
    assert above([], executed, ran("call", "3")) == (["a2", "b"], "history")
    assert above([], [ran("x"), ran("x")], ran("x")) == (["x", "x"], "history")
    assert above([], [], ran("x")) == ([], "history")


def test_an_unsaved_calling_cell_that_ran_before_keeps_its_place():
    executed = [ran("a", "1"), ran("call", "2"), ran("below", "3")]
    assert above([], executed, ran("call", "2"))[0] == ["a"]


def test_without_a_calling_cell_everything_is_above():
    assert [c.source for c in cells_above(saved("a", "b"), [], None)[0]] == ["a", "b"]


def test_what_the_kernel_did_not_record_is_taken_from_the_file():
    file = [
        Cell("code", "await x\n", CellOutputs(printed="seen", answers=(Answer("p", "old"),)), "id0"),
        *saved("-", "call")[1:],
    ]
    partial = Executed("await x", "id0", CellOutputs(answers=(Answer("p", "new"),)), complete=False)
    cells, _ = cells_above(file, [partial], None)
    assert (cells[0].outputs.printed, cells[0].outputs.answers) == ("seen", (Answer("p", "new"),))
    edited = Executed("await y", "id0", CellOutputs(), complete=False)
    assert cells_above(file, [edited], None)[0][0].outputs == CellOutputs()


def test_2000_cells_are_put_in_order_fast():
    file = saved(*(f"cell {n}" if n % 3 else f"# {n}" for n in range(2000)))
    executed = [ran(cell.source, cell.id) for cell in file if cell.kind == "code"]
    began = time.perf_counter()
    cells, _ = cells_above(file, executed, ran("call", "new"))
    assert len(chat_messages(cells)) == 2000
    assert time.perf_counter() - began < 15


# The saved file


def write(path, *cells, **more):
    notebook = nbformat.v4.new_notebook(cells=list(cells), **more)
    nbformat.write(notebook, path)


def test_the_file_is_read_again_only_after_it_changed(tmp_path):
    path = tmp_path / "n.ipynb"
    write(path, nbformat.v4.new_code_cell("a"), nbformat.v4.new_raw_cell("r"), nbformat.v4.new_markdown_cell("# M"))
    reader = SavedNotebook()
    first = reader.cells(path)
    assert [(c.kind, c.source) for c in first] == [("code", "a"), ("markdown", "# M")]
    assert reader.cells(path) is first
    write(path, nbformat.v4.new_code_cell("changed"))
    assert [c.source for c in reader.cells(path)] == ["changed"]


def test_a_missing_file_and_a_script_have_no_cells(tmp_path):
    (tmp_path / "x.py").write_text("print(1)")
    assert SavedNotebook().cells(tmp_path / "none.ipynb") == ()
    assert SavedNotebook().cells(tmp_path / "x.py") == ()


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"nbformat": 4}', '{"nbformat": 3, "worksheets": 3}'])
def test_a_damaged_notebook_is_named(tmp_path, text):
    path = tmp_path / "n.ipynb"
    path.write_text(text)
    with pytest.raises(StorageFault, match=r"n\.ipynb"):
        SavedNotebook().cells(path)


def test_an_old_notebook_is_converted(tmp_path):
    path = tmp_path / "n.ipynb"
    cell = {
        "cell_type": "code",
        "input": "old = 1",
        "language": "python",
        "metadata": {},
        "outputs": [],
        "collapsed": False,
    }
    document = {"nbformat": 3, "nbformat_minor": 0, "metadata": {"name": ""}, "worksheets": [{"cells": [cell]}]}
    path.write_text(json.dumps(document))
    assert [c.source for c in SavedNotebook().cells(path)] == ["old = 1"]


# A shell


@pytest.fixture
def log(shell):
    log = CellLog(shell)
    log.install()
    yield log
    log.remove()


def freeze(shell, source):
    """The chat of a cell that asks for it."""
    frozen = []
    shell.user_ns["_freeze"] = lambda: frozen.append(source.freeze())
    shell.run_cell("_freeze()  # the calling cell", store_history=True)
    del shell.user_ns["_freeze"]
    return frozen[0]


def texts(chat):
    return [message.text for message in chat.messages]


def test_what_a_shell_executed_is_the_chat(shell, log, capsys):
    shell.run_cell("x = 1\n", store_history=True)
    shell.run_cell("print('hello'); x + 1", store_history=True)
    shell.run_cell("1/0", store_history=True)
    shell.run_cell("syntax error here", store_history=True)
    shell.run_cell("  \n", store_history=True)
    chat = freeze(shell, ChatSource(log, lambda: None))
    assert texts(chat)[:3] == [
        "x = 1",
        "print('hello'); x + 1\n\n[output]\nhello\n2",
        "1/0\n\n[output]\nZeroDivisionError: division by zero",
    ]
    assert texts(chat)[3].startswith("syntax error here\n\n[output]\nSyntaxError")
    assert chat.origin == "history"
    assert len(chat.messages) == 4


def test_without_history_numbers_outputs_are_still_told_apart(shell, log, capsys):
    for word in ("one", "two", "three"):
        shell.run_cell(f"print('{word}')\n'{word}!'", store_history=False)
    chat = freeze(shell, ChatSource(log, lambda: None))
    assert [text.partition("[output]\n")[2] for text in texts(chat)] == [
        "one\n'one!'",
        "two\n'two!'",
        "three\n'three!'",
    ]


def test_a_cell_that_runs_a_cell_is_one_message(shell, log, capsys):
    shell.run_cell("get_ipython().run_cell('print(5)'); print(6)", store_history=True)
    chat = freeze(shell, ChatSource(log, lambda: None))
    assert texts(chat) == ["get_ipython().run_cell('print(5)'); print(6)\n\n[output]\n5\n6"]


def test_cells_that_ran_before_the_log_are_taken_from_the_history(shell, capsys):
    shell.run_cell("print('early')", store_history=True)
    logs = []
    shell.user_ns["_late"] = lambda: (logs.append(CellLog(shell)), logs[0].install())
    shell.run_cell("_ = _late()", store_history=True)
    shell.run_cell("print('after')", store_history=True)
    chat = freeze(shell, ChatSource(logs[0], lambda: None))
    logs[0].remove()
    assert texts(chat) == ["print('early')\n\n[output]\nearly", "_ = _late()", "print('after')\n\n[output]\nafter"]


def test_a_run_in_the_cell_that_loads_the_log_sees_what_is_above(shell, capsys):
    logs, chats = [], []

    def load():
        logs.append(CellLog(shell))
        logs[0].install()
        chats.append(ChatSource(logs[0], lambda: None).freeze())

    shell.run_cell("above = 1", store_history=True)
    shell.user_ns["_load"] = load
    shell.run_cell("_load()", store_history=True)
    logs[0].remove()
    assert texts(chats[0]) == ["above = 1"]
    assert logs[0].running is None


def test_a_cancelled_or_odd_cell_does_not_stop_the_log(shell, log, capsys):
    log._begin(SimpleNamespace(raw_cell="await x", cell_id=None, transformed_cell=None))
    shell.events.trigger("post_run_cell", None)
    shell.run_cell(
        "class Odd(Exception):\n    def __str__(self):\n        raise ValueError\nraise Odd", store_history=True
    )
    shell.run_cell("print('on')", store_history=True)
    found = texts(freeze(shell, ChatSource(log, lambda: None)))
    assert found[0] == "await x"
    assert "[output]" in found[1]
    assert found[2].endswith("[output]\non")


def test_what_is_displayed_belongs_to_its_cell(shell, log, capsys):
    shell.run_cell(
        "from IPython.display import display, Markdown\n"
        f"display({{{RUN_MIME!r}: {{'profile': 'writer', 'text': 'The answer.'}}, 'text/plain': 'Run'}}, raw=True)\n"
        "display(Markdown('**hi**'))",
        store_history=True,
    )
    chat = freeze(shell, ChatSource(log, lambda: None))
    assert [(m.role, m.name) for m in chat.messages] == [("user", "code"), ("assistant", "writer")]
    assert chat.messages[0].text.endswith("[output]\n**hi**")
    assert chat.messages[1].text == "The answer."


def test_another_thread_can_say_what_it_displayed(shell, log, capsys):
    def view(text):
        return {RUN_MIME: {"profile": "assistant", "text": text}}

    shell.user_ns["_show"] = lambda: (
        log.displayed(view("first"), "d1"), log.displayed(view("second"), "d1", update=True), log.displayed(view("x"), "no", update=True),
    )  # fmt: skip
    shell.run_cell("_ = _show()", store_history=True)
    chat = freeze(shell, ChatSource(log, lambda: None))
    assert texts(chat) == ["_ = _show()", "second"]


def test_the_file_and_the_history_together(shell, log, tmp_path, capsys):
    path = tmp_path / "n.ipynb"
    write(
        path,
        nbformat.v4.new_markdown_cell("# Title"),
        nbformat.v4.new_code_cell("a = 1"),
        nbformat.v4.new_code_cell("print(a)", outputs=[nbformat.v4.new_output("stream", text="0\n")]),
        nbformat.v4.new_code_cell("_freeze()  # the calling cell"),
        nbformat.v4.new_code_cell("below"),
    )
    source = ChatSource(log, lambda: path)
    chat = freeze(shell, source)
    assert (texts(chat), chat.origin) == (["# Title", "a = 1", "print(a)\n\n[output]\n0"], "saved")
    shell.run_cell("a = 1", store_history=True)
    shell.run_cell("print(a)", store_history=True)
    chat = freeze(shell, source)
    assert (texts(chat), chat.origin) == (["# Title", "a = 1", "print(a)\n\n[output]\n1"], "history")


def test_the_same_notebook_gives_the_same_digest_from_file_and_history(shell, log, tmp_path, capsys):
    """Running all cells again must not make another run of each."""
    sources = [
        "import sys",
        "print('x', file=sys.stderr); print('y')\n'z'",
        "object()",
        "_freeze()  # the calling cell",
    ]
    for source in sources[:3]:
        shell.run_cell(source, store_history=True)
    live = freeze(shell, ChatSource(log, lambda: None))
    stream = nbformat.v4.new_output("stream", text="y\n")
    errors = nbformat.v4.new_output("stream", name="stderr", text="x\n")
    value = nbformat.v4.new_output("execute_result", data={"text/plain": "'z'"}, execution_count=2)
    thing = nbformat.v4.new_output(
        "execute_result", data={"text/plain": "<object at 0x7f0000001230>"}, execution_count=3
    )
    outputs = [[], [errors, stream, value], [thing], []]
    path = tmp_path / "n.ipynb"
    write(path, *(nbformat.v4.new_code_cell(s, outputs=o) for s, o in zip(sources, outputs, strict=True)))
    fresh = CellLog(shell)
    fresh._running = Executed(sources[3])
    assert ChatSource(fresh, lambda: path).freeze().digest == live.digest


def test_what_the_front_end_reports_is_believed_until_the_notebook_is_saved(shell, log, tmp_path):
    """§5.1 in DESIGN §5.2: cells that are not saved count, with the outputs of now."""
    cells = [nbformat.v4.new_code_cell("x", id="c1"), nbformat.v4.new_code_cell("call", id="c2")]
    path = tmp_path / "nb.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    log._running = Executed("call", "c2")
    source = ChatSource(log, lambda: path)
    told = [
        Cell("markdown", "# unsaved", id="c0"),
        Cell("code", "x", id="c1"),
        Cell("code", "call", id="c2"),
        Cell("code", "y", id="c3"),
    ]
    source.tell(told)
    for _ in range(2):  # Run All reports before it executes any cell
        chat = source.freeze()
        assert (texts(chat), chat.origin) == (["# unsaved", "x"], "frontend")
    os.utime(path, ns=(1, 1))
    assert (texts(source.freeze()), source.freeze().origin) == (["x"], "saved")
    source.tell(told)
    log._running = Executed("call", "other")  # without the calling cell it is of another notebook
    assert source.freeze().origin != "frontend"
    log._running = Executed("changed", "c2")  # the report is older than the cell
    assert source.freeze().origin != "frontend"


def test_the_calling_cells_own_message_has_an_anchor(shell, log):
    log._running = Executed("%%agent writer\nGo @{x}", "c")
    calling = ChatSource(log, lambda: None).freeze().calling
    assert calling == chat_messages([Cell("code", "%%agent\nGo @{x}\n")])[0].anchor


def test_a_removed_log_hears_nothing(shell):
    log = CellLog(shell)
    log.install()
    log.remove()
    shell.run_cell("1", store_history=True)
    assert log.cells == []


# A kernel


SETUP = """
from tt_kernel.ipython.cell_log import CellLog
from tt_kernel.ipython.chat_source import ChatSource
from pathlib import Path
_log = CellLog(get_ipython()); _log.install()
_source = ChatSource(_log, lambda: Path("n.ipynb"))
"""
FREEZE = "_chat = _source.freeze()"


def test_a_kernel_with_a_notebook(tmp_path):
    cells = [
        nbformat.v4.new_markdown_cell("# 標題", id="m"),
        nbformat.v4.new_code_cell(
            "print('saved only')", id="s", outputs=[nbformat.v4.new_output("stream", text="saved only\n")]
        ),
        nbformat.v4.new_code_cell("x = 'old'", id="x"),
        nbformat.v4.new_code_cell(FREEZE, id="c"),
        nbformat.v4.new_code_cell("below = 1", id="b"),
    ]
    write(tmp_path / "n.ipynb", *cells)
    with kernel(tmp_path, env={"TT_NOTEBOOK": ""}) as running:
        running.run("early = 1", interactive=True, cell_id="e")
        running.run(SETUP, interactive=True, cell_id="setup")
        running.run(
            "x = 'new'\nprint(x)\nfrom IPython.display import display, HTML\ndisplay('shown', display_id='d');",
            interactive=True,
            cell_id="x",
        )
        running.run("below = 2", interactive=True, cell_id="b")
        running.run(FREEZE, interactive=True, cell_id="c")
        found = running.value("[[m.role, m.name, m.text] for m in _chat.messages] + [_chat.origin]")
    assert found == [
        ["user", "code", "early = 1"],
        ["user", "code", SETUP.strip("\n")],
        ["user", "markdown", "# 標題"],
        ["user", "code", "print('saved only')\n\n[output]\nsaved only"],
        ["user", "code", "x = 'new'\nprint(x)\nfrom IPython.display import display, HTML\ndisplay('shown', display_id='d');\n\n[output]\nnew\n'shown'"],
        "history",
    ]  # fmt: skip


def test_a_kernel_without_cell_ids_or_history(tmp_path):
    """As nbval runs cells: no ids, store_history off."""
    sources = [SETUP.strip(), "print('one')", "print('two')\n3", "%%time\npass", FREEZE]
    write(tmp_path / "n.ipynb", nbformat.v4.new_markdown_cell("# T"), *map(nbformat.v4.new_code_cell, sources))
    with kernel(tmp_path, env={"TT_NOTEBOOK": ""}) as running:
        for source in sources:
            reply, _ = running.run(source, store_history=False)
            assert reply["status"] == "ok"
        found = running.value("[m.text for m in _chat.messages]")
    assert found[0] == "# T"
    assert found[2:4] == ["print('one')\n\n[output]\none", "print('two')\n3\n\n[output]\ntwo\n3"]
    assert len(found) == 5


def test_an_awaiting_cell_in_a_kernel(tmp_path):
    with kernel(tmp_path, env={"TT_NOTEBOOK": ""}) as running:
        running.run(SETUP)
        running.run("import asyncio\nawait asyncio.sleep(0)\nprint('not heard')\n'value'")
        running.run(FREEZE)
        found = running.value("[[c.source[:6], c.complete] for c in _log.cells]")
        texts = running.value("[m.text for m in _chat.messages]")
    assert found[1] == ["import", False]
    assert texts[1].endswith("[output]\n'value'")
    assert os.environ.get("TT_NOTEBOOK") is None


def test_the_answer_of_an_agents_cell_in_a_kernel(tmp_path):
    (tmp_path / "script.yaml").write_text(
        "script: 1\nconversations:\n  - turns:\n      - say: The lantern burns blue.\n"
    )
    environment = {"TT_NOTEBOOK": str(tmp_path / "n.ipynb"), "TT_MODEL": "scripted:script.yaml"}
    prompt = "%%agent\nWhat colour is the lantern?\n"
    with kernel(tmp_path, env=environment) as running:
        running.run(SETUP + "%load_ext tt_kernel\n")
        reply, outputs = running.run(prompt)
        assert reply["status"] == "ok", outputs
        running.run(FREEZE)
        live = running.value("[[m.role, m.name, m.text] for m in _chat.messages[1:]]")
        data = next(content["data"] for kind, content in outputs if kind == "display_data")
        cell = nbformat.v4.new_code_cell(prompt, outputs=[nbformat.v4.new_output("display_data", data=data)])
        write(tmp_path / "n.ipynb", cell, nbformat.v4.new_code_cell(FREEZE))
        running.run("_log.cells.clear()")
        running.run(FREEZE)
        saved_too = running.value("[[m.role, m.name, m.text] for m in _chat.messages]")
    assert live == [
        ["user", "prompt", "What colour is the lantern?"],
        ["assistant", "assistant", "The lantern burns blue."],
    ]
    assert saved_too[:2] == live
