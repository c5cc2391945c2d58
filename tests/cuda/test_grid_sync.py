"""Kernels whose whole grid synchronises, on every device, against numpy."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from tests.devices import DEVICES, WORDS

import gridlane
from gridlane import cuda
from gridlane.core.errors import KernelError, TargetError
from gridlane.cuda import float32, int32
from gridlane.launch import current
from gridlane.launch.grid_parts import SplitBound

ALL = ["interp", *DEVICES]
EVERYWHERE = pytest.mark.parametrize("device", ALL)
NOT_NATIVE = pytest.mark.parametrize("device", [each for each in DEVICES if each != "cuda"])
BLOCKS, THREADS = 3, 32


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(5).integers(-50, 50, shape).astype(np.int32)


@cuda.jit
def jacobi(a, b, steps):
    """Two arrays by turns, in a grid of two axes."""
    x, y = cuda.grid(2)
    grid = cuda.cg.this_grid()
    inside = 0 < x < a.shape[1] - 1 and 0 < y < a.shape[0] - 1
    for _ in range(steps):
        if inside:
            b[y, x] = (a[y - 1, x] + a[y + 1, x] + a[y, x - 1] + a[y, x + 1]) * float32(0.25)
        grid.sync()
        if inside:
            a[y, x] = b[y, x]
        grid.sync()


@pytest.mark.parametrize(("device", "steps"), [("cpu", 0), *((each, 5) for each in ALL)])
def test_steps_in_two_dimensions(device, steps):
    a = random(8, 24).astype(np.float32)
    want = a.copy()
    for _ in range(steps):
        want[1:-1, 1:-1] = (
            want[:-2, 1:-1] + want[2:, 1:-1] + want[1:-1, :-2] + want[1:-1, 2:]
        ) * np.float32(0.25)
    with gridlane.device(device):
        jacobi[(3, 2), (8, 4)](a, a.copy(), steps)
    np.testing.assert_array_equal(a, want)


@cuda.jit
def total(x, sums, out):
    """A reduction of the grid: the blocks' sums lie in shared memory while the grid meets."""
    shared = cuda.shared.array(THREADS, int32)
    i, own, block = cuda.grid(1), cuda.threadIdx.x, cuda.blockIdx.x
    shared[own] = x[i]
    cuda.syncthreads()
    half = THREADS // 2
    while half:
        if own < half:
            shared[own] += shared[own + half]
        cuda.syncthreads()
        half //= 2
    if own == 0:
        sums[block] = shared[0]
    cuda.cg.this_grid().sync()
    all_ = int32(0)
    for n in range(cuda.gridDim.x):
        all_ += sums[n]
    out[i] = all_ * 1000 + shared[0]


@EVERYWHERE
def test_a_reduction_of_the_grid(device):
    x = random(BLOCKS * THREADS)
    out = np.zeros_like(x)
    with gridlane.device(device):
        total[BLOCKS, THREADS](x, np.zeros(BLOCKS, np.int32), out)
    of_blocks = x.reshape(BLOCKS, THREADS).sum(1, dtype=np.int32)
    np.testing.assert_array_equal(out, x.sum() * 1000 + of_blocks.repeat(THREADS))


@cuda.jit(device=True)
def meet(grid, rounds):
    for _ in range(rounds):
        grid.sync()


@cuda.jit
def scan(x, y):
    """Hillis and Steele's prefix sum; the barrier stands in a function, in a loop of its own."""
    i, n = cuda.grid(1), x.size
    grid = cuda.cg.this_grid()
    distance = 1
    while distance < n:
        value = x[i]
        if i >= distance:
            value += x[i - distance]
        meet(grid, 1)
        x[i] = value
        distance *= 2
        meet(grid, 2)
    y[i] = x[i]


@EVERYWHERE
def test_a_prefix_sum(device):
    x = random(BLOCKS * THREADS)
    want, y = np.cumsum(x, dtype=np.int32), np.zeros_like(x)
    with gridlane.device(device):
        scan[BLOCKS, THREADS](x, y)
    np.testing.assert_array_equal(y, want)


