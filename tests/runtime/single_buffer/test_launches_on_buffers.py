"""Launches whose arrays are in several buffers of memory, by each way to launch."""

from __future__ import annotations

import numpy as np
import pytest
from tests.runtime.arrays import to_device, words
from tests.runtime.single_buffer.helpers import spread

from gridlane import cuda
from gridlane.core import trace
from gridlane.core.compact import Variant
from gridlane.core.errors import DeviceError, TargetError
from gridlane.core.shader_abi import located
from gridlane.cuda.kernels.launch import Launching
from gridlane.cuda.types import float32, int32
from gridlane.ir.parser import parse_module
from gridlane.ir.source import ModuleSource
from gridlane.launch import current
from gridlane.launch.kernel import Kernel

N = 64
AXPY = """
kernel @axpy(%x: ptr<f32, global>, %y: ptr<f32, global>, %a: f32, %n: i64) {
  %i: i32 = thread_idx x
  %wide: i64 = cast %i
  %inside: b1 = lt %wide, %n
  if %inside {
    %from: ptr<f32, global> = offset %x, %i
    %to: ptr<f32, global> = offset %y, %i
    %value: f32 = load %from
    %more: f32 = mul %value, %a
    %old: f32 = load %to
    %sum: f32 = add %old, %more
    store %to, %sum
  }
}
"""


@pytest.fixture
def several(device, monkeypatch):
    """A device whose arrays take turns among three buffers, and which ``cuda`` means."""
    spread(device, monkeypatch)
    current.choose(device)
    yield device
    current.choose(None)


def axpy(a, x, y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] = a * x[i] + y[i]


def in_turn(count, dtype=np.float32):
    """Arrays of which each is in the next buffer: (on the host, on the device)."""
    hosts = [np.arange(1, N + 1).astype(dtype) * 10**n for n in range(count)]
    return hosts, [cuda.to_device(host) for host in hosts]


def buffers_of(*arrays):
    return [located(array.address)[0] for array in arrays]


def same(array, expected):
    assert np.array_equal(array.copy_to_host(), expected)


# --- ways to launch ---


@pytest.mark.parametrize("variant", [Variant(), Variant(compact=True)])
def test_a_plan_is_for_the_buffers_of_its_variant(several, variant):
    kernel = Kernel(ModuleSource(parse_module(AXPY)))
    hosts = [np.arange(N, dtype=np.float32) + n for n in range(4)]
    arrays = [to_device(several, host) for host in hosts]
    plan = kernel.plan((N, 1, 1), variant, several)
    for x, y, buffers in (
        (0, 3, ()),
        (0, 1, (0, 1)),
        (2, 1, (1, 2)),
        (1, 1, (1, 1)),
        (2, 0, (1, 0)),
    ):
        params = plan.pack(arrays[x], arrays[y], 2.0, N)
        assert plan.variant_of((1, 1, 1), params) == variant._replace(buffers=buffers)
        fitting = kernel.fitting(plan, (1, 1, 1), params)
        if buffers:
            assert not plan.suits((1, 1, 1), params)
            with pytest.raises(ValueError, match=r"code is for arrays in the buffers.*fitting"):
                plan.launch((1, 1, 1), params)
            with pytest.raises(DeviceError, match="INVALID_VALUE"):
                plan.kernel.launch(params, 1, 1, 1, 0)
        fitting.launch((1, 1, 1), params)
        hosts[y] = hosts[y] + 2 * hosts[x]
        for array, host in zip(arrays, hosts):
            assert (words(several, array, np.float32) == host).all()
    fitting = kernel.fitting(plan, (1, 1, 1), plan.pack(arrays[0], arrays[1], 2.0, N))
    with pytest.raises(ValueError, match=r"\(0, 1\)"):
        fitting.launch((1, 1, 1), plan.pack(arrays[1], arrays[0], 2.0, N))


