"""The script format: what is read, and that every mistake is named with file, line and turn."""

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tt_kernel.domain.errors import ModelUnavailable
from tt_kernel.domain.turns import Usage
from tt_kernel.providers import script
from tt_kernel.providers.script import Failure, ScriptedCall, Turn
from tt_kernel.providers.script_reader import load_script, read_script
from tt_kernel.providers.script_yaml import LineProblem, parse

PATH = Path("demo.yaml")


def turns(text: str) -> tuple[Turn, ...]:
    return read_script(text, PATH).conversations[0].turns


def problem(text: str) -> str:
    with pytest.raises(ModelUnavailable) as caught:
        read_script(text, PATH)
    assert caught.value.code == "model.script_invalid"
    return caught.value.message


def test_the_example_of_the_documentation_is_valid():
    text = re.search(r"(?s)\n\n(    script: 1.*?)\n\n", script.__doc__)[1]
    read = read_script(text.replace("\n    ", "\n").lstrip(), PATH)
    (dice,) = read.conversations
    assert (dice.name, dice.when) == ("dice", ("roll",))
    assert dice.turns[0] == Turn(
        line=9,
        think="I need the tool.",
        say="Let me roll.",
        calls=(ScriptedCall("dice_roll", None, {"formula": "2d6"}),),
        pace=20,
        chunk=12,
    )
    assert dice.turns[1].expect == ("= 8",)
    assert read.accepts_images


def test_every_key_of_a_turn_is_in_the_documentation():
    from tt_kernel.providers.script_reader import _TURN_KEYS, ERRORS, FINISH

    for key in _TURN_KEYS:
        assert re.search(rf"\b{key}:", script.__doc__) or f"`{key}`" in script.__doc__, key
    for word in (*ERRORS, *FINISH):
        assert re.search(rf"\b{word}\b", script.__doc__), word


def test_a_short_script_is_one_conversation_for_every_prompt():
    read = read_script("turns: [Hello, {call: a}, Bye]", PATH)
    (only,) = read.conversations
    assert only.fits("anything")
    assert [turn.say for turn in only.turns] == ["Hello", "", "Bye"]


