"""Approvals and questions through the comm `tt-kernel`, in a real kernel while the cell awaits.

DESIGN §10, spec liveagent §3.3, §15, §24.9; field reports 18, 43, 44, 75. The protocol is in `tt_kernel/ipython/comms.py`.
"""

import json
import textwrap
import time
import uuid

import pytest
from kernels import RUN_MIME, kernel

SCRIPT = """
script: 1
conversations:
  - when: bump
    turns:
      - call: bump
        with: {by: 2, note: "first\\nline"}
      - say: Done.
  - when: twice
    turns:
      - call: bump
        with: {by: 2, note: a}
      - call: bump
        with: {by: 2, note: a}
      - call: bump
        with: {by: 3, note: a}
      - say: Done.
  - when: together
    turns:
      - call: bump
        with: {by: 2, note: a}
      - say: Done.
  - when: write
    turns:
      - call: Write
        with: {path: notes.txt, content: "new line\\n"}
      - say: Done.
  - when: question
    turns:
      - call: AskUserQuestion
        with:
          questions:
            - question: Which database?
              options: [{label: Postgres}, {label: SQLite, recommended: true}]
      - say: Done.
"""
SETUP = """
import tt_kernel
total = []
@tt_kernel.tool
def bump(by: int, note: str) -> str:
    'Count up.'
    total.append(by)
    return f'total {sum(total)}'
"""
RULES = {"rules": [{"tool": "bump", "decision": "ask", "arguments": {}}]}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "script.yaml").write_text(textwrap.dedent(SCRIPT))
    (tmp_path / "nb.agent").mkdir()
    (tmp_path / "nb.agent" / "permissions.json").write_text(json.dumps(RULES))
    monkeypatch.setenv("TT_MODEL", "scripted:script.yaml")
    monkeypatch.setenv("TT_NOTEBOOK", str(tmp_path / "nb.ipynb"))
    return tmp_path


class FrontEnd:
    """What a labextension is to the kernel: one comm. `on` says what it does with a type of message."""

    def __init__(self, running, *, answers=("approval", "question"), subshell=None, **on):
        self.kernel, self.on, self.got = running, on, []
        self.id = uuid.uuid4().hex
        self.subshell = subshell
        self._message(
            "comm_open", {"target_name": "tt-kernel", "data": {"type": "hello", "version": 1, "answers": list(answers)}}
        )
        self.wait("welcome")

    def send(self, **data):
        self._message("comm_msg", {"data": data})

    def close(self):
        self._message("comm_close", {"data": {}})

    def _message(self, kind, content):
        message = self.kernel.client.session.msg(kind, {"comm_id": self.id, **content})
        if self.subshell:
            message["header"]["subshell_id"] = self.subshell
        self.kernel.client.shell_channel.send(message)

    def __call__(self, message):
        if message["msg_type"] == "comm_msg" and message["content"]["comm_id"] == self.id:
            data = message["content"]["data"]
            self.got.append(data)
            self.on.get(data["type"], lambda _data: None)(data)

    def of(self, kind):
        return [data for data in self.got if data["type"] == kind]

    def wait(self, kind, count=1, seconds=20):
        end = time.monotonic() + seconds
        while len(self.of(kind)) < count:
            self(self.kernel.client.get_iopub_msg(timeout=max(0.1, end - time.monotonic())))
        return self.of(kind)[-1]


def answering(running, **answer):
    """A front end that gives one answer to every approval."""
    front = FrontEnd(running)
    front.on["approval_requested"] = lambda data: front.send(type="approval_answered", id=data["id"], **answer)
    return front


def cell(running, prompt, *fronts, line="-t bump", stdin=False, code=None):
    request = running.send(code or f"%%agent {line}\n{prompt}", cell="c1", stdin=stdin)
    return running.collect(request, on_message=lambda message: [front(message) for front in fronts])[request]


def results(folder):
    """The results of the newest run's calls, in order."""
    runs = sorted((folder / "nb.agent" / "runs").iterdir(), key=lambda run: run.stat().st_mtime)
    lines = [json.loads(line)["event"] for line in (runs[-1] / "events.jsonl").read_text().splitlines()]
    return [event["result"] for event in lines if event["type"].startswith("tool_call_") and "result" in event]


