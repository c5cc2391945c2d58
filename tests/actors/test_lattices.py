"""Lattices on every device, against numpy, bit for bit."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest
from tests.actors.lattice_samples import (
    corners,
    far,
    heat,
    life,
    numpy_corners,
    numpy_far,
    numpy_heat,
    numpy_life,
    numpy_pair,
    numpy_steps,
    numpy_wave,
    pair,
    wave,
)
from tests.devices import WORDS

from gridlane import actors
from gridlane.core.errors import TargetError
from gridlane.cuda import float32, int32


def random(shape, dtype=np.float32, below=1000):
    rng = np.random.default_rng(shape)
    if np.dtype(dtype).kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    return rng.integers(0, below, shape).astype(dtype)


def run(runtime, lattice, fields, steps, **options):
    """The fields after some steps."""
    shape = next(iter(fields.values())).shape
    ref = runtime.lattice(lattice, shape, **options)
    ref.write(**fields)
    ref.activate()
    ref.step(steps)
    found = tuple(ref.read(name) for name, _ in lattice.fields)
    ref.terminate()
    return found


def same(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


SIDES = (False, True)


@pytest.mark.parametrize("periodic", list(itertools.product(SIDES, SIDES)))
def test_four_neighbours(runtime, periodic):
    t, c = random((13, 35)), np.float32(0.2)
    found = run(runtime, heat, {"t": t}, 5, periodic=periodic, args=(0.2,))
    same(found, numpy_steps(numpy_heat, (t,), periodic, 5, (c,)))


@pytest.mark.parametrize("periodic", [(False, True), (True, True)])
def test_eight_neighbours(runtime, periodic):
    cells = random((17, 9), np.uint8, 2)
    found = run(runtime, life, {"alive": cells}, 4, periodic=periodic)
    same(found, numpy_steps(numpy_life, (cells,), periodic, 4))


BOX = list(itertools.product(SIDES, SIDES, SIDES))


def check_wave(runtime, periodic):
    u, v, c = random((5, 7, 11)), random((5, 7, 11)) / 2, np.float32(0.1)
    found = run(runtime, wave, {"u": u, "v": v}, 4, periodic=periodic, args=(0.1,))
    same(found, numpy_steps(numpy_wave, (u, v), periodic, 4, (c,)))


def check_corners(runtime, periodic):
    n = random((4, 5, 3), np.int32)
    found = run(runtime, corners, {"n": n}, 3, periodic=periodic)
    same(found, numpy_steps(numpy_corners, (n,), periodic, 3))


@pytest.mark.parametrize("periodic", [BOX[2], BOX[5]])
def test_six_neighbours(runtime, periodic):
    check_wave(runtime, periodic)


@pytest.mark.parametrize("periodic", [BOX[0], BOX[7]])
def test_twenty_six_neighbours(runtime, periodic):
    check_corners(runtime, periodic)


@pytest.mark.parametrize("periodic", BOX)
def test_all_boxes(on_cpu, periodic):
    check_wave(on_cpu, periodic)
    check_corners(on_cpu, periodic)


def test_several_fields_and_a_wide_halo(runtime):
    given = {name: random((6, 9), np.int32) for name in ("a", "b", "own")}
    found = run(runtime, pair, given, 3, periodic=(True, False))
    same(found, numpy_steps(numpy_pair, tuple(given.values()), (True, False), 3))


def test_float64_and_an_array_of_the_launch(runtime):
    d, weights = random((7, 6, 6), np.float64), np.array([0.5, -0.25])
    if runtime.device.name.partition(" ")[0] in ("opengl", "webgpu", "metal"):
        with pytest.raises(TargetError, match="float64 in memory"):
            run(runtime, far, {"d": d}, 2, periodic=True, args=(weights,))
        return
    found = run(runtime, far, {"d": d}, 2, periodic=True, args=(weights,))
    expected = numpy_steps(numpy_far, (d,), (True,) * 3, 2, (weights,))
    if runtime.device.name.partition(" ")[0] in WORDS:  # pairs of float32, as in other kernels
        np.testing.assert_allclose(found[0], expected[0], rtol=0, atol=1e-12)
    else:
        same(found, expected)


def test_a_fixed_boundary(runtime):
    u, c = random((5, 6, 7)), np.float32(0.1)
    found = run(
        runtime, wave, {"v": u / 2, "u": u}, 4,
        periodic=(False, True, False), boundary="fixed", args=(0.1,),
    )  # fmt: skip
    v = (u / 2).copy()
    for axis in (0, 2):
        for end in (0, -1):  # a field that keeps the previous value has that of the boundary
            np.moveaxis(v, axis, 0)[end] = np.moveaxis(u, axis, 0)[end]
    expected = numpy_steps(numpy_wave, (u, v), (False, True, False), 4, (c,), fixed=(0, 2))
    same(found, expected)


def test_steps_add_up(runtime):
    t, c = random((8, 8)), np.float32(0.2)
    ref = runtime.lattice(heat, (8, 8), args=(0.2,))
    ref.write(t=t)
    ref.activate()
    assert [ref.step(), ref.step(0), ref.step(3)] == [1, 1, 4]
    same((ref.read("t"),), numpy_steps(numpy_heat, (t,), SIDES[:1] * 2, 4, (c,)))
    ref.write(t=1.5)
    assert (ref.read("t") == 1.5).all()


@actors.message
class Source:
    y: int32
    x: int32
    strength: float32


@actors.message
class Stop:
    step: int32


@actors.state
class Drive:
    y: int32
    x: int32
    strength: float32
    changes: int32


@actors.lattice(fields={"t": float32}, neighbours=4, state=Drive)
def driven(ctx, state, t):
    around = t[0, 1] + t[0, -1] + t[1, 0] + t[-1, 0]
    new = t[0, 0] + float32(0.125) * (around - 4 * t[0, 0])
    if ctx.y == state.y and ctx.x == state.x:
        new += state.strength
    return new


@driven.on
def move(ctx, state, message: Source):
    state.y, state.x = message.y, message.x
    state.strength = message.strength
    state.changes += 1


@driven.on
def stop(ctx, state, message: Stop):
    if message.step == ctx.step:
        state.strength = 0
    state.changes += 1


def numpy_driven(t, schedule, steps):
    """Steps with the messages that ``schedule`` has before each."""
    drive = Drive(0, 0, 0.0, 0)
    for step in range(steps):
        for message in schedule.get(step, ()):
            drive.changes += 1
            if isinstance(message, Source):
                drive = Drive(message.y, message.x, message.strength, drive.changes)
            elif message.step == step:
                drive.strength = 0.0
        (t,) = numpy_steps(numpy_heat, (t,), (False, False), 1, (np.float32(0.125),))
        t[drive.y, drive.x] += np.float32(drive.strength)
    return t, drive


def test_messages_between_steps(runtime):
    t = random((9, 12))
    ref = runtime.lattice(driven, (9, 12))
    ref.write(t=t)
    ref.activate()
    schedule = {0: [Source(2, 3, 1.5)], 2: [Source(1, 1, 4.0), Stop(1), Stop(2)], 4: []}
    for messages in schedule.values():
        for message in messages:
            ref.post(message)
        ref.step(2)
    expected, drive = numpy_driven(t, schedule, 6)
    same((ref.read("t"),), (expected,))
    assert ref.read_state() == drive
    ref.write_state(Drive(0, 0, 2.0, 7))
    assert ref.read_state() == Drive(0, 0, 2.0, 7)


def test_messages_while_it_runs(runtime):
    """What ``post`` gives is the step before which the message is handled."""
    steps = 30 if runtime.device.name == "interp" else 200
    t = random((9, 12))
    ref = runtime.lattice(driven, (9, 12), state=Drive(4, 4, 0.5, 0))
    ref.write(t=t)
    ref.activate()
    thread = threading.Thread(target=ref.step, args=(steps,))
    thread.start()
    schedule: dict[int, list[Source]] = {}
    for n in range(12):
        message = Source(n % 9, n, float(n))
        schedule.setdefault(ref.post(message), []).append(message)
    thread.join()
    schedule.setdefault(0, []).insert(0, Source(4, 4, 0.5))
    expected, drive = numpy_driven(t, schedule, steps)
    same((ref.read("t"),), (expected,))
    assert ref.read_state().changes == 12
    assert drive.changes <= 13