def test_conversations_are_chosen_by_the_first_that_fits():
    read = read_script("conversations: [{name: a, when: [Roll, dice], turns: [x]}, {name: b, turns: [y]}]", PATH)
    assert read.find("please ROLL it").name == "a"
    assert read.find("DICE").name == "a"
    assert read.find("").name == "b"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("say: yes", {"say": "yes"}),
        ("say: 'on'", {"say": "on"}),
        ("say: 2024-01-01", {"say": "2024-01-01"}),
        ("say: 1:30", {"say": "1:30"}),
        ("say: 0x1F", {"say": "0x1F"}),
        ("say: 1_000", {"say": "1_000"}),
        ("say: .inf", {"say": ".inf"}),
        ('say: ""', {"say": ""}),
        ("say: {repeat: ab, times: 3}", {"say": "ababab"}),
        ("refuse: No.", {"refuse": "No."}),
        ("{say: a, finish: length}", {"say": "a", "finish": "length"}),
        ("{say: a, wait: 5, pace: 6, chunk: 7}", {"say": "a", "wait": 5, "pace": 6, "chunk": 7}),
        ("{say: a, expect: b, asked: [c, d]}", {"say": "a", "expect": ("b",), "asked": ("c", "d")}),
        ("{say: a, fail: 503}", {"say": "a", "fail": Failure("503")}),
        ("{say: a, fail: cut}", {"say": "a", "fail": Failure("cut")}),
        ("{fail: {error: hang, times: always}}", {"fail": Failure("hang", None)}),
        (
            "{say: a, fail: {error: 429, times: 2, retry_after: 1.5, message: slow, after: 3}}",
            {"say": "a", "fail": Failure("429", 2, 3, 1.5, "slow")},
        ),
        ("{say: a, usage: {input: 1, output: 2, cached: 3, cost: 0.5}}", {"say": "a", "usage": Usage(input_tokens=1, output_tokens=2, cached_tokens=3, cost_usd=0.5)}),
        ("{say: a, usage: {input: 1}}", {"say": "a", "usage": Usage(input_tokens=1)}),
        ("call: t", {"calls": (ScriptedCall("t", None, {}),)}),
        ("{call: t, with: {a: 1, b: [x, {c: true}], d: null, e: 1.5e3}}", {"calls": (ScriptedCall("t", None, {"a": 1, "b": ["x", {"c": True}], "d": None, "e": 1500.0}),)}),
        ("{call: t, raw: '{\"a\":', id: x}", {"calls": (ScriptedCall("t", "x", '{"a":'),)}),
        ('{calls: [{call: a}, {call: b, raw: ""}, {call: c, id: ""}]}', {"calls": (ScriptedCall("a", None, {}), ScriptedCall("b", None, ""), ScriptedCall("c", "", {}))}),
    ],
)  # fmt: skip
def test_a_turn_is_read(text, expected):
    (turn,) = turns(f"turns:\n  - {text}\n")
    assert turn == Turn(line=2, **expected)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "must be a mapping"),
        ("hello", 1, "must be a mapping"),
        ("- a", 1, "must be a mapping"),
        ("turns: [", 1, "expected the node content"),
        ("turns: [a]\nturns: [b]", 2, "key 'turns' is there twice"),
        ("? [a]\n: b", 1, "a key must be text"),
        ("turns: [!!python/object:os.system x]", 1, "is not known here"),
        ("turns: [&a {say: *a}]", 1, "repeats itself"),
        ("script: 2\nturns: [a]", 1, "format 1"),
        ("script: 1", 1, "either `conversations` or `turns`"),
        ("turns: [a]\nconversations: []", 1, "either `conversations` or `turns`"),
        ("trns: [a]", 1, "did you mean turns?"),
        ("turns: []", 1, "at least one turn"),
        ("turns: a", 1, "at least one turn"),
        ("conversations: []", 1, "at least one conversation"),
        ("conversations: [a]", 1, "must be a mapping with name"),
        (
            "conversations:\n  - {name: x, turns: [a]}\n  - {name: x, turns: [b]}",
            3,
            "conversation 2: name: 'x' is there twice",
        ),
        ("conversations:\n  - name: x\n    when: 3\n    turns: [a]", 3, "when: must be text"),
        ("conversations:\n  - name: x\n    when: ['']\n    turns: [a]", 3, "when: must be text"),
        ("conversations:\n  - name: x\n    trns: [a]", 3, "did you mean turns?"),
        ("turns:\n  - say: a\n  - sya: b", 3, "conversation 'the only one', turn 2: sya: unknown; did you mean say?"),
        ("turns:\n  - 3", 1, "turn 1: must be a mapping"),
        ("turns:\n  - say: 3", 2, "say: must be text (quote it"),
        ("turns:\n  - say: null", 2, "say: must be text"),
        ("turns:\n  - say: [a]", 2, "say: must be text"),
        ("turns:\n  - {}", 2, "a turn needs"),
        ("turns:\n  - think: a", 2, "a turn needs"),
        ("turns:\n  - fail: 503", 2, "a turn needs"),
        ("turns:\n  - say: {repeat: a}\n    chunk: 0", 3, "chunk: must be a whole number, 1 or more"),
        ("turns:\n  - say: {repeat: a, times: 0}", 2, "times: must be a whole number, 1 or more"),
        ("turns:\n  - say: {repeat: abcdefghij, times: 2000001}", 2, "more than 20000000 characters"),
        ("turns:\n  - say: a\n    wait: -1", 3, "wait: must be a whole number, 0 or more"),
        ("turns:\n  - say: a\n    pace: true", 3, "pace: must be a whole number"),
        ("turns:\n  - say: a\n    pace: 1.5", 3, "pace: must be a whole number"),
        ("turns:\n  - call: a\n    calls: []", 3, "either `call` or `calls`"),
        ("turns:\n  - say: a\n    with: {}", 3, "belongs to a `call`"),
        ("turns:\n  - call: a\n    with: {}\n    raw: x", 4, "either `with` or `raw`"),
        ("turns:\n  - call: a\n    with: [1]", 3, "use `raw` for anything else"),
        ("turns:\n  - call: 3", 2, "call: must be text"),
        ("turns:\n  - calls: a", 2, "must be a list of calls"),
        ("turns:\n  - calls: [{with: {}}]", 2, "a call needs `call`"),
        ("turns:\n  - say: a\n    finish: done", 3, "finish: must be one of stop, length"),
        ("turns:\n  - say: a\n    fail: 418", 3, "fail: must be one of 400"),
        ("turns:\n  - say: a\n    fail: true", 3, "fail: must be one of 400"),
        ("turns:\n  - say: a\n    fail: {times: 2}", 3, "error: must be one of"),
        ("turns:\n  - say: a\n    fail: {error: cut, times: never}", 3, "times: must be a whole number"),
        ("turns:\n  - say: a\n    fail: {error: 429, retry_after: soon}", 3, "retry_after: must be a number"),
        ("turns:\n  - say: a\n    usage: {input: -1}", 3, "input: must be a whole number"),
        ("turns:\n  - say: a\n    usage: 3", 3, "must be a mapping with input"),
        ("images: maybe\nturns: [a]", 1, "images: must be true or false"),
        ("pace: fast\nturns: [a]", 1, "pace: must be a whole number"),
    ],
)
def test_a_mistake_is_named_with_file_line_and_turn(text, line, words):
    message = problem(text)
    assert message.startswith(f"Script demo.yaml, line {line}")
    assert words in message
    assert message.endswith(".")


