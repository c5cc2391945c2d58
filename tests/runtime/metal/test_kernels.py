"""Loading and launching: block shapes, grids, shared memory, limits, the pipeline cache."""

from __future__ import annotations

import struct
from dataclasses import replace

import numpy as np
import pytest
from tests.runtime.arrays import params, to_device, words
from tests.runtime.metal.kernels import ADD_ONE, kernel

from gridlane.core.errors import DeviceError
from gridlane.emulation.metal import bridge
from gridlane.runtime.drivers.metal import recorder


def test_a_launch(device):
    artifact = kernel(*ADD_ONE)
    data = to_device(device, np.arange(1000, dtype=np.uint32))
    bound = device.load(artifact).bind((128, 1, 1))
    bound.launch(params(artifact, data, 990), 8, 1, 1, 0)
    device.synchronize()
    expected = np.arange(1000) + (np.arange(1000) < 990)
    assert (words(device, data) == expected).all()


def test_launches_come_one_after_the_other(device):
    artifact = kernel(*ADD_ONE)
    data = to_device(device, np.zeros(4096, np.uint32))
    bound = device.load(artifact).bind((64, 1, 1))
    for _ in range(300):  # more than a command buffer takes
        bound.launch(params(artifact, data, 4096), 64, 1, 1, 0)
    assert (words(device, data) == 300).all()


def test_each_block_shape_and_axis(device):
    body = """
        uint3 t = thread_index, d = block_shape;
        uint own = t.x + d.x * (t.y + d.y * t.z);
        uint number = block[0] + launch.grid[0] * (block[1] + launch.grid[1] * block[2]);
        at(values, number * d.x * d.y * d.z + own) += 1 + number * 1000 + own;
    """
    artifact = kernel("values: ulong", body)
    loaded = device.load(artifact)
    for block in ((7, 1, 1), (4, 3, 2), (1, 1, 5), (33, 2, 1)):
        threads = int(np.prod(block))
        data = to_device(device, np.zeros(24 * threads, np.uint32))
        loaded.bind(block).launch(params(artifact, data), 2, 3, 4, 0)
        expected = 1 + np.arange(24)[:, None] * 1000 + np.arange(threads)
        assert (words(device, data) == expected.reshape(-1)).all()
    assert device.load(artifact).pipeline is loaded.pipeline


@pytest.mark.parametrize("most", [1000, 5, 3])
def test_grids_beyond_a_dispatch(device, monkeypatch, most):
    monkeypatch.setattr(recorder, "_COUNTED", most)
    body = """
        uint number = block[0] + launch.grid[0] * (block[1] + launch.grid[1] * block[2]);
        at(values, number) += 1 + number + launch.grid[0] * 7 + launch.grid[1] * 77;
        at(values, number) += launch.grid[2] * 777;
    """
    artifact = kernel("values: ulong", body)
    data = to_device(device, np.zeros(11 * 5 * 4, np.uint32))
    device.load(artifact).bind((1, 1, 1)).launch(params(artifact, data), 11, 5, 4, 0)
    expected = 1 + np.arange(220) + 11 * 7 + 5 * 77 + 4 * 777
    assert (words(device, data) == expected).all()


def test_a_grid_of_more_than_65535_blocks(device):
    artifact = kernel(*ADD_ONE)
    data = to_device(device, np.zeros(70000, np.uint32))
    device.load(artifact).bind((1, 1, 1)).launch(params(artifact, data, 70000), 70000, 1, 1, 0)
    assert (words(device, data) == 1).all()


def test_coarse_blocks(device):
    artifact = kernel(*ADD_ONE, coarse=4)
    data = to_device(device, np.zeros(64, np.uint32))
    device.load(artifact).bind((8, 1, 1)).launch(params(artifact, data, 64), 8, 1, 1, 0)
    assert (words(device, data) == [1] * 16 + [0] * 48).all()


