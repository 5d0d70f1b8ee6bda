"""Issue 6.6: many runs with something varied: resumable, checked, on any executor."""

import gc
import json
import multiprocessing
import os
import re
import signal
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import make_session, snapshot_of

import tt_kernel
from tt_kernel.domain.canonical import canonical_json
from tt_kernel.domain.errors import ModelUnavailable, UsageProblem
from tt_kernel.domain.views import MAX_VIEW_BYTES, SWEEP_MIME, SweepView
from tt_kernel.experiments.checks import Judge
from tt_kernel.experiments.proportions import bootstrap, mcnemar, wilson
from tt_kernel.experiments.sweep import Setting, SweepRun, sweep
from tt_kernel.experiments.sweep_plan import cases
from tt_kernel.experiments.sweep_view import sweep_document
from tt_kernel.runtime.loop_thread import submit

SCRIPT = """
script: 1
conversations:
  - when: Judge an answer
    turns:
      - say: Yes, it names a number.
  - when: paris
    turns:
      - say: '{"city": "Paris", "degrees": 12}'
        usage: {input: 10, output: 5, cost: 0.5}
  - when: rome
    turns:
      - say: It is 20 degrees in Rome.
        usage: {input: 12, output: 5, cost: 0.5}
  - turns:
      - say: I do not know.
        wait: 5
"""
PROMPT = "How warm is it in @{city}?"
CITIES = ["Paris", "Rome", "Oslo"]


@pytest.fixture
def session(tmp_path):
    return make_session(tmp_path, SCRIPT)


def status(rows):
    return [row.status for row in rows]


# ---- the plan


def test_every_combination_in_order_with_its_repeats():
    planned = cases(PROMPT, {"city": ["Paris", "Rome"], "sampling.temperature": [0, 1]}, repeat=2)
    assert len(planned) == 8
    assert [(c.point["city"], c.point["sampling.temperature"], c.repeat) for c in planned[:5]] == [
        ("Paris", 0, 1), ("Paris", 0, 2), ("Paris", 1, 1), ("Paris", 1, 2), ("Rome", 0, 1),
    ]  # fmt: skip
    assert planned[0].prompt == "How warm is it in Paris?"
    assert planned[0].arguments == {"settings": {"sampling.temperature": 0}}


@pytest.mark.parametrize(
    ("vary", "says"),
    [
        ({"citty": ["x"]}, "Did you mean city"),
        ({"sampling.temprature": [1]}, "sampling.temperature"),
        ({"city": []}, "needs a list of values"),
        ({"city": "Paris"}, "needs a list of values"),
        ({"sampling.seed": range(200_000)}, "at most 100,000"),
    ],
)
def test_what_cannot_be_varied_is_said(vary, says):
    with pytest.raises(UsageProblem) as caught:
        cases(PROMPT, vary)
    assert says in caught.value.message


def test_nothing_starts_where_something_makes_no_sense(session):
    with pytest.raises(ModelUnavailable):
        sweep(PROMPT, vary={"city": CITIES, "model": ["scripted:script.yaml", "nonsense"]}, session=session)
    assert not session.folder.runs.exists()


# ---- runs and recordings


def test_a_sweep_runs_checks_and_shows_itself(session):
    found = sweep(
        PROMPT,
        vary={"city": CITIES},
        repeat=2,
        checks={
            "degrees": "'degrees' in text",
            "function": lambda run: len(run.text),
            "pattern": re.compile(r"\d+"),
            "json": {"type": "object", "required": ["city"]},
            "broken": "nothing_of_that_name",
        },
        session=session,
    )
    assert status(found) == ["completed"] * 6
    assert [row.value("degrees") for row in found] == [True, True, True, True, False, False]
    assert [row.value("json") for row in found] == [True, True, False, False, False, False]
    assert found.rows[0].value("function") == len('{"city": "Paris", "degrees": 12}')
    assert found.rows[0].checks["broken"].problem.startswith("NameError")
    assert found.rate("pattern")[:2] == (4, 6)
    text = repr(found)
    assert "sweep of 3 points, 6 runs, 6 completed" in text
    assert re.search(r"Paris +2 +2 +2/2 \(34% to 100%\)", text)
    assert list(found.df["repeat"]) == [1, 2, 1, 2, 1, 2]
    assert len({row.run for row in found}) == 6


