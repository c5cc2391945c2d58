"""Scans by look-back against NumPy, bit for bit, on devices whose blocks make progress alone."""

from __future__ import annotations

import operator as operators

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.algorithms.on_devices import up
from tests.effort import NIGHTLY, examples

import gridlane
from gridlane import algorithms, cuda
from gridlane.algorithms import CountingIterator, Determinism, OpKind, TransformIterator
from gridlane.algorithms.inner import one_pass, scan
from gridlane.algorithms.item_types import item_type
from gridlane.algorithms.operators import operator
from gridlane.launch import current

DEVICES = "cpu", "interp"
DTYPES = [np.uint8, np.int16, np.int32, np.uint64]
"""Of which each takes the CPU device compilations."""
if NIGHTLY:
    DTYPES += [np.int8, np.uint16, np.uint32, np.int64]
ACCUMULATED = {
    OpKind.PLUS: np.add, OpKind.MULTIPLIES: np.multiply, OpKind.BIT_XOR: np.bitwise_xor,
    OpKind.BIT_AND: np.bitwise_and, OpKind.BIT_OR: np.bitwise_or, OpKind.MINIMUM: np.minimum,
    OpKind.MAXIMUM: np.maximum,
}  # fmt: skip


def expected(x, op, start, inclusive):
    """The scan by NumPy, which wraps as the device does."""
    front = [] if start is None else [start]
    sums = ACCUMULATED[op].accumulate(np.concatenate([np.array(front, x.dtype), x]), dtype=x.dtype)
    if inclusive:
        return sums[len(front) :]
    return sums[:-1]


def scanned(x, op, start, inclusive, offset=0, in_place=False):
    """The scan of a part of an array that begins at an item, as the memory of an array does."""
    memory = up(np.concatenate([np.zeros(offset, x.dtype), x]))[offset:]
    out = memory if in_place else up(np.zeros(x.size + offset, x.dtype))[offset:]
    function = algorithms.inclusive_scan if inclusive else algorithms.exclusive_scan
    function(
        d_in=memory,
        d_out=out,
        op=op,
        num_items=x.size,
        init_value=None if start is None else x.dtype.type(start),
    )
    return out.copy_to_host()


@pytest.mark.parametrize("device", DEVICES)
def test_the_devices_promise_progress(device):
    with gridlane.device(device):
        assert current.device().limits.independent_blocks


@settings(max_examples=examples(25, 600), deadline=None)
@given(
    device=st.sampled_from(DEVICES),
    dtype=st.sampled_from(DTYPES),
    op=st.sampled_from([OpKind.PLUS, OpKind.MINIMUM, *(ACCUMULATED if NIGHTLY else ())]),
    tiles=st.sampled_from([0, 1, 2]),
    more=st.one_of(st.integers(-3, 3), st.integers(0, 4095)),
    start=st.sampled_from([None, 0, 5]),
    inclusive=st.booleans(),
    offset=st.integers(0, 3),
    in_place=st.booleans(),
    seed=st.integers(0, 99),
)
def test_scans_of_integers(
    device, dtype, op, tiles, more, start, inclusive, offset, in_place, seed
):
    count = max(0, tiles * one_pass.tile_of(item_type(dtype)) + more)
    start = 0 if start is None and not inclusive else start
    bits = np.random.default_rng(seed).integers(0, 256, count * np.dtype(dtype).itemsize, np.uint8)
    x = bits.view(dtype).copy()
    with gridlane.device(device):
        got = scanned(x, op, start, inclusive, offset, in_place)
    assert np.array_equal(got, expected(x, op, start, inclusive))


@pytest.mark.parametrize("op", ACCUMULATED)
def test_scans_by_each_operator(op):
    x = np.random.default_rng(3).integers(-(1 << 31), 1 << 31, 9000, np.int32)
    x = np.where(x == 0, 1, x) if op is OpKind.MULTIPLIES else x
    with gridlane.device("interp"):
        assert np.array_equal(scanned(x, op, None, True), expected(x, op, None, True))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_scans_of_many_tiles(dtype):
    x = np.random.default_rng(1).integers(-(1 << 30), 1 << 30, 10_000_019, dtype)
    with gridlane.device("cpu"):
        for _ in range(3):
            assert np.array_equal(
                scanned(x, OpKind.PLUS, 9, False, 1), np.cumsum(x, dtype=dtype) - x + dtype(9)
            )


@pytest.mark.parametrize("device", DEVICES)
def test_scans_of_iterators_and_other_types(device):
    with gridlane.device(device):
        out, x = up(np.zeros(9001, np.int64)), np.arange(9001, dtype=np.int16) - 4000
        squares = TransformIterator(CountingIterator(np.int64(0)), lambda n: n * n)
        algorithms.inclusive_scan(d_in=squares, d_out=out, op=OpKind.PLUS, num_items=9001)
        assert np.array_equal(out.copy_to_host(), np.cumsum(np.arange(9001) ** 2))
        algorithms.inclusive_scan(
            d_in=up(x), d_out=out, op=OpKind.PLUS, num_items=9001, init_value=np.int64(1)
        )
        assert np.array_equal(out.copy_to_host(), np.cumsum(x, dtype=np.int64) + 1)