SHARED = """
    uint t = thread_index.x, n = block_shape.x;
    threadgroup uint* tile = (threadgroup uint*)dynamic_shared;
    tile[t] = at(values, i);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    at(values, i) = tile[n - 1 - t] + launch.dynamic_bytes * 1000;
"""


def test_dynamic_shared_memory(device):
    artifact = kernel("values: ulong", SHARED, uses_dynamic_shared=True)
    bound = device.load(artifact).bind((64, 1, 1))
    for shared in (256, 260, 32768):
        data = to_device(device, np.arange(128, dtype=np.uint32))
        bound.launch(params(artifact, data), 2, 1, 1, shared)
        expected = np.arange(128).reshape(2, 64)[:, ::-1].reshape(-1) + shared * 1000
        assert (words(device, data) == expected).all()


def test_static_shared_memory_counts(device):
    body = "threadgroup uint4 tile[1000];\n    at(values, i) = tile[i].x;"
    bound = device.load(kernel("values: ulong", body, uses_dynamic_shared=True)).bind((1, 1, 1))
    assert bound.kernel.pipeline.static_shared == 16000
    data = device.allocate(64)
    with pytest.raises(DeviceError, match=r"OUT_OF_RESOURCES.*16000 bytes of static and 16769"):
        bound.launch(data.address.to_bytes(8, "little"), 1, 1, 1, 16769)
    bound.launch(data.address.to_bytes(8, "little"), 1, 1, 1, 16768)


def test_a_kernel_with_many_registers(metal, device):
    metal._threads = 384
    artifact = kernel(*ADD_ONE)
    loaded, data = device.load(artifact), to_device(device, np.zeros(384, np.uint32))
    with pytest.raises(DeviceError, match=r"OUT_OF_RESOURCES.*registers allow 384"):
        loaded.bind((385, 1, 1)).launch(params(artifact, data, 1), 1, 1, 1, 0)
    loaded.bind((384, 1, 1)).launch(params(artifact, data, 384), 1, 1, 1, 0)
    assert (words(device, data) == 1).all()


def test_limits(device):
    artifact = kernel(*ADD_ONE, static_shared=1000)
    loaded = device.load(artifact)
    data = device.allocate(4)
    block = params(artifact, data, 1)
    most = device.limits.max_threads
    cases = [
        ((most + 1, 1, 1), (1, 1, 1), 0, "INVALID_VALUE"),
        ((most, 2, 1), (1, 1, 1), 0, f"{2 * most} threads"),
        ((0, 1, 1), (1, 1, 1), 0, "INVALID_VALUE"),
        ((1, 1, 1), (0, 1, 1), 0, "grid"),
        ((1, 1, 1), (1, 65536, 1), 0, "grid"),
        ((1, 1, 1), (1, 1, -1), 0, "grid"),
        ((1, 1, 1), (1, 1, 1), device.limits.max_shared - 999, "OUT_OF_RESOURCES"),
        ((1, 1, 1), (1, 1, 1), -1, "OUT_OF_RESOURCES"),
    ]
    for shape, grid, shared, message in cases:
        with pytest.raises(DeviceError, match=message):
            loaded.bind(shape).launch(block, *grid, shared)
    with pytest.raises(DeviceError, match="bytes of parameters"):
        loaded.bind((1, 1, 1)).launch(block[:-1], 1, 1, 1, 0)


def test_parameters(device):
    artifact = kernel(
        "values: ulong, a: uint, x: float, b: uint, other: ulong",
        "at(values, 0) = a; at(values, 1) = as_type<uint>(x); at(other, 2) = b;",
    )
    data = to_device(device, np.zeros(4, np.uint32))
    block = params(artifact, data, 7, 1.5, 0xFFFFFFFF, data.address + 4)
    device.load(artifact).bind((1, 1, 1)).launch(block, 1, 1, 1, 0)
    bits = struct.unpack("<I", struct.pack("<f", 1.5))[0]
    assert words(device, data).tolist() == [7, bits, 0, 0xFFFFFFFF]


