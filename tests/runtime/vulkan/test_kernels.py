"""Loading and launching: block shapes, grids, shared memory, limits, the pipeline cache."""

from __future__ import annotations

import struct
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from tests.runtime.arrays import params, to_device, words
from tests.runtime.vulkan.shaders import ADD_ONE, kernel

from gridlane.compiler.pipeline import features_of
from gridlane.core.errors import DeviceError
from gridlane.runtime.drivers.vulkan import features


@pytest.mark.parametrize("target", ["vulkan1.1", "vulkan1.3"])
def test_a_launch(device, target):
    artifact = kernel(*ADD_ONE, target=target)
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
        uvec3 t = gl_LocalInvocationID, d = gl_WorkGroupSize;
        uint thread = t.x + d.x * (t.y + d.y * t.z);
        uint b = block.x + grid_x * (block.y + grid_y * block.z);
        at(values, b * d.x * d.y * d.z + thread) += 1 + b * 1000 + thread;
    """
    artifact = kernel("values: uint64_t", body)
    loaded = device.load(artifact)
    for block in ((7, 1, 1), (4, 3, 2), (1, 1, 5), (33, 2, 1)):
        threads = int(np.prod(block))
        data = to_device(device, np.zeros(24 * threads, np.uint32))
        loaded.bind(block).launch(params(artifact, data), 2, 3, 4, 0)
        expected = 1 + np.arange(24)[:, None] * 1000 + np.arange(threads)
        assert (words(device, data) == expected.reshape(-1)).all()
    assert len(loaded.pipelines) == 4
    loaded.bind((7, 1, 1)).launch(params(artifact, data), 1, 1, 1, 0)
    assert len(loaded.pipelines) == 4


@pytest.mark.parametrize("most", [(65535, 65535, 65535), (5, 3, 2), (1, 65535, 1)])
def test_grids_beyond_a_dispatch(device, most):
    device.recorder._most, device.recorder._whole = most, min(most)
    body = """
        uint b = block.x + grid_x * (block.y + grid_y * block.z);
        at(values, b) += 1 + b + grid_x * 7 + grid_y * 77 + grid_z * 777;
    """
    artifact = kernel("values: uint64_t", body)
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
    uint t = gl_LocalInvocationID.x, n = gl_WorkGroupSize.x;
    tile[t] = at(values, i); barrier();
    at(values, i) = tile[n - 1 - t] + DYNAMIC_BYTES * 1000;
"""
TILE = "shared uint tile[DYNAMIC_BYTES / 4];"


def test_dynamic_shared_memory(device):
    artifact = kernel("values: uint64_t", SHARED, TILE, uses_dynamic_shared=True)
    bound = device.load(artifact).bind((64, 1, 1))
    for shared in (256, 261, 32768):
        data = to_device(device, np.arange(128, dtype=np.uint32))
        bound.launch(params(artifact, data), 2, 1, 1, shared)
        expected = np.arange(128).reshape(2, 64)[:, ::-1].reshape(-1) + shared * 1000
        assert (words(device, data) == expected).all()
    assert len(bound.kernel.pipelines) == 3


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


def test_code_for_one_block_shape(device):
    artifact = kernel(*ADD_ONE, fixed=(32, 1, 1))
    data = to_device(device, np.zeros(64, np.uint32))
    loaded = device.load(artifact)
    loaded.bind((32, 1, 1)).launch(params(artifact, data, 64), 2, 1, 1, 0)
    assert (words(device, data) == 1).all()
    with pytest.raises(DeviceError, match=r"blocks of \(32, 1, 1\)"):
        loaded.bind((64, 1, 1)).launch(params(artifact, data, 64), 1, 1, 1, 0)
    stated = device.load(kernel(*ADD_ONE, block=(16, 1, 1)))
    with pytest.raises(DeviceError, match=r"compiled for blocks of \(16, 1, 1\)"):
        stated.bind((32, 1, 1))


def test_parameters(device):
    artifact = kernel(
        "values: uint64_t, a: uint32_t, x: float, b: uint32_t, other: uint64_t",
        "at(values, 0) = a; at(values, 1) = floatBitsToUint(x); at(other, 2) = b;",
    )
    data = to_device(device, np.zeros(4, np.uint32))
    block = params(artifact, data, 7, 1.5, 0xFFFFFFFF, data.address + 4)
    device.load(artifact).bind((1, 1, 1)).launch(block, 1, 1, 1, 0)
    bits = struct.unpack("<I", struct.pack("<f", 1.5))[0]
    assert words(device, data).tolist() == [7, bits, 0, 0xFFFFFFFF]


