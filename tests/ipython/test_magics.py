"""`%%agent` and `%agent` in a real shell, on a scripted model."""

import pytest
from PIL import Image

from tt_kernel.domain.errors import RunFailed
from tt_kernel.domain.runs import Run

SCRIPT = """
script: 1
conversations:
  - when: roll
    turns:
      - call: dice_roll
        with: {formula: 1d6}
      - say: Rolled.
  - when: remember
    turns:
      - say: I remember blue.
      - asked: which
        say: Blue.
  - when: broken
    turns:
      - say: x
        fail: {error: 401, times: always}
  - turns:
      - say: Echo.
"""


def test_the_run_is_shown_once_and_is_the_value(cells):
    result, out = cells("%%agent\nhello")
    run = result.result
    assert isinstance(run, Run)
    assert out.splitlines()[0].startswith("agent assistant [done] 1 turn")
    assert out.count("Echo.") == 1
    ns = cells.shell.user_ns
    assert ns["_"] is run
    assert ns["_1"] is run
    assert ns["Out"][1] is run


def test_a_later_cell_shows_it_from_the_same_bundle(cells):
    _, first = cells("%%agent -o answer\nhello")
    _, again = cells("answer")
    _, displayed = cells("display(answer)")
    _, printed = cells("print(repr(answer))")
    assert again.endswith(first)
    assert displayed.endswith(first)
    assert printed.startswith("<Run ")


@pytest.mark.parametrize(
    "outer", ["%%time\n", "get_ipython().run_cell_magic('agent', '', 'hello')", "%agent hello\n# end"]
)
def test_a_synchronous_call_returns_the_run_and_shows_it_once(cells, outer):
    result, out = cells(outer + "%%agent\nhello" if outer.endswith("\n") else outer)
    assert isinstance(result.result, Run), out
    assert out.count("Echo.") == 1
    assert cells.shell.user_ns["_"] is result.result


def test_an_assignment_shows_it_once_and_an_explicit_display_once_more(cells):
    _, out = cells("r = %agent hello\nr.text\nr")
    assert out.count("Echo.") == 1
    _, out = cells("r = %agent hello\ndisplay(r)\nr.status")
    assert out.count("Echo.") == 2
    _, out = cells("r")
    assert out.count("Echo.") == 1


def test_capture_captures_it(cells):
    _, out = cells("%%capture got\n%%agent\nhello")
    assert out == ""
    (output,) = [o for o in cells.shell.user_ns["got"].outputs if o.data]  # IPython adds an empty one for the value
    assert "Echo." in output.data["text/plain"]


def test_quiet_shows_nothing(cells):
    result, out = cells("%%agent -q -o r\nhello")
    assert out == ""
    assert cells.shell.user_ns["r"].text == "Echo."
    assert result.result is cells.shell.user_ns["_"]


def test_in_a_loop_with_expressions_in_prompt_and_options(cells):
    _, out = cells(
        "runs = []\nfor model in ['scripted:script.yaml']:\n    %agent -q -o r -m @{model} hello @{model}\n    runs.append(r)"
    )
    (run,) = cells.shell.user_ns["runs"]
    assert run.messages[-2].text == "hello scripted:script.yaml"
    assert out == ""


def test_continue_sees_the_run_before_and_without_it_nothing_is_seen(cells):
    """Field reports A9."""
    cells("%%agent\nremember blue")
    result, out = cells("%%agent --continue\nwhich colour?")
    assert result.result.text == "Blue."
    assert "continues" in out.splitlines()[0]
    assert [m.text for m in result.result.messages[1:]] == [
        "remember blue",
        "I remember blue.",
        "which colour?",
        "Blue.",
    ]
    result, out = cells("%%agent\nwhich colour?")
    assert len(result.result.messages) == 3
    assert "continues" not in out


def test_continue_without_a_run_says_so(cells):
    result, out = cells("%%agent --continue\nhello")
    assert type(result.error_in_exec).__name__ == "UsageProblem"
    assert "no runs yet" in out


def test_settings_reach_the_run(cells):
    """Field reports A8."""
    result, _ = cells("%%agent --temperature 0 --seed 1 --max-tokens 50 --set limits.turns=3\nhello")
    record = (result.result.folder / "run.json").read_text()
    for part in ('"temperature": 0', '"seed": 1', '"maxTokens": 50', '"turns": 3'):
        assert part in record


def test_an_image_goes_with_the_prompt(cells):
    cells.shell.user_ns["pic"] = Image.new("RGB", (8, 8), "red")
    result, _ = cells("%%agent\nwhat is @{pic}?")
    message = result.result.messages[-2]
    assert message.text == "what is [image 1]?"
    assert [(i.mime_type, i.width) for i in message.images] == [("image/png", 8)]


