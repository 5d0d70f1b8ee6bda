"""Tab, asked as a front end asks: through the shell's own completer."""

import pytest
from IPython.core.completer import provisionalcompleter


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo.yaml").write_text("turns: []\n")
    return tmp_path


def complete(shell, text):
    """What may replace the text before `|`."""
    at = text.index("|")
    text = text.replace("|", "")
    with provisionalcompleter():
        return {(text[c.start : at], c.text) for c in shell.Completer.completions(text, at)}


def texts(shell, text):
    return {found for _, found in complete(shell, text)}


def test_options_in_both_forms(shell):
    for text in ("%%agent --m|\nprompt", "%agent --m|", "# note\n%%agent writer --m|"):
        assert {("--m", "--model"), ("--m", "--max-tokens")} <= complete(shell, text)
    assert {"-m", "-p", "-t", "-o", "-q"} <= texts(shell, "%%agent -|")


def test_options_that_do_not_work_yet_are_not_offered(shell):
    assert not {"--background"} & texts(shell, "%%agent --|")


@pytest.mark.parametrize(
    "text", ["%%agent w|", "%%agent -p w|", "%%agent -q w|", "%agent --profile=w|", "%agent tools w|"]
)
def test_profiles(shell, text):
    assert texts(shell, text) >= {"writer"}


def test_models_among_them_the_scripts_of_the_folder(shell):
    assert ("scr", "scripted:demo.yaml") in complete(shell, "%%agent -m scr|")
    assert "local:smollm2" in texts(shell, "%agent --model lo|")


def test_tools_among_them_the_functions_of_the_notebook(shell):
    shell.run_cell("import tt_kernel\n@tt_kernel.tool\ndef plot_hist(column: str):\n    'Plot.'\n")
    assert "workspace_shell" in texts(shell, "%%agent -t workspace_sh|")
    assert "plot_hist" in texts(shell, "%%agent -t plot|")


def test_profile_fields(shell):
    assert "sampling.temperature=" in texts(shell, "%%agent --set sampling.te|")


def test_commands_of_the_line_form_only(shell):
    assert {"runs", "show", "tools"} <= texts(shell, "%agent |")
    assert "runs" not in texts(shell, "%%agent ru|")


def test_variables_in_an_expression(shell):
    shell.user_ns.update(penguins=1, penalty=2, _hidden=3)
    assert complete(shell, "%%agent\ntell me of @{pen|") >= {("pen", "penguins"), ("pen", "penalty")}
    assert "_hidden" not in texts(shell, "%%agent\n@{|")


def test_other_cells_are_completed_as_ever(shell):
    shell.user_ns["penguins"] = 1
    assert "penguins" in texts(shell, "x = pengu|")
    assert not {"--model"} & texts(shell, "x = 1\nfoo --m|")


def test_a_broken_folder_completes_nothing_and_says_nothing(shell, folder, capsys):
    (folder / "agent.agent" / "profiles").mkdir(parents=True)
    (folder / "agent.agent" / "profiles" / "bad.json").write_text("{")
    assert "--model" in texts(shell, "%%agent --m|")
    texts(shell, "%%agent -t x|")
    captured = capsys.readouterr()
    assert captured.out + captured.err == ""
