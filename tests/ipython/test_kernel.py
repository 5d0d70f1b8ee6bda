"""The kernel tt-agent, and what the loop thread and the foreground do in a real kernel (no agent is run here)."""

import json
import time
from pathlib import Path

import pytest
from live_kernels import SPEC, kernel

SETUP = """
import asyncio, threading, time
from tt_kernel.runtime.foreground import Foreground
from tt_kernel.runtime.loop_thread import submit
fg = Foreground()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("notebooks")


@pytest.fixture(scope="module")
def agent(folder):
    with kernel(folder, "tt-agent") as running:
        reply, outputs = running.run(SETUP)
        assert reply["status"] == "ok", outputs
        yield running


def streams(outputs):
    return "".join(content["text"] for kind, content in outputs if kind == "stream")


def test_the_kernel_names_itself_and_has_the_magic_from_the_first_cell(agent):
    message = agent.client.kernel_info()
    while True:
        answer = agent.client.get_shell_msg(timeout=30)
        if answer["parent_header"].get("msg_id") == message:
            break
    info = answer["content"]
    assert info["implementation"] == "tt_kernel"
    assert "%%agent" in info["banner"]
    assert info["language_info"]["name"] == "python"
    reply, _ = agent.run("%agent help")
    assert reply["status"] == "ok"


def test_loading_the_extension_in_it_says_nothing_so_a_notebook_is_the_same_under_every_kernel(folder):
    for name in ("tt-agent", "python3"):
        (folder / name).mkdir()
        with kernel(folder / name, name) as running:
            reply, outputs = running.run("%load_ext tt_kernel")
            assert (reply["status"], outputs) == ("ok", [])


def test_a_silent_probe_is_answered_as_by_ipykernel(agent):
    """Field reports C28: VS Code probes with a silent execute and reads its stream."""
    reply, outputs = agent.run("print('ipywidgets-version', 8)", silent=True, store_history=False)
    assert reply["status"] == "ok"
    assert streams(outputs) == "ipywidgets-version 8\n"


def test_the_kernelspec_names_what_is_started():
    spec = json.loads((SPEC / "kernel.json").read_text(encoding="utf-8"))
    assert spec["argv"][-2:] == ["-f", "{connection_file}"]
    assert spec["language"] == "python"
    logo = (SPEC / "logo-svg.svg").read_text(encoding="utf-8")
    assert logo.startswith("<svg")
    assert "http" not in logo.replace("http://www.w3.org/2000/svg", "")


def test_a_module_of_the_notebooks_folder_does_not_break_the_kernels_start(tmp_path):
    (tmp_path / "random.py").write_text("raise SystemExit('shadowed')\n")
    with kernel(tmp_path, "tt-agent") as running:
        assert running.run("1")[0]["status"] == "ok"


def test_output_of_agent_work_stays_in_its_cell_also_when_others_ran(agent):
    """notes/frontend.md §3: the parent header is in the context; two at once do not mix."""
    code = """
from IPython.display import display
async def work(name, seconds):
    for n in range(3):
        await asyncio.sleep(seconds)
        print(name, n)
        await fg.call(lambda: print(name, "foreground", n), 10)
        display({"text/plain": f"{name} shown {n}"}, raw=True)
    return name
"""
    agent.run(code)
    first = agent.send(
        "one, stop = submit(work('one', 0.15)); one_task = asyncio.create_task(fg.wait_async(one, stop))"
    )
    second = agent.send(
        "two, stop = submit(work('two', 0.1)); two_task = asyncio.create_task(fg.wait_async(two, stop))"
    )
    third = agent.send("print('three'); await asyncio.gather(one_task, two_task)")
    seen = {first: [], second: [], third: []}
    until = time.monotonic() + 30
    while time.monotonic() < until:
        message = agent.client.get_iopub_msg(timeout=30)
        parent, kind = message["parent_header"].get("msg_id"), message["header"]["msg_type"]
        if kind == "stream":
            seen[parent].append(message["content"]["text"])
        if kind == "display_data":
            seen[parent].append(message["content"]["data"]["text/plain"])
        if parent == third and kind == "status" and message["content"]["execution_state"] == "idle":
            break
    texts = ["".join(seen[cell]) for cell in (first, second, third)]
    for name, text in zip(("one", "two"), texts, strict=False):
        for n in range(3):
            assert f"{name} {n}" in text
            assert f"{name} foreground {n}" in text
            assert f"{name} shown {n}" in text
    assert "two" not in texts[0]
    assert "one" not in texts[1]
    assert texts[2].startswith("three")
    assert "foreground" not in texts[2]


def test_comm_messages_are_handled_while_a_cell_waits(agent):
    """notes/frontend.md §3: what approval buttons need; ipykernel >= 7.4 and an awaiting cell."""
    agent.run("""
