"""Iterators and structures, on every device."""

from __future__ import annotations

import numpy as np
import pytest
from tests.algorithms.on_devices import ALL, room, up

import gridlane
from gridlane import algorithms
from gridlane.algorithms import (
    CacheModifiedInputIterator,
    ConstantIterator,
    CountingIterator,
    DiscardIterator,
    OpKind,
    PermutationIterator,
    ReverseIterator,
    ShuffleIterator,
    TransformIterator,
    TransformOutputIterator,
    ZipIterator,
    gpu_struct,
)

Inner = gpu_struct({"a": np.int8, "b": np.float32})
Outer = gpu_struct({"x": np.int64, "inner": Inner})


def add_fields(s, t):
    return Outer(s.x + t.x, (s.inner.a + t.inner.a, s.inner.b + t.inner.b))


def copied(source, count, dtype):
    out = room(count, dtype)
    algorithms.unary_transform(d_in=source, d_out=out, op=OpKind.IDENTITY, num_items=count)
    return out.copy_to_host().tolist()


@pytest.mark.parametrize("device", ALL)
def test_what_iterators_read(device):
    with gridlane.device(device):
        values = up(np.array([10, 20, 30, 40, 50], np.int32))
        places = up(np.array([4, 0, 2], np.uint16))
        squares = TransformIterator(CountingIterator(np.int32(3)), lambda x: x * x)
        everything = TransformIterator(
            ZipIterator(
                ReverseIterator(values),
                PermutationIterator(CacheModifiedInputIterator(values, "stream"), places),
                squares + 1,
                ConstantIterator(np.int32(1000)),
                ReverseIterator(CountingIterator(np.int32(7))),
            ),
            lambda p: p[0] + p[1] * 100 + p[2] * 10000 + p[3] * 1000000 + p[4],
        )
        a, b, c = [50, 40, 30], [50, 10, 30], [16, 25, 36]
        expected = [
            x + y * 100 + z * 10000 + 10**9 + w
            for x, y, z, w in zip(a, b, c, [7, 6, 5], strict=True)
        ]
        assert copied(everything, 3, np.int64) == expected


@pytest.mark.parametrize("device", ALL)
def test_what_iterators_write(device):
    with gridlane.device(device):
        first, second = room(4, np.int32), room(4, np.int16)
        order = up(np.array([2, 0, 3, 1]))
        sink = ZipIterator(
            ReverseIterator(first),
            PermutationIterator(TransformOutputIterator(second, lambda x: x * 2), order),
            DiscardIterator(),
        )
        counting = CountingIterator(np.int32(5))
        algorithms.unary_transform(
            d_in=ZipIterator(counting, counting, counting),
            d_out=sink,
            op=OpKind.IDENTITY,
            num_items=4,
        )
        assert first.copy_to_host().tolist() == [8, 7, 6, 5]
        assert second.copy_to_host().tolist() == [12, 16, 10, 14]


@pytest.mark.parametrize("device", ALL)
def test_structures(device):
    with gridlane.device(device):
        x = np.zeros(700, Outer.dtype)
        x["x"], x["inner"]["a"], x["inner"]["b"] = np.arange(700), 1, 0.5
        out = room(1, Outer.dtype)
        algorithms.reduce_into(
            d_in=up(x), d_out=out, num_items=700, op=add_fields, h_init=Outer(1, {"a": 2, "b": 3})
        )
        (total,) = out.copy_to_host()
        assert total["x"] == 700 * 699 // 2 + 1
        # The fields keep their types, as in C: 702 wraps in an int8.
        assert total["inner"].tolist() == ((702 + 128) % 256 - 128, 353.0)


def test_structures_on_the_host():
    value = Outer({"x": 1, "inner": {"a": 2, "b": 3}})
    assert value == Outer(1, Inner(2, 3)) != Outer(1, (2, 4))
    assert type(value.inner.b) is np.float32
    assert Outer.dtype == np.dtype([("x", np.int64), ("inner", Inner.dtype)], align=True)
    with pytest.raises(ValueError, match="not a valid Python identifier"):
        gpu_struct({"a b": np.int32})
    with pytest.raises(TypeError, match="AnonymousStruct has the fields x, inner; got 1"):
        Outer(1)


def test_kinds_are_of_types_and_functions():
    one, two = ConstantIterator(np.int32(1)), ConstantIterator(np.int32(2))
    assert one.kind == two.kind != ConstantIterator(np.int64(1)).kind

    def double(x):
        return 2 * x

    doubled = TransformIterator(one, double)
    assert doubled.kind == TransformIterator(two, double).kind
    assert doubled.kind != TransformIterator(one, lambda x: 3 * x).kind
    assert doubled.item is not None and doubled.item.dtype == np.int64


@pytest.mark.parametrize("device", ALL)
def test_a_shuffle_is_a_permutation(device):
    with gridlane.device(device):
        for count in (1, 2, 17, 1024):
            orders = [
                copied(ShuffleIterator(count, seed), count, np.int64) for seed in (3, 3, 2**40)
            ]
            assert sorted(orders[0]) == sorted(orders[2]) == list(range(count))
            assert orders[0] == orders[1] == orders[0]
        assert orders[0] != orders[2] != list(range(count))
