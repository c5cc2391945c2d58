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


@EVERYWHERE
@pytest.mark.parametrize("kernel", [ends_early, at_two])
def test_divergent_barriers_are_refused_with_their_line(device, kernel):
    if device == "cuda":
        pytest.skip("a GPU waits for ever, or does not notice")
    x = np.zeros(40, np.int32)
    with gridlane.device(device), pytest.raises(KernelError, match="not all threads of") as told:
        kernel[2, 32](x)
        cuda.synchronize()
    assert "this_grid().sync()" in str(told.value)
    assert "test_grid_sync.py" in str(told.value)


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