@cuda.jit
def spread(x, changed, rounds):
    """The maximum goes to its neighbours until nothing changes, which the device decides."""
    i, grid = cuda.grid(1), cuda.cg.this_grid()
    count = 0
    while True:
        before = x[i]
        best = before
        if i > 0:
            best = max(best, x[i - 1])
        if i + 1 < x.size:
            best = max(best, x[i + 1])
        if i == 0:
            changed[(count + 1) % 3] = 0
        grid.sync()
        x[i] = best
        if best != before:
            changed[count % 3] = 1
        grid.sync()
        if changed[count % 3] == 0:
            break
        count += 1
    rounds[i] = count


@EVERYWHERE
def test_a_loop_that_ends_by_what_the_device_computes(device):
    x = random(BLOCKS * THREADS)
    at, most = int(x.argmax()), x.max()
    rounds = np.zeros_like(x)
    want, count = x.copy(), 0
    while (want != most).any():
        padded = np.pad(want, 1, mode="edge")
        want = np.maximum(want, np.maximum(padded[:-2], padded[2:]))
        count += 1
    with gridlane.device(device):
        spread[BLOCKS, THREADS](x, np.zeros(3, np.int32), rounds)
    assert (x == most).all(), at
    assert (rounds == count).all()


@cuda.jit
def nested(x, y, n):
    """Barriers in nested loops, one of them under a condition, with early ways out."""
    i, grid = cuda.grid(1), cuda.cg.this_grid()
    kept = x[i]
    for outer in range(n):
        for inner in range(outer, n):
            if inner == 3:
                continue
            y[i] = kept + outer
            grid.sync()
            kept += y[(i + 7) % y.size] * (inner + 1)
            if outer == 2:
                grid.sync()
                break
            grid.sync()
        if outer == 4:
            return
    x[i] = kept


@pytest.mark.parametrize(("device", "n"), [("cpu", 4), *((each, 6) for each in ALL)])
def test_nested_loops(device, n):
    x = random(BLOCKS * THREADS) % 3
    want, kept, y = x.copy(), x.copy(), np.zeros_like(x)
    for outer in range(min(n, 5)):
        for inner in range(outer, n):
            if inner == 3:
                continue
            kept = kept + np.roll(kept + outer, -7) * np.int32(inner + 1)
            if outer == 2:
                break
    if n < 5:
        want = kept
    with gridlane.device(device):
        nested[BLOCKS, THREADS](x, y, n)
    np.testing.assert_array_equal(x, want)


@cuda.jit
def kept_types(x, out, floats, flags):
    """Values of several types and arrays of both kinds live across barriers."""
    i, grid = cuda.grid(1), cuda.cg.this_grid()
    own = cuda.threadIdx.x
    local = cuda.local.array(5, int32)
    static = cuda.shared.array(THREADS, float32)
    pairs = cuda.shared.array((THREADS, 2), cuda.int16)
    dynamic = cuda.shared.array(0, int32)
    for k in range(5):
        local[k] = x[(i + k) % x.size]
    small = cuda.int8(x[i])
    wide = cuda.int64(x[i]) * (1 << 33)
    is_odd = x[i] % 2 != 0
    single = cuda.float16(x[i])
    pair = (x[i] + 1, cuda.float32(x[i]) * float32(0.5))
    static[own] = x[i] * float32(0.5)
    pairs[own, 0] = x[i]
    pairs[own, 1] = -x[i]
    dynamic[own] = x[i] * 3
    grid.sync()
    x[i] = 0
    grid.sync()
    at = THREADS - 1 - own
    out[i] = small + wide // (1 << 32) + pair[0] + dynamic[at] + pairs[at, 0] - pairs[at, 1]
    floats[i] = static[at] + pair[1] + cuda.float32(single)
    local[1] += 1
    grid.sync()
    flags[i] = is_odd
    for k in range(5):
        out[i] += local[k] * (k + 1)


