"""The API on real devices: kernels, reductions, ufuncs, random numbers, errors."""

from __future__ import annotations

import dataclasses
import math
import operator

import numpy as np
import pytest
from tests import on_shaders
from tests.cuda.test_random import MASK, jump, reference, step
from tests.devices import DEVICES

from gridlane import cuda
from gridlane.core.errors import (
    CompileError,
    DeviceError,
    KernelError,
    TargetError,
)
from gridlane.cuda.random import (
    create_xoroshiro128p_states,
    xoroshiro128p_jump,
    xoroshiro128p_next,
    xoroshiro128p_normal_float32,
    xoroshiro128p_normal_float64,
    xoroshiro128p_uniform_float32,
    xoroshiro128p_uniform_float64,
)
from gridlane.cuda.types import float32, float64, int64, uint32, uint64
from gridlane.launch import current
from gridlane.launch.devices import get_device
from gridlane.launch.grid_parts import holds_whole_grids

# Many of these have arrays of float64, which WebGPU and OpenGL refuse unless they are asked to
# compute it exactly; tests/runtime has tests of their own for the two.
WITH_FLOAT64 = [name for name in DEVICES if name not in on_shaders.KINDS]


@pytest.fixture(params=["interp", *WITH_FLOAT64], autouse=True)
def device(request, monkeypatch):
    found = get_device(request.param)
    current.choose(found)
    return found