def test_raw_leaves_expressions_alone(cells):
    result, _ = cells("%%agent --raw\nwhat is @{pic} and @@{x}?")
    assert result.result.messages[-2].text == "what is @{pic} and @@{x}?"


def test_a_failed_run_shows_its_view_then_raises_one_line(cells):
    result, out = cells("%%agent -o r\nbroken")
    assert isinstance(result.error_in_exec, RunFailed)
    lines = out.rstrip().splitlines()
    assert lines[0].startswith("agent assistant [failed]")
    assert lines[-1].startswith("RunFailed: ")
    assert "Traceback" not in out
    assert cells.shell.user_ns["r"].status == "failed"


def test_a_failed_run_can_be_caught(cells):
    _, out = cells(
        "import tt_kernel\ntry:\n    %agent -q broken\nexcept tt_kernel.RunFailed as e:\n    print('caught', e.code)"
    )
    assert out.startswith("caught model.")


@pytest.mark.parametrize(
    ("cell", "line"),
    [
        ("%%agent nobody\nhello", "NotFound: "),
        ("%%agent --nope\nhello", "UsageProblem: There is no option --nope."),
        ("%%agent\n  \n", "UsageProblem: The prompt is empty."),
        ("%%agent\nhello @{nope}", "UsageProblem: @{nope} failed: NameError: name 'nope' is not defined"),
        ("%%agent -m nothing\nhello", "ModelUnavailable: "),
        ("%%agent --set samplin.seed=1\nhello", "ProfileInvalid: "),
        ("%agent diff", "UsageProblem: Compare which runs?"),
        ("%agent show 3fa92c17", "NotFound: "),
        ("%%time\n%%agent --nope\nhello", "UsageProblem: There is no option --nope."),
    ],
)
def test_what_makes_no_sense_is_one_line_and_starts_nothing(cells, cell, line):
    result, out = cells(cell)
    assert result.error_in_exec is not None
    shown = [text for text in out.rstrip().splitlines() if text]
    assert shown[-1].startswith(line)
    assert "Traceback" not in out
    assert not (cells.folder / "nb.agent" / "runs").exists()


def test_no_model_says_what_to_do(cells, monkeypatch):
    monkeypatch.delenv("TT_MODEL")
    _, out = cells("%%agent\nhello")
    assert out.startswith("ModelUnavailable: ")
    assert "-m" in out


def test_a_replay_without_a_recording_is_an_error(cells):
    result, out = cells("%%agent --replay\nhello")
    assert result.error_in_exec is not None
    assert "ecording" in out


def test_runs_tools_profiles_show_are_objects_that_show_themselves(cells):
    cells("%%agent -q -t dice.roll\nroll")
    result, out = cells("%agent runs")
    (record,) = result.result
    assert record.prompt == "roll"
    assert record.id in out
    assert list(result.result.to_df().columns)[:2] == ["run", "status"]
    assert "<table" in result.result._repr_html_()

    result, out = cells(f"%agent show {record.id[:6]}")
    assert result.result.text == "Rolled."
    assert "dice_roll" in out
    assert cells("%agent show")[0].result.id == record.id

    result, out = cells("%agent tools writer")
    assert "workspace_finish" in [binding.name for binding in result.result]
    assert "workspace_finish" in out

    result, out = cells("%agent profiles")
    assert {"assistant", "writer", "engineer"} <= {profile.id for profile in result.result}
    assert "shipped" in out


def test_an_empty_folder_says_so(cells):
    assert cells("%agent runs")[1].strip().endswith("nb.agent has no runs yet.")
    assert "no runs" in cells("%agent show")[1]


def test_a_command_word_may_begin_a_prompt(cells):
    for line in ("show me the data", "-- runs", "tools are what a smith has", "fix my code"):
        result, _ = cells(f"%agent {line}")
        assert result.result.messages[-2].text == line.removeprefix("-- ")


def test_the_notebook_can_be_named(cells, monkeypatch):
    _, out = cells("%agent notebook")
    assert str(cells.folder / "nb.ipynb") in out
    cells("%agent notebook other.ipynb")
    result, _ = cells("%%agent -q\nhello")
    assert result.result.folder.parent.parent == cells.folder / "other.agent"


def test_help(cells):
    for cell in ("%agent help", "%agent", "%agent ?"):
        assert "%%agent [PROFILE] [OPTIONS]" in cells(cell)[1]


def test_the_python_api_uses_the_notebooks_folder(cells):
    cells("%agent notebook")
    cells("import tt_kernel\nr = tt_kernel.run('hello')")
    assert cells.shell.user_ns["r"].folder.parent.parent == cells.folder / "nb.agent"