@EVERYWHERE
def test_what_lives_across(device):
    x = random(BLOCKS * THREADS)
    old = x.copy()
    out, floats = np.zeros(x.size, np.int64), np.zeros(x.size, np.float32)
    flags = np.zeros(x.size, np.bool_)
    with gridlane.device(device):
        kept_types[BLOCKS, THREADS, 0, 4 * THREADS](x, out, floats, flags)
    mirrored = old.reshape(BLOCKS, THREADS)[:, ::-1].ravel().astype(np.int64)
    want = old.astype(np.int64) * 4 + 1 + mirrored * 5 + 2
    want += sum(np.roll(old, -k).astype(np.int64) * (k + 1) for k in range(5))
    np.testing.assert_array_equal(out, want)
    np.testing.assert_array_equal(floats, mirrored * np.float32(0.5) + old * np.float32(1.5))
    np.testing.assert_array_equal(flags, old % 2 != 0)
    assert not x.any()


@cuda.jit
def doubles(x, y):
    i, grid = cuda.grid(1), cuda.cg.this_grid()
    z = complex(x[i], 1) * 2j
    x[i] = 0
    grid.sync()
    y[i] = z


@pytest.mark.parametrize("device", ["interp", *[d for d in DEVICES if d not in WORDS]])
def test_doubles_live_across(device):
    x = np.arange(64.0)
    y = np.zeros(64, np.complex128)
    with gridlane.device(device):
        doubles[2, 32](x, y)
    np.testing.assert_array_equal(y, (np.arange(64) + 1j) * 2j)


@cuda.jit
def quotients(x, y):
    i = cuda.grid(1)
    quotient = x[i] / 3  # a float64, which some devices have in pairs of float32
    cuda.cg.this_grid().sync()
    y[i] = quotient * 3 - x[(i + 1) % x.size]


@EVERYWHERE
def test_intermediate_doubles_live_across(device):
    x = np.array([*range(60), np.inf, -np.inf, 1e30, -0.0], np.float32)
    y = np.zeros_like(x)
    with gridlane.device(device):
        quotients[2, 32](x, y)
    want = (x.astype(np.float64) / 3 * 3 - np.roll(x, -1)).astype(np.float32)
    np.testing.assert_allclose(y, want, rtol=1e-6)


@cuda.jit
def ends_early(x):
    i = cuda.grid(1)
    if i >= x.size:
        return
    x[i] += 1
    cuda.cg.this_grid().sync()
    x[i] += 1


@cuda.jit
def at_two(x):
    i = cuda.grid(1)
    if i < 8:
        cuda.cg.this_grid().sync()
    else:
        cuda.cg.this_grid().sync()
    x[i] = 1


@cuda.jit
def at_two_of_blocks(x):
    i = cuda.grid(1)
    if cuda.blockIdx.x:
        cuda.cg.this_grid().sync()
    else:
        cuda.cg.this_grid().sync()
    x[i] = 1


@EVERYWHERE
@pytest.mark.parametrize("kernel", [at_two, at_two_of_blocks])
def test_divergent_barriers_are_refused_with_both_lines(device, kernel):
    if device == "cuda":
        pytest.skip("a GPU does not notice")
    x = np.zeros(64, np.int32)
    with gridlane.device(device), pytest.raises(KernelError, match="not all threads of") as told:
        kernel[2, 32](x)
        cuda.synchronize()
    line = kernel.py_func.__code__.co_firstlineno + 4
    for each in (line, line + 2):
        assert f"test_grid_sync.py:{each}:9" in str(told.value)
    assert str(told.value).count("cuda.cg.this_grid().sync()") == 2


@cuda.jit
def races(x, flag):
    i, grid = cuda.grid(1), cuda.cg.this_grid()
    if i >= 32:
        flag[0] = 1
    if flag[0]:
        return
    grid.sync()
    x[i] = 1


