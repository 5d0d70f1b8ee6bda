"""One call of a notebook function: spec tauritavern §15.2, issue 2 item 5. The main thread here is the notebook's."""

import asyncio
import contextlib
import functools
import io
import threading
import time
from dataclasses import dataclass
from typing import Literal

import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image
from pydantic import BaseModel

from tt_kernel.domain.errors import OutcomeUnknown, ToolError
from tt_kernel.runtime.foreground import Foreground
from tt_kernel.runtime.loop_thread import agent_loop
from tt_kernel.tools.functions import ToolContext, as_function_tool, tool
from tt_kernel.tools.functions.context import begin


@dataclass
class Range:
    low: float
    high: float | None = None


class Filter(BaseModel):
    column: str
    values: list[str] = []


def test_a_plain_function_runs_on_the_main_thread(bench):
    def where(x: int, y: int = 2) -> str:
        return f"{x + y} {threading.current_thread() is threading.main_thread()}"

    result = bench.call(where, x=1.0)
    assert (result.content, result.is_error) == ("3 True", False)
    assert (result.call_id, result.tool_id) == ("call_9", "extension/notebook:where")
    assert result.details == {"version": as_function_tool(where).spec.version}


def test_an_async_function_runs_on_the_agents_loop(bench):
    async def where() -> str:
        await asyncio.sleep(0)
        return str(asyncio.get_running_loop() is agent_loop())

    assert bench.call(where).content == "True"
    assert bench.call(functools.partial(where)).content == "True"


def test_what_an_async_function_returns_is_taken_apart_on_the_main_thread(bench):
    seen = []

    class Value:
        def __repr__(self):
            seen.append(threading.current_thread() is threading.main_thread())
            return "Value()"

    async def give():
        return Value()

    assert bench.call(give).content == "Value()"
    assert seen == [True]


def test_a_plain_function_that_gives_a_coroutine(bench):
    async def later():
        await asyncio.sleep(0)
        return "done"

    assert bench.call(lambda: later()).content == "done"


def test_methods_partials_callables_and_typed_parameters(bench):
    class Shelf:
        def __init__(self):
            self.books = ["a"]

        def find(self, span: Range, where: Filter, kind: Literal["x", "y"] = "x") -> str:
            return f"{self.books} {span} {where.values} {kind}"

        def __call__(self, n: int) -> int:
            return n * 2

    shelf = Shelf()
    got = bench.call(shelf.find, span={"low": 1}, where={"column": "c", "values": ["v"]})
    assert got.content == "['a'] Range(low=1.0, high=None) ['v'] x"
    assert bench.call(shelf, n=4).content == "8"
    fixed = functools.partial(shelf.find, where=Filter(column="c"))
    assert bench.call(fixed, span={"low": 1, "high": 2}).content == "['a'] Range(low=1.0, high=2.0) [] x"
    assert bench.call(fixed, span={"low": 1}, where={"column": "d"}).error_code == "tool.invalid_arguments"


def test_positional_only_and_open_parameters(bench):
    def odd(a: int, b: int = 2, /, *, c: int = 3, **more):
        return [a, b, c, more]

    assert bench.call(odd, a=1, c=5, z=9).content == '[1, 2, 5, {"z": 9}]'


def test_wrong_arguments_do_not_reach_the_function(bench):
    ran = []

    def count(n: int):
        ran.append(n)

    result = bench.call(count, n="3", m=1)
    assert result.error_code == "tool.invalid_arguments"
    assert "t_count: parameter 'n' must be a valid integer, got \"3\"." in result.content
    assert ran == []
    checked = bench.tool(count)
    with pytest.raises(ToolError):
        checked.check(bench.request(checked, {"n": "3"}))


def test_a_redefinition_is_picked_up(bench):
    exec("from tt_kernel import tool\n@tool\ndef f(x: int) -> str: return f'old {x}'", bench.namespace)
    bound = bench.tool(bench.namespace["f"])
    assert bench.call_tool(bound, {"x": 1}).content == "old 1"
    exec("@tool\ndef f(x: int, y: int = 5) -> str: return f'new {x} {y}'", bench.namespace)
    result = bench.call_tool(bound, {"x": 1, "y": 2})
    assert result.content == "new 1 2"
    assert result.details["version"] != bound.spec.version


def test_a_deleted_function_says_that_nothing_was_done(bench):
    exec("from tt_kernel import tool\n@tool\ndef f(): return 1", bench.namespace)
    bound = bench.tool(bench.namespace["f"])
    del bench.namespace["f"]
    result = bench.call_tool(bound, {})
    assert (result.is_error, result.error_code) == (True, "extension.tool_not_registered")
    assert result.content == "The notebook has no tool function 'f' any more. Nothing was done."


