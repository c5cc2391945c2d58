"""Halves, nested classes and arrays in messages: calls, posts, other processes, C, dead letters."""

from __future__ import annotations

import ctypes
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridlane import actors, cuda
from gridlane.actors import _engine
from gridlane.actors.layouts.python import ctype
from gridlane.cuda import boolean, float16, float32, int8, int32, int64, uint16

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="shared inboxes need Linux")


@actors.message
class Point:
    x: float16
    y: float32


@actors.message
class Path:
    halves: float16[5]
    points: actors.array(Point, 3)
    flag: boolean
    corner: Point
    grid: int32[2, 3]
    small: int8
    wide: int64


@actors.message
class Answer:
    sums: float16[2]
    moved: actors.array(Point, 3)
    corner: Point
    total: int64
    last: float16


@actors.state
class Seen:
    most: float16
    points: actors.array(Point, 3)
    count: uint16


@cuda.jit(device=True)
def further(point):
    return Point(point.x + float16(1), point.y - float32(1))


@actors.kernel(state=Seen, replies=Answer)
def walker(ctx, state, path: Path):
    whole = path.wide
    for i in range(2):
        for j in range(3):
            whole += path.grid[i, j]
    if path.flag:
        whole += path.small
    if path.halves[1] > state.most:
        state.most = path.halves[1]
    for i in range(3):
        state.points[i] = path.points[i]
    state.count += 1
    sums = (path.halves[0] + path.halves[4], path.halves[2] * path.halves[3])
    moved = (further(path.points[0]), further(path.points[1]), further(path.points[2]))
    corner = Point(path.corner.x, path.corner.y * float32(2))
    ctx.reply(Answer(sums, moved, corner, whole, path.halves[4]))


def example(seed):
    make = np.random.default_rng(seed)
    dtype = Path.__gridlane_type__.numpy
    record = np.zeros((), dtype)
    record["halves"] = make.uniform(-100, 100, 5)
    for field in ("x", "y"):
        record["points"][field] = make.uniform(-100, 100, 3)
        record["corner"][field] = make.uniform(-100, 100)
    record["flag"] = make.integers(2)
    record["grid"] = make.integers(-(10**6), 10**6, (2, 3))
    record["small"], record["wide"] = make.integers(-128, 128), make.integers(-(10**15), 10**15)
    return Path.__gridlane_shape__.unpack(record.tobytes())


def expected(path):
    """The bytes of the answer, by numpy."""
    h = np.asarray(path.halves)
    made = np.zeros((), Answer.__gridlane_type__.numpy)
    made["sums"] = [h[0] + h[4], h[2] * h[3]]
    made["moved"]["x"] = np.asarray(path.points)["x"] + np.float16(1)
    made["moved"]["y"] = np.asarray(path.points)["y"] - np.float32(1)
    made["corner"]["x"], made["corner"]["y"] = path.corner.x, path.corner.y * np.float32(2)
    made["total"] = path.wide + int(np.sum(path.grid)) + (path.small if path.flag else 0)
    made["last"] = h[4]
    return Answer.__gridlane_shape__.unpack(made.tobytes())


def test_calls_on_every_device(runtime):
    ref = runtime.launch(walker)
    ref.activate()
    paths = [example(seed) for seed in range(8)]
    assert [ref.call(each, timeout=60) for each in paths] == [expected(each) for each in paths]
    state = ref.read_state()
    assert state.count == 8
    assert state.most == max(max(0, float(each.halves[1])) for each in paths)
    assert state.points.tolist() == paths[-1].points.tolist()


def test_posts_of_values_and_arrays(on_cpu):
    ref = on_cpu.launch(walker, capacity=4)
    ref.activate()
    paths = [example(seed) for seed in range(20)]
    rows = np.frombuffer(b"".join(bytes(each) for each in paths), Path.__gridlane_type__.numpy)
    assert ref.post_many(rows[:10], replies=True) == 10
    assert ref.post_many(paths[10:], replies=True) == 10
    assert [ref.receive(60) for _ in paths] == [expected(each) for each in paths]


def test_dead_letters(on_cpu):
    ref = on_cpu.launch(walker, capacity=1)
    paths = [example(seed) for seed in range(3)]
    for each in paths:
        ref.send(each, on_full="dead")
    assert [each.message(Path) for each in on_cpu.dead_letters()] == paths[1:]


@linux_only
def test_other_processes(on_cpu, tmp_path, monkeypatch):
    (tmp_path / "run").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    ref = on_cpu.launch(walker)
    ref.activate()
    paths = [example(seed) for seed in range(20)]
    rows = np.frombuffer(b"".join(bytes(each) for each in paths), Path.__gridlane_type__.numpy)
    with (
        ref.share("rich", capacity=4),
        actors.connect("rich", message=Path, replies=Answer) as there,
    ):
        assert [there.call(each, timeout=60) for each in paths] == [
            expected(each) for each in paths
        ]
        assert there.post_many(rows) == 20
        there.send(paths[3])
        last = there.call(paths[5], timeout=60)
    assert last == expected(paths[5])
    assert ref.read_state().count == 42


def test_c(on_cpu):
    """Structures of ctypes have the same bytes as C's."""
    c = ctypes.CDLL(_engine.__file__)
    pointer, size, time = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint64
    c.gridlane_actor_call.argtypes = pointer, pointer, size, pointer, size, time, time
    ref = on_cpu.launch(walker)
    ref.activate()
    message, answer = (ctype(each.__gridlane_shape__.layout) for each in (Path, Answer))
    for seed in range(5):
        path, found = example(seed), answer()
        given_ = message.from_buffer_copy(bytes(path))
        assert (given_.wide, given_.points[1].y) == (path.wide, path.points[1]["y"])
        result = c.gridlane_actor_call(
            *(ref.c_handle, ctypes.addressof(given_), ctypes.sizeof(given_)),
            *(ctypes.addressof(found), ctypes.sizeof(found), 0, 20 * 10**9),
        )
        assert result == 0
        assert Answer.__gridlane_shape__.unpack(bytes(found)) == expected(path)


@actors.message
class Half:
    value: float16


@actors.kernel(replies=Half)
def same(ctx, state, half: Half):
    ctx.reply(half)


@pytest.fixture(scope="module")
def mirror():
    with actors.Runtime(device="cpu") as runtime:
        ref = runtime.launch(same)
        ref.activate()
        yield ref


@settings(max_examples=50, deadline=None)
@given(st.floats(width=16))
def test_every_half_comes_back(mirror, value):
    assert bytes(mirror.call(Half(value), timeout=60)) == bytes(Half(value))
