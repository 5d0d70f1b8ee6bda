"""How IPython sees `%%agent`: notes/frontend.md §3. A real shell; what it would execute is read from the tree."""

import ast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

AWAITED, CALLED = "await_cell", "run_cell"


def call(shell, cell):
    """(function, arguments, is it awaited) of what a cell becomes."""
    tree = ast.parse(shell.transform_cell(cell))
    assert len(tree.body) == 1
    expression = tree.body[0].value
    awaited = isinstance(expression, ast.Await)
    expression = expression.value if awaited else expression
    return expression.func.attr, [ast.literal_eval(a) for a in expression.args], awaited


def prompt(shell, cell):
    return call(shell, cell)[1][1]


def test_a_cell_becomes_a_top_level_await(shell):
    assert call(shell, "%%agent writer -q\nTidy notes.md") == ("await_cell", ["writer -q", "Tidy notes.md"], True)


HARD = (
    "it's {x} {{y}} $HOME @{z} what?",
    "> quoted\n>>> x = 1\n... y\nIn [1]: z\n",
    "    indented\n\n  \n\ttabs\t\n   spaces only below\n      \nend",
    "%time\n!ls\n?help\nx?\n%%bash\n",
    '"""triple""" and \'\'\' and \\ backslash \\n \\frac{a}{b} $x^2$',
    "const f = <T,>(x: T): T => { return `${x}`; };\n// comment\n# heading\n",
    "日本語 ümläut 🐧 \u2028 \u0085 \x0b \x0c end",
    "trailing spaces   ",
    "\n\nleading blank lines",
    "windows\r\nline ends\r\n",
)


@pytest.mark.parametrize("body", HARD)
def test_the_prompt_arrives_byte_for_byte(shell, body):
    assert prompt(shell, "%%agent\n" + body) == body.removesuffix("\n")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(body=st.text().filter(lambda t: "NBVAL" not in t and "PYTEST" not in t))
def test_any_prompt_arrives_byte_for_byte(shell, body):
    assert prompt(shell, "%%agent\n" + body) == body.removesuffix("\n")


@pytest.mark.parametrize("body", [*HARD, "one line", ""])
def test_the_way_without_await_gets_the_same_prompt(shell, body):
    shell.autoawait = False
    name, arguments, awaited = call(shell, "%%agent x\n" + body)
    assert (name, awaited) == ("run_cell", False)
    assert arguments == ["x", body.removesuffix("\n")]


@pytest.mark.parametrize("above", ["\n", "  \n\n", "# a comment\n", "# NBVAL_IGNORE_OUTPUT\n\n# two\n"])
def test_blank_and_comment_lines_above_are_skipped(shell, above):
    assert call(shell, f"{above}%%agent\nhello") == ("await_cell", ["", "hello"], True)


def test_a_cell_that_is_indented_as_a_whole_is_moved_to_the_margin(shell):
    assert prompt(shell, "  %%agent\n  one\n    two\nthree\n\n  four") == "one\n  two\nthree\n\nfour"


def test_comments_for_nbval_are_no_part_of_the_prompt(shell):
    body = "# NBVAL_IGNORE_OUTPUT\nsay hello\n  # NBVAL_RAISES_EXCEPTION  \n# a heading\n#PYTEST_VALIDATE_IGNORE_OUTPUT\nend"
    assert prompt(shell, "%%agent\n" + body) == "say hello\n# a heading\nend"


@pytest.mark.parametrize(
    "cell", ["%%agents\nx", "%%agent2\nx", "%%agent?", "%%agent??", "%agents x", "x = 1\n%%agent\ny", "# only", ""]
)
def test_what_is_something_else_is_left_alone(shell, cell):
    assert "tt_kernel" not in shell.transform_cell(cell)


@pytest.mark.parametrize(
    "line", ["what is x?", "costs $5, $HOME, {x}", "it's 5 o'clock??", "a\\", "run 100%", "-q hi", ""]
)
def test_a_line_of_its_own_is_awaited_and_arrives_unchanged(shell, line):
    """Field reports A5; a question mark at the end is no request of help."""
    assert call(shell, f"%agent {line}") == ("await_line", [line], True)


@pytest.mark.parametrize("cell", ["%agent?", "%agent??", "%%agent?", "?%agent", "?%%agent"])
def test_asking_for_help_still_does(shell, cell):
    assert "pinfo" in shell.transform_cell(cell)


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("x = 1\n%agent what is x?", "what is x?"),
        ("for i in range(2):\n    %agent is it {i}??", "is it {i}??"),
        ("%agent it's?\nprint(1)", "it's?"),
        ("x = 1\n%agent one\\\ntwo?", "one two?"),
    ],
)
def test_a_line_in_a_longer_cell_is_synchronous_and_keeps_its_question_mark(shell, cell, text):
    calls = [n for n in ast.walk(ast.parse(shell.transform_cell(cell))) if isinstance(n, ast.Call)]
    magic = [n for n in calls if getattr(n.func, "attr", "") == "run_line_magic"]
    assert [[ast.literal_eval(a) for a in n.args] for n in magic] == [["agent", text]]


def test_help_in_a_longer_cell_still_helps(shell):
    assert "pinfo" in shell.transform_cell("x = 1\n%agent?")


def test_consoles_see_that_a_cell_is_not_complete_yet(shell):
    """Rewritten, its first line would be complete Python."""
    assert shell.check_complete("%%agent")[0] == "incomplete"
    assert shell.check_complete("%%agent\nhello")[0] == "incomplete"
    assert shell.check_complete("%%agent\nhello\n\n")[0] == "complete"


@pytest.mark.parametrize("outer", ["%%time\n", "%%capture out\n", "exec_cell"])
def test_inside_another_cell_nothing_is_awaited(shell, outer):
    seen = []
    magics = shell.magics_manager.registry["AgentMagics"]
    magics.run_cell = lambda line, body: seen.append((line, body))
    if outer == "exec_cell":
        shell.user_ns["shell"] = shell
        result = shell.run_cell("shell.run_cell_magic('agent', 'x', 'a {b} $c?')")
    else:
        result = shell.run_cell(outer + "%%agent x\na {b} $c?")
    assert result.success
    assert seen == [("x", "a {b} $c?")]


def test_after_a_cell_that_awaited_the_next_one_awaits_too(shell):
    magics = shell.magics_manager.registry["AgentMagics"]
    seen = []

    async def await_cell(line, body):
        seen.append(body)

    magics.await_cell = await_cell
    for n in range(3):
        assert shell.run_cell(f"%%agent\n{n}").success
    assert seen == ["0", "1", "2"]


def test_another_loop_runner_is_not_awaited_on(shell):
    shell.run_line_magic("autoawait", "sync")
    assert call(shell, "%%agent\nhello")[0] == "run_cell"