def test_a_redefinition_that_cannot_be_a_tool_says_so(bench):
    exec("from tt_kernel import tool\n@tool\ndef f(): return 1", bench.namespace)
    bound = bench.tool(bench.namespace["f"])
    exec("@tool\ndef f(x: 'Nowhere'): return 2", bench.namespace)
    result = bench.call_tool(bound, {})
    assert result.error_code == "extension.tool_definition_invalid"
    assert result.content.endswith("Nothing was done.")


def test_an_exception_is_recoverable_and_names_the_line(bench):
    def mean(column: str):
        table = {"mass": 1}
        return table[column]

    result = bench.call(mean, column="masss")
    assert (result.is_error, result.error_code) == (True, "extension.tool_error")
    line = mean.__code__.co_firstlineno + 2
    assert result.content == f"t_mean failed with KeyError: 'masss'\nin line {line} of mean: return table[column]"
    assert __file__ not in result.content


def test_the_line_is_the_users_not_the_librarys(bench):
    def load():
        return np.loadtxt("/no/such/file")

    content = bench.call(load).content
    assert content.startswith("t_load failed with FileNotFoundError: /no/such/file not found.")
    assert content.endswith('of load: return np.loadtxt("/no/such/file")')


def test_a_line_without_source_is_a_number(bench):
    exec("def f():\n    x = 1\n    return x / 0", bench.namespace)
    assert (
        bench.call(bench.namespace["f"]).content
        == "t_f failed with ZeroDivisionError: division by zero\nin line 3 of f"
    )


def test_exceptions_of_every_kind(bench):
    def fail(how: str):
        raise {
            "exit": SystemExit(3),
            "time": TimeoutError("slow"),
            "tool": ToolError("my.code", "Mine."),
            "bare": ValueError,
        }[how]

    async def fail_later(how: str):
        fail(how)

    for function in (fail, fail_later):
        assert "SystemExit: 3" in bench.call(function, how="exit").content
        assert "TimeoutError: slow" in bench.call(function, how="time").content
        assert "failed with ValueError\n" in bench.call(function, how="bare").content
        own = bench.call(function, how="tool")
        assert (own.error_code, own.content) == ("my.code", "Mine.")


def test_a_value_that_cannot_be_shown_is_the_functions_error(bench):
    class Bad:
        def __repr__(self):
            raise RuntimeError("no repr")

    def give():
        return Bad()

    assert "RuntimeError: no repr" in bench.call(give).content


def test_attached_images(bench, tmp_path):
    out = io.BytesIO()
    Image.new("RGB", (8, 4), "red").save(out, "PNG")
    (tmp_path / "a.png").write_bytes(out.getvalue())
    figure = plt.figure(figsize=(1, 1))

    def draw(ctx: ToolContext):
        ctx.attach_image(out.getvalue())
        ctx.attach_image(Image.new("L", (2, 2)))
        ctx.attach_image(figure)
        ctx.attach_image(np.zeros((3, 5), np.uint8))
        ctx.attach_image(np.zeros((3, 5, 4), np.uint8))
        ctx.attach_image(tmp_path / "a.png")
        ctx.attach_image(str(tmp_path / "a.png"))
        return "seven"

    result = bench.call(draw)
    assert [(i.width, i.height) for i in result.images if i is not result.images[2]] == [
        (8, 4), (2, 2), (5, 3), (5, 3), (8, 4), (8, 4),
    ]  # fmt: skip
    assert bench.files[result.images[0].path] == out.getvalue()
    assert result.content.startswith("seven\n\nImage 1: 8 x 4 pixels, tool-results/inv_root/round-001-0.png.")
    assert result.resource_refs == tuple(i.path for i in result.images)
    assert plt.get_fignums() == []


def test_a_function_that_only_attaches_did_not_return_nothing(bench):
    def draw(ctx):
        ctx.attach_image(Image.new("L", (2, 2)))

    assert bench.call(draw).content.startswith("Image 1: 2 x 2 pixels")


def test_images_of_a_function_that_fails_are_dropped(bench):
    """Spec tauritavern §23.13."""

    def draw(ctx):
        ctx.attach_image(Image.new("L", (2, 2)))
        raise ValueError("after all")

    result = bench.call(draw)
    assert (result.error_code, result.images, bench.files) == ("extension.tool_error", (), {})


def test_an_image_that_cannot_be_decoded_is_noted_at_the_end(bench):
    """Spec tauritavern §8.3: the rest of the result is unaffected."""

    def draw(ctx):
        ctx.attach_image(b"not an image")
        ctx.attach_image(Image.new("L", (2, 2)))
        return "text"

    result = bench.call(draw)
    assert len(result.images) == 1
    assert not result.is_error
    assert result.content.splitlines()[-1] == "12 bytes are no image that can be read."


