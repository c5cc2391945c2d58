"""Algorithms of blocks and warps on values of a program's own type, on every device."""

from __future__ import annotations

import numpy as np
import pytest
from tests.algorithms.on_devices import ALL, room, up
from tests.registrations import restored

import gridlane
from gridlane import cuda
from gridlane.algorithms.coop import block, warp
from gridlane.cuda import cgutils, types
from gridlane.cuda.extending import (
    lower_builtin,
    make_attribute_wrapper,
    models,
    register_model,
    type_callable,
    typeof_impl,
)
from gridlane.cuda.extending.imputils import lower_constant


class Pair:
    """Two integers."""

    def __init__(self, a, b):
        self.a, self.b = a, b


class PairType(types.Type):
    def __init__(self):
        super().__init__(name="Pair")


pair_type = PairType()


def register():
    @register_model(PairType)
    class PairModel(models.StructModel):
        def __init__(self, dmm, fe_type):
            super().__init__(dmm, fe_type, [("a", types.int32), ("b", types.int32)])

    for name in ("a", "b"):
        make_attribute_wrapper(PairType, name, name)

    @typeof_impl.register(Pair)
    def _(value, context):
        return pair_type

    @type_callable(Pair)
    def _(context):
        return lambda a, b: pair_type(types.int32, types.int32)

    @lower_builtin(Pair, types.Integer, types.Integer)
    def _(context, builder, sig, args):
        made = cgutils.create_struct_proxy(sig.return_type)(context, builder)
        made.a, made.b = args
        return made._getvalue()

    @lower_constant(PairType)
    def _(context, builder, kind, value):
        made = cgutils.create_struct_proxy(kind)(context, builder)
        made.a = context.get_constant(types.int32, value.a)
        made.b = context.get_constant(types.int32, value.b)
        return made._getvalue()


@pytest.fixture(autouse=True, scope="module")
def _registrations():
    with restored():
        register()
        yield


def joined(result, x, y):
    """The first's first, the sum of the seconds: it does not commute."""
    result[0] = Pair(x[0].a, x[0].b + y[0].b)


def added(x, y):
    return Pair(x.a + y.a, max(x.b, y.b))


@pytest.mark.parametrize("device", ALL)
def test_neighbours(device):
    n = 33
    flags = block.make_discontinuity(pair_type, n, 2, lambda x, y: x[0].a != y[0].b)
    differences = block.make_adjacent_difference(pair_type, n, 2, added)

    @cuda.jit
    def kernel(x, out):
        t = cuda.threadIdx.x
        pairs, heads = cuda.local.array(2, pair_type), cuda.local.array(2, np.bool_)
        for e in range(2):
            i = 2 * t + e
            pairs[e] = Pair(x[i], x[i - 1] if i % 3 > 0 else np.int32(99))
        flags(heads, pairs)
        differences(pairs, pairs)
        for e in range(2):
            out[0, 2 * t + e] = heads[e]
            out[1, 2 * t + e] = pairs[e].a

    x = np.arange(2 * n, dtype=np.int32)
    with gridlane.device(device):
        out = room(4 * n, np.int32).reshape(2, 2 * n)
        kernel[1, n](up(x), out)
        rows = out.copy_to_host()
    assert (rows[0] == (x % 3 == 0)).all()
    assert (rows[1] == np.append(0, x[1:] + x[:-1])).all()
    with pytest.raises(TypeError, match="run lengths of Pair are unsupported"):
        block.make_run_length(pair_type, n)


@pytest.mark.parametrize("device", ALL)
def test_a_type_of_the_program(device):
    n = 40
    reduce = block.make_reduce(pair_type, n, joined)
    scan = block.make_exclusive_scan(pair_type, n, added, 1, initial_value=Pair(5, -100))
    total = warp.make_reduce(pair_type, joined, 8)
    before = warp.make_inclusive_scan(pair_type, added)
    by_block = block.make_merge_sort_keys(pair_type, n, 1, lambda x, y: x[0].b < y[0].b)
    by_warp = warp.make_merge_sort_keys(pair_type, 1, lambda x, y: x[0].b > y[0].b, 8)
    turn = block.make_exchange(block.BlockExchangeType.BlockedToStriped, pair_type, n, 2)
    size = by_block.temp_storage_bytes

    @cuda.jit
    def kernel(x, out):
        t = cuda.threadIdx.x
        memory = cuda.shared.array(size, np.uint8)
        pair = Pair(np.int32(t), x[t])
        whole, few = reduce(pair), total(pair)
        out[0, t], out[1, t] = whole.a, whole.b
        out[2, t], out[3, t] = few.a, few.b
        scanned, upto = scan(pair), before(pair)
        out[4, t], out[5, t] = scanned.a, scanned.b
        out[6, t], out[7, t] = upto.a, upto.b
        keys, both = cuda.local.array(1, pair_type), cuda.local.array(2, pair_type)
        keys[0] = pair
        by_block(memory, keys)
        out[8, t] = keys[0].a
        keys[0] = pair
        by_warp(keys)
        out[9, t] = keys[0].a
        both[0], both[1] = pair, keys[0]
        turn(both)
        out[10, t] = both[0].b

    x = np.random.default_rng(3).permutation(n).astype(np.int32)
    with gridlane.device(device):
        out = room(11 * n, np.int32).reshape(11, n)
        kernel[1, n](up(x), out)
        rows = out.copy_to_host()
    threads = np.arange(n)
    assert (rows[0] == 0).all()
    assert (rows[1] == x.sum()).all()
    assert (rows[2, ::8] == threads[::8]).all()
    assert (rows[3, ::8] == x.reshape(-1, 8).sum(axis=1)).all()
    assert (rows[4] == 5 + np.cumsum(threads) - threads).all()
    assert (rows[5] == np.maximum.accumulate(np.append(-100, x))[:-1]).all()
    for low in (0, 32):
        assert (rows[6, low:][:32] == np.cumsum(threads[low:][:32])).all()
        assert (rows[7, low:][:32] == np.maximum.accumulate(x[low:][:32])).all()
    assert (rows[8] == np.argsort(x)).all()
    in_warps = np.argsort(-x.reshape(-1, 8), axis=1) + threads[::8, None]
    assert (rows[9] == in_warps.ravel()).all()
    assert list(kernel.get_shared_mem_per_block().values())[-1] < 2**15
    assert (rows[10] == np.stack([x, x[rows[9]]], axis=1).ravel()[:n]).all()
