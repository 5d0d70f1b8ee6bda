"""`%%agent` in a real kernel: DESIGN §8, notes/frontend.md §3, field reports A-D."""

import json
import textwrap
import time

import nbformat
import pytest
from kernels import RUN_MIME, kernel
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

SCRIPT = """
script: 1
conversations:
  - when: roll
    turns:
      - say: I roll.
        call: dice_roll
        with: {formula: 2d6}
      - say: Rolled.
  - when: slow
    turns:
      - say: {repeat: "word ", times: 400}
        pace: 40
      - asked: go on
        say: I went on.
  - when: count
    turns:
      - call: bump
        with: {by: 2}
      - say: Bumped.
  - when: sleepy
    turns:
      - call: nap
      - say: Slept.
  - when: broken
    turns:
      - say: x
        fail: {error: 401, times: always}
  - turns:
      - say: Echo.
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "script.yaml").write_text(textwrap.dedent(SCRIPT))
    monkeypatch.setenv("TT_MODEL", "scripted:script.yaml")
    monkeypatch.setenv("TT_NOTEBOOK", str(tmp_path / "nb.ipynb"))
    return tmp_path


def runs(folder):
    return sorted((folder / "nb.agent" / "runs").iterdir()) if (folder / "nb.agent" / "runs").exists() else []


def test_a_cell_streams_and_ends_with_one_output(folder):
    with kernel(folder) as k:
        out = k.run("%%agent -t dice.roll\nplease roll", cell="c1")
        assert out.reply["status"] == "ok"
        assert len(out.displays) == 1
        assert out.updates
        assert not out.text
        assert not out.results
        assert set(out.final) == {RUN_MIME, "text/html", "text/markdown", "text/plain"}
        assert (out.view["status"], out.view["text"]) == ("done", "Rolled.")
        value = k.run("print(_.text, _.id, len(_.tool_calls))")
        assert value.text.split() == ["Rolled.", runs(folder)[0].name, "1"]


def test_headless_is_one_final_display_and_the_same_bundle(folder):
    with kernel(folder) as k:
        live = k.run("%%agent -t dice.roll\nplease roll", cell="c1").final
    with kernel(folder) as k:
        out = k.run("%%agent -t dice.roll\nplease roll")
        assert (len(out.displays), out.updates) == (1, [])
        assert json.dumps(out.final, sort_keys=True) == json.dumps(live, sort_keys=True)
        assert len(runs(folder)) == 1


def test_run_all_twice_in_one_kernel_replays(folder):
    with kernel(folder) as k:
        first = k.run("%%agent -t dice.roll\nplease roll", cell="c1").final
        second = k.run("%%agent -t dice.roll\nplease roll", cell="c1").final
        assert first == second
    assert len(runs(folder)) == 1


def test_a_replay_leaves_the_saved_cell_as_it_is_with_its_metadata(folder):
    with kernel(folder) as k:
        outs = [k.run("%%agent -t dice.roll\nplease roll", cell="c1") for _ in range(3)]
        _, again, oncemore = ((out.updates or out.displays)[-1] for out in outs)
        assert again["metadata"][RUN_MIME]["replayed"] is True
        assert (again["data"], again["metadata"]) == (oncemore["data"], oncemore["metadata"])


SPACE = " "  # an editor would take it off the end of a line
HARD = r"""braces {x} {{y}} and $HOME $x ?what !ls %magic
\frac{1}{2} $$E=mc^2$$ 'apostrophe' "quotes" \n not a newline
```ts
function f<T extends {a: string}>(x: T): `${string}` { return `${x.a}` as any; } // 100% @decorator
```
 leading space, trailing space{SPACE}
