"""The ring of output: spec liveagent §6.2 and §24.4."""

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from tt_kernel.tools.processes.limits import Limits
from tt_kernel.tools.processes.ring import MAX_PIECES, Ring, cut_before

MIB = 2**20


def read_all(ring: Ring, cursor: int = 0, limit: int = 64 * 1024) -> bytes:
    text = b""
    while True:
        page = ring.page(cursor, limit)
        text += b"".join(data for _, data in page.pieces)
        cursor = page.cursor
        if not page.has_more:
            return text


def test_the_numbers_of_the_specification() -> None:
    """§6.2: 64 sessions, 1 MiB ring, pages of 64 KiB, kept 10 min, grace 300 ms, cleaner each 60 s, stop 5 s; §6.5: 4 at a time."""
    assert Limits() == Limits(
        sessions=64, ring=MIB, page=65_536, keep=600, clean_every=60, grace=0.3, stop=5, together=4
    )


def test_a_cursor_counts_bytes_since_the_beginning() -> None:
    ring = Ring(MIB)
    ring.append("stdout", b"one\n")
    first = ring.page(0, 65_536)
    assert (first.start, first.cursor, first.truncated, first.has_more) == (0, 4, False, False)
    ring.append("stderr", b"two\n")
    assert ring.page(first.cursor, 65_536).pieces == (("stderr", b"two\n"),)
    assert ring.page(0, 65_536).pieces == (("stdout", b"one\n"), ("stderr", b"two\n"))


def test_more_than_a_mebibyte_is_truncated_once_for_an_old_cursor() -> None:
    """§24.4: output_truncated once for an old cursor, none for the newest."""
    ring = Ring(MIB)
    for _ in range(3 * 1024):
        ring.append("stdout", b"x" * 1024)
    assert ring.end == 3 * MIB
    assert ring.end - ring.start <= MIB
    old = ring.page(0, 65_536)
    assert old.truncated and old.start == ring.start
    assert not ring.page(old.cursor, 65_536).truncated
    assert not ring.page(ring.end, 65_536).truncated


def test_eviction_keeps_nearly_the_whole_capacity() -> None:
    ring = Ring(MIB)
    for _ in range(5000):
        ring.append("stdout", b"y" * 777)
    assert ring.end - ring.start > MIB - 20_000


def test_a_page_is_at_most_64_kib_and_ends_between_characters() -> None:
    """§6.2: one response page of at most 64 KiB, cut at a UTF-8 boundary."""
    ring = Ring(MIB)
    text = "a" + "\N{GREEK SMALL LETTER ALPHA}\N{SNOWMAN}\N{GRINNING FACE}" * 20_000
    ring.append("stdout", text.encode())
    cursor, pages, size = 0, [], 0
    while not pages or size:
        page = ring.page(cursor, 65_536)
        size = page.cursor - cursor
        assert size <= 65_536
        assert page.has_more == (page.cursor < ring.end)
        pages.append(b"".join(data for _, data in page.pieces).decode("utf-8"))
        cursor = page.cursor
    assert "".join(pages) == text


def test_the_same_cursor_reads_the_same_bytes_while_they_are_kept() -> None:
    """§24.4: two waits from the same cursor return the same bytes while retained."""
    ring = Ring(MIB)
    ring.append("stdout", b"z" * 100_000)
    before = ring.page(30_000, 65_536)
    ring.append("stdout", b"later")
    assert ring.page(30_000, 65_536) == before


def test_a_cursor_beyond_the_end_reads_from_the_end() -> None:
    ring = Ring(MIB)
    ring.append("stdout", b"abc")
    page = ring.page(99, 65_536)
    assert (page.cursor, page.pieces, page.truncated) == (3, (), False)


def test_binary_output_is_paged_to_its_end() -> None:
    ring = Ring(MIB)
    junk = bytes([0x80, 0xBF, 0xC3]) * 50_000
    ring.append("stdout", junk)
    assert read_all(ring) == junk


def test_output_byte_by_byte_costs_no_object_a_byte() -> None:
    ring = Ring(MIB)
    tracemalloc.start()
    try:
        for _ in range(200_000):
            ring.append("stdout", b"x")
        one_stream = tracemalloc.get_traced_memory()[0]
        for _ in range(100_000):
            ring.append("stdout", b"x")
            ring.append("stderr", b"y")
        two_streams = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert one_stream < 2 * MIB
    assert two_streams < 16 * MIB


def test_a_page_of_two_streams_that_alternate_stays_small() -> None:
    ring = Ring(MIB)
    for _ in range(MAX_PIECES // 2):
        ring.append("stdout", b"x")
        ring.append("stderr", b"y")
    assert len(ring.page(0, 65_536).pieces) == MAX_PIECES
    ring.append("stdout", b"x")
    half = MAX_PIECES // 2
    assert ring.page(0, 65_536).pieces == (("stdout", b"x" * (half + 1)), ("stderr", b"y" * half))


pieces = st.lists(st.tuples(st.sampled_from(["stdout", "stderr"]), st.text(max_size=40)), max_size=40)


@given(pieces, st.integers(8, 200), st.integers(4, 64), st.integers(0, 300))
def test_pages_give_what_is_kept_in_order(written, capacity, limit, cursor) -> None:
    ring = Ring(capacity)
    whole = b""
    for stream, text in written:
        ring.append(stream, text.encode())
        whole += text.encode()
    assert ring.end == len(whole)
    assert ring.end - ring.start <= max(capacity, 0)
    page = ring.page(cursor, limit)
    assert page.truncated == (cursor < ring.start)
    kept = whole[page.start :]
    assert read_all(ring, page.start, limit) == kept
    if cursor <= ring.start:
        assert kept.decode("utf-8") == read_all(ring, cursor, limit).decode("utf-8"), "eviction cuts no character"
    assert sum(len(data) for _, data in page.pieces) == page.cursor - page.start <= limit


@given(st.text(min_size=1, max_size=30), st.integers(0, 60))
def test_a_cut_is_never_inside_a_character(text, end) -> None:
    data = text.encode()
    cut = cut_before(data, 0, end)
    assert cut <= max(end, 0) or cut == len(data)
    assert min(end, len(data)) - cut <= 3
    data[:cut].decode("utf-8")