def decided(folder):
    (run,) = (folder / "nb.agent" / "runs").iterdir()
    lines = [json.loads(line)["event"] for line in (run / "events.jsonl").read_text().splitlines()]
    return [
        {k: e[k] for k in ("decision", "reason", "by", "scope")} for e in lines if e["type"] == "tool_approval_decided"
    ]


def test_the_question_shows_everything_and_approving_runs_it(folder):
    """Field report 75: tool name, full arguments, rule and time limit; the answer is in the record."""
    with kernel(folder) as k:
        k.run(SETUP)
        front = answering(k, decision="approve")
        out = cell(k, "please bump", front)
        assert (out.view["status"], out.view["text"]) == ("done", "Done.")
        (asked,) = front.of("approval_requested")
        facts = ("tool", "name", "effect", "arguments", "rawArguments", "rule", "diff", "scope", "timeoutSeconds")
        assert {name: asked[name] for name in facts} == {
            "tool": "extension/notebook:bump", "name": "bump", "effect": "external",
            "arguments": {"by": 2, "note": "first\nline"}, "rawArguments": None, "rule": "bump = ask", "diff": None,
            "scope": {"by": "2", "note": "first\nline"}, "timeoutSeconds": 180.0,
        }  # fmt: skip
        assert asked["summary"] == "bump\nby: 2\nnote: first\nline"
        assert asked["run"] == out.view["id"]
        assert asked["deadline"].endswith("+00:00")
        assert front.of("approval_settled") == [{"type": "approval_settled", "id": asked["id"], "outcome": "approve"}]
        assert k.run("print(total)").text == "[2]\n"
    assert decided(folder) == [{"decision": "approve", "reason": "", "by": "user", "scope": ""}]


def test_a_change_of_a_file_is_shown_as_a_diff(folder):
    """Field report 75: tool name, full arguments and diff."""
    (folder / "notes.txt").write_text("old line\n")
    with kernel(folder) as k:
        front = answering(k, decision="deny")
        cell(k, "write it", front, line="engineer")
        (asked,) = front.of("approval_requested")
    assert asked["arguments"] == {"path": "notes.txt", "content": "new line\n"}
    assert asked["diff"].splitlines()[-2:] == ["-old line", "+new line"]
    assert (asked["rule"], asked["scope"]) == ("project = ask", {"path": "notes.txt"})
    assert (folder / "notes.txt").read_text() == "old line\n"


def test_the_api_in_a_cell_asks_too(folder):
    with kernel(folder) as k:
        k.run(SETUP)
        front = answering(k, decision="approve")
        out = cell(k, "", front, code="print((await tt_kernel.arun('please bump', tools=['bump'])).text)")
        assert out.text == "Done.\n"
        assert len(front.of("approval_requested")) == 1


def test_a_recorded_answer_is_not_asked_for_again(folder):
    with kernel(folder) as k:
        k.run(SETUP)
        cell(k, "please bump", answering(k, decision="approve"))
    with kernel(folder) as k:
        k.run(SETUP)
        front = answering(k, decision="deny")
        assert cell(k, "please bump", front).view["text"] == "Done."
        assert front.of("approval_requested") == []
        assert k.run("print(total)").text == "[]\n"


def test_the_reason_of_a_denial_reaches_the_model(folder):
    with kernel(folder) as k:
        k.run(SETUP)
        cell(k, "please bump", answering(k, decision="deny", reason="Not on a Monday."))
        assert k.run("print(total)").text == "[]\n"
    (result,) = results(folder)
    assert result["errorCode"] == "tool.approval_denied"
    assert (
        result["content"] == "bump was not run: the user refused it. Reason: Not on a Monday. Do not repeat this call."
    )
    assert decided(folder) == [{"decision": "deny", "reason": "Not on a Monday.", "by": "user", "scope": ""}]