def test_again_it_replays_to_the_byte_and_writes_nothing(session, tmp_path):
    options = {
        "vary": {"city": CITIES},
        "repeat": 3,
        "checks": {"d": "'degrees' in text", "judge": Judge("Is there a number?")},
    }
    first = sweep(PROMPT, session=session, **options)
    assert [row.value("judge") for row in first] == [True] * 9
    before = snapshot_of(tmp_path)
    again = sweep(PROMPT, session=make_session(tmp_path), mode="replay", **options)
    assert all(row.replayed for row in again)
    assert again._repr_html_() == first._repr_html_()
    assert [row.run for row in again] == [row.run for row in first]
    assert snapshot_of(tmp_path) == before


def test_more_repeats_run_only_what_is_missing(session, tmp_path):
    sweep(PROMPT, vary={"city": ["Paris"]}, repeat=2, session=session)
    more = sweep(PROMPT, vary={"city": ["Paris", "Rome"]}, repeat=3, session=make_session(tmp_path))
    assert [row.replayed for row in more] == [True, True, False, False, False, False]
    assert not list(tmp_path.glob("**/*.tmp"))


def test_preflight_says_how_many_are_live_and_what_they_cost(session, tmp_path):
    sweep(PROMPT, vary={"city": ["Paris"]}, repeat=2, session=session)
    again = SweepRun(make_session(tmp_path), cases(PROMPT, {"city": ["Paris", "Rome"]}, 2), Setting())
    assert again.preflight().line == "4 runs, 2 recorded, 2 live, about $1.00"


def test_the_budget_ends_it_politely_and_it_can_go_on(session, tmp_path):
    found = sweep(PROMPT, vary={"city": ["Paris", "Rome"]}, repeat=3, budget_usd=1.0, concurrency=1, session=session)
    assert status(found) == ["completed"] * 2 + ["not run"] * 4
    assert "The budget of $1 is spent" in repr(found)
    on = sweep(
        PROMPT, vary={"city": ["Paris", "Rome"]}, repeat=3, budget_usd=9, concurrency=1, session=make_session(tmp_path)
    )
    assert [row.replayed for row in on] == [True, True, False, False, False, False]


def test_an_interrupt_keeps_what_is_done_and_ends_the_rest_orderly(tmp_path):
    session = make_session(tmp_path, "script: 1\nturns: [{say: Slow., wait: 120}]\n")
    work = SweepRun(session, cases("go", {}, 40), Setting(concurrency=4))
    future, cancel = submit(work.run())
    while len(work.rows) < 6:
        time.sleep(0.01)
    cancel()
    found = future.result(timeout=20)
    counts = {name: status(found).count(name) for name in set(status(found))}
    assert counts["completed"] >= 6
    assert counts["not run"] > 20
    assert counts.get("interrupted", 0) <= 4
    assert "It was interrupted" in repr(found)
    records = session.index.list()
    assert {record.status for record in records} <= {"completed", "interrupted"}
    resumed = sweep("go", repeat=12, session=make_session(tmp_path))
    assert status(resumed) == ["completed"] * 12
    assert sum(row.replayed for row in resumed) >= 6


def test_a_failed_run_is_a_row_and_is_tried_again(tmp_path):
    script = tmp_path / "script.yaml"
    session = make_session(tmp_path, "script: 1\nturns: [{say: x, fail: {error: 401, times: always}}]\n")
    found = sweep("go", repeat=2, session=session, checks={"x": "True"})
    assert status(found) == ["failed", "failed"]
    assert found.rows[0].checks == {}
    assert found.rate("x") == (0, 0, (0.0, 1.0))
    script.write_text("script: 1\nturns: [Fine.]\n")
    assert status(sweep("go", repeat=2, session=make_session(tmp_path))) == ["completed"] * 2


def test_tools_run_on_the_waiting_thread(tmp_path):
    threads = set()

    def where() -> str:
        """Where."""
        threads.add(threading.current_thread())
        return "here"

    session = make_session(tmp_path, "script: 1\nturns: [{call: where}, Done.]\n")
    found = sweep("go", repeat=5, functions=[where], tools=["where"], session=session)
    assert status(found) == ["completed"] * 5
    assert threads == {threading.main_thread()}


def test_the_memory_of_the_notebook_is_what_it_was(session):
    session.planner.state = "before"
    sweep("go", repeat=3, session=session, persist_base=None)
    assert session.planner.state == "before"