def test_no_parameters(device):
    device.load(kernel("", "")).bind((1, 1, 1)).launch(b"", 1, 1, 1, 0)
    device.synchronize()


@pytest.mark.parametrize("count", [509, 510, 511, 2000])
def test_large_parameter_blocks(device, count):
    """Up to 4096 bytes go with the launch, others through a buffer."""
    many = ", ".join(f"u{n}: ulong" for n in range(count))
    artifact = kernel(f"out_: ulong, {many}, last: uint", f"at(out_, 0) += last + u{count - 1};")
    data = to_device(device, np.zeros(1, np.uint32))
    bound = device.load(artifact).bind((1, 1, 1))
    for _ in range(20):
        bound.launch(params(artifact, data, *range(count), 3), 1, 1, 1, 0)
    assert words(device, data).tolist() == [20 * (count + 2)]


def test_a_dropped_kernel_finishes_first(device):
    artifact = kernel(*ADD_ONE)
    data = to_device(device, np.zeros(4096, np.uint32))
    device.load(artifact).bind((64, 1, 1)).launch(params(artifact, data, 4096), 64, 1, 1, 0)
    assert bridge.living["MTLComputePipelineState"] == 1  # its work is not done
    assert (words(device, data) == 1).all()
    device.synchronize()
    assert bridge.living["MTLComputePipelineState"] == 0


def test_other_targets_are_refused(device):
    artifact = kernel(*ADD_ONE)
    with pytest.raises(DeviceError, match="runs MSL, not ptx"):
        device.load(replace(artifact, format="ptx"))
    with pytest.raises(DeviceError, match="runs MSL"):
        device.load(replace(artifact, target="cuda"))
    with pytest.raises(DeviceError, match="NOT_SUPPORTED"):
        device.load(replace(artifact, cooperative=True))


ADD = "atomic_fetch_add_explicit((device atomic_uint*)values, 1u, memory_order_relaxed);"


def test_several_threads_launch(device):
    import threading

    artifact = kernel("values: ulong", ADD)
    data = to_device(device, np.zeros(1, np.uint32))
    loaded = device.load(artifact)

    def work():
        stream = device.new_stream()
        for _ in range(50):
            stream.launch(loaded.bind((8, 1, 1)), params(artifact, data), 2, 1, 1, 0)
        stream.synchronize()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert words(device, data).tolist() == [4 * 50 * 16]


def test_what_metal_refuses(device):
    artifact = kernel("values: ulong", "at(values, i) = nothing;")
    with pytest.raises(DeviceError, match=r"INVALID_IMAGE.*k_main.*(?s:.*)nothing"):
        device.load(artifact)
    good = kernel(*ADD_ONE)
    with pytest.raises(DeviceError, match="no kernel other"):
        device.load(replace(good, entry="other"))


def test_warps_of_another_size(device, monkeypatch):
    from gridlane.emulation.metal.resources import MTLComputePipelineState

    monkeypatch.setattr(MTLComputePipelineState, "threadExecutionWidth", lambda self: 64)
    with pytest.raises(DeviceError, match=r"NOT_SUPPORTED.*warps of 64 threads"):
        device.load(kernel(*ADD_ONE))


def test_threads_that_race_show(device):
    """A kernel without its barrier gives other results: threads run in any order."""
    body = SHARED.replace("threadgroup_barrier(mem_flags::mem_threadgroup);", "")
    artifact = kernel("values: ulong", body, uses_dynamic_shared=True)
    bound = device.load(artifact).bind((64, 1, 1))
    data = to_device(device, np.arange(64, dtype=np.uint32))
    bound.launch(params(artifact, data), 1, 1, 1, 256)
    assert (words(device, data) != np.arange(64)[::-1] + 256000).any()
