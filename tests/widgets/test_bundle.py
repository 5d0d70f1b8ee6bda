import json

import pytest
from hypothesis import given
from run_views import HOSTILE, call, everywhere, markup, penguins

from tt_kernel.domain.views import MAX_VIEW_BYTES, RUN_MIME, ImageView, RunView, TextView, ViewMeta
from tt_kernel.widgets.bundle import MAX_HTML_CHARS, bundle

META = ViewMeta(elapsed_seconds=1.5, cost_usd=0.01, replayed=True, drift=("x",), live=False)


def test_one_bundle_has_every_picture_and_the_json_is_the_view():
    data, metadata = bundle(penguins(), META)
    assert list(data) == [RUN_MIME, "text/html", "text/markdown", "text/plain"]
    assert RunView.model_validate(data[RUN_MIME]) == penguins()
    assert metadata == {
        RUN_MIME: {"elapsedSeconds": 1.5, "costUsd": 0.01, "replayed": True, "drift": ["x"], "live": False}
    }


def test_what_is_volatile_never_enters_the_data():
    """DESIGN §8: no time, duration, cost in `data`; nbval compares data and skips metadata (notes/frontend.md §7)."""
    assert bundle(penguins(), META)[0] == bundle(penguins())[0]


@given(markup)
def test_equal_views_give_equal_bytes_and_always_json(text):
    first, second = (json.dumps(bundle(everywhere(text)), ensure_ascii=False).encode() for _ in range(2))
    assert first == second


@pytest.mark.parametrize("text", HOSTILE)
def test_every_text_can_be_sent_and_saved(text):
    json.dumps(bundle(everywhere(text))[0], ensure_ascii=False, allow_nan=False).encode("utf-8")


def huge():
    image = ImageView(path="x.png", mime_type="image/png", data="A" * 130_000)
    calls = tuple(
        call(n, "tool", {"text": "é" * 50_000}, content="<&>" * 20_000, summary="s", images=(image,) * (n % 3 == 0))
        for n in range(1, 301)
    )
    notes = tuple(TextView(after=n, text="note " * 500) for n in range(300))
    files = tuple(f"output/{n}.md" for n in range(2_000))
    return penguins(calls=calls, call_count=300, notes=notes, files=files, text="<answer> & " * 30_000)


def test_the_bundle_of_a_huge_run_is_bounded_and_says_what_is_missing():
    """DESIGN §8: run view at most 256 KB."""
    data, _ = bundle(huge())
    assert len(json.dumps(data[RUN_MIME], ensure_ascii=False).encode()) <= MAX_VIEW_BYTES
    assert len(data["text/html"]) <= MAX_HTML_CHARS
    view = RunView.model_validate(data[RUN_MIME])
    assert view.calls[0].index == 1
    assert view.calls[-1].index == 300
    assert view.hidden_calls == 300 - len(view.calls)
    assert view.text_truncated
    assert all(c.content_truncated for c in view.calls)
    assert f"... {view.hidden_calls} calls not shown" in data["text/plain"]


def test_a_large_image_goes_before_any_text_does():
    image = ImageView(path="x.png", mime_type="image/png", data="A" * 130_000)
    calls = tuple(call(n, "tool", {}, content="all of it", images=(image,)) for n in (1, 2, 3))
    view = RunView.model_validate(bundle(penguins(calls=calls, call_count=3))[0][RUN_MIME])
    assert [i.data for c in view.calls for i in c.images] == [None] * 3
    assert [c.content for c in view.calls] == ["all of it"] * 3
