"""The grammar of DESIGN §8, as far as it applies now."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_kernel.domain.errors import UsageProblem
from tt_kernel.ipython.arguments import NOT_YET, OPTIONS, Options, parse_cell, parse_line, usage_lines, words


def test_every_option_at_once():
    assert parse_cell(
        "writer -m scripted:x.yaml -o res --continue -t plot_hist --tool extension/notebook:* --live --set limits.turns=5 "
        "--set sampling.stop='[\"a b\"]' --temperature 0 --seed -1 --max-tokens=50 --raw -q"
    ) == Options(
        profile="writer",
        model="scripted:x.yaml",
        output="res",
        continue_from="last",
        tools=("plot_hist", "extension/notebook:*"),
        mode="live",
        settings={
            "limits.turns": "5",
            "sampling.stop": '["a b"]',
            "sampling.temperature": "0",
            "sampling.seed": "-1",
            "sampling.max_tokens": "50",
        },
        raw=True,
        quiet=True,
    )


def test_an_empty_line_is_the_default():
    assert parse_cell("") == Options()
    assert parse_line("") == Options(text="")


def test_the_profile_is_positional_or_an_option_and_only_one():
    assert parse_cell("-q writer").profile == "writer"
    assert parse_cell("-p writer").profile == "writer"
    with pytest.raises(UsageProblem, match="one profile"):
        parse_cell("-p writer assistant")
    with pytest.raises(UsageProblem, match="prompt stands below"):
        parse_cell("summarise this")


def test_continue_takes_a_run_with_an_equals_sign_only():
    assert parse_cell("--continue=3fa92c17").continue_from == "3fa92c17"
    assert parse_cell("--continue writer") == Options(continue_from="last", profile="writer")


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("it's five o'clock", "it's five o'clock"),
        ('-q it\'s   spaced "as is"  ', 'it\'s   spaced "as is"  '),
        ("-m \"a model\" 'quoted' text", "'quoted' text"),
        ("what is -5 and --live?", "what is -5 and --live?"),
        ("-5 degrees", "-5 degrees"),
        ("- a list", "- a list"),
        ("--- a rule", "--- a rule"),
        ("-- -q is an option", "-q is an option"),
        ("costs $5, $HOME, {x} @{y} \\frac{1}{2}", "costs $5, $HOME, {x} @{y} \\frac{1}{2}"),
    ],
)
def test_the_prompt_of_a_line_is_everything_from_the_first_other_word_on(line, text):
    """Field reports A5: apostrophes, `$x` and braces arrive unchanged."""
    assert parse_line(line).text == text


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("-m", "-m needs a value: -m MODEL"),
        ("-m -q", "-m needs a value"),
        ("--modle x", "There is no option --modle. Did you mean --model?"),
        ("--zzz", "There is no option --zzz. %agent[?] lists"),
        ("--live --replay", "exclude each other"),
        ("--live=1", "--live takes no value; got '1'"),
        ("--set limits", "--set needs FIELD=VALUE"),
        ("--set =5", "--set needs FIELD=VALUE"),
        ("-o 1x", "-o needs the name of a variable; '1x'"),
    ],
)
def test_an_error_names_the_option_and_what_it_needs(line, message):
    with pytest.raises(UsageProblem, match=message):
        parse_cell(line)


@pytest.mark.parametrize("name", NOT_YET)
def test_what_comes_later_is_refused_clearly(name):
    with pytest.raises(UsageProblem, match=f"{name} is not available yet"):
        parse_cell(f"{name} x")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a  b\tc", ["a", "b", "c"]),
        ("it's 'a b' \"c d\"", ["it's", "a b", "c d"]),
        ("x='a b' y=\"c 'd'\" z=it's", ["x=a b", "y=c 'd'", "z=it's"]),
        ("'unclosed word", ["'unclosed", "word"]),
        ('["a", "b"]', ['["a",', '"b"]']),
        ("'a'b' c", ["a'b", "c"]),
        ("''", [""]),
    ],
)
def test_words(line, expected):
    assert [word.text for word in words(line)] == expected


@given(st.text())
def test_any_line_is_words_that_cover_it(line):
    found = list(words(line))
    assert " ".join(line[w.start : w.end] for w in found).split() == line.split()
    assert all(a.end <= b.start for a, b in itertools.pairwise(found))


@given(st.text())
def test_any_line_is_parsed_or_refused(line):
    for parse in (parse_cell, parse_line):
        try:
            assert isinstance(parse(line), Options)
        except UsageProblem as problem:
            assert problem.message.endswith((".", "?"))


def test_the_help_names_every_option():
    text = "\n".join(usage_lines())
    assert all(name in text for option in OPTIONS for name in option.names)
