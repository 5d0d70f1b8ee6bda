"""Notebook functions over the real store: files under the run's folder, long results in files, secrets out of tables."""

import io

import pandas as pd
import pytest
from PIL import Image

from tt_kernel.store.results import ResultStore
from tt_kernel.store.runs import RunFolder
from tt_kernel.store.secrets import Scrubber
from tt_kernel.toolkit.long_results import bounded
from tt_kernel.toolkit.pipeline import dispatching, stacked, validated
from tt_kernel.tools.functions import Bench, as_function_tool, function_tools, live_lookup


@pytest.fixture
def stored(bench):
    """(call, results): a stack of policies over a staged run folder."""
    with RunFolder.stage(Scrubber()) as folder:
        results = ResultStore(folder, Scrubber({"TABLE_TOKEN": "s3cret-value-of-the-table"}))

        def call(function, **arguments):
            surroundings = Bench(
                live_lookup({}, [function]), results.save_file, bench.foreground.call, lambda: "3fa92c17"
            )
            tools = function_tools([as_function_tool(function)], surroundings)
            caller = stacked(
                dispatching(tools), [validated(tools), bounded(results.save_file, lambda _: "workspace_read_file")]
            )
            request = bench.request(tools[0], arguments)
            return bench.wait(caller(request.model_copy(update={"id": f"call_{bench.turns}"})))

        yield call, results
        folder.discard()


def test_a_frame_and_an_image_are_files_of_the_run(stored):
    call, results = stored

    def both(rows: int, ctx):
        ctx.attach_image(Image.new("RGB", (6, 4), "red"))
        return pd.DataFrame({"n": range(rows), "key": "s3cret-value-of-the-table"})

    result = call(both, rows=3)
    (table,), (image,) = result.files, result.images
    frame = pd.read_csv(io.BytesIO(results.read(table.path)))
    assert frame["n"].tolist() == [0, 1, 2]
    assert frame["key"].tolist() == ["[secret TABLE_TOKEN]"] * 3
    assert Image.open(io.BytesIO(results.read(image.path))).size == (image.width, image.height) == (6, 4)
    assert table.path in result.content
    assert image.path in result.content
    assert table.path.startswith("tool-results/inv_root/round-001-call_")


def test_a_long_text_becomes_a_file_and_a_preview(stored):
    """Spec tauritavern §8.4."""
    call, results = stored

    def long(n: int, ctx):
        ctx.attach_image(Image.new("RGB", (6, 4)))
        return ["word"] * n

    assert len(call(long, n=10).files) == 0
    result = call(long, n=10_000)
    assert len(result.content) < 4_000
    assert result.structured["charCount"] > 50_000
    assert results.read(result.structured["path"]).startswith(b'["word", "word"')
    assert len(result.images) == 1