def test_a_point_against_another(session):
    found = sweep(
        PROMPT, vary={"city": CITIES}, repeat=6, checks={"d": "'degrees' in text", "n": "len(text)"}, session=session
    )
    told = found.compare("d", {"city": "Oslo"}, {"city": "Rome"})
    assert (told.pairs, told.before, told.after) == (6, 0, 1)
    assert told.p_value == pytest.approx(2 / 64)
    assert found.compare("n", {"city": "Oslo"}, {"city": "Rome"}).interval == (11, 11)
    with pytest.raises(UsageProblem, match="has a partner"):
        found.compare("d", {"city": "Oslo"}, {"city": "London"})


def test_the_plot_has_a_bar_a_point(session):
    figure = sweep(PROMPT, vary={"city": CITIES}, checks={"d": "'degrees' in text"}, session=session).plot()
    assert len(figure.axes[0].patches) == 3
    assert figure.axes[0].get_ylabel() == "pass rate"


# ---- executors


def test_a_thread_pool_gives_the_same_as_the_loop(session, tmp_path):
    with ThreadPoolExecutor(3) as pool:
        there = sweep(
            PROMPT, vary={"city": CITIES}, repeat=2, checks={"d": "'degrees' in text"}, executor=pool, session=session
        )
    here = sweep(
        PROMPT, vary={"city": CITIES}, repeat=2, checks={"d": "'degrees' in text"}, session=make_session(tmp_path)
    )
    assert all(row.replayed for row in here)
    assert here._repr_html_() == there._repr_html_()


def test_processes_share_one_store(session, tmp_path):
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        there = sweep(PROMPT, vary={"city": CITIES}, repeat=4, executor=pool, session=session)
    assert status(there) == ["completed"] * 12
    assert len({row.run for row in there}) == 12
    here = sweep(PROMPT, vary={"city": CITIES}, repeat=4, session=make_session(tmp_path), mode="replay")
    assert [row.run for row in here] == [row.run for row in there]
    for path in (tmp_path / "nb.agent" / "recordings").glob("*.jsonl"):
        assert all(json.loads(line) for line in path.read_text().splitlines())


def test_the_garbage_collector_is_as_before(session):
    seen = []
    before = gc.get_threshold()
    sweep(PROMPT, vary={"city": CITIES}, session=session, progress=lambda *_: seen.append(gc.get_threshold()[0]))
    assert gc.get_threshold() == before
    assert min(seen) > before[0]


def test_a_repeat_does_not_count_the_answer_of_another(session, tmp_path):
    """The second repeat was done and the sweep ended before the first was: each has an answer of its own."""
    [second] = [case for case in cases("How is @{city}?", {"city": ["Rome"]}, 2) if case.repeat == 2]
    alone = SweepRun(session, [second], Setting())
    [row] = submit(alone.run())[0].result()
    both = sweep("How is @{city}?", vary={"city": ["Rome"]}, repeat=2, session=make_session(tmp_path))
    assert [row.replayed for row in both] == [False, True]
    first, again = both
    assert again.run == row.run != first.run


def test_a_killed_worker_loses_nothing_that_was_done(tmp_path):
    session = make_session(tmp_path, "script: 1\nturns: [{say: Slow., wait: 300}]\n")
    pool = ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"))

    killed = []

    def kill_one(rows, total):
        if len(rows) == 3 and not killed:
            killed.append(next(iter(pool._processes)))
            os.kill(killed[0], signal.SIGKILL)

    found = sweep("go", repeat=12, executor=pool, concurrency=2, session=session, progress=kill_one)
    pool.shutdown()
    done = [row.run for row in found if row.status == "completed"]
    assert 3 <= len(done) < 12
    assert "The executor broke" in found.stopped
    again = sweep("go", repeat=12, session=make_session(tmp_path), concurrency=4)
    assert status(again) == ["completed"] * 12
    assert set(done) <= {row.run for row in again if row.replayed}
    assert len({row.run for row in again}) == 12


def test_functions_cannot_go_to_another_process(session):
    with ThreadPoolExecutor(1) as pool, pytest.raises(UsageProblem, match="another process"):
        sweep("go", executor=pool, functions=[len], session=session)


def test_it_is_public():
    assert tt_kernel.sweep is sweep


# ---- the arithmetic


@pytest.mark.parametrize(
    ("passed", "trials", "low", "high"),
    [(0, 0, 0.0, 1.0), (0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0), (81, 263, 0.2553, 0.3662)],
)
def test_wilson_against_published_values(passed, trials, low, high):
    """R. G. Newcombe, Statistics in Medicine 17 (1998), table I: 81/263 gives 0.2553 to 0.3662."""
    assert wilson(passed, trials) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(0, 60), st.integers(0, 60))
