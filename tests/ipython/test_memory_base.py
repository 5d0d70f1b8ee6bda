"""spec tauritavern §7.4 in a notebook: a cell begins with the memory of the nearest run above it."""

import json

import pytest

from tt_kernel.domain.views import RUN_MIME
from tt_kernel.ipython.memory_base import memory_above


def saved(tmp_path, *cells):
    document = {"cells": []}
    for name, state in cells:
        outputs = [{"metadata": {RUN_MIME: {"persistState": state}}}] if state else [{"metadata": {}}]
        document["cells"].append({"id": name, "cell_type": "code", "outputs": outputs})
    path = tmp_path / "nb.ipynb"
    path.write_text(json.dumps(document))
    return path


def test_the_nearest_state_above(tmp_path):
    path = saved(tmp_path, ("a", "s1"), ("b", None), ("c", "s2"), ("d", None), ("e", "s3"))
    assert memory_above(path, "d", {}, "last") == "s2"
    assert memory_above(path, "c", {}, "last") == "s1"
    assert memory_above(path, "a", {}, "last") is None


def test_what_this_kernel_did_is_newer_than_what_was_saved(tmp_path):
    path = saved(tmp_path, ("a", "s1"), ("b", None))
    assert memory_above(path, "b", {"a": "s9"}, "last") == "s9"
    assert memory_above(path, "b", {"a": None}, "last") is None


@pytest.mark.parametrize("text", ["", "[]", '{"cells": 3}', '{"cells": [1, {"id": "x", "outputs": [2]}]}'])
def test_where_the_place_is_not_known_the_last_run_counts(tmp_path, text):
    path = tmp_path / "nb.ipynb"
    path.write_text(text)
    assert memory_above(path, "b", {}, "last") == "last"
    assert memory_above(None, "b", {}, "last") == "last"
    assert memory_above(path, None, {}, "last") == "last"
