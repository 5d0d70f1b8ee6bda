"""Frames between the kernel and the child."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_kernel.tools.shell.child.call import Call
from tt_kernel.tools.shell.job import Job, Mount
from tt_kernel.tools.shell.wire import MAX_FRAME, BrokenStream, pack, pack_json, read_frame

FRAMES = st.lists(st.tuples(st.integers(0, 255), st.binary(max_size=300)))


def frames(data: bytes) -> list[tuple[int, bytes]]:
    read = io.BytesIO(data).read
    found = []
    while (frame := read_frame(read)) is not None:
        found.append(frame)
    return found


@given(FRAMES)
def test_frames_come_out_as_they_went_in(sent):
    assert frames(b"".join(pack(kind, payload) for kind, payload in sent)) == sent


@given(FRAMES, st.data())
def test_a_stream_cut_at_any_byte_ends_after_the_last_whole_frame(sent, data):
    whole = b"".join(pack(kind, payload) for kind, payload in sent)
    cut = data.draw(st.integers(0, len(whole)))
    found = frames(whole[:cut])
    assert found == sent[: len(found)]


def test_a_stream_that_is_no_frames_is_refused():
    with pytest.raises(BrokenStream):
        read_frame(io.BytesIO((MAX_FRAME + 1).to_bytes(4) + b"x").read)


@given(st.text(), st.floats(0, 4e9), st.integers(0, 2**64 - 1))
def test_a_job_arrives_as_a_call(tmp_path_factory, command, epoch, seed):
    folder = tmp_path_factory.getbasetemp() / "ü"
    job = Job(command, "/output", [Mount("output", folder, True)], epoch, seed)
    _, payload = frames(pack_json(1, job.to_wire()))[0]
    call = Call.read(json.loads(payload))
    assert (call.command, call.workdir, call.epoch, call.seed) == (command, "/output", epoch, seed)
    assert (call.timeout, call.limit) == (30, 128 * 1024)
    (mount,) = call.mounts
    assert (mount.name, mount.path, mount.writable) == ("output", str(folder), True)


def test_chance_goes_by_name_and_number():
    call = Call("", "/", (), 0, 7, 30, 10)
    first = [call.random("a").random(), call.random("a").random(), call.random("a", "b").random()]
    again = Call("", "/", (), 0, 7, 30, 10)
    assert [again.random("a", "b").random(), again.random("a").random(), again.random("a").random()] == [
        first[2],
        first[0],
        first[1],
    ]
    assert len(set(first)) == 3
    assert Call("", "/", (), 0, 8, 30, 10).random("a").random() != first[0]
