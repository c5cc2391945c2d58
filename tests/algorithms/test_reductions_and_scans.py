"""Reductions, scans and transformations against numpy, on every device."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.algorithms.on_devices import ALL, MANY, room, sizes, up
from tests.effort import NIGHTLY, examples

import gridlane
from gridlane import algorithms
from gridlane.algorithms import OpKind

DTYPES = [np.uint16, np.complex64, np.bool_]
"""Of which each takes the CPU device a compilation."""
if NIGHTLY:
    DTYPES += [np.int8, np.int64, np.float16, np.float32, np.float64, np.complex128]
MOST = MANY if NIGHTLY else 4000


def last_wins(a, b):
    """Associative, and not commutative."""
    return b if b != 0 else a


@pytest.mark.parametrize("device", ALL)
def test_sums_and_scans_of_all_sizes(device):
    with gridlane.device(device):
        for count in sizes(device):
            x = (np.arange(count) * 7919 % 1000 - 500).astype(np.int32)
            d_x, d_total, d_out = up(x), room(1, np.int32), room(count, np.int32)
            algorithms.reduce_into(
                d_in=d_x, d_out=d_total, num_items=count, op=OpKind.PLUS, h_init=np.int32(3)
            )
            assert d_total.copy_to_host()[0] == x.sum() + 3
            algorithms.inclusive_scan(d_in=d_x, d_out=d_out, op=OpKind.PLUS, num_items=count)
            assert np.array_equal(d_out.copy_to_host(), np.cumsum(x))


@pytest.mark.parametrize("device", ALL)
def test_a_scan_keeps_the_order_of_its_operands(device):
    with gridlane.device(device):
        x = np.zeros(9000 if device != "interp" else 3000, np.uint8)
        x[::700] = np.arange(1, len(x[::700]) + 1)
        d_x, start = up(x), up(np.array([99], np.uint8))
        algorithms.exclusive_scan(
            d_in=d_x, d_out=d_x, op=last_wins, init_value=start, num_items=x.size
        )
        expected = np.concatenate([[99], np.maximum.accumulate(x)[:-1]])
        assert np.array_equal(d_x.copy_to_host(), expected)


@settings(max_examples=examples(20, 400), deadline=None)
@given(
    dtype=st.sampled_from(DTYPES),
    count=st.one_of(st.integers(0, 3000), st.integers(MOST - 2, MOST)),
    seed=st.integers(0, 99),
)
def test_reductions_of_all_types(dtype, count, seed):
    random = np.random.default_rng(seed)
    x = random.integers(0, 3 if dtype is np.float16 else 100, count).astype(dtype)
    out = np.zeros(1, dtype)
    algorithms.reduce_into(
        d_in=x, d_out=out, num_items=count, op=OpKind.PLUS, h_init=np.ones(1, dtype)
    )
    expected = (x.any() or True) if dtype is np.bool_ else x.sum(dtype=dtype) + dtype(1)
    assert np.allclose(out[0], expected, rtol=2e-3 if dtype is np.float16 else 1e-5)


@settings(max_examples=examples(20, 300), deadline=None)
@given(count=st.integers(0, 5000), cut=st.integers(0, 5000), seed=st.integers(0, 99))
def test_float_scans_repeat_bit_for_bit(count, cut, seed):
    x = np.random.default_rng(seed).random(count)
    used = min(cut, count)
    out, again = np.zeros(count), np.zeros(count)
    for each in (out, again):
        algorithms.inclusive_scan(
            d_in=x, d_out=each, op=OpKind.PLUS, init_value=np.array([0.5]), num_items=used
        )
    assert out.tobytes() == again.tobytes()
    assert np.allclose(out[:used], 0.5 + np.cumsum(x[:used]))
    assert not out[used:].any()


def float_results():
    """A sum and a scan of float32, whose bits depend on the order."""
    x = np.random.default_rng(7).random(5000).astype(np.float32)
    total, out = room(1, np.float32), room(5000, np.float32)
    algorithms.reduce_into(
        d_in=up(x), d_out=total, num_items=5000, op=OpKind.PLUS, h_init=np.float32(0)
    )
    algorithms.inclusive_scan(d_in=up(x), d_out=out, num_items=5000, op=OpKind.PLUS)
    return total.copy_to_host().tobytes(), out.copy_to_host().tobytes()


@pytest.mark.parametrize("device", [each for each in ALL if each != "cpu"])
def test_every_device_has_the_same_tree(device):
    expected = float_results()
    with gridlane.device(device):
        assert float_results() == expected


@pytest.mark.parametrize("device", ALL)
def test_transformations(device):
    with gridlane.device(device):
        count = 5000
        x, y = np.arange(count, dtype=np.int32), np.arange(count, dtype=np.float32) / 4
        out = room(count, np.float32)
        algorithms.binary_transform(
            d_in1=up(x), d_in2=up(y), d_out=out, op=lambda a, b: a - b, num_items=count
        )
        assert np.array_equal(out.copy_to_host(), (x - y).astype(np.float32))
        algorithms.unary_transform(d_in=out, d_out=out, op=OpKind.NEGATE, num_items=count)
        assert np.array_equal(out.copy_to_host(), (y - x).astype(np.float32))


def test_integers_divide_towards_zero():
    a, b = np.array([-7, 7, -7, 7, 0], np.int32), np.array([3, 3, -3, -3, 5], np.int32)
    quotients, rests = np.zeros(5, np.int32), np.zeros(5, np.int32)
    for op, out in ((OpKind.DIVIDES, quotients), (OpKind.MODULUS, rests)):
        algorithms.binary_transform(d_in1=a, d_in2=b, d_out=out, op=op, num_items=5)
    assert quotients.tolist() == [-2, 2, 2, -2, 0]
    assert rests.tolist() == [-1, 1, -1, 1, 0]


def test_the_object_runs_in_the_memory_that_it_asks_for():
    x, out = up(np.arange(9000, dtype=np.int64)), room(1, np.int64)
    init = np.zeros(1, np.int64)
    types = {"d_in": x, "d_out": out, "op": OpKind.PLUS, "h_init": init}
    reducer = algorithms.make_reduce_into(**types)
    assert reducer is algorithms.make_reduce_into(**types)
    size = reducer(temp_storage=None, num_items=9000, **types)
    reducer(temp_storage=room(size, np.uint8), num_items=9000, **types)
    assert out.copy_to_host()[0] == 9000 * 8999 // 2
    with pytest.raises(
        ValueError, match=f"temp_storage has {size - 1} bytes; this call uses {size}"
    ):
        reducer(temp_storage=room(size - 1, np.uint8), num_items=9000, **types)
