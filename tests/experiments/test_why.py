"""Issue 6.3: the first difference from the nearest recording, by kind."""

import io

import pytest
import support
from PIL import Image
from support import drive, make_session

from tt_kernel.domain.runs import TurnEdit
from tt_kernel.experiments.why import AGAIN, why
from tt_kernel.experiments.why_page import WhyPage

SCRIPT = """
script: 1
turns:
  - call: lookup
    with: {key: b}
  - say: All done.
"""
PROMPT = "Summarise the measurements of the penguins in one sentence.\nUse grams."


def lookup(key: str) -> str:
    """Look a key up."""
    return f"value of {key}"


def other_lookup(limit: int = 3):
    def lookup(key: str, limit: int = limit) -> str:
        """Look a key up, with a limit."""
        return f"value of {key}"

    return lookup


def png(colour: str) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (4, 4), colour).save(out, "PNG")
    return out.getvalue()


BASE = {"functions": [lookup], "tools": ["lookup"]}
SYSTEM = "instructions.agent_system_prompt"
CHANGES = {
    "prompt": (
        {"prompt": PROMPT.replace("grams", "kilograms")},
        "prompt",
        'recorded "Use grams.", now "Use kilograms."',
    ),
    "setting": ({"settings": {"sampling.temperature": 0.5}}, "setting", "temperature: recorded the default, now 0.5"),
    "tool added": ({"tools": ["lookup", "dice.roll"]}, "tool", "Tool dice_roll is new"),
    "tool removed": ({"functions": [], "tools": []}, "tool", "Tool lookup is gone"),
    "schema": ({"functions": [other_lookup()]}, "tool", "Tool lookup has another description and another schema"),
    "image": ({"images": [png("blue")]}, "image", "The images of message 2 differ"),
    "model": ({"model": "scripted:other.yaml"}, "model", "The model differs"),
}


@pytest.fixture
def session(tmp_path):
    (tmp_path / "other.yaml").write_text(SCRIPT)
    return make_session(tmp_path, SCRIPT)


def run(session, **changes):
    options = BASE | changes
    return drive(session, options.pop("prompt", PROMPT), **options)[0]


@pytest.mark.parametrize(("change", "kind", "says"), CHANGES.values(), ids=CHANGES)
def test_the_first_difference_by_kind(session, change, kind, says):
    first = run(session, **({"images": [png("red")]} if "images" in change else {}))
    second = run(session, **change)
    found = why(session, second.id)
    assert (found.run, found.turn, found.nearest) == (second.id, 1, first.id)
    assert found.contrasts[0].kind == kind
    assert says in found.sentence


def test_a_section_of_the_system_prompt_is_named(session):
    run(session, settings={SYSTEM: "# Role\nYou help.\n# Style\nBe brief."})
    second = run(session, settings={SYSTEM: "# Role\nYou help.\n# Style\nBe verbose."})
    found = why(session, second.id).contrasts[0]
    assert (found.kind, found.name) == ("system", "Style")
    assert 'line 4 in section "Style"' in found.sentence


def test_the_nearest_recording_is_the_one_that_shares_most(session):
    run(session, prompt="Something else entirely, of other words.")
    near = run(session)
    third = run(session, prompt=PROMPT + " Please.")
    assert why(session, third.id).nearest == near.id


def test_prompts_are_compared_by_words_and_schemas_by_lines(session):
    run(session)
    changed = run(session, prompt=PROMPT.replace("one sentence", "two sentences"), functions=[other_lookup()])
    page = WhyPage(why(session, changed.id))
    assert [c.kind for c in page.why.contrasts] == ["tool", "prompt"]
    assert "[-one-]{+two+} [-sentence-]{+sentences+}" in page.text
    assert '+  "limit": {' in page.text
    assert "<ins" in page.html
    assert "<del" in page.html


def test_the_first_run_has_nothing_to_be_compared_with(session):
    found = why(session, run(session).id)
    assert (found.nearest, found.sentence) == (None, "Nothing had been recorded before it.")


def test_a_repeat_and_a_live_run_say_so(session):
    run(session)
    assert why(session, run(session).id).sentence == AGAIN
    live = run(session, mode="live")
    assert "asked to run live" in why(session, live.id).sentence


def test_a_changed_function_is_named_where_it_was_executed_again(tmp_path):
    first = run(make_session(tmp_path, SCRIPT))

    def lookup(key: str) -> str:
        """Look a key up."""
        return "another value"

    session = make_session(tmp_path)
    second = run(session, functions=[lookup])
    found = why(session, second.id)
    assert (found.turn, found.nearest, found.contrasts[0].kind) == (1, first.id, "tool")
    assert "lookup (call 1) was executed again: the tool's code or schema changed" in found.sentence


def test_off_is_said(session):
    assert "mode off" in why(session, run(session, mode="off").id).sentence


def test_explaining_writes_nothing_and_is_the_same_each_time(session, tmp_path):
    from support import snapshot_of

    run(session)
    second = run(session, prompt="x")
    before = snapshot_of(tmp_path)
    one, two = WhyPage(why(session, second.id)), WhyPage(why(make_session(tmp_path), second.id))
    assert one.html == two.html
    assert snapshot_of(tmp_path) == before


def test_it_stays_the_same_when_others_go_on_from_the_run(session):
    run(session)
    second = run(session, prompt=PROMPT + " Please.")
    before = WhyPage(why(session, second.id)).text
    edit = TurnEdit(turn=2, results={"1": "something else"})
    stream = session.stream(session.prepare_branch(second.id, edit, functions=[lookup]))
    support._collect(session, stream)
    assert WhyPage(why(make_session(session.base_dir), second.id)).text == before
