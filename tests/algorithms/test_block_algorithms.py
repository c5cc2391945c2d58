"""Algorithms of blocks, called in kernels, on every device, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from tests.algorithms.on_devices import ALL, room, up

import gridlane
from gridlane import cuda
from gridlane.algorithms import coop, gpu_struct
from gridlane.algorithms.coop import block
from gridlane.algorithms.coop.block import BlockExchangeType
from gridlane.cuda import types

DIMS = (32, 33, (4, 9), (2, 3, 7))


def threads_of(dim):
    return dim if isinstance(dim, int) else int(np.prod(dim))


@cuda.jit(device=True)
def rank():
    row = cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z
    return cuda.threadIdx.x + cuda.blockDim.x * row


def numbers(count, dtype, low=-50, high=50):
    drawn = np.random.default_rng(count).integers(low, high, count)
    return drawn.astype(dtype)


@pytest.mark.parametrize("device", ALL)
def test_reductions(device):
    for dim in DIMS[1:] if device == "cpu" else DIMS[3:]:
        n = threads_of(dim)
        largest = block.make_reduce(np.int32, dim, lambda a, b: a if a > b else b)
        total = block.make_sum("float32", dim, items_per_thread=3, algorithm="raking")
        size = largest.temp_storage_bytes

        @cuda.jit
        def kernel(x, out, every):
            t = rank()
            memory = cuda.shared.array(size, np.uint8)
            few = cuda.local.array(3, np.float32)
            for e in range(3):
                few[e] = x[t] + e
            every[t] = largest(memory, x[t])
            first = largest(x[t], 5)
            again = largest(-x[t])
            added = total(few)
            if t == 0:
                out[0], out[1], out[2] = first, again, added

        x = numbers(n, np.int32)
        with gridlane.device(device):
            x_there, out, every = up(x), room(3, np.int64), room(n, np.int64)
            kernel[1, dim](x_there, out, every)
            expected = [x[:5].max(), (-x).max(), 3 * (x + 1).sum()]
            assert out.copy_to_host().tolist() == expected
            assert (every.copy_to_host() == x.max()).all()


@gpu_struct
class Affine:
    """The function ``factor * x + term``; functions of integers that wrap do not commute."""

    factor: np.uint32
    term: np.uint32


def chain(x, y):
    return Affine(x.factor * y.factor, x.term * y.factor + y.term)


def write_chain(result, x, y):
    result[0].factor = x[0].factor * y[0].factor
    result[0].term = x[0].term * y[0].factor + y[0].term


def chained(functions):
    factor, term, results = np.uint32(1), np.uint32(0), []
    with np.errstate(over="ignore"):
        for each in functions:
            factor, term = factor * each["factor"], term * each["factor"] + each["term"]
            results.append((factor, term))
    return np.array(results, Affine.dtype)


@pytest.mark.parametrize("device", ALL)
def test_structures_by_an_operator_that_does_not_commute(device):
    dim = (3, 11)
    n = threads_of(dim)
    reduce = block.make_reduce(Affine, dim, chain)
    scan = block.make_inclusive_scan(Affine, dim, write_chain, 2, initial_value=(1, 0))
    before = block.make_exclusive_scan(Affine, dim, chain, 1, initial_value=Affine(1, 0))
    kind = Affine.dtype

    @cuda.jit
    def kernel(x, whole, out, exclusive):
        t = rank()
        two = cuda.local.array(2, kind)
        two[0] = x[2 * t]
        two[1] = x[2 * t + 1]
        scan(two, two)
        out[2 * t] = two[0]
        out[2 * t + 1] = two[1]
        exclusive[t] = before(x[t])
        reduced = reduce(x[t])
        if t == 0:
            whole[0] = reduced

    x = np.zeros(2 * n, kind)
    x["factor"], x["term"] = numbers(2 * n, np.uint32, 0), numbers(2 * n, np.uint32, 0)
    with gridlane.device(device):
        whole, out, exclusive = room(1, kind), room(2 * n, kind), room(n, kind)
        kernel[1, dim](up(x), whole, out, exclusive)
        expected = chained(x)
        assert (out.copy_to_host() == expected).all()
        assert whole.copy_to_host()[0] == expected[n - 1]
        assert (exclusive.copy_to_host()[1:] == expected[: n - 1]).all()
        assert exclusive.copy_to_host()[0].tolist() == (1, 0)


@pytest.mark.parametrize("device", ALL)
def test_scans(device):
    for dim in DIMS[1::2] if device == "cpu" else DIMS[2:3]:
        n = threads_of(dim)
        sums = block.make_inclusive_sum(np.int64, dim, 2)
        before = block.make_exclusive_sum(np.int32, dim, 1)
        largest = block.make_exclusive_scan(np.int32, dim, "max", 2)
        xor = block.make_scan(np.uint8, dim, 1, mode="inclusive", scan_op=np.bitwise_xor)

        @cuda.jit
        def kernel(x, two_sums, one_before, two_largest, one_xor):
            t = rank()
            wide = cuda.local.array(2, np.int64)
            few, results = cuda.local.array(2, np.int32), cuda.local.array(2, np.int32)
            for e in range(2):
                wide[e] = few[e] = x[2 * t + e]
            sums(wide, wide)
            largest(few, results, 7)
            for e in range(2):
                two_sums[2 * t + e] = wide[e]
                two_largest[2 * t + e] = results[e]
            one_before[t] = before(x[t])
            one_xor[t] = xor(np.uint8(x[t]))

        x = numbers(2 * n, np.int32)
        with gridlane.device(device):
            outs = room(2 * n, np.int64), room(n, np.int32), room(2 * n, np.int32), room(n, "u1")
            kernel[1, dim](up(x), *outs)
            two_sums, one_before, two_largest, one_xor = (each.copy_to_host() for each in outs)
        assert (two_sums == np.cumsum(x)).all()
        assert (one_before == np.cumsum(x[:n]) - x[:n]).all()
        assert (two_largest == np.maximum.accumulate(np.append(7, x))[:-1]).all()
        assert (one_xor == np.bitwise_xor.accumulate(x[:n].astype(np.uint8))).all()


@pytest.mark.parametrize("device", ALL)
def test_scans_in_place(device):
    """The first thread has no item in front, and writes over the items that it has read."""
    n = 32
    before = block.make_exclusive_sum(np.int32, n, 2)

    @cuda.jit
    def kernel(x):
        t = cuda.threadIdx.x
        few = cuda.local.array(2, np.int32)
        for e in range(2):
            few[e] = x[2 * t + e]
        before(few, few)
        for e in range(2):
            x[2 * t + e] = few[e]

    x = numbers(2 * n, np.int32)
    with gridlane.device(device):
        there = up(x)
        kernel[1, n](there)
        assert (there.copy_to_host() == np.cumsum(x) - x).all()


class Running:
    """A sum of the tiles so far: the state is an array of one number."""

    def __call__(state, aggregate):
        old = state[0]
        state[0] = old + aggregate
        return old


@pytest.mark.parametrize("device", ALL)
def test_prefix_callbacks(device):
    n, tiles = 40, 3
    callback = coop.StatefulFunction(Running, types.int32)
    running = block.make_inclusive_sum(np.int32, n, 2, prefix_op=callback)
    one = block.make_exclusive_sum(np.int32, n, 1, prefix_op=callback)
    plain = block.make_exclusive_scan(np.int32, n, "+", 1, prefix_op=lambda total: total * 2)
    size = running.temp_storage_bytes

    @cuda.jit
    def kernel(x, out, ones, plains):
        t = cuda.threadIdx.x
        memory = cuda.shared.array(size, np.uint8)
        state, other = cuda.local.array(1, np.int32), cuda.local.array(1, np.int32)
        state[0] = other[0] = 100
        few = cuda.local.array(2, np.int32)
        for tile in range(tiles):
            first = tile * 2 * n + 2 * t
            for e in range(2):
                few[e] = x[first + e]
            running(memory, few, few, state)
            for e in range(2):
                out[first + e] = few[e]
            ones[tile * n + t] = one(x[tile * n + t], other)
        plains[t] = plain(x[t])

    x = numbers(2 * n * tiles, np.int32)
    with gridlane.device(device):
        out, ones, plains = room(2 * n * tiles, np.int32), room(n * tiles, "i4"), room(n, "i4")
        kernel[1, n](up(x), out, ones, plains)
        assert (out.copy_to_host() == 100 + np.cumsum(x)).all()
        half = x[: n * tiles]
        assert (ones.copy_to_host() == 100 + np.cumsum(half) - half).all()
        few = x[:n]
        assert (plains.copy_to_host() == 2 * few.sum() + np.cumsum(few) - few).all()


@pytest.mark.parametrize("device", ALL)
def test_loads_and_stores(device):
    dim, items = (5, 9), 3
    n = threads_of(dim)
    names = "direct striped vectorize transpose warp_transpose warp_transpose_timesliced".split()
    for name in (names[1], *names[3:5]) if device == "cpu" else names[4:5]:
        load = block.make_load(np.int16, dim, items, name)
        store = block.make_store(np.int16, dim, items, name)
        size = load.temp_storage_bytes
        striped = name == "striped"

        @cuda.jit
        def kernel(x, seen, out, part):
            t = rank()
            memory = cuda.shared.array(size, np.uint8)
            few = cuda.local.array(items, np.int16)
            load(memory, x, few)
            for e in range(items):
                seen[t + e * n if striped else t * items + e] = few[e]
            store(out, few)
            load(x, few, 50, -1)
            store(part, few)
            store(memory, part[items * n :], few, 50)

        x = numbers(items * n, np.int16)
        with gridlane.device(device):
            seen, out, part = (room(k * items * n, np.int16) for k in (1, 1, 2))
            kernel[1, dim](up(x), seen, out, part)
            assert (seen.copy_to_host() == x).all()
            assert (out.copy_to_host() == x).all()
            first, second = part.copy_to_host().reshape(2, -1)
            assert (first == np.where(np.arange(items * n) < 50, x, -1)).all()
            assert (second == np.where(np.arange(items * n) < 50, x, 0)).all()


def arrangement(kind, n, items):
    """The place of item e of thread t, at t * items + e."""
    t, e = np.repeat(np.arange(n), items), np.tile(np.arange(items), n)
    first = t - t % 32
    places = {"Blocked": t * items + e, "Striped": t + e * n}
    places["WarpStriped"] = first * items + t % 32 + e * np.minimum(32, n - first)
    return places[kind]


@pytest.mark.parametrize("device", ALL)
def test_exchanges(device):
    n, items = 40, 3
    for kind in list(BlockExchangeType)[: 4 if device == "cpu" else 3]:
        exchange = block.make_exchange(kind, np.float32, n, items)
        size = exchange.temp_storage_bytes

        @cuda.jit
        def kernel(x, out, again):
            t = cuda.threadIdx.x
            memory = cuda.shared.array(size, np.uint8)
            few, other = cuda.local.array(items, np.float32), cuda.local.array(items, np.float32)
            for e in range(items):
                few[e] = x[t * items + e]
            exchange(few, other)
            exchange(memory, few)
            for e in range(items):
                out[t * items + e] = other[e]
                again[t * items + e] = few[e]

        before, after = kind.name.split("To")
        x, y = numbers(items * n, np.float32), np.zeros(items * n, np.float32)
        y[arrangement(before, n, items)] = x
        with gridlane.device(device):
            out, again = room(items * n, np.float32), room(items * n, np.float32)
            kernel[1, n](up(x), out, again)
            assert (out.copy_to_host() == y[arrangement(after, n, items)]).all()
            assert (again.copy_to_host() == y[arrangement(after, n, items)]).all()


@pytest.mark.parametrize("device", ALL)
def test_scatters(device):
    n, items = 40, 2
    kinds = [getattr(BlockExchangeType, f"ScatterTo{each}") for each in ("Blocked", "Striped")]
    blocked, striped = (block.make_exchange(kind, np.uint8, n, items) for kind in kinds)
    guarded = block.make_exchange(BlockExchangeType.ScatterToStripedGuarded, "int32", n, items)
    flagged = block.make_exchange(BlockExchangeType.ScatterToStripedFlagged, "int32", n, items)
    size = guarded.temp_storage_bytes

    @cuda.jit
    def kernel(x, ranks, out):
        t = cuda.threadIdx.x
        memory = cuda.shared.array(size, np.uint8)
        few, other = cuda.local.array(items, np.uint8), cuda.local.array(items, np.uint8)
        wide, places = cuda.local.array(items, np.int32), cuda.local.array(items, np.int32)
        flags = cuda.local.array(items, np.bool_)
        for e in range(items):
            few[e] = wide[e] = x[t * items + e]
            places[e] = ranks[t * items + e]
            flags[e] = places[e] % 2 == 0
        blocked(few, other, places)
        striped(memory, few, places)
        for e in range(items):
            out[0, t * items + e] = other[e]
            out[1, t + e * n] = few[e]
            places[e] -= 3  # the first three are behind the end
        guarded(memory, wide, places)
        for e in range(items):
            out[2, t + e * n] = wide[e]
            places[e] += 3
            wide[e] = x[t * items + e]
        flagged(wide, wide, places, flags)
        for e in range(items):
            out[3, t + e * n] = wide[e]

    x = numbers(items * n, np.int32, 0)
    ranks = np.random.default_rng(1).permutation(items * n).astype(np.int32)
    moved = np.zeros(items * n, np.int32)
    moved[ranks] = x
    with gridlane.device(device):
        out = cuda.to_device(np.zeros((4, items * n), np.int32))
        kernel[1, n](up(x), up(ranks), out)
        rows = out.copy_to_host()
    assert (rows[0] == moved).all()
    assert (rows[1] == moved).all()
    assert (rows[2, :-3] == moved[3:]).all()
    assert (rows[3, ::2] == moved[::2]).all()


@pytest.mark.parametrize("device", ALL)
def test_merge_sorts(device):
    dim, items = (3, 11), 3
    n = threads_of(dim)
    keys = block.make_merge_sort_keys(np.int32, dim, items, lambda a, b: a > b)
    pairs = block.make_merge_sort_pairs(
        np.int16, np.float32, dim, items, lambda a, b: a % 8 < b % 8
    )
    records = block.make_merge_sort_keys(Affine, dim, 1, lambda a, b: a[0].term < b[0].term)
    size = pairs.temp_storage_bytes

    @cuda.jit
    def kernel(x, functions, out, out_keys, out_values, part):
        t = rank()
        memory = cuda.shared.array(size, np.uint8)
        few, short = cuda.local.array(items, np.int32), cuda.local.array(items, np.int16)
        values = cuda.local.array(items, np.float32)
        one = cuda.local.array(1, Affine.dtype)
        for e in range(items):
            few[e] = short[e] = x[t * items + e]
            values[e] = t * items + e
        keys(few)
        pairs(memory, short, values)
        for e in range(items):
            out[t * items + e] = few[e]
            out_keys[t * items + e] = short[e]
            out_values[t * items + e] = values[e]
            few[e] = x[t * items + e]
        keys(few, 20, -1000)
        for e in range(items):
            part[t * items + e] = few[e]
        one[0] = functions[t]
        records(one)
        functions[t] = one[0]

    x = numbers(items * n, np.int32, 0)
    functions = np.zeros(n, Affine.dtype)
    functions["factor"], functions["term"] = np.arange(n), x[:n] % 4
    with gridlane.device(device):
        outs = (
            room(items * n, "i4"),
            room(items * n, "i2"),
            room(items * n, "f4"),
            room(items * n, "i4"),
        )
        there = up(functions)
        kernel[1, dim](up(x), there, *outs)
        out, out_keys, out_values, part = (each.copy_to_host() for each in outs)
        order = np.argsort(x % 8, kind="stable")
        assert (out == np.sort(x)[::-1]).all()
        assert (out_keys == x[order]).all()
        assert (out_values == order).all()
        assert (part[:20] == np.sort(x[:20])[::-1]).all()
        assert (part[20:] == -1000).all()
        sorted_functions = functions[np.argsort(functions["term"], kind="stable")]
        assert (there.copy_to_host() == sorted_functions).all()


@pytest.mark.parametrize("device", ALL)
def test_radix_sorts_of_types(device):
    n, items = 33, 2
    count = n * items
    for name in ("i1", "f4", "u8") if device == "cpu" else ("f8",):
        dtype = np.dtype(name)
        pairs = block.make_radix_sort_pairs_descending(dtype, np.int32, n, items)
        size = pairs.temp_storage_bytes

        @cuda.jit(fp64="exact")
        def kernel(x, out, out_values):
            t = cuda.threadIdx.x
            memory = cuda.shared.array(size, np.uint8)
            few, values = cuda.local.array(items, dtype), cuda.local.array(items, np.int32)
            for e in range(items):
                few[e] = x[t * items + e]
                values[e] = t * items + e
            pairs(memory, few, values)
            for e in range(items):
                out[t * items + e] = few[e]
                out_values[t * items + e] = values[e]

        x = numbers(count, dtype, 0 if dtype.kind == "u" else -100, 100)
        if dtype.kind == "f":
            x[3], x[7], x[11], x[12] = np.inf, -0.0, -np.inf, 0.0
        with gridlane.device(device):
            out, out_values = room(count, dtype), room(count, np.int32)
            kernel[1, n](up(x), out, out_values)
            order = np.argsort(-x.astype(np.float64), kind="stable")
            assert (out.copy_to_host() == x[order]).all()
            assert (out_values.copy_to_host() == order).all()


@pytest.mark.parametrize("device", ALL)
def test_radix_sorts_by_bits(device):
    n, items = 33, 2
    count = n * items
    ascending = block.make_radix_sort_keys(np.int32, n, items)
    descending = block.make_radix_sort_keys_descending(np.int32, n, items)
    size = descending.temp_storage_bytes

    @cuda.jit
    def kernel(x, out, out_bits, begin, end):
        t = cuda.threadIdx.x
        memory = cuda.shared.array(size, np.uint8)
        few = cuda.local.array(items, np.int32)
        for e in range(items):
            few[e] = x[t * items + e]
        ascending(few)
        for e in range(items):
            out[t * items + e] = few[e]
            few[e] = x[t * items + e]
        descending(memory, few, begin, end)
        for e in range(items):
            out_bits[t * items + e] = few[e]

    x = numbers(count, np.int32, -100, 100)
    with gridlane.device(device):
        out, out_bits = room(count, np.int32), room(count, np.int32)
        for begin, end in ((2, 5), (0, 32), (31, 32), (4, 4)):
            kernel[1, n](up(x), out, out_bits, begin, end)
            assert (out.copy_to_host() == np.sort(x)).all()
            digits = (x.astype(np.int64) + 2**31 >> begin) & (1 << end - begin) - 1
            assert (out_bits.copy_to_host() == x[np.argsort(-digits, kind="stable")]).all()


@pytest.mark.parametrize("device", ALL)
def test_another_block_and_too_little_memory_are_errors(device):
    total = block.make_sum(np.int32, (8, 8))

    @cuda.jit
    def kernel(out):
        out[0] = total(1)

    @cuda.jit
    def with_too_little(out):
        out[0] = total(cuda.shared.array(255, np.uint8), 1)

    with gridlane.device(device):
        out = room(1, np.int32)
        kernel[1, (8, 8)](out)
        assert out.copy_to_host()[0] == 64
        with pytest.raises(ValueError, match=r"an array of bytes \(uint8\), at least 256"):
            with_too_little[1, (8, 8)](out)
            cuda.synchronize()
        with pytest.raises(ValueError, match=r"threads_per_block, \(8, 8, 1\)"):
            kernel[1, 64](out)
            cuda.synchronize()


def test_memory_is_shared_by_algorithms_without_one_of_a_call():
    first, second = block.make_sum(np.float32, 64), block.make_sum(np.uint32, 64)

    @cuda.jit
    def kernel(x, out):
        a = first(x[cuda.threadIdx.x])
        b = second(np.uint32(x[cuda.threadIdx.x]))
        out[0], out[1] = a, b

    x, out = np.ones(64, np.float32), np.zeros(2, np.float32)
    with gridlane.device("cpu"):
        kernel[1, 64](x, out)
    assert out.tolist() == [64, 64]
    assert list(kernel.get_shared_mem_per_block().values()) == [256]
    assert first.files == []


def test_refusals():
    with pytest.raises(ValueError, match="Unsupported algorithm: slow"):
        block.make_sum(np.int32, 32, algorithm="slow")
    with pytest.raises(ValueError, match="items_per_thread must be greater than or equal to 1"):
        block.make_inclusive_sum(np.int32, 32, 0)
    with pytest.raises(ValueError, match="2048 threads; a block has 1 to 1024"):
        block.make_sum(np.int32, (64, 32))
    with pytest.raises(ValueError, match="Unsupported scan operator: %"):
        block.make_inclusive_scan(np.int32, 32, "%", 1)
    with pytest.raises(ValueError, match=r"initial_value is not supported for .* sums"):
        block.make_exclusive_scan(np.int32, 32, "+", 2, initial_value=1)
    with pytest.raises(ValueError, match="initial_value is required"):
        block.make_exclusive_scan(Affine, 32, chain, 2)
    with pytest.raises(TypeError, match="'max' has no meaning for structures"):
        block.make_reduce(Affine, 32, "max")
    with pytest.raises(TypeError, match="binary_op has 1 parameters"):
        block.make_reduce(np.int32, 32, lambda a: a)
    with pytest.raises(TypeError, match="integers, floats and bools do"):
        block.make_radix_sort_keys(np.complex64, 32, 1)
    with pytest.raises(ValueError, match="must be a valid BlockExchangeType"):
        block.make_exchange(9, np.int32, 32, 1)
    with pytest.raises(RuntimeError, match=r"reduce\(\) is an algorithm of a block or warp"):
        block.make_sum(np.int32, 32)(1)
