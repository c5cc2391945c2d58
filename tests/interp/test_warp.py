"""Warp ops against loops over the lanes, with random masks, active lanes and distances."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.devices import bits, run_on

from gridlane.conformance.kernels import Kernel, array_of
from gridlane.conformance.special import special
from gridlane.core.dtypes import ALL, INTEGERS, b1, f32, i32, u32
from gridlane.ir.op import Op
from gridlane.ir.ops import warp

WARP = 32


def run(types, build, columns, active, results) -> list[np.ndarray]:
    """What ``build`` gives on the active lanes of some warps; zero on the others."""
    kernel = Kernel()
    b = kernel.builder
    condition = kernel.load(b1)
    inputs = [kernel.load(type_) for type_ in types]
    outputs = [kernel.own(kernel.array(type_)) for type_ in results]
    with b.if_(condition):
        made: Op = b.emit(build(*inputs))
        for at, value in zip(outputs, made.results, strict=True):
            b.store(at, value)
    count = len(active)
    arrays = [active, *columns, *[array_of(type_, count) for type_ in results]]
    outcome = run_on("interp", kernel.module, (1, 1, 1), (count, 1, 1), arrays)
    return outcome.arrays[1 + len(columns) :]


def scene(seed: int, dtype):
    """Active lanes, masks and few distinct values, of three warps."""
    rng = random.Random(seed)
    active = np.array([rng.random() < rng.choice((0.5, 1.0)) for _ in range(3 * WARP)])
    masks = [rng.choice((0xFFFFFFFF, rng.getrandbits(32))) for _ in range(3 * WARP)]
    values = special(dtype, 0)[[rng.randrange(min(3, len(special(dtype, 0)))) for _ in masks]]
    return rng, active, np.array(masks, np.uint32), values


def members(lane: int, active, masks) -> list[int]:
    """The lanes that take part, as a lane sees it; numbers in the block."""
    base = lane // WARP * WARP
    return [base + n for n in range(WARP) if active[base + n] and masks[lane] >> n & 1]


def as_bits(lanes: list[int]) -> int:
    return sum(1 << (lane % WARP) for lane in lanes)


def same(got: np.ndarray, wanted: list, active) -> None:
    for lane in np.flatnonzero(active):
        assert got[lane] == wanted[lane], f"lane {lane}: {got[lane]}, not {wanted[lane]}"


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("mode", warp.VoteMode)
def test_vote(mode, seed):
    _, active, masks, flags = scene(seed, b1)
    result = u32 if mode is warp.VoteMode.BALLOT else b1

    def make(mask, flag):
        return warp.Vote(mode, mask, flag)

    (got,) = run([u32, b1], make, [masks, flags], active, [result])
    wanted = []
    for lane in range(len(active)):
        here = members(lane, active, masks)
        true = [n for n in here if flags[n]]
        answers = {
            "ALL": len(true) == len(here),
            "ANY": bool(true),
            "EQ": len(true) in (0, len(here)),
            "BALLOT": as_bits(true),
        }
        wanted.append(answers[mode.name])
    same(got, wanted, active)


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_match(dtype):
    for seed in range(4):
        _, active, masks, values = scene(seed, dtype)
        raw = values.view(f"u{dtype.size}")
        (any_,) = run([u32, dtype], warp.MatchAny, [masks, values], active, [u32])
        all_, same_ = run([u32, dtype], warp.MatchAll, [masks, values], active, [u32, b1])
        wanted_any, wanted_all = [], []
        for lane in range(len(active)):
            here = members(lane, active, masks)
            wanted_any.append(as_bits([n for n in here if raw[n] == raw[lane]]))
            equal = len({int(raw[n]) for n in here}) <= 1
            wanted_all.append((as_bits(here) if equal else 0, equal))
        same(any_, wanted_any, active)
        same(all_, [pair[0] for pair in wanted_all], active)
        same(same_, [pair[1] for pair in wanted_all], active)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("kind", warp.WarpReduction)
def test_reduce(kind, dtype):
    functions = {
        "ADD": lambda a, b: dtype.wrap(a + b),
        "MIN": min,
        "MAX": max,
        "AND": lambda a, b: a & b,
        "OR": lambda a, b: a | b,
        "XOR": lambda a, b: a ^ b,
    }
    _, active, masks, values = scene(5, dtype)
    masks[:] = np.where(masks == 0, 1, masks)

    def make(mask, value):
        return warp.WarpReduce(kind, mask, value)

    (got,) = run([u32, dtype], make, [masks, values], active, [dtype])
    for lane in np.flatnonzero(active):
        here = [int(values[n]) for n in members(lane, active, masks)]
        if here:
            total = here[0]
            for value in here[1:]:
                total = functions[kind.name](total, value)
            assert got[lane] == total


@pytest.mark.parametrize("mode", warp.ShuffleMode)
def test_shuffle(mode):
    rng = random.Random(1)
    count = 3 * WARP
    active = np.ones(count, np.bool_)
    values = np.arange(count, dtype=np.float32)
    masks = np.full(count, 0xFFFFFFFF, np.uint32)
    for width in (1, 2, 4, 8, 16, 32):
        lanes = np.array([rng.randrange(32) for _ in range(count)], np.int32)
        widths = np.full(count, width, np.int32)

        def make(mask, value, lane, width):
            return warp.Shuffle(mode, mask, value, lane, width)

        got, inside = run(
            [u32, f32, i32, i32], make, [masks, values, lanes, widths], active, [f32, b1]
        )
        for lane in range(count):
            base, own = lane // WARP * WARP, lane % WARP
            start, by = own // width * width, int(lanes[lane])
            source, valid = {
                "IDX": (start + by % width, True),
                "UP": (own - by, own - by >= start),
                "DOWN": (own + by, own + by < start + width),
                "XOR": (own ^ by, own ^ by < start + width),
            }[mode.name]
            if mode is warp.ShuffleMode.XOR:
                valid = (own ^ by) < start + width
            assert inside[lane] == valid
            assert got[lane] == base + (source if valid else own)


def test_shuffle_from_an_inactive_lane_gives_zero():
    kernel = Kernel()
    b = kernel.builder
    mask, width = b.const(0xFFFFFFFF, u32), b.const(32, i32)
    value = b.add(kernel.local, b.const(100, i32))
    out, near = kernel.own(kernel.array(i32)), kernel.own(kernel.array(i32))
    with b.if_(b.lt(kernel.local, b.const(4, i32))):
        for place, lane in ((out, 9), (near, 3)):
            moved = warp.Shuffle(warp.ShuffleMode.IDX, mask, value, b.const(lane, i32), width)
            b.store(place, b.emit(moved).results[0])
    arrays = [np.full(32, 7, np.int32) for _ in range(2)]
    got = run_on("interp", kernel.module, (1, 1, 1), (32, 1, 1), arrays).arrays
    assert got[0][:5].tolist() == [0, 0, 0, 0, 7]
    assert got[1][:5].tolist() == [103, 103, 103, 103, 7]


@pytest.mark.parametrize("seed", range(4))
def test_active_mask(seed):
    _, active, _, _ = scene(seed, b1)
    (got,) = run([], warp.ActiveMask, [], active, [u32])
    everyone = np.full(len(active), 0xFFFFFFFF, np.uint32)
    same(got, [as_bits(members(lane, active, everyone)) for lane in range(len(active))], active)
    assert bits(got)[~active].tolist() == [0] * int((~active).sum())