def test_edited_arguments_are_run_and_the_model_is_told(folder):
    with kernel(folder) as k:
        k.run(SETUP)
        cell(k, "please bump", answering(k, decision="edit", arguments={"by": 5, "note": "b"}))
        assert k.run("print(total)").text == "[5]\n"
    (result,) = results(folder)
    assert result["content"].startswith('The user changed the arguments before this tool ran: {"by":5,"note":"b"}\n\n')


@pytest.mark.parametrize(
    ("answer", "asked", "scope"),
    [
        ({}, 2, "bump by=2 note=a"),
        ({"scope": {"note": "a*"}}, 1, "bump note=a*"),
        ({"scope": {}}, 1, "bump"),
    ],
)
def test_allow_for_this_run_covers_its_scope(folder, answer, asked, scope):
    """Spec liveagent §22.22 approved every call of the tool; field report 75: scoped and listed."""
    with kernel(folder) as k:
        k.run(SETUP)
        front = answering(k, decision="allow_run", **answer)
        cell(k, "twice", front)
        assert len(front.of("approval_requested")) == asked
        assert k.run("print(total)").text == "[2, 2, 3]\n"
    assert decided(folder)[0]["scope"] == scope


def test_no_answer_is_a_denial_after_the_time_and_a_late_one_is_not_pending(folder):
    """§24.9: no answer → deny after the window; late answer → "not pending"."""
    with kernel(folder) as k:
        k.run(SETUP)
        front = FrontEnd(k)
        began = time.monotonic()
        cell(k, "please bump", front, line="-t bump --set permissions.answer_seconds=1")
        assert 1 <= time.monotonic() - began < 10
        (asked,) = front.of("approval_requested")
        assert asked["timeoutSeconds"] == 1
        assert front.of("approval_settled")[0]["outcome"] == "timeout"
        front.send(type="approval_answered", id=asked["id"], decision="approve")
        assert front.wait("not_pending") == {"type": "not_pending", "id": asked["id"]}
        assert k.run("print(total)").text == "[]\n"
    (result,) = results(folder)
    assert result["content"] == "bump was not run: no answer within 1 s. Do not repeat this call."
    assert decided(folder)[0]["by"] == "timeout"


def test_two_front_ends_are_asked_and_the_first_answer_counts(folder):
    with kernel(folder) as k:
        k.run(SETUP)
        slow, fast = FrontEnd(k), FrontEnd(k)
        fast.on["approval_requested"] = lambda data: fast.send(
            type="approval_answered", id=data["id"], decision="approve"
        )
        slow.on["approval_settled"] = lambda data: slow.send(type="approval_answered", id=data["id"], decision="deny")
        cell(k, "please bump", slow, fast)
        assert slow.of("approval_requested") == fast.of("approval_requested")
        assert slow.of("approval_settled") == fast.of("approval_settled")
        slow.wait("not_pending")
        assert k.run("print(total)").text == "[2]\n"


def test_a_front_end_that_comes_later_finds_what_is_pending(folder):
    """A page that was reloaded while the cell waits."""
    with kernel(folder) as k:
        k.run(SETUP)
        first = FrontEnd(k)
        request = k.send("%%agent -t bump\nplease bump", cell="c1", stdin=False)
        asked = first.wait("approval_requested")
        second = FrontEnd(k)
        assert second.of("welcome") == [{"type": "welcome", "version": 1, "pending": [asked]}]
        assert second.of("approval_requested") == []
        second.send(type="approval_answered", id=asked["id"], decision="approve")
        out = k.collect(request, on_message=lambda message: [first(message), second(message)])[request]
        assert out.view["text"] == "Done."
        assert len(second.of("approval_settled")) == 1