clicked = []
def opened(comm, message):
    comm.on_msg(lambda m: clicked.append((m['content']['data'], threading.current_thread() is threading.main_thread())))
get_ipython().kernel.comm_manager.register_target('button', opened)
async def until_clicked():
    while not clicked:
        await asyncio.sleep(0.01)
    return await fg.call(lambda: list(clicked), 10)
""")
    session, shell = agent.client.session, agent.client.shell_channel
    waiting = agent.send("print('waiting'); answer = await fg.wait_async(*submit(until_clicked()))")
    agent.text_until(waiting, "waiting")
    shell.send(session.msg("comm_open", {"comm_id": "c1", "target_name": "button", "data": {}}))
    time.sleep(0.3)
    shell.send(session.msg("comm_msg", {"comm_id": "c1", "data": {"yes": True}}))
    assert agent.reply(waiting, timeout=10)["status"] == "ok"
    agent.drain()
    assert agent.value("answer") == [[{"yes": True}, True]]


@pytest.mark.parametrize(
    "wait", ["await fg.wait_async(*submit(work()))", "fg.wait(*submit(work()))"], ids=["awaits", "blocks"]
)
@pytest.mark.parametrize(
    "work",
    ["await asyncio.sleep(60)", "await fg.call(lambda: time.sleep(60), 120)", "await fg.call(spin, 120)"],
    ids=["agent", "sleep", "loop"],
)
def test_the_stop_button_works_at_once(agent, wait, work):
    """Field reports D36-38: blocking code too; issue 2: within 1 s with what there was kept."""
    agent.run(f"""
def spin():
    while True:
        pass
cleaned = []
async def work():
    print('started')
    try:
        {work}
    except asyncio.CancelledError:
        cleaned.append(1)
        return 'partial'
""")
    cell = agent.send(f"result = {wait}")
    agent.text_until(cell, "started")
    time.sleep(0.2)
    began = time.monotonic()
    agent.interrupt()
    reply = agent.reply(cell, timeout=20)
    assert time.monotonic() - began < 15
    assert reply["status"] == "ok", reply
    agent.drain()
    assert agent.value("[result, cleaned]") == ["partial", [1]]


def test_after_all_that_an_idle_kernel_survives_the_stop_button_and_a_plain_cell_can_be_stopped(agent):
    agent.interrupt()
    time.sleep(0.2)
    agent.run("await fg.wait_async(*submit(asyncio.sleep(0.01)))")
    agent.interrupt()
    time.sleep(0.2)
    for code in ("print('started'); time.sleep(60)", "print('started')\nfor _ in range(600): await asyncio.sleep(0.1)"):
        cell = agent.send(code)
        agent.text_until(cell, "started")
        time.sleep(0.1)
        agent.interrupt()
        assert agent.reply(cell, timeout=10)["status"] == "error"
        agent.drain()
    assert agent.value("1 + 1") == 2


def test_a_function_that_takes_too_long_is_stopped_on_the_kernels_thread(agent):
    reply, outputs = agent.run("""
async def work():
    try:
        await fg.call(lambda: time.sleep(600), 0.3)
    except TimeoutError as error:
        print(error)
await fg.wait_async(*submit(work()))
""")
    assert reply["status"] == "ok"
    assert streams(outputs) == "Not finished after 0.3 s.\n"


def test_nest_asyncio_of_the_user_does_no_harm(folder):
    """Field reports D41."""
    own = Path(folder) / "nested"
    own.mkdir()
    with kernel(own, "python3") as running:
        running.run(SETUP + "import nest_asyncio2 as nest_asyncio\nnest_asyncio.apply()\n")
        reply, outputs = running.run(
            "async def f():\n    return await fg.call(lambda: 42, 5)\nprint(await fg.wait_async(*submit(f())))"
        )
        assert reply["status"] == "ok", outputs
        assert streams(outputs) == "42\n"
