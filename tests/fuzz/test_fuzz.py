"""Fuzzing of what comes from outside: at least 2,000 examples each, and no exception but the errors that are meant."""

import io
import json
import random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.canonical import canonical_json, encode_json
from tt_kernel.domain.chat import ChatMessage
from tt_kernel.domain.errors import ToolError, UserError
from tt_kernel.domain.worldinfo import WorldInfoSettings
from tt_kernel.runtime.activation import activate
from tt_kernel.store.lorebooks import read_book
from tt_kernel.store.workspace import Root, Workspace
from tt_kernel.toolkit.images import MAX_BYTES, MAX_EDGE, NormalImage, normalise_image
from tt_kernel.tools.project.matching import applied, find

fuzz = settings(
    max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def json_of(floats):
    return st.recursive(
        st.none() | st.booleans() | st.integers() | floats | st.text(max_size=20),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
        max_leaves=12,
    )


json_values = json_of(st.floats(allow_nan=False, allow_infinity=False))


@fuzz
@given(json_of(st.floats()) | st.text())
def test_arguments(wire):
    try:
        arguments = ToolArguments.decode(wire)
    except ValueError:
        # Only a value that no JSON text can be made of: providers hand over decoded JSON.
        assert "nan" in repr(wire).lower() or "inf" in repr(wire).lower()
        return
    encode_json(canonical_json(arguments.model_dump(mode="json")))
    assert isinstance(arguments.for_model, dict)


segments = st.sampled_from(
    ["..", ".", "", "a", "output", "link", "deep", "out", "con", "a:b", "\x00", "~", "\u202e", "a\n"]
) | st.text(max_size=6)


@fuzz
@given(st.lists(segments, max_size=6), st.sampled_from(["/", "\\", "//"]), st.sampled_from(["", "/", "C:", "file://"]))
def test_paths(tmp_path_factory, parts, separator, start):
    folder = tmp_path_factory.getbasetemp() / "fuzz-paths"
    if not folder.exists():
        (folder / "output" / "deep").mkdir(parents=True)
        (folder / "secret").write_text("s")
        (folder / "output" / "link").symlink_to(folder)
    space = Workspace([Root("output", folder / "output", writable=True)])
    try:
        place = space.place(start + separator.join(parts))
        disk = space.disk_path(place)
        data = space.read_bytes(place)
    except ToolError:
        return
    assert folder / "output" in (disk, *disk.parents)
    assert data != b"s"


lines = st.text(alphabet=st.sampled_from("ab \t\r\n\ufeff{}"), max_size=40)


@fuzz
@given(lines, lines.filter(bool), lines)
def test_edits(text, old, new):
    found = find(text, old, new)
    if found is None:
        return
    after = applied(text, found.replacements)
    kept = text
    for one in sorted(found.replacements, key=lambda r: r.start, reverse=True):
        kept = kept[: one.start] + kept[one.end :]
    stripped, at = after, 0
    for one in sorted(found.replacements, key=lambda r: r.start):
        begin = one.start + at
        stripped_part = stripped[begin : begin + len(one.text)]
        assert stripped_part == one.text
        at += len(one.text) - (one.end - one.start)
    assert len(after) == len(kept) + sum(len(one.text) for one in found.replacements)


def _samples() -> list[bytes]:
    made = []
    for mode, kind in (
        ("RGB", "PNG"),
        ("RGBA", "PNG"),
        ("P", "GIF"),
        ("L", "JPEG"),
        ("CMYK", "JPEG"),
        ("RGB", "WEBP"),
        ("I;16", "PNG"),
        ("1", "BMP"),
    ):
        out = io.BytesIO()
        Image.new(mode, (7, 5)).save(out, kind)
        made.append(out.getvalue())
    return made


SAMPLES = _samples()


@fuzz
@given(st.data())
def test_images(data):
    sample = bytearray(data.draw(st.sampled_from(SAMPLES)))
    for _ in range(data.draw(st.integers(0, 4))):
        sample[data.draw(st.integers(0, len(sample) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(sample)))
    image = normalise_image(bytes(sample[:cut]) if data.draw(st.booleans()) else bytes(sample))
    if isinstance(image, NormalImage):
        assert max(image.width, image.height) <= MAX_EDGE
        assert len(image.data) <= MAX_BYTES
    else:
        assert image.message


entries = st.dictionaries(
    st.sampled_from(
        [
            "key",
            "keysecondary",
            "content",
            "constant",
            "selective",
            "selectiveLogic",
            "order",
            "position",
            "disable",
            "probability",
            "useProbability",
            "depth",
            "group",
            "groupWeight",
            "sticky",
            "cooldown",
            "delay",
            "caseSensitive",
            "matchWholeWords",
            "comment",
            "uid",
            "excludeRecursion",
            "preventRecursion",
            "scanDepth",
            "role",
            "delayUntilRecursion",
            "addMemo",
            "vectorized",
            "automationId",
            "triggers",
            "characterFilter",
            "extensions",
            "odd",
        ]
    ),
    json_values,
    max_size=12,
)


@fuzz
@given(st.lists(entries, max_size=4), json_values)
def test_lorebooks(raw, odd):
    document = json.loads(json.dumps({"entries": {str(n): entry for n, entry in enumerate(raw)}, "odd": odd}))
    try:
        book = read_book(document, "book", "chat", "book.json")
    except UserError:
        return
    message = ChatMessage(index=0, role="user", name="you", text="a key of the content")
    activate([book], [message], WorldInfoSettings(), lambda name: random.Random(name))