@pytest.mark.parametrize("there", [True, False])
def test_launches_one_after_the_other(several, there):
    """The second launch with arguments of the same types is a hot one, for other buffers."""
    kernel, (hosts, arrays) = cuda.jit(axpy), in_turn(4)
    assert buffers_of(*arrays) == [0, 1, 2, 0]
    launch = kernel[2, N // 2]
    for x, y in ((0, 3), (0, 3), (1, 2), (1, 2), (0, 3), (2, 1), (0, 0), (1, 1), (1, 2), (3, 0)):
        if there:
            launch(np.float32(2), arrays[x], arrays[y])
        else:
            launch(np.float32(2), arrays[x], hosts[y].copy())
            kernel[2, N // 2](np.float32(2), hosts[x], arrays[y])
        hosts[y] = (2 * hosts[x] + hosts[y]).astype(np.float32)
        for array, host in zip(arrays, hosts):
            same(array, host)


def test_launches_that_take_turns_are_hot(several, monkeypatch):
    slowly, slow = Launching._launch_slowly, []
    monkeypatch.setattr(
        Launching, "_launch_slowly", lambda self, args: (slow.append(1), slowly(self, args))
    )
    kernel, (hosts, (x, y, z)) = cuda.jit(axpy), in_turn(3)
    launch = kernel[1, N]
    for _ in range(5):
        for one, other in ((0, 1), (1, 0), (2, 1), (1, 1), (0, 0)):
            launch(np.float32(0.5), (x, y, z)[one], (x, y, z)[other])
            hosts[other] = (np.float32(0.5) * hosts[one] + hosts[other]).astype(np.float32)
    assert len(slow) == 5  # the first one of each combination of buffers
    for array, host in zip((x, y, z), hosts):
        same(array, host)


def test_launches_beyond_compact_ones(several):
    """The general code is for buffers as well."""

    @cuda.jit
    def far(x, y, by):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = x[i] + (by >> 40)

    _, (x, y) = in_turn(2, np.int32)
    for _ in range(3):
        far[1, N](x, y, 7 << 40)
        same(y, np.arange(1, N + 1) + 7)
        far[1, N](y, x, 1 << 40)
        same(x, np.arange(1, N + 1) + 8)
        far[1, N](cuda.to_device(np.arange(1, N + 1).astype(np.int32)), x, 0)


def test_streams_and_deferred_work(several):
    kernel, (hosts, (x, y, z)) = cuda.jit(axpy), in_turn(3)
    stream, other = cuda.stream(), cuda.stream()
    stream.add_callback(lambda *args: None)  # the launches behind it are deferred
    for _ in range(3):
        kernel[1, N, stream](np.float32(1), x, y)
        kernel[1, N, stream](np.float32(1), y, z)
    stream.synchronize()
    kernel[1, N, other](np.float32(0), x, y)
    for _ in range(3):
        hosts[1] = hosts[0] + hosts[1]
        hosts[2] = hosts[1] + hosts[2]
    for array, host in zip((x, y, z), hosts):
        same(array, host)


def test_a_graph_is_replayed(several):
    kernel, (hosts, (x, y, z)) = cuda.jit(axpy), in_turn(3)
    stream = cuda.stream()
    kernel[1, N, stream](np.float32(0), x, y)
    with cuda.capture(stream) as captured:
        kernel[1, N, stream](np.float32(1), x, y)
        kernel[1, N, stream](np.float32(1), z, x)
        y.copy_to_device(z, stream=stream)
    graph = captured.instantiate()
    for _ in range(2):
        graph.launch(stream)
        hosts[1] = hosts[0] + hosts[1]
        hosts[0] = hosts[2] + hosts[0]
        hosts[1] = hosts[2]
    stream.synchronize()
    for array, host in zip((x, y, z), hosts):
        same(array, host)


def test_reductions_and_ufuncs(several):
    host = np.arange(1000, dtype=np.int32)
    total = cuda.reduce(lambda a, b: a + b)
    for _ in range(4):
        assert total(host) == host.sum() == total(cuda.to_device(host))

    @cuda.vectorize([int32(int32, int32)])
    def combined(a, b):
        return a * 3 + b

    @cuda.guvectorize(["void(int32[:], int32[:], int32[:])"], "(n),(n)->(n)")
    def rows(a, b, out):
        for i in range(a.size):
            out[i] = a[i] - b[i]

    for _ in range(3):
        assert (combined(host, host[::-1].copy()) == host * 3 + host[::-1]).all()
        on = combined(cuda.to_device(host), cuda.to_device(host))
        assert (on.copy_to_host() == host * 4).all()
        square = host.reshape(10, 100)
        assert (rows(square, square[::-1].copy()) == square - square[::-1]).all()


# --- arguments ---


def test_the_same_array_twice_and_overlapping_views(several):
    kernel, (hosts, (_, y)) = cuda.jit(axpy), in_turn(2)
    assert buffers_of(y) == [1]
    kernel[1, N](np.float32(1), y, y)
    same(y, 2 * hosts[1])
    kernel[1, N](np.float32(1), y[32:], y[:32])
    expected = 2 * hosts[1]
    expected[:32] += expected[32:]
    same(y, expected)
    kernel[1, N](np.float32(1), y[::-1][:16], y[:16:2])
    expected[:16:2] += expected[::-1][:8]
    same(y, expected)


def test_tuples_of_arrays(several):
    @cuda.jit
    def added(pairs, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = pairs[0][i] + pairs[1][0][i] * pairs[1][1]

    hosts, arrays = in_turn(3)
    for order in ((0, 1, 2), (2, 1, 0), (1, 1, 2), (0, 0, 0)):
        a, b, c = order
        added[1, N]((arrays[a], (arrays[b], np.float32(3))), arrays[c])
        hosts[c] = hosts[a] + hosts[b] * np.float32(3)
        same(arrays[c], hosts[c])


def test_records_and_host_arrays(several):
    kind = np.dtype([("scale", "f4"), ("place", "i4")])

    @cuda.jit
    def used(record, table, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = table[i].scale * record.scale
            table[i].place = record.place + i

    record = np.array([(2.0, 7)], kind)[0]
    for _ in range(4):
        table, out = np.zeros(N, kind), np.zeros(N, np.float32)
        table["scale"] = np.arange(N)
        used[1, N](record, table, out)
        assert (out == 2 * np.arange(N)).all() and (table["place"] == 7 + np.arange(N)).all()


def test_small_and_wide_elements(several):
    @cuda.jit
    def moved(octets, shorts, wide, out):
        i = cuda.grid(1)
        octets[i] = shorts[i] + np.int8(1)
        out[i] = wide[i] * 3 + octets[i]

    octets, shorts = np.zeros(N, np.int8), np.arange(N, dtype=np.int16)
    wide, out = np.arange(N, dtype=np.int64) << 33, np.zeros(N, np.int64)
    arrays = [cuda.to_device(array) for array in (octets, shorts, wide, out)]
    moved[1, N](*arrays)
    same(arrays[0], shorts + 1)
    same(arrays[3], wide * 3 + shorts + 1)


def test_exact_float64(several):
    @cuda.jit(fp64="exact")
    def halved(x, y):
        i = cuda.grid(1)
        y[i] = x[i] / 3.0

    _, (x, y) = in_turn(2, np.float64)
    halved[1, N](x, y)
    same(y, np.arange(1, N + 1) / 3.0)


def test_atomics(several):
    @cuda.jit
    def counted(x, sums, counts, most):
        i = cuda.grid(1)
        cuda.atomic.add(sums, i % 4, x[i])
        cuda.atomic.add(counts, 0, 1)
        cuda.atomic.max(most, 1, np.int32(i))

    x = cuda.to_device(np.ones(N, np.float32))
    sums, most = cuda.to_device(np.zeros(4, np.float32)), cuda.to_device(np.zeros(2, np.int32))
    counts = cuda.to_device(np.zeros(2, np.int64))
    assert len({*buffers_of(x, sums, most)}) == 3
    counted[1, N](x, sums, counts, most)
    same(sums, np.full(4, N / 4))
    same(counts, [N, 0])
    same(most, [0, N - 1])


def test_device_functions_take_pointers(several):
    @cuda.jit(device=True)
    def shifted(x, y, i):
        x[i] = y[i] + x[i]
        return y[x.size - 1 - i]

    @cuda.jit
    def calls(x, y, z):
        i = cuda.grid(1)
        z[i] = shifted(x, y, i) + shifted(y, z, i)

    hosts, arrays = in_turn(3)
    calls[1, N](*arrays)
    x, y, z = hosts
    same(arrays[0], x + y)
    same(arrays[1], y + z)


# --- reports ---


def test_kernels_that_print_and_raise(several, capfd):
    @cuda.jit(debug=True, opt=False)
    def picks(x, y, at):
        i = cuda.grid(1)
        if i == 3:
            print("x is", x[i])
        y[i] = x[i + at]

    hosts, (x, y) = in_turn(2, np.int32)
    for one, other, seen in ((x, y, 4), (y, x, 5)):
        picks[1, 8](one, other, 1)
        cuda.synchronize()
        assert capfd.readouterr().out == f"x is {seen}\n"
    same(y[:8], hosts[0][1:9])
    with pytest.raises(IndexError):
        picks[1, 8](x, y, N)
        cuda.synchronize()


# --- what is refused ---


def test_one_of_two_arrays_is_refused_in_two_buffers(several):
    @cuda.jit
    def picked(x, y, out):
        i = cuda.grid(1)
        for n in range(2):
            source = x
            if i % 2 == n:
                source = y
            out[i] = source[i]

    hosts, arrays = in_turn(4)
    for _ in range(2):
        with pytest.raises(TargetError, match=r"may be to '[xy]' and to '[xy]'.*in two") as told:
            picked[1, N](arrays[0], arrays[1], arrays[2])
        assert "if i % 2 == n" in str(told.value) and "first buffer" in str(told.value)
        picked[1, N](arrays[0], arrays[3], arrays[2])
        same(arrays[2], np.where(np.arange(N) % 2, hosts[3], hosts[0]))


def test_an_array_of_the_source(several):
    _, (first, other) = in_turn(2)

    def kernel_of(known):
        @cuda.jit
        def taken(out):
            i = cuda.grid(1)
            out[i] = known[i] + np.float32(1)

        return taken

    kernel_of(first)[1, N](other)
    same(other, np.arange(2, N + 2))
    with pytest.raises(TargetError, match=r"not in the first buffer.*pass it as an argument"):
        kernel_of(other)[1, N](first)


def test_more_buffers_than_a_kernel_binds(device, monkeypatch):
    most = device.engine.facts.bindings - 2
    spread(device, monkeypatch, most + 1, 1 << 20)
    params = ", ".join(f"%a{n}: ptr<i32, global>" for n in range(most + 1))
    stores = "".join(f"%v{n}: i32 = const {n} store %a{n}, %v{n}\n" for n in range(most + 1))
    kernel = Kernel(ModuleSource(parse_module(f"kernel @k({params}) {{\n{stores}}}")))
    plan = kernel.plan((1, 1, 1), device=device)
    arrays = [to_device(device, np.zeros(1, np.uint32)) for _ in range(most + 1)]
    told = rf"OUT_OF_RESOURCES.*in {most + 1} buffers.* has {most}"
    with pytest.raises(DeviceError, match=told):
        kernel.fitting(plan, (1, 1, 1), plan.pack(*arrays))
    fewer = plan.pack(*arrays[:most], arrays[0])
    kernel.fitting(plan, (1, 1, 1), fewer).launch((1, 1, 1), fewer)
    assert [int(words(device, array)[0]) for array in arrays] == [most, *range(1, most), 0]


# --- arrays ---


def test_arrays_in_further_buffers(several):
    hosts, arrays = in_turn(3)
    x, y, z = arrays
    y[3:10] = x[20:27]
    hosts[1][3:10] = hosts[0][20:27]
    z[::4] = y[::4]
    hosts[2][::4] = hosts[1][::4]
    y[5] = 9.0
    hosts[1][5] = 9
    for array, host in zip(arrays, hosts):
        same(array, host)
        same(array[7:30:3], host[7:30:3])
        assert array[11] == host[11]
        same(cuda.as_cuda_array(array)[2:], host[2:])
        same(array.reshape(8, 8).T, host.reshape(8, 8).T)
        copy = cuda.device_array_like(array)
        copy.copy_to_device(array)
        same(copy, host)
    part = cuda.to_device(np.zeros(N, np.float32))
    cuda.jit(axpy)[1, N](float32(1), y[::2], part[32:])
    expected = np.zeros(N, np.float32)
    expected[32:] = hosts[1][::2]
    same(part, expected)


def test_arrays_of_dlpack(several):
    _, (_, y) = in_turn(2)
    again = cuda.from_dlpack(y)
    assert buffers_of(again) == [1]
    cuda.jit(axpy)[1, N](np.float32(1), again, y)
    same(y, np.arange(1, N + 1) * 20)


def test_a_reopened_device_begins_with_one_buffer(several):
    kernel, (hosts, arrays) = cuda.jit(axpy), in_turn(2)
    launch = kernel[1, N]
    for _ in range(2):
        launch(np.float32(0), *arrays)
    assert several.several_buffers
    several.context.fault = DeviceError("CUDA_ERROR_LAUNCH_FAILURE", 719, "gone")
    arrays.clear()
    several.reset()
    assert not several.several_buffers and several.memory_info()[1] == several.engine.facts.largest
    hosts, (x, y) = in_turn(2)
    assert buffers_of(x, y) == [0, 0]
    launch(np.float32(1), x, y)
    same(y, hosts[0] + hosts[1])


def test_the_trace_tells_the_buffers(several, monkeypatch, capfd):
    kernel, (_, (x, y)) = cuda.jit(axpy), in_turn(2)
    monkeypatch.setattr(trace, "enabled", lambda: True)
    kernel[1, N](np.float32(1), x, y)
    kernel[1, N](np.float32(1), x, x)
    first, second = [line for line in capfd.readouterr().err.splitlines() if " launch " in line]
    assert "buffers=(0, 1)" in first and "buffers" not in second