def test_a_missing_script_names_those_that_exist(tmp_path):
    (tmp_path / "other.yaml").write_text("turns: [a]")
    with pytest.raises(
        ModelUnavailable, match=r"There is no script .*demo\.yaml.*In that folder: other\.yaml\."
    ) as caught:
        load_script(tmp_path / "demo.yaml")
    assert caught.value.code == "model.script_invalid"


def test_a_script_that_is_no_text_is_a_user_error(tmp_path):
    (tmp_path / "demo.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ModelUnavailable, match="cannot be read"):
        load_script(tmp_path / "demo.yaml")
    with pytest.raises(ModelUnavailable, match="cannot be read"):
        load_script(tmp_path)


# ---- identity: editing another conversation does not invalidate recordings

BASE = """
script: 1
pace: 5
conversations:
  - name: dice
    when: roll
    turns:
      - {say: One., call: dice_roll, with: {formula: 2d6}}
      - {say: Two., expect: '7'}
  - name: other
    turns: [Hello]
"""


def identity(text, prompt="roll it"):
    return read_script(text, PATH).identity(prompt)


@pytest.mark.parametrize(
    ("old", "new"),
    [("Hello", "Bye"), ("pace: 5", "pace: 50"), ("script: 1", "script: 1  # comment"), ("name: dice", "name: cubes"), ("{say: One., ", "{wait: 9, chunk: 1, say: One., ")],
)  # fmt: skip
def test_what_does_not_decide_a_conversations_replies_is_not_in_its_identity(old, new):
    assert old in BASE
    assert identity(BASE.replace(old, new)) == identity(BASE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("One.", "Uno."),
        ("2d6", "3d6"),
        ("when: roll", "when: [roll, throw]"),
        ("expect: '7'", "expect: '8'"),
        ("dice_roll", "roll"),
    ],
)
def test_what_decides_a_conversations_replies_is_in_its_identity(old, new):
    assert identity(BASE.replace(old, new)) != identity(BASE)


def test_without_a_prompt_the_identity_is_of_the_whole_script():
    assert identity(BASE, None) != identity(BASE)
    assert identity(BASE.replace("Hello", "Bye"), None) != identity(BASE, None)
    assert identity(BASE, "hi") != identity(BASE, "roll")


# ---- the YAML reader

# In a quoted text of YAML these three are line ends, and fold to a space.
texts = st.text(st.characters(exclude_characters="\x85\u2028\u2029"))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
    max_leaves=20,
)


@given(json_values)
def test_json_is_read_as_what_it_is(value):
    import json

    text = json.dumps(value, ensure_ascii=False)
    try:
        yaml.compose(text)
    except yaml.YAMLError:
        return  # characters, keys of a length or line ends that YAML has no place for
    assert parse(text) == value


@given(st.text(max_size=200))
def test_any_text_is_a_value_or_a_problem_with_a_line(text):
    try:
        parse(text)
    except LineProblem as found:
        assert found.line >= 1
        assert found.message


@given(st.text(max_size=200).map("turns:\n".__add__))
def test_any_text_is_a_script_or_a_user_error(text):
    try:
        read_script(text, PATH)
    except ModelUnavailable as error:
        assert error.code == "model.script_invalid"


def test_aliases_are_copied_and_cycles_refused():
    assert parse("{a: &x {b: 1}, c: *x}") == {"a": {"b": 1}, "c": {"b": 1}}
    with pytest.raises(LineProblem, match="repeats itself"):
        parse("&a [*a]")


def test_a_nest_of_aliases_is_refused_before_it_fills_the_memory():
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9)
    )
    with pytest.raises(LineProblem, match="too large"):
        parse(bomb)
