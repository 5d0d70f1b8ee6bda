"""Asking a person: DESIGN §10, spec liveagent §3.3, §3.5."""

import asyncio

import pytest

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.calls import ToolCall
from tt_kernel.domain.ids import ToolId
from tt_kernel.domain.ports import ApprovalAnswer
from tt_kernel.domain.profiles import Permissions
from tt_kernel.toolkit.approval import MAX_SUMMARY, approved, call_summary, in_time, scope_text
from tt_kernel.toolkit.declare import builtin_tool
from tt_kernel.toolkit.permissions import PermissionEngine
from tt_kernel.toolkit.pipeline import dispatching, stacked


@builtin_tool("Bash", group="shell", effect="host")
async def bash(desk: list, command: str) -> str:
    """Run a command."""
    desk.append(command)
    return f"ran {command}"


@builtin_tool("Stop", group="shell", effect="host")
async def stop(desk: list) -> str:
    """Stop it."""
    desk.append("stop")
    return "stopped"


class Person:
    """An approver that gives prepared answers and keeps the questions."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked: list = []

    async def approve(self, request):
        self.asked.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer


class Bench:
    def __init__(self, *answers, layers=(), interactive=True, **how):
        self.person, self.desk = Person(*answers), []
        tools = [bash.bind(self.desk), stop.bind(self.desk)]
        specs = {t.spec.id: t.spec for t in tools}
        decide = PermissionEngine(layers, interactive).decide
        wrapper = approved(in_time(self.person), decide, lambda c: specs[c.tool_id], **how)
        self.caller = stacked(dispatching(tools), [wrapper])

    async def call(self, command=None, tool="Bash"):
        arguments = {} if command is None else {"command": command}
        return await self.caller(
            ToolCall(
                id="c1",
                tool_id=ToolId.parse(f"builtin:{tool}"),
                name=tool,
                arguments=ToolArguments(value=arguments),
                invocation_id="inv_root",
                turn=1,
                index=0,
            )
        )


YES, NO = ApprovalAnswer(decision="approve"), ApprovalAnswer(decision="deny", reason="not today.")


async def test_the_question_shows_everything():
    async def diff(call):
        return "--- a\n+++ b\n"

    bench = Bench(YES, preview=diff)
    assert (await bench.call("ls")).content == "ran ls"
    (asked,) = bench.person.asked
    assert (asked.rule, asked.timeout_seconds, asked.diff) == ("host = ask", 180.0, "--- a\n+++ b\n")
    assert asked.summary == "Bash\ncommand: ls"
    assert asked.call.arguments.value == {"command": "ls"}


async def test_denied_tells_the_reason_and_not_to_repeat():
    bench = Bench(NO)
    result = await bench.call("ls")
    assert (result.error_code, bench.desk) == ("tool.approval_denied", [])
    assert result.content == "Bash was not run: the user refused it. Reason: not today. Do not repeat this call."


async def test_no_answer_is_a_denial_and_said_so():
    class Absent:
        async def approve(self, request):
            await asyncio.sleep(60)

    bench = Bench(window=0.05)
    bench.person.approve = Absent().approve
    result = await bench.call("ls")
    assert (result.error_code, bench.desk) == ("tool.approval_denied", [])
    assert result.content == "Bash was not run: no answer within 0.05 s. Do not repeat this call."
    assert result.structured["by"] == "timeout"


async def test_an_approver_that_breaks_denies():
    bench = Bench(RuntimeError("widget gone"))
    result = await bench.call("ls")
    assert bench.desk == []
    assert "the question could not be asked (RuntimeError: widget gone)" in result.content


async def test_stopping_the_run_while_it_asks_is_no_answer():
    bench = Bench(asyncio.CancelledError())
    with pytest.raises(asyncio.CancelledError):
        await bench.call("ls")
    assert bench.desk == []


async def test_headless_is_refused_without_asking():
    bench = Bench(interactive=False)
    result = await bench.call("ls")
    assert result.error_code == "tool.permission_denied"
    assert "nobody can answer here" in result.content
    assert (bench.person.asked, bench.desk) == ([], [])


async def test_allow_run_holds_for_the_tool_and_the_rule_that_asked():
    layers = [Permissions(rules=[{"tool": "Bash", "decision": "ask", "arguments": {"command": "git *"}}])]
    always = ApprovalAnswer(decision="allow_run")
    bench = Bench(always, YES, YES, layers=layers)
    await bench.call("git status")
    await bench.call("git push")
    assert len(bench.person.asked) == 1
    await bench.call("ls")  # asked by another rule: host = ask
    assert [q.rule for q in bench.person.asked] == ["Bash command=git * = ask", "host = ask"]
    await bench.call(tool="Stop")
    assert len(bench.person.asked) == 3
    assert bench.desk == ["git status", "git push", "ls", "stop"]


async def test_allow_run_of_one_command_allows_no_other():
    """Spec liveagent §22.22 is a weak spot of upstream: approving one Bash approved all."""
    always = ApprovalAnswer(decision="allow_run")
    bench = Bench(always, NO)
    await bench.call("make [a] *")
    assert bench.person.asked[0].scope == {"command": "make [[]a] [*]"}
    await bench.call("make [a] *")
    assert len(bench.person.asked) == 1
    assert (await bench.call("make a x")).error_code == "tool.approval_denied"


@pytest.mark.parametrize(
    ("scope", "command", "asked_again"),
    [
        ({"command": "git *"}, "git push", False),
        ({"command": "git *"}, "git push; rm x", True),
        ({"command": "git *"}, "ls", True),
        ({}, "ls", False),
        ({}, "rm -r .", False),
    ],
)
async def test_the_person_chooses_what_allow_run_covers(scope, command, asked_again):
    bench = Bench(ApprovalAnswer(decision="allow_run", scope=scope), YES)
    await bench.call("git status")
    await bench.call(command)
    assert len(bench.person.asked) == 1 + asked_again


async def test_a_grant_does_not_lift_a_rule_that_is_stricter_than_the_one_that_asked():
    layers = [Permissions(rules=[{"tool": "Bash", "decision": "ask", "arguments": {"command": "rm*"}}])]
    bench = Bench(ApprovalAnswer(decision="allow_run", scope={}), NO, layers=layers)
    await bench.call("ls")
    assert (await bench.call("rm x")).error_code == "tool.approval_denied"


def test_what_a_scope_is_called():
    assert scope_text("Bash", {"command": "git *"}) == "Bash command=git *"
    assert scope_text("Bash", {}) == "Bash"


async def test_allow_run_never_lifts_a_deny():
    layers = [Permissions(rules=[{"tool": "Bash", "decision": "deny", "arguments": {"command": "rm*"}}])]
    bench = Bench(ApprovalAnswer(decision="allow_run"), layers=layers)
    await bench.call("ls")
    assert (await bench.call("rm -r x")).error_code == "tool.permission_denied"
    assert bench.desk == ["ls"]


async def test_edited_arguments_run_and_the_model_is_told():
    bench = Bench(ApprovalAnswer(decision="edit", arguments={"command": "ls -l"}))
    result = await bench.call("ls")
    assert bench.desk == ["ls -l"]
    assert result.content == 'The user changed the arguments before this tool ran: {"command":"ls -l"}\n\nran ls -l'


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ('{"command": ', "tool.invalid_arguments"),
        ({"command": 5}, "tool.invalid_arguments"),
        ({"command": "rm x"}, "tool.permission_denied"),
    ],
)
async def test_edited_arguments_are_checked_like_others(arguments, code):
    layers = [Permissions(rules=[{"tool": "Bash", "decision": "deny", "arguments": {"command": "rm*"}}])]
    bench = Bench(ApprovalAnswer(decision="edit", arguments=arguments), layers=layers)
    result = await bench.call("ls")
    assert (result.error_code, bench.desk) == (code, [])


def test_summary_is_bounded():
    """Spec liveagent §3.3: 2000 characters."""
    text = call_summary("Bash", {"command": "x" * 9000, "env": {"A": 1}})
    assert len(text) == MAX_SUMMARY
    assert call_summary("Bash", {"env": {"A": 1}}) == 'Bash\nenv: {"A":1}'