你好 мир 🎲 café́ — “curly”
# NOT A COMMENT
	tab""".replace("{SPACE}", SPACE)


def test_a_hard_prompt_arrives_unchanged(folder):
    with kernel(folder) as k:
        k.run("x = 1")
        out = k.run(f"%%agent\n{HARD}")
        assert out.reply["status"] == "ok", out
    record = json.loads((runs(folder)[0] / "run.json").read_text())
    assert record["prompt"].rstrip("\n") == HARD


def test_an_interrupt_comes_through_within_a_second_and_the_conversation_goes_on(folder):
    with kernel(folder) as k:
        request = k.send("%%agent\nbe slow", cell="c1")
        seen = []

        def stop(message):
            if (
                message["msg_type"] == "update_display_data"
                and not seen
                and "word" in json.dumps(message["content"]["data"])
            ):
                seen.append(time.monotonic())
                k.interrupt()

        out = k.collect(request, on_message=stop)[request]
        assert time.monotonic() - seen[0] < 15
        assert out.reply["status"] == "error"
        assert out.view["status"] == "interrupted"
        assert out.view["text"].startswith("word")
        assert len(out.errors[0]["traceback"]) == 1
        more = k.run("%%agent --continue\ngo on", cell="c2")
        assert more.view["text"] == "I went on."


def test_an_interrupt_reaches_a_blocking_tool(folder):
    """Field report 36: a tool that does time.sleep(60)."""
    with kernel(folder) as k:
        k.run(
            "import time, tt_kernel\n@tt_kernel.tool\ndef nap() -> str:\n    'Sleep.'\n    time.sleep(60)\n    return 'ok'"
        )
        request = k.send("%%agent\nbe sleepy", cell="c1")
        time.sleep(1.5)
        start = time.monotonic()
        k.interrupt()
        out = k.collect(request)[request]
        assert time.monotonic() - start < 10, "long before the sixty seconds are over"
        assert out.view["status"] == "interrupted"
        assert k.run("print(1 + 1)").text.strip() == "2"


def test_a_notebook_function_runs_on_the_main_thread_and_a_redefinition_counts(folder):
    define = "import threading, tt_kernel\ncount = {start}\n@tt_kernel.tool\ndef bump(by: int) -> str:\n    'Add.'\n    global count\n    count += by\n    return f'{{count}} {{threading.current_thread() is threading.main_thread()}}'"
    with kernel(folder) as k:
        k.run(define.format(start=5))
        out = k.run("%%agent\ncount up", cell="c1")
        assert out.view["calls"][0]["content"] == "7 True"
        assert k.run("print(count)").text.strip() == "7"
        k.run(define.format(start=100).replace("count += by", "count += by * 10"))
        again = k.run("%%agent\ncount up", cell="c1")
        assert again.view["calls"][0]["content"] == "120 True"


def test_two_runs_at_once_have_their_outputs_in_their_cells(folder):
    with kernel(folder) as k:
        first = k.send(
            "import asyncio\nfrom tt_kernel.ipython.magics import await_cell\n"
            "task = asyncio.create_task(await_cell('-t dice.roll', 'roll slowly, be slow'))\nawait asyncio.sleep(0.3)",
            cell="c1",
        )
        second = k.send("%%agent\nhello", cell="c2")
        third = k.send("await task", cell="c3")
        outs = k.collect(first, second, third)
        assert outs[second].view["text"] == "Echo."
        assert all("Echo." not in json.dumps(d) for d in outs[first].displays + outs[third].displays)
        shown = [d["data"][RUN_MIME]["text"] for d in outs[first].displays if RUN_MIME in d["data"]]
        assert shown
        assert "Echo." not in shown


def test_a_failed_run_is_one_plain_error_after_its_view(folder):
    with kernel(folder) as k:
        out = k.run("%%agent\nbroken", cell="c1")
        assert out.reply["status"] == "error"
        assert out.view["status"] == "failed"
        assert out.view["problemCode"] == "model.authentication"
        assert out.errors[0]["ename"] == "RunFailed"
        assert len(out.errors[0]["traceback"]) == 1
        # the kernel is well afterwards, also when this was its first error
        assert k.run("print('well')").text.strip() == "well"


@pytest.mark.parametrize("code", ["%%agent\nbroken", "%agent broken"])
def test_a_failed_run_makes_nbclient_fail(folder, code):
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell("%load_ext tt_kernel"), nbformat.v4.new_code_cell(code)]
    )
    with pytest.raises(CellExecutionError, match="RunFailed"):
        NotebookClient(notebook, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    assert RUN_MIME in notebook.cells[1].outputs[0]["data"]


def test_usage_errors_are_one_line_and_do_not_hang_the_kernel(folder):
    """notes/frontend.md §3: a UsageError as the first error of an async cell killed the reply."""
    with kernel(folder) as k:
        out = k.run("%%agent --modle x\nhello", cell="c1")
        assert out.reply["status"] == "error"
        assert "--model" in out.errors[0]["evalue"]
        assert k.run("print(2)").text.strip() == "2"


def test_sync_paths_work_too(folder):
    with kernel(folder) as k:
        assert k.run("%%time\n%%agent\nhello", cell="c1").reply["status"] == "ok"
        timed = k.run(
            "r = get_ipython().run_cell_magic('agent', '-o answer', 'hello there')\nprint(r.text, answer.text)",
            cell="c2",
        )
        assert timed.text.split() == ["Echo.", "Echo."]
        loop = k.run(
            "texts = []\nfor n in range(2):\n    %agent -o one hello @{n}\n    texts.append(one.text)\nprint(texts)",
            cell="c3",
        )
        assert loop.text.strip() == "['Echo.', 'Echo.']"


def test_the_api_works_in_every_kind_of_code_of_a_kernel(folder):
    """Field report 40: no loop clash, no patched asyncio."""
    with kernel(folder) as k:
        code = (
            "import asyncio, tt_kernel\n"
            "a = tt_kernel.run('one')\n"
            "b = await tt_kernel.arun('two')\n"
            "async def f():\n    return tt_kernel.run('three'), await tt_kernel.arun('four')\n"
            "c, d = await f()\n"
            "e = await asyncio.gather(tt_kernel.arun('five'), tt_kernel.arun('six'))\n"
            "print([r.text for r in (a, b, c, d, *e)], asyncio.run.__module__)"
        )
        out = k.run(code)
        assert out.text.strip() == "['Echo.', 'Echo.', 'Echo.', 'Echo.', 'Echo.', 'Echo.'] asyncio.runners", out


def test_nothing_is_left_running_after_an_interrupt(folder):
    """Field report 37."""
    with kernel(folder) as k:
        request = k.send("%%agent\nbe slow", cell="c1")
        time.sleep(1.2)
        k.interrupt()
        k.collect(request)
        left = k.run(
            "import asyncio\nfrom tt_kernel.runtime.loop_thread import agent_loop\n"
            "async def tasks():\n    return len(asyncio.all_tasks()) - 1\n"
            "print(asyncio.run_coroutine_threadsafe(tasks(), agent_loop()).result())"
        )
        assert left.text.strip() == "0"


def test_the_agent_kernel_needs_no_first_cell_and_tolerates_it(folder):
    with kernel(folder, "tt-agent", load=False) as k:
        assert k.run("%load_ext tt_kernel").text == ""
        assert k.run("%%agent\nhello").view["text"] == "Echo."


def test_a_front_end_that_goes_away_loses_nothing(folder):
    """Field report 32: the run is on disk and `%agent show last` renders it."""
    with kernel(folder) as k:
        k.run("%%agent -t dice.roll\nplease roll", cell="c1")
    with kernel(folder) as k:
        shown = k.run("%agent show last")
        bundle = (shown.displays or shown.results)[-1]["data"]
        assert bundle[RUN_MIME]["text"] == "Rolled."


def test_loading_prints_nothing_and_imports_nothing_heavy(folder):
    with kernel(folder) as k:
        out = k.run(
            "import sys\nprint([m for m in ('openai', 'anthropic', 'mcp', 'anywidget', 'pandas', 'bashkit') if m in sys.modules])"
        )
        assert out.text.strip() == "[]"


def test_the_api_uses_the_notebooks_folder_before_any_magic_and_a_cell_replays_when_executed_again(folder):
    with kernel(folder) as k:
        code = "import tt_kernel\nruns = [tt_kernel.run('one') for _ in range(2)]\nprint([r.id for r in runs], [r.replayed for r in runs])"
        first = k.run(code, cell="c1").text
        again = k.run(code, cell="c1").text
    assert first.strip().endswith("[False, False]")
    assert again == first.replace("[False, False]", "[True, True]")
    assert len(runs(folder)) == 2