def test_an_interrupt_while_it_asks(folder):
    """§24.9: Stop → cancelled; nothing runs, and the kernel is free at once."""
    with kernel(folder) as k:
        k.run(SETUP)
        front = FrontEnd(k, approval_requested=lambda _data: k.interrupt())
        began = time.monotonic()
        out = cell(k, "please bump", front)
        assert time.monotonic() - began < 15
        assert (out.reply["status"], out.view["status"]) == ("error", "interrupted")
        (asked,) = front.of("approval_requested")
        if not front.of("approval_settled"):
            front.wait("approval_settled")
        assert front.of("approval_settled")[0]["outcome"] == "cancelled"
        front.send(type="approval_answered", id=asked["id"], decision="approve")
        front.wait("not_pending")
        assert k.run("print(total)").text == "[]\n"
        again = k.run("%%agent --continue\nbump", cell="c2")
        assert again.reply["status"] == "ok"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"decision": "perhaps"}, "decision"),
        ({}, "decision"),
        ({"decision": "edit"}, "edit needs the whole object"),
        ({"decision": "edit", "arguments": [1]}, "edit needs the whole object"),
        ({"decision": "allow_run", "scope": {"by": 2}}, "scope.by"),
    ],
)
def test_an_answer_that_makes_no_sense_is_sent_back_and_the_question_stays(folder, answer, words):
    with kernel(folder) as k:
        k.run(SETUP)
        front = answering(k, **answer)
        front.on["invalid"] = lambda data: front.send(type="approval_answered", id=data["id"], decision="approve")
        cell(k, "please bump", front)
        assert words in front.of("invalid")[0]["message"]
        assert k.run("print(total)").text == "[2]\n"


def test_a_front_end_that_goes_away_leaves_the_question_to_the_next_or_nobody(folder):
    with kernel(folder) as k:
        k.run(SETUP)
        front = FrontEnd(k)
        front.on["approval_requested"] = lambda _data: front.close()
        began = time.monotonic()
        cell(k, "please bump", front)
        assert time.monotonic() - began < 10
    (result,) = results(folder)
    assert 'rule "bump = ask" asks, and nobody can answer here' in result["content"]


def test_a_front_end_that_only_watches_is_not_asked(folder):
    """Field report 18: without anybody who can answer it is decided at once, with a clear line."""
    with kernel(folder) as k:
        k.run(SETUP)
        front = FrontEnd(k, answers=[])
        cell(k, "please bump", front)
        assert front.of("approval_requested") == []
    (result,) = results(folder)
    assert result["content"] == (
        'bump was not run: rule "bump = ask" and nobody can answer here. '
        "The user can allow it with %agent permissions allow bump. Do not repeat this call."
    )


def test_without_a_front_end_the_input_field_is_asked(folder):
    with kernel(folder) as k:
        k.run(SETUP)
        request = k.send("%%agent -t bump\nplease bump", cell="c1")
        prompt = k.client.get_stdin_msg(timeout=20)["content"]["prompt"]
        assert prompt.startswith("bump asks to run (bump = ask)")
        k.client.input("y")
        assert k.collect(request)[request].view["text"] == "Done."
        assert k.run("print(total)").text == "[2]\n"


def test_a_cell_that_blocks_the_kernel_asks_in_its_input_field(folder):
    """Field report 43: the click would be handled after the cell. Then there is another way at once, no deadlock."""
    with kernel(folder) as k:
        k.run(SETUP)
        front = answering(k, decision="deny")
        request = k.send("%%time\n%agent -t bump please bump", cell="c1")
        k.client.get_stdin_msg(timeout=20)
        k.client.input("y")
        k.collect(request, on_message=front)
        assert front.of("approval_requested") == []
        assert k.run("print(total)").text == "[2]\n"


def test_a_front_end_with_a_subshell_is_heard_while_a_cell_blocks(folder):
    """JupyterLab speaks through a subshell, whose thread is free."""
    with kernel(folder) as k:
        k.run(SETUP)
        create = k.client.session.msg("create_subshell_request", {})
        k.client.control_channel.send(create)
        subshell = k.client.get_control_msg(timeout=20)["content"]["subshell_id"]
        front = FrontEnd(k, subshell=subshell)
        front.on["approval_requested"] = lambda data: front.send(
            type="approval_answered", id=data["id"], decision="approve"
        )
        began = time.monotonic()
        cell(k, "", front, code="%%time\n%agent -t bump please bump")
        assert time.monotonic() - began < 20
        assert k.run("print(total)").text == "[2]\n"
        out = cell(k, "twice", front)
        assert out.view["text"] == "Done."


