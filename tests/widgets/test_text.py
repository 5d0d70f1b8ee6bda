import pytest
from run_views import HOSTILE, call, everywhere, penguins

from tt_kernel.domain.views import TextView
from tt_kernel.widgets.text import run_text


def test_the_text_of_the_mock_up():
    """notes/ux.md "First minute": what consoles and git diffs show."""
    assert run_text(penguins()).splitlines() == [
        "agent assistant [done] 3 turns, 4 calls, 2,113 tokens, 3fa92c17",
        '  1 workspace_list_files path="/" -> 3 entries',
        '  2 workspace_shell command="jq -s length" -> exit 0',
        '  3 workspace_shell command="python x.py" -> error workspace.shell_exit: exit 1',
        '  4 plot_hist column="body_mass_g" bins=20 -> 1 image (tool-results/hist.png)',
        "The 344 penguins weigh 4.2 kg on average, Gentoo most (5.1 kg).",
        "in analysis.agent/runs/3fa92c17 · output/hist.png",
    ]


def test_a_failed_run_says_why_and_keeps_what_there_was():
    view = penguins(
        status="failed", problem_code="agent.limit_reached", problem="3 turns were allowed.", text="Half an ans"
    )
    lines = run_text(view).splitlines()
    assert lines[0].startswith("agent assistant [failed]")
    assert lines[-3:-1] == ["Half an ans", "agent.limit_reached: 3 turns were allowed."]


def test_calls_that_are_left_out_are_counted_where_they_were():
    view = penguins(calls=(call(1, "first", {}), call(9, "last", {})), call_count=9, hidden_calls=7)
    assert run_text(view).splitlines()[1:4] == ["  1 first -> done", "  ... 7 calls not shown", "  9 last -> done"]


def test_texts_between_calls_stand_where_they_were_written():
    view = penguins(notes=(TextView(after=1, text="Now\nthe shell."), TextView(after=4, text="Done.")))
    lines = run_text(view).splitlines()
    assert lines[2] == "  - Now the shell."
    assert lines[6] == "  - Done."


@pytest.mark.parametrize(
    ("state", "word"), [("requested", "waiting"), ("running", "running"), ("cancelled", "cancelled"), ("done", "done")]
)
def test_each_state_of_a_call_has_a_word(state, word):
    view = penguins(calls=(call(1, "tool", {}, state=state),), call_count=1)
    assert run_text(view).splitlines()[1] == f"  1 tool -> {word}"


def test_an_invalid_argument_text_is_shown_as_the_model_wrote_it():
    view = penguins(calls=(call(1, "tool", {}, raw_arguments='{"path": '),), call_count=1)
    assert run_text(view).splitlines()[1] == '  1 tool {"path": -> done'


def test_a_call_is_one_line_however_long_its_arguments_are():
    view = penguins(calls=(call(1, "t" * 500, {"a" * 500: "x\ny" * 5_000}, summary="s\n" * 999),), call_count=1)
    line = run_text(view).splitlines()[1]
    assert len(line) < 400


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_reaches_a_terminal_that_it_would_interpret(text):
    shown = run_text(everywhere(text))
    assert not set(shown) & {"\x1b", "\x00", "\x07", "\u202e", "\r"}
    shown.encode("utf-8")