@pytest.mark.parametrize("wrong", [5, None, np.zeros((2, 2)), [1]])
def test_what_cannot_be_attached_is_said_to_the_function(bench, wrong):
    def draw(ctx):
        ctx.attach_image(wrong)

    assert "TypeError: attach_image takes bytes" in bench.call(draw).content


def test_the_context_knows_the_call(bench):
    def who(ctx: ToolContext):
        return [ctx.tool_id, ctx.run_id, ctx.invocation_id, ctx.call_id, ctx.cancelled]

    assert bench.call(who).content == '["extension/notebook:who", "3fa92c17", "inv_root", "call_9", false]'


def test_a_plain_function_that_takes_too_long_ends_the_run(bench):
    """Spec tauritavern §15.2: the outcome is unknown."""

    @tool(timeout=0.2)
    def sleep():
        time.sleep(30)

    begun = time.monotonic()
    with pytest.raises(OutcomeUnknown, match=r"t_sleep gave no answer within 0\.2 s") as caught:
        bench.call(sleep)
    assert caught.value.code == "extension.tool_timeout"
    assert time.monotonic() - begun < 15


def test_an_async_function_that_takes_too_long_ends_the_run(bench):
    @tool(timeout=0.2)
    async def sleep():
        await asyncio.sleep(30)

    with pytest.raises(OutcomeUnknown) as caught:
        bench.call(sleep)
    assert caught.value.code == "extension.tool_timeout"


def test_a_long_function_can_see_its_time_end(bench):
    seen = []

    @tool(timeout=0.3)
    def work(ctx):
        seen.append(ctx.cancelled)
        until = time.monotonic() + 5
        while not ctx.cancelled and time.monotonic() < until:
            time.sleep(0.001)
        seen.append(time.monotonic() < until)

    with contextlib.suppress(OutcomeUnknown):  # it may also return just in time
        bench.call(work)
    assert seen in ([False, True], [False])  # or be interrupted before it looks again


def test_the_time_of_a_context_begins_with_the_function(bench):
    context = ToolContext(bench.request(bench.tool(len), {}), "run", 0.05)
    time.sleep(0.06)
    assert not context.cancelled
    begin(context)
    assert not context.cancelled
    time.sleep(0.06)
    assert context.cancelled


def test_a_notebook_that_is_busy_means_that_nothing_was_done(bench):
    ran = []

    @tool(timeout=0.2)
    def work():
        ran.append(1)

    bound = bench.tool(work)
    bench.foreground = Foreground()  # the main thread waits elsewhere than the job is posted
    result = bench.wait(bound.call(bench.request(bound, {})))
    assert result.error_code == "extension.tool_busy"
    assert result.content == "t_work was not run: the notebook was busy for 0.2 s. Nothing was done."
    assert ran == []


@pytest.mark.parametrize("kind", ["plain", "async"])
def test_stopping_the_run_tells_the_function(bench, kind):
    seen: list = []
    begun = threading.Event()

    def work(ctx):
        begun.set()
        until = time.monotonic() + 10
        try:
            while time.monotonic() < until:
                time.sleep(0.001)
        finally:
            seen.append(ctx.cancelled)

    async def work_async(ctx):
        begun.set()
        try:
            await asyncio.sleep(300)
        finally:
            seen.append("stopped")

    bound = bench.tool(work if kind == "plain" else work_async)

    async def run():
        task = asyncio.create_task(bound.call(bench.request(bound, {})))
        await asyncio.to_thread(begun.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    started = time.monotonic()
    bench.wait(run())
    assert seen == ([True] if kind == "plain" else ["stopped"])
    assert time.monotonic() - started < 15


def test_calls_at_once_do_not_mix(bench):
    def echo(text: str, ctx):
        ctx.attach_image(Image.new("L", (len(text), 1)))
        time.sleep(0.001)
        return text

    async def echo_async(text: str):
        await asyncio.sleep(0.001)
        return text

    tools = [bench.tool(echo), bench.tool(echo_async)]
    words = ["a", "bb", "ccc", "dddd"]

    async def run():
        requests = [
            (t, bench.request(t, {"text": w}).model_copy(update={"invocation_id": f"{t.spec.id.native}{w}"}))
            for t in tools
            for w in words
        ]
        return await asyncio.gather(*(t.call(r) for t, r in requests))

    results = bench.wait(run())
    assert [r.content.split("\n")[0] for r in results] == words * 2
    assert [r.images[0].width for r in results[:4]] == [1, 2, 3, 4]