def test_no_parameters(device):
    device.load(kernel("", "")).bind((1, 1, 1)).launch(b"", 1, 1, 1, 0)
    device.synchronize()


def test_parameter_blocks_fill_the_arena(device):
    body = "at(out_, 0) += last;"
    many = ", ".join(f"u{n}: uint64_t" for n in range(500))
    artifact = kernel(f"out_: uint64_t, {many}, last: uint32_t", body)
    data = to_device(device, np.zeros(1, np.uint32))
    bound = device.load(artifact).bind((1, 1, 1))
    for _ in range(70):  # 280 kB
        bound.launch(params(artifact, data, *range(500), 3), 1, 1, 1, 0)
    assert words(device, data).tolist() == [210]
    huge = bytes(140000)
    with pytest.raises(DeviceError, match="140000 bytes of parameters; the most is 131072"):
        bound.launch(huge, 1, 1, 1, 0)
    bound.launch(params(artifact, data, *range(500), 1), 1, 1, 1, 0)
    assert words(device, data).tolist() == [211]


def test_warps_are_subgroups_only_where_that_is_known(device):
    artifact = kernel("values: uint64_t", "at(values, 0) = WARPS;")
    data = device.allocate(4)
    loaded = device.load(artifact)
    there = "subgroup32" in device.adapter.found.names
    for width in (32, 33):
        loaded.bind((width, 1, 1)).launch(params(artifact, data), 1, 1, 1, 0)
        assert words(device, data)[0] == (there and width == 32)


def test_matrices_need_rows_of_warps(device):
    loaded = device.load(kernel(*ADD_ONE))
    loaded.facts = replace(loaded.facts, capabilities=(*loaded.facts.capabilities, 6022))
    with pytest.raises(DeviceError, match=r"\(16, 2, 1\): its matrices need rows of"):
        loaded.pipeline((16, 2, 1), 0)


def test_a_dropped_kernel_finishes_first(device, living):
    artifact = kernel(*ADD_ONE)
    data = to_device(device, np.zeros(4096, np.uint32))
    device.load(artifact).bind((64, 1, 1)).launch(params(artifact, data, 4096), 64, 1, 1, 0)
    assert living["Pipeline"] == 1  # its work is not done
    assert (words(device, data) == 1).all()
    device.synchronize()
    assert living["Pipeline"] == living["ShaderModule"] == 0


def test_other_targets_are_refused(device):
    from dataclasses import replace

    artifact = kernel(*ADD_ONE)
    with pytest.raises(DeviceError, match="runs SPIR-V, not ptx"):
        device.load(replace(artifact, format="ptx"))
    with pytest.raises(DeviceError, match="runs SPIR-V"):
        device.load(replace(artifact, target="cuda"))
    with pytest.raises(DeviceError, match="NOT_SUPPORTED"):
        device.load(replace(artifact, cooperative=True))


def test_what_the_compiler_may_use(device):
    target = device.target((1, 1, 1))
    assert target.name == "vulkan" and target.block is None
    assert {"int64", "float64", "int8"} <= target.features
    assert features_of(target)  # words that the compiler knows


def test_several_threads_launch(device):
    import threading

    artifact = kernel("values: uint64_t", "atomicAdd(at(values, 0), 1);")
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


@pytest.mark.parametrize(
    "driver, smallest, largest, stages, size_control, warps",
    [
        (4, 32, 32, 0, True, True),
        (3, 32, 64, 0x20, True, True),
        (3, 32, 64, 0, True, False),
        (3, 64, 64, 0x20, True, False),
        (5, 32, 32, 0x20, True, False),
        (4, 32, 32, 0, False, False),
    ],
)
def test_which_devices_have_warps(driver, smallest, largest, stages, size_control, warps):
    v13 = SimpleNamespace(
        minSubgroupSize=smallest, maxSubgroupSize=largest, requiredSubgroupSizeStages=stages
    )
    names = {"subgroup_size"} if size_control else set()
    assert features._has_warps(driver, v13, names) == warps