def test_a_question_is_asked_and_answered(folder):
    with kernel(folder) as k:
        front = FrontEnd(k)
        front.on["question_asked"] = lambda data: front.send(
            type="question_answered", id=data["id"], replies=[{"option": 1}]
        )
        out = cell(k, "a question", front, line="-t AskUserQuestion")
        assert out.view["text"] == "Done."
        (asked,) = front.of("question_asked")
        assert asked["questions"] == [
            {
                "question": "Which database?",
                "options": [
                    {"label": "SQLite", "description": "", "recommended": True},
                    {"label": "Postgres", "description": "", "recommended": False},
                ],
            }
        ]
        assert front.of("question_settled")[0]["outcome"] == "answered"
    (result,) = results(folder)
    assert result["content"] == "Which database?\n-> Postgres"
    with kernel(folder) as k:
        front = FrontEnd(k)
        assert cell(k, "a question", front, line="-t AskUserQuestion").view == out.view
        assert front.of("question_asked") == []


@pytest.mark.parametrize(
    ("replies", "words"),
    [
        ([], "1 questions need as many answers"),
        (None, "replies"),
        ([{"option": 7}], "has no option 7"),
        ([{}], "neither"),
    ],
)
def test_an_answer_that_fits_no_question_is_sent_back(folder, replies, words):
    with kernel(folder) as k:
        front = FrontEnd(k)
        front.on["question_asked"] = lambda data: front.send(type="question_answered", id=data["id"], replies=replies)
        front.on["invalid"] = lambda data: front.send(
            type="question_answered", id=data["id"], replies=[{"option": None, "other": "DuckDB"}]
        )
        cell(k, "a question", front, line="-t AskUserQuestion")
        assert words in front.of("invalid")[0]["message"]
    assert results(folder)[0]["content"] == "Which database?\n-> DuckDB"


def test_a_headless_question_takes_the_recommended_answer(folder):
    with kernel(folder) as k:
        assert cell(k, "a question", line="-t AskUserQuestion").view["text"] == "Done."
    (result,) = results(folder)
    assert result["structured"]["by"] == "nobody"
    assert "-> SQLite" in result["content"]


def test_unloading_closes_the_comm(folder):
    with kernel(folder) as k:
        front = FrontEnd(k)
        closed = []
        k.run("%unload_ext tt_kernel", on_message=lambda m: closed.append(m) if m["msg_type"] == "comm_close" else None)
        assert [m["content"]["comm_id"] for m in closed] == [front.id]


def test_nonsense_on_the_wire_does_no_harm(folder):
    with kernel(folder) as k:
        k.run(SETUP)
        front = answering(k, decision="approve")
        front.send()
        front.send(type="what")
        front.send(type="approval_answered")
        front.send(type="hello", version=99, answers="approval")
        front.send(type="hello", version=99, answers=["approval", 5])
        front.wait("welcome", 3)
        front.wait("not_pending")
        assert cell(k, "please bump", front).view["text"] == "Done."


# ---- what a front end asks of what is stored


def test_a_front_end_has_runs_compared_and_learns_how_profiles_are_now(folder):
    with kernel(folder) as running:
        running.run("%load_ext tt_kernel\n" + SETUP)
        front = FrontEnd(running, answers=())
        outputs = [running.run(f"%%agent\n{prompt}", cell=f"c{n}") for n, prompt in enumerate(("Hello 1", "Hello 2"))]
        before, after = [output.view["id"] for output in outputs]
        front.send(type="compare", before=before, after=after)
        view = front.wait("compared")["view"]
        assert [view["before"]["id"], view["after"]["id"], view["isSame"]] == [before, after, False]
        front.send(type="compare", before=before, after="00000000")
        assert "00000000" in front.wait("not_compared")["message"]

        origin = (outputs[0].updates or outputs[0].displays)[-1]["metadata"][RUN_MIME]["origin"]
        front.send(type="profiles", ids=["assistant", "nobody"])
        assert front.wait("profiles_are")["digests"] == {"assistant": origin["profileDigest"], "nobody": None}
        running.run("%agent profile set assistant description='Another one.'")
        front.send(type="profiles", ids=["assistant"])
        assert front.wait("profiles_are", 2)["digests"]["assistant"] not in (None, origin["profileDigest"])