@pytest.mark.skipif("cpu" not in DEVICES, reason="on the CPU warps run one after the other")
def test_threads_that_part_by_a_race_are_refused():
    """The condition is loaded from one address, so it is expected to be the same for all."""
    x, flag = np.zeros(64, np.int32), np.zeros(1, np.int32)
    with gridlane.device("cpu"), pytest.raises(KernelError, match="some do, others have ended"):
        races[1, 64](x, flag)
    assert not x.any()


@cuda.jit
def laplace(old, new, steps):
    """numba-cuda's example: threads beyond the array end first."""
    i = cuda.grid(1)
    if i >= len(old):
        return
    grid = cuda.cg.this_grid()
    for step in range(steps):
        if step % 2 == 0:
            x, y = old, new
        else:
            x, y = new, old
        here = x[i]
        if i == 0:
            y[i] = here + (x[i + 1] - 2 * here)
        elif i == len(x) - 1:
            y[i] = here + (x[i - 1] - 2 * here)
        else:
            y[i] = here + (x[i - 1] - 2 * here + x[i + 1])
        grid.sync()


@EVERYWHERE
@pytest.mark.parametrize(("size", "block"), [(41, 16), (1, 1), (33, 32)])
def test_threads_beyond_an_array_end_first(device, size, block):
    start, steps = random(size + 7)[:size], 5
    want = start.copy()
    if size > 1:
        for _ in range(steps):
            near = np.concatenate([[0], want, [0]])
            want = (near[:-2] - want + near[2:]).astype(np.int32)
        with gridlane.device(device):
            old, new = start.copy(), np.zeros_like(start)
            laplace[-(-size // block), block](old, new, steps)
        np.testing.assert_array_equal(new, want)
    with gridlane.device(device):
        x = np.zeros(size, np.int32)
        ends_early[-(-size // block), block](x)
    assert (x == 2).all()


@cuda.jit
def sessions(user, out):
    """numba-cuda's example: the threads that begin no session end without the barrier, and do
    something before that."""
    i = cuda.grid(1)
    if i >= user.size:
        return
    if i == 0 or user[i] != user[i - 1]:
        grid = cuda.cg.this_grid()
        out[i, 0] = i
        grid.sync()
        n = i + 1
        while n < user.size and out[n, 0] < 0:
            out[n, 0] = i
            n += 1
        out[i, 1] = out[(i + 1) % user.size, 1]
    else:
        out[i, 0] = -1
        out[i, 1] = i + 100


@EVERYWHERE
def test_threads_that_pass_a_barrier_end_before_it(device):
    # A GPU waits for the first thread of each block.
    user = [1, 4, 2, 3, 1, 1, 5, 2, 2, 3, 1, 1, 1, 5, 2, 2, 3, 4, 5, 16, 4]
    user = np.repeat(np.arange(len(user)), user).astype(np.int32)
    assert user[31] != user[32] and user[63] != user[64]
    out = np.full((user.size, 2), 7, np.int32)
    with gridlane.device(device):
        sessions[3, 32](user, out)
    starts = np.flatnonzero(np.diff(user, prepend=-1))
    first = starts[user]
    begins = np.isin(np.arange(user.size), starts)
    np.testing.assert_array_equal(out[:, 0], first)
    mine = np.arange(user.size) + 100
    after = np.roll(begins, -1)
    known = begins & ~after  # the others read what threads store behind the barrier
    np.testing.assert_array_equal(out[~begins, 1], mine[~begins])
    np.testing.assert_array_equal(out[known, 1], np.roll(mine, -1)[known])


@cuda.jit
def dwindles(x, left, out):
    """Threads end in one iteration after the other, in three axes; the rest use what is in shared
    and local memory, and barriers of the block."""
    at, block = cuda.threadIdx, cuda.blockDim
    own = at.x + block.x * (at.y + block.y * at.z)
    number = cuda.blockIdx.x + cuda.gridDim.x * (cuda.blockIdx.y + cuda.gridDim.y * cuda.blockIdx.z)
    i = own + number * block.x * block.y * block.z
    shared = cuda.shared.array(24, int32)
    dynamic = cuda.shared.array(0, int32)
    local = cuda.local.array(3, int32)
    grid = cuda.cg.this_grid()
    shared[own] = i
    dynamic[own] = -i
    for n in range(3):
        local[n] = n
    total = 0
    for k in range(5):
        local[k % 3] = k + i
        if x[i] == k:
            shared[own] += 1000 * k
            return
        cuda.atomic.add(left, k, 1)
        cuda.syncthreads()
        total += shared[(own + 5 * k) % 24]
        cuda.syncthreads()
        shared[own] += 10000
        grid.sync()
        total += left[k] + local[(k + 1) % 3] + dynamic[23 - own]
    out[i] = total


@EVERYWHERE
def test_what_is_in_shared_memory_outlives_threads(device):
    blocks, count = 2 * 1 * 3, 24
    x = np.random.default_rng(3).integers(0, 12, blocks * count).astype(np.int32)
    if device == "cuda":
        x[::count] = 12  # a GPU waits for the first thread of each block
    else:
        x[count : 2 * count] = np.arange(count) % 3  # all of a block end
        x[2 * count] = 0  # the first thread of a block does
    left, out = np.zeros(5, np.int32), np.full(x.size, -1, np.int32)
    with gridlane.device(device):
        dwindles[(2, 1, 3), (4, 3, 2), 0, 4 * count](x, left, out)
    i, own = np.arange(x.size), np.arange(x.size) % count
    base, live = i - own, np.ones(x.size, bool)
    shared, local = i.copy(), np.tile(np.arange(3), (x.size, 1))
    want, total, counts = np.full(x.size, -1), np.zeros(x.size, int), []
    for k in range(5):
        local[live, k % 3] = k + i[live]
        ends = live & (x == k)
        shared[ends] += 1000 * k
        live &= ~ends
        counts.append(live.sum())
        total += shared[base + (own + 5 * k) % count]
        shared[live] += 10000
        total += counts[k] + local[i, (k + 1) % 3] - (base + 23 - own)
    want[live] = total[live]
    np.testing.assert_array_equal(left, counts)
    np.testing.assert_array_equal(out, want)


@cuda.jit
def steps_apart(x, out):
    """Threads come to the barrier in different iterations: none of them has the others' counter."""
    i, grid = cuda.grid(1), cuda.cg.this_grid()
    for k in range(6):
        if (i + k) % 3 == 0:
            continue
        x[i] += 1
        grid.sync()
        out[i] = out[i] * 10 + k


@EVERYWHERE
def test_threads_come_to_a_barrier_in_different_iterations(device):
    x, out = np.zeros(64, np.int32), np.zeros(64, np.int32)
    with gridlane.device(device):
        steps_apart[2, 32](x, out)
    text = ["".join(str(k) for k in range(6) if (i + k) % 3) for i in range(64)]
    np.testing.assert_array_equal(out, [int(each) for each in text])


@cuda.jit(device=True)
def met(grid, i, limit):
    if i >= limit:
        return -1
    grid.sync()
    return limit


@cuda.jit
def function_passes(x, limit):
    """A function from which some threads return without the barrier; they end then."""
    i = cuda.grid(1)
    local = cuda.local.array(2, int32)
    local[i % 2] = i
    got = met(cuda.cg.this_grid(), i, limit)
    x[i] = got * 100 + local[i % 2]


@EVERYWHERE
def test_functions_return_without_their_barrier(device):
    x = np.zeros(64, np.int32)
    with gridlane.device(device):
        function_passes[2, 32](x, 40)
    i = np.arange(64)
    np.testing.assert_array_equal(x, np.where(i < 40, 4000, -100) + i)


@cuda.jit(device=True)
def met_twice(grid, i):
    local = cuda.local.array(2, int32)
    local[0] = i
    grid.sync()
    if i % 3 == 1:
        return local[0]
    for k in range(2):
        local[1] = k
        grid.sync()
    return local[0] + local[1] * 1000


@cuda.jit(device=True)
def not_met(i):
    return -i


@cuda.jit
def functions_part(x):
    """Threads wait in a function while others call another one and end."""
    i, grid = cuda.grid(1), cuda.cg.this_grid()
    if i % 32 < 20:
        x[i] = met_twice(grid, i)
        x[i] += not_met(i) * 10000
    else:
        x[i] = not_met(i)


@EVERYWHERE
def test_threads_wait_in_a_function_while_others_call_another(device):
    x = np.zeros(64, np.int32)
    with gridlane.device(device):
        functions_part[2, 32](x)
    i = np.arange(64)
    want = np.where(i % 3 == 1, i, i + 1000) - i * 10000
    np.testing.assert_array_equal(x, np.where(i % 32 < 20, want, -i))


@cuda.jit
def spins(flags, x, out):
    """A warp waits for another one of its block, in front of barriers of the grid."""
    i, own, grid = cuda.grid(1), cuda.threadIdx.x, cuda.cg.this_grid()
    if i >= x.size:
        return
    if own == 40:
        cuda.atomic.exch(flags, cuda.blockIdx.x, 1)
    if own == 0:
        while cuda.atomic.add(flags, cuda.blockIdx.x, 0) == 0:
            pass
    x[i] = i
    grid.sync()
    out[i] = x[(i + 50) % x.size]
    grid.sync()
    x[i] = 0


@pytest.mark.parametrize("device", [each for each in ALL if each in ("interp", "cpu", "cuda")])
def test_warps_that_wait_for_each_other_meet_the_grid(device):
    x, out = np.zeros(180, np.int32), np.zeros(180, np.int32)
    with gridlane.device(device):
        spins[3, 64](np.zeros(3, np.int32), x, out)
    np.testing.assert_array_equal(out, (np.arange(180) + 50) % 180)
    assert not x.any()


@cuda.jit(debug=True, opt=False)
def ends_and_fails(x, at):
    i, grid = cuda.grid(1), cuda.cg.this_grid()
    if i % 5 == 0:
        return
    x[i] += 1
    grid.sync()
    if i == 33:
        x[at] = 1
    if i == 34:
        print(i, "is left")
    grid.sync()
    x[i] += 1


@EVERYWHERE
def test_errors_and_lines_of_threads_that_are_left(device, capfd):
    if device == "cuda":
        pytest.skip("a GPU waits for ever for the first thread of a block")
    with gridlane.device(device):
        x = cuda.to_device(np.zeros(64, np.int32))
        ends_and_fails[2, 32](x, 40)
        cuda.synchronize()
        i = np.arange(64)
        want = np.where(i % 5, 2, 0)
        want[40] = 1
        np.testing.assert_array_equal(x.copy_to_host(), want)
        assert capfd.readouterr().out == "34 is left\n"
        with pytest.raises(IndexError, match=r"tid=\[1, 0, 0\] ctaid=\[1, 0, 0\]"):
            ends_and_fails[2, 32](x, 64)
            cuda.synchronize()


@cuda.jit(debug=True, opt=False)
def fails(x):
    i, grid = cuda.grid(1), cuda.cg.this_grid()
    for n in range(4):
        grid.sync()
        if n == 2 and i == 5:
            x[x.size] = 1
        x[i] += 1
        grid.sync()


@EVERYWHERE
def test_a_thread_that_raises_ends_the_grid(device):
    x = np.zeros(64, np.int32)
    with gridlane.device(device):
        on_device = cuda.to_device(x)
        with pytest.raises(IndexError, match=r"tid=\[5, 0, 0\] ctaid=\[0, 0, 0\]"):
            fails[2, 32](on_device)
            cuda.synchronize()
        assert on_device.copy_to_host().max() == 3


@EVERYWHERE
def test_streams_graphs_and_repeated_launches(device):
    x = np.zeros(BLOCKS * THREADS, np.int32)
    with gridlane.device(device):
        first, second = cuda.stream(), cuda.stream()
        arrays = [cuda.to_device(np.full_like(x, 1 + n)) for n in range(2)]
        outs = [cuda.to_device(x) for _ in range(2)]
        for _ in range(3):
            for stream, array, out in zip((first, second), arrays, outs, strict=True):
                scan[BLOCKS, THREADS, stream](array, out)
        cuda.synchronize()
        want = np.arange(1, x.size + 1, dtype=np.int32)
        want = np.cumsum(np.cumsum(want, dtype=np.int32), dtype=np.int32)
        np.testing.assert_array_equal(outs[0].copy_to_host(), want)
        np.testing.assert_array_equal(outs[1].copy_to_host(), want * 2)
        with cuda.capture(first) as graph:
            scan[BLOCKS, THREADS, first](arrays[0], outs[0])
        work = graph.instantiate()
        work.launch(first)
        work.launch(first)
        first.synchronize()
        want = np.cumsum(np.cumsum(want, dtype=np.int32), dtype=np.int32)
        np.testing.assert_array_equal(outs[0].copy_to_host(), want)


@NOT_NATIVE
def test_any_grid_can_meet(device):
    x = np.zeros(1030 * 32, np.int32)
    with gridlane.device(device):
        ends_early[1030, 32](x)
        (kernel,) = ends_early.overloads.values()
        assert kernel.max_cooperative_grid_blocks(64) == 1024
        assert kernel.max_cooperative_grid_blocks((8, 8)) == 1024
    assert (x == 2).all()


@cuda.jit
def fragments(x):
    shared = cuda.shared.array(64, int32)
    other = cuda.shared.array(64, int32)
    i = cuda.grid(1)
    rows = shared if x[0] else other
    cuda.cg.this_grid().sync()
    x[i] = rows[i]


@NOT_NATIVE
def test_an_address_of_shared_memory_is_no_number(device):
    """Which array it is, is known when the kernel runs."""
    with gridlane.device(device), pytest.raises((TargetError, KernelError)) as told:
        fragments[1, 64](np.ones(64, np.int32))
    assert told


@cuda.jit
def turns(x, other, rounds):
    """What the grid stores between its barriers is lost if another launch comes between."""
    i, grid = cuda.grid(1), cuda.cg.this_grid()
    n = 0
    while n < rounds[0]:
        other[i] = x[i] + 1
        grid.sync()
        x[(i + 1) % x.size] = other[i]
        grid.sync()
        n += 1


@EVERYWHERE
@pytest.mark.parametrize("own_stream", [False, True])
def test_launches_of_several_threads_on_one_stream_do_not_mix(device, own_stream):
    threads, launches = 3, 8
    with gridlane.device(device):
        stream = cuda.stream() if own_stream else cuda.default_stream()
        x, other = (cuda.to_device(np.zeros(64, np.int32)) for _ in range(2))
        rounds = cuda.to_device(np.full(1, 2, np.int32))
        seen: list[np.ndarray] = []

        def work():
            with gridlane.device(device):
                for _ in range(launches):
                    turns[2, 32, stream](x, other, rounds)
                    seen.append(x.copy_to_host(stream=stream))
                    stream.synchronize()

        made = [threading.Thread(target=work) for _ in range(threads)]
        for each in made:
            each.start()
        for each in made:
            each.join()
        cuda.synchronize()
        assert np.unique(x.copy_to_host()).tolist() == [2 * threads * launches]
    assert len(seen) == threads * launches
    assert all(np.unique(each).size == 1 for each in seen)


@cuda.jit
def adds(x, n):
    x[cuda.grid(1)] += n


HOST_DRIVEN = [each for each in DEVICES if each not in ("cpu", "cuda")]


@pytest.mark.parametrize("device", HOST_DRIVEN)
@pytest.mark.parametrize("own_stream", [False, True])
def test_nothing_comes_between_the_parts_of_a_launch(device, own_stream, monkeypatch):
    """Neither a launch of another thread that is about to be submitted when the parts begin, nor
    what comes while they run."""
    about, begun, done = (threading.Event() for _ in range(3))
    told, seen = list[str](), list[int]()
    drive = SplitBound._drive

    def driven(self, params, grid, memory, start, read):
        def started(plan, block):
            start(plan, block)
            if not begun.is_set():
                begun.set()
                done.wait(0.2)  # for ever, if others are held

        drive(self, params, grid, memory, started, read)
        told.append("parts")

    def late(own, bounds):
        def launch(recorder, on, prepared, *rest):
            if any(prepared in bound._prepared.values() for bound in bounds):
                about.set()
                begun.wait(0.2)
            own(recorder, on, prepared, *rest)

        return launch

    with gridlane.device(device):
        stream = cuda.stream() if own_stream else cuda.default_stream()
        x, other = (cuda.to_device(np.zeros(64, np.int32)) for _ in range(2))
        rounds = cuda.to_device(np.full(1, 2, np.int32))
        turns[2, 32, stream](x, other, rounds)
        adds[2, 32, stream](x, 100)
        stream.synchronize()
        assert np.unique(x.copy_to_host()).tolist() == [102]
        bounds = [
            bound
            for kernel in adds.overloads.values()
            for (on, *_), bound in tuple(kernel._bound.items())
            if on is current.device()
        ]
        recorder = type(current.device().default_stream.recorder)
        monkeypatch.setattr(recorder, "launch", late(recorder.launch, bounds))
        monkeypatch.setattr(SplitBound, "_drive", driven)

        def before():
            with gridlane.device(device):
                adds[2, 32, stream](x, 100)

        def meanwhile():
            begun.wait()
            with gridlane.device(device):
                stream.add_callback(lambda *args: told.append("callback"))
                adds[2, 32, stream](x, 1000)
                seen.append(int(x.copy_to_host(stream=stream)[0]))
                done.set()
                stream.synchronize()

        made = [threading.Thread(target=each) for each in (before, meanwhile)]
        made[0].start()
        about.wait()
        made[1].start()
        turns[2, 32, stream](x, other, rounds)
        for each in made:
            each.join()
        stream.synchronize()
        assert np.unique(x.copy_to_host()).tolist() == [1204]
    assert (seen, told) == ([1204], ["parts", "callback"])


@cuda.jit(device=True)
def factorial(n):
    return 1 if n <= 1 else n * factorial(n - 1)


@cuda.jit
def factorials(x, out):
    i = cuda.grid(1)
    before = factorial(x[i])
    cuda.cg.this_grid().sync()
    out[i] = before + factorial(i % 3)


@EVERYWHERE
def test_recursion_on_both_sides_of_a_barrier(device):
    x = np.arange(64, dtype=np.int32) % 7
    out = np.zeros_like(x)
    with gridlane.device(device):
        if device == "webgpu":
            with pytest.raises(TargetError, match="no stack for each thread"):
                factorials[2, 32](x, out)
            return
        factorials[2, 32](x, out)
    of = np.array([1, 1, 2, 6, 24, 120, 720])
    np.testing.assert_array_equal(out, of[x] + of[np.arange(64) % 3])


@cuda.jit
def array_in_a_loop(out):
    i, own, grid = cuda.grid(1), cuda.threadIdx.x, cuda.cg.this_grid()
    for k in range(3):
        shared = cuda.shared.array(THREADS, int32)
        shared[own] = i * k
        grid.sync()
        out[i, k] = shared[THREADS - 1 - own]
        grid.sync()


@EVERYWHERE
def test_shared_memory_named_behind_a_barrier_is_the_blocks_own(device):
    out = np.zeros((BLOCKS * THREADS, 3), np.int32)
    with gridlane.device(device):
        array_in_a_loop[BLOCKS, THREADS](out)
    mirrored = np.arange(len(out)).reshape(BLOCKS, THREADS)[:, ::-1].reshape(-1, 1)
    np.testing.assert_array_equal(out, mirrored * np.arange(3))