def test_what_is_scanned_in_one_pass(monkeypatch):
    """Floats and a program's functions keep one tree; integers take one pass where blocks may wait
    for earlier ones."""
    seen = []
    one = one_pass.scan
    monkeypatch.setattr(one_pass, "scan", lambda *args: (seen.append(args[4].dtype), one(*args)))
    with gridlane.device("cpu"):
        for x in (np.ones(9, np.float32), np.ones(9, np.bool_), np.ones(9, np.int32)):
            out = up(np.zeros(9, x.dtype))
            algorithms.inclusive_scan(d_in=up(x), d_out=out, op=OpKind.PLUS, num_items=9)
        algorithms.inclusive_scan(d_in=out, d_out=out, op=lambda a, b: b, num_items=9)
        assert seen == [np.int32]
        device = current.device()
        limits = type(device.limits)(multiprocessors=device.limits.multiprocessors)
        monkeypatch.setattr(device, "limits", limits)
        algorithms.inclusive_scan(d_in=up(np.arange(9)), d_out=out, op=OpKind.PLUS, num_items=9)
        assert seen == [np.int32] and out.copy_to_host()[-1] == 36


def test_halves_of_a_number_that_do_not_belong_together():
    """A number of 64 bits whose tile replaces it while it is read is no number yet."""
    see, flags = one_pass._seeing(item_type(np.int64)), cuda.to_device(np.zeros(4, np.int64))

    @cuda.jit
    def look(words, flags):
        for tile in range(2):
            flag, number = see(words, tile)
            flags[2 * tile], flags[2 * tile + 1] = flag, number

    one, two = 1 << 32, 2 << 32
    look[1, 1](cuda.to_device(np.array([one | 7, two, two | 5, two | 3], np.uint64)), flags)
    assert flags.copy_to_host().tolist()[0] == 0
    assert flags.copy_to_host().tolist()[2:] == [2, 5 | 3 << 32]


def test_operators_without_a_neutral_number():
    float_sum = operator(OpKind.PLUS, 2, item_type(np.float32))
    assert not one_pass.is_one_pass(float_sum, item_type(np.float32), False)
    assert one_pass.is_one_pass(float_sum, item_type(np.float32), True)
    assert not one_pass.is_one_pass(float_sum, item_type(np.float16), True)
    last = operator(lambda a, b: b, 2, item_type(np.int32))
    assert one_pass.neutral_of(last, item_type(np.int32)) is None
    for each in (np.add, max, operators.xor):
        assert one_pass.neutral_of(operator(each, 2, item_type(np.uint8)), item_type(np.uint8)) == 0
    least = operator(OpKind.MINIMUM, 2, item_type(np.int16))
    assert one_pass.neutral_of(least, item_type(np.int16)) == 32767
    assert scan.scan_layout(item_type(np.float32), float_sum, 1 << 20).parts[1][0] == 0


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scans_of_floats_in_any_order(monkeypatch, device, dtype):
    seen, one = [], one_pass.scan
    monkeypatch.setattr(one_pass, "scan", lambda *args: (seen.append(args[4].dtype), one(*args)))
    x = np.random.default_rng(5).random(9001).astype(dtype)
    x[:3] = -0.0
    whole = np.cumsum(x.astype(np.longdouble))
    with gridlane.device(device):
        for determinism in (None, Determinism.RUN_TO_RUN, Determinism.NOT_GUARANTEED):
            out = up(np.zeros_like(x))
            algorithms.inclusive_scan(
                d_in=up(x), d_out=out, op=OpKind.PLUS, num_items=x.size, determinism=determinism
            )
            got = out.copy_to_host()
            assert (np.abs(got - whole) <= 20 * np.finfo(dtype).eps * whole).all()
            assert np.signbit(got[:3]).all()
            exact = up(np.arange(9001).astype(dtype))
            algorithms.exclusive_scan(
                d_in=exact, d_out=out, op=OpKind.PLUS, num_items=99, init_value=dtype(7),
                determinism=determinism,
            )  # fmt: skip
            assert np.array_equal(out.copy_to_host()[:99], 7 + np.cumsum(np.arange(99)) - range(99))
    assert seen == [dtype] * 2


@pytest.mark.parametrize("op", [OpKind.MINIMUM, OpKind.MAXIMUM])
def test_floats_of_other_operators_keep_their_tree(op):
    item = item_type(np.float32)
    assert not one_pass.is_one_pass(operator(op, 2, item), item, True)