# A kernel belongs to the device of its process; these have two, so each test makes its kernels.
def saxpy(a, x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a * x[i] + y[i]


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("stream", [True, False])
def test_saxpy(there, stream):
    x, y = np.arange(100, dtype=np.float32), np.ones(100, np.float32)
    out = np.zeros(100, np.float32)
    queue, kernel = cuda.stream() if stream else 0, cuda.jit(saxpy)
    if there:
        dx, dy, dout = (cuda.to_device(a, stream=queue) for a in (x, y, out))
        kernel.forall(100, stream=queue)(2, dx, dy, dout)
        out = dout.copy_to_host(stream=queue)
    else:
        kernel[4, 32, queue](2, x, y, out)
    assert (out == 2 * x + 1).all()


def test_strided_and_read_only_host_arrays():
    x = np.arange(20.0)[::-2]
    x.flags.writeable = False
    y, out = np.zeros(10), np.zeros(20)
    cuda.jit(saxpy)[1, 32](1.0, x, y, out[1::2])
    assert (out[1::2] == x).all() and (out[::2] == 0).all()


def test_argument_kinds():
    @cuda.jit
    def kernel(out, pair, z, flag, record):
        out[0] = pair[0] + pair[1][2]
        out[1] = z.real + z.imag
        out[2] = 1.0 if flag else 0.0
        out[3] = record.b
        record.a = 9

    records = np.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f4")])
    out = np.zeros(4)
    kernel[1, 1](out, (1, np.array([3, 4, 5])), 1 + 2j, True, records[0])
    assert out.tolist() == [6, 3, 1, 2.5] and records["a"][0] == 9


def test_dynamic_shared_memory():
    @cuda.jit
    def reverse(x):
        tile = cuda.shared.array(0, float32)
        t = cuda.threadIdx.x
        tile[t] = x[t]
        cuda.syncthreads()
        x[t] = tile[cuda.blockDim.x - 1 - t]

    x = np.arange(64, dtype=np.float32)
    reverse[1, 64, 0, 256](x)
    assert (x == np.arange(64)[::-1]).all()


@pytest.mark.parametrize("size", [1, 2, 127, 128, 129, 1000, 40000])
def test_reduce(size):
    @cuda.reduce
    def total(a, b):
        return a + b

    values = np.arange(size) % 7
    assert total(values) == values.sum()
    assert total(cuda.to_device(values), init=5) == values.sum() + 5
    largest = cuda.Reduce(lambda a, b: max(a, b))
    result = cuda.device_array(1, values.dtype)
    assert largest(values, size=min(size, 3), res=result) is None
    assert result[0] == values[:3].max()
    assert total(values[:0], init=3) == 3


def test_reductions_by_builtin_functions():
    values = np.array([12, 18, -30, 6, 42] * 60, np.int64)
    assert cuda.reduce(math.gcd)(values) == 6
    assert cuda.reduce(max)(values) == 42 and cuda.reduce(min)(values, init=5) == -30
    assert cuda.reduce(operator.add)(values) == values.sum()
    assert cuda.reduce(max).py_func.__name__ == "max"
    never = cuda.reduce(math.fsum)  # a program may define what it does not call
    with pytest.raises(CompileError, match="fsum cannot be called in a kernel"):
        never(values)


def test_vectorize():
    @cuda.vectorize(["float32(float32, float32)", "float64(float64, float64)"])
    def hypotenuse(a, b):
        return math.sqrt(a * a + b * b)

    a, b = np.arange(12.0).reshape(3, 4), np.ones((3, 1))
    expected = np.hypot(a, b)
    np.testing.assert_allclose(hypotenuse(a, b), expected)
    np.testing.assert_allclose(hypotenuse(a, 1.0), expected)
    on_device = hypotenuse(cuda.to_device(a), cuda.to_device(b))
    np.testing.assert_allclose(on_device.copy_to_host(), expected)
    out = np.empty((3, 4))
    assert hypotenuse(a, b, out=out) is out and np.allclose(out, expected)
    assert hypotenuse(3.0, 4.0) == 5
    assert hypotenuse(a.astype("f4"), b.astype("f4")).dtype == np.float32
    with pytest.raises(TypeError, match="No matching version"):
        hypotenuse(a.astype("i4"), b)

    @cuda.vectorize(["int64(int64, int64)"])
    def add(a, b):
        return a + b

    assert add.reduce(np.arange(101)) == 5050


def test_guvectorize():
    @cuda.guvectorize(["void(float64[:,:], float64[:], float64[:])"], "(m,n),(n)->(m)")
    def apply(matrix, vector, out):
        for i in range(matrix.shape[0]):
            total = 0.0
            for j in range(matrix.shape[1]):
                total += matrix[i, j] * vector[j]
            out[i] = total

    matrices, vector = np.arange(24.0).reshape(4, 2, 3), np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(apply(matrices, vector), matrices @ vector)
    there = apply(cuda.to_device(matrices), vector)
    np.testing.assert_allclose(there.copy_to_host(), matrices @ vector)
    with pytest.raises(ValueError, match="the axis n is 3 in one argument and 2 in another"):
        apply(matrices, vector[:2])


def draw(states, words, uniform32, uniform64, normal32, normal64):
    i = cuda.grid(1)
    if i < words.shape[0]:
        words[i] = xoroshiro128p_next(states, i)
        uniform32[i] = xoroshiro128p_uniform_float32(states, i)
        uniform64[i] = xoroshiro128p_uniform_float64(states, i)
        normal32[i] = xoroshiro128p_normal_float32(states, i)
        normal64[i] = xoroshiro128p_normal_float64(states, i)
        xoroshiro128p_jump(states, i)


def test_random_streams():
    n = 40
    states = create_xoroshiro128p_states(n, seed=123)
    words = np.zeros(n, np.uint64)
    u32, u64, n32, n64 = (np.zeros(n, t) for t in ("f4", "f8", "f4", "f8"))
    cuda.jit(draw)[2, 32](states, words, u32, u64, n32, n64)
    after = states.copy_to_host()
    for i, state in enumerate(reference(n, 123, 0)):
        drawn = []
        for _ in range(7):
            drawn.append(sum(state) & MASK)
            state = step(*state)
        unit = [(word >> 11) * 2.0**-53 for word in drawn]
        narrow = [np.float32(x) for x in unit]
        assert words[i] == drawn[0]
        assert u32[i] == narrow[1] and u64[i] == unit[2]
        for got, (one, two), tolerance in (
            (n32[i], narrow[3:5], 1e-4),
            (n64[i], narrow[5:7], 1e-6),
        ):
            expected = math.sqrt(-2 * math.log(one)) * math.cos(2 * math.pi * two)
            assert got == pytest.approx(expected, rel=tolerance, abs=tolerance)
        assert (int(after["s0"][i]), int(after["s1"][i])) == jump(*state)


class Custom(Exception):
    pass


def test_exceptions_of_kernels():
    @cuda.jit(debug=True, opt=False)
    def stop(x, what):
        i = cuda.grid(1)
        if i == 3:
            if what == 0:
                raise ValueError("no good")
            if what == 1:
                raise Custom("mine")
        x[i] = 1

    x = np.zeros(4)
    stop[1, 4](x, 2)
    assert x.all()
    with pytest.raises(ValueError, match="no good") as caught:
        stop[1, 4](x, 0)
    assert isinstance(caught.value, KernelError)
    assert "tid=[3, 0, 0] ctaid=[0, 0, 0]" in str(caught.value)
    with pytest.raises(Custom, match="mine"):
        stop[1, 4](x, 1)
    stream = cuda.stream()
    device_x = cuda.to_device(x)
    stop[1, 4, stream](device_x, 0)
    with pytest.raises(ValueError, match="no good"):
        stream.synchronize()
    stop[1, 4, stream](device_x, 2)
    stream.synchronize()


def test_interp_checks_every_access(device):
    if device.name != "interp":
        return

    @cuda.jit
    def beyond(x):
        x[cuda.grid(1) + 1] = 1

    x, other = np.zeros(4), np.zeros(4)
    with pytest.raises(KernelError, match=r"out of bounds(.|\n)*x\[cuda.grid\(1\) \+ 1\]"):
        beyond[1, 4](x)
    beyond[1, 3](other)
    assert other.tolist() == [0, 1, 1, 1]


def test_a_kernel_that_does_not_compile_leaves_nothing_behind():
    @cuda.jit
    def wrong(x):
        x[0] = undefined_name  # noqa: F821

    for _ in range(2):
        with pytest.raises(CompileError, match="undefined_name"):
            wrong[1, 1](np.zeros(1))
    assert not wrong.overloads
    with pytest.raises(CompileError):
        cuda.jit("void(float64[:])")(wrong.py_func)


def test_explicit_signature_and_figures(device):
    @cuda.jit("void(float32[:], int32)")
    def kernel(x, n):
        tile = cuda.shared.array(8, float64)
        tile[0] = n
        x[0] = tile[0]

    x = np.zeros(1, np.float32)
    kernel[1, 1](x, 3)
    assert x[0] == 3 and kernel.specialized
    # On a GPU the array has gone: its one element stays in a register.
    assert kernel.get_shared_mem_per_block() == (0 if device.name == "cuda" else 64)
    assert "kernel" in next(iter(kernel.inspect_ir().values()))
    if device.name == "vulkan":
        with pytest.raises(TargetError, match="vulkan has no stage 'llvm'; it has ir and asm"):
            kernel.inspect_llvm()
        assert "EntryPoint" in next(iter(kernel.inspect_asm().values()))
    else:
        assert "define" in next(iter(kernel.inspect_llvm().values()))
    with pytest.raises(RuntimeError, match="already specialized"):
        kernel.specialize(x, 3)


def test_source_of_executed_text():
    from gridlane.cuda.kernels.sources import watch_exec

    watch_exec()
    made = {"cuda": cuda}
    exec("def kernel(x):\n    x[0] = 42\n", made)
    x = np.zeros(1)
    # Other libraries execute text too, as here the standard one does.
    for _ in range(300):
        dataclasses.make_dataclass("Other", ["x", "y"])
    cuda.jit(made["kernel"])[1, 1](x)
    assert x[0] == 42


def test_text_compiled_before_other_text_is_not_confused_with_it():
    from gridlane.cuda.kernels.sources import watch_exec

    watch_exec()
    first, second = (f"def kernel(x):\n    x[0] = {n}\n" for n in (1, 2))
    one = compile(first, "<string>", "exec")
    compile(second, "<string>", "exec")
    made = {}
    exec(one, made)
    x = np.zeros(1)
    cuda.jit(made["kernel"])[1, 1](x)
    assert x[0] == 1


def across(array, out, rounds):
    """Each thread reads what one of another block wrote; the group comes in two ways."""
    group = cuda.cg.this_grid()
    i = cuda.grid(1)
    for _ in range(rounds):
        array[i] += i
        group.sync()
        out[i] += array[(i + cuda.blockDim.x) % array.size]
        cuda.cg.this_grid().sync()


def test_grid_barriers(device):
    kernel = cuda.jit(across)
    array, out = np.zeros(256, np.int64), np.zeros(256, np.int64)
    kernel[4, 64](array, out, 3)
    assert (out == np.roll(np.arange(256), -64) * 6).all()
    (made,) = kernel.overloads.values()
    most = made.max_cooperative_grid_blocks(64)
    assert most >= 4
    if not holds_whole_grids(device):
        return  # in parts, any number of blocks can meet
    with pytest.raises(DeviceError, match="COOPERATIVE_LAUNCH_TOO_LARGE"):
        kernel[most + 1, 64](np.zeros(64 * (most + 1), np.int64), out, 1)


def test_hashes_of_an_index():
    """Values that rise with the thread and wrap around between two of them: widened, compared."""

    def mix(out):
        i = cuda.grid(1)
        bits = uint32(uint32(i) * uint32(747796405) + uint32(2891336453))
        bits = uint32((bits ^ (bits >> uint32(16))) * uint32(2246822519))
        out[i] = bits >> uint32(3)

    def below(out):
        i = cuda.grid(1)
        if uint64(i) * uint64(0x9E3779B97F4A7C15) < uint64(1 << 63):
            out[i] = 1
        if int64(i) * int64(0x1E3779B97F4A7C15) < int64(0):
            out[i] += 2
        if uint32(uint32(i) * uint32(0x9E3779B9)) < uint32(1 << 31):
            out[i] += 4

    i = np.arange(64, dtype=np.uint32)
    bits = i * np.uint32(747796405) + np.uint32(2891336453)
    bits = (bits ^ (bits >> 16)) * np.uint32(2246822519)
    got = np.zeros(64, np.uint32)
    cuda.jit(mix)[1, 64](got)
    assert (got == bits >> 3).all()

    wide = i.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    signed = (i.astype(np.uint64) * np.uint64(0x1E3779B97F4A7C15)).view(np.int64)
    small = i * np.uint32(0x9E3779B9)
    wanted = (wide < 2**63) + 2 * (signed < 0) + 4 * (small < 2**31)
    got[:] = 0
    cuda.jit(below)[1, 64](got)
    assert (got == wanted).all()


def test_fences_and_returns_in_loops():
    """Warps that come to a fence more often than others, and ends of kernels in loops."""

    def counting(out, rounds):
        i = cuda.grid(1)
        if i >= rounds:
            return
        for _ in range(i):
            out[i] += 1
            cuda.threadfence()
            cuda.threadfence_block()

    def ending(values, out):
        i = cuda.grid(1)
        if i >= values.shape[0]:
            return
        for j in range(values.shape[1]):
            rest = values[i, j]
            while rest > 3:
                rest -= 3
            if rest == 0:
                return
            out[i] += rest

    got = np.zeros(64, np.int32)
    cuda.jit(counting)[1, 64](got, 40)
    assert (got[:40] == np.arange(40)).all() and not got[40:].any()
    values = np.random.default_rng(5).integers(1, 30, (72, 9), np.int32)
    values[::5, 4] = 0
    rest = np.where(values, (values - 1) % 3 + 1, 0)
    rest[::5, 4:] = 0
    got = np.zeros(72, np.int32)
    cuda.jit(ending)[2, 64](values, got)
    assert (got == rest.sum(axis=1)).all()


def left_by_some(b):
    if b == 5:
        return 1
    for j in range(3):
        if j == b:
            continue
        while b > 1:
            return 2 + j
    return 9


def left_by_all(b):
    if b == 5:
        return 1
    for _ in range(3):
        while True:
            return 2
    return 3


def left_behind_a_break(b):
    for j in range(3):
        if b == 5:
            return 1
        while True:
            if b == 7:
                break
            return 2 + j
    return 3


@pytest.mark.parametrize("leave", [left_by_some, left_by_all, left_behind_a_break])
def test_returns_from_loops_that_do_not_go_round(leave):
    """The lanes that return early keep a return at a loop's end from being a plain jump."""
    inner = cuda.jit(device=True)(leave)

    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        out[i] = inner(x[i])

    x, out = np.arange(64, dtype=np.int32) % 9, np.zeros(64, np.int32)
    kernel[2, 32](x, out)
    assert out.tolist() == [leave(b) for b in x.tolist()]


def test_pinned_copies_without_a_stream_are_finished():
    """As CUDA's: only a copy on a stream that the caller names goes on behind the call."""
    first, other = np.arange(50, dtype=np.uint64), np.full(50, 7, np.uint64)
    host = cuda.pinned_array(50, np.uint64)
    host[:] = first
    there = cuda.to_device(host)
    host[:] = other  # the memory is the caller's again
    there.copy_to_host(host)
    assert (host == first).all()
    host[:] = other
    there.copy_to_device(host)
    host[:] = first
    assert (there.copy_to_host() == other).all()
    with cuda.pinned(first):
        there.copy_to_host(first)
        assert (first == other).all()