def test_the_interval_holds_the_rate(passed, more):
    low, high = wilson(passed, passed + more)
    assert 0 <= low <= high <= 1
    if passed + more:
        assert low <= passed / (passed + more) <= high


def test_mcnemar_is_the_exact_binomial():
    assert mcnemar([(False, True)] * 6) == pytest.approx(2 / 64)
    assert mcnemar([(True, True), (False, False)]) == 1.0
    assert mcnemar([(False, True), (True, False)] * 5) == 1.0
    assert mcnemar([(False, True)] * 9 + [(True, False)] * 2) == pytest.approx(0.0654297)


def test_the_bootstrap_is_seeded_and_holds_the_mean():
    pairs = [(float(n), n + 1.0 + n % 3) for n in range(30)]
    assert bootstrap(pairs) == bootstrap(pairs)
    low, high = bootstrap(pairs)
    assert low < 2.0 < high


# ---- the table of front ends


def test_front_ends_get_a_view_of_numbers_to_sort_and_runs_to_open(session):
    found = sweep(PROMPT, vary={"city": CITIES, "sampling.temperature": [0]}, repeat=2,
                  checks={"named": "'degrees' in text", "size": "len(text)"}, session=session)  # fmt: skip
    view = SweepView.model_validate(found._repr_mimebundle_()[SWEEP_MIME])
    assert [(column.name, column.kind) for column in view.columns] == [
        ("city", "varied"), ("sampling.temperature", "varied"), ("runs", "number"), ("completed", "rate"),
        ("named", "rate"), ("size", "number"), ("tokens", "number"),
    ]  # fmt: skip
    paris, _, oslo = view.points
    assert [cell.shown for cell in paris.cells] == ["Paris", "0", "2", "2", "2/2", "32", "15"]
    assert (paris.cells[4].value, paris.cells[4].high) == (1.0, 1.0)
    assert oslo.cells[4].value == 0.0
    first = paris.runs[0]
    assert (first.repeat, first.passes, first.text) == (1, (True, 32), '{"city": "Paris", "degrees": 12}')
    assert first.folder.endswith(f"runs/{first.id}")
    again = sweep(PROMPT, vary={"city": CITIES, "sampling.temperature": [0]}, repeat=2,
                  checks={"named": "'degrees' in text", "size": "len(text)"}, session=session)  # fmt: skip
    assert sweep_document(again) == sweep_document(found), "a replay gives the same table"


def test_pictures_of_runs_are_small_kept_and_bounded(tmp_path):
    from PIL import Image

    def paint(name: str) -> Image.Image:
        """Paint noise, which is hard to make small."""
        return Image.effect_noise((500, 400), 90 + len(name))

    names = [f"n{chr(97 + n)}" for n in range(24)]
    script = "script: 1\nconversations:\n" + "".join(
        f"  - when: {name} please\n    turns:\n      - {{call: paint, with: {{name: {name}}}}}\n      - Done.\n"
        for name in reversed(names)
    )
    session = make_session(tmp_path, script)
    arguments = {"vary": {"name": names}, "session": session, "functions": [paint], "tools": ["paint"]}
    found = sweep("@{name} please", **arguments)
    images = [row.images for row in found]
    assert all(len(of_one) == 1 and len(of_one[0].data) < 16_100 for of_one in images)
    document = sweep_document(found)
    assert len(canonical_json(document).encode()) <= MAX_VIEW_BYTES
    shown = [run.images[0].data for point in SweepView.model_validate(document).points for run in point.runs]
    assert shown[0]
    assert shown[-1] is None, "what is too much is named"
    before = snapshot_of(tmp_path)
    assert sweep_document(sweep("@{name} please", **arguments)) == document
    assert snapshot_of(tmp_path) == before


def test_the_view_of_a_large_sweep_is_bounded(tmp_path):
    from tt_kernel.experiments.sweep_result import Row, Sweep

    planned = cases("@{n}", {"n": list(range(3_000))}, repeat=3)
    found = Sweep(tuple(Row(case, "completed", "aaaa1111", text="x" * 900) for case in planned))
    document = sweep_document(found)
    assert len(canonical_json(document).encode()) <= MAX_VIEW_BYTES
    view = SweepView.model_validate(document)
    assert view.hidden_runs == 9_000 - sum(len(point.runs) for point in view.points)
