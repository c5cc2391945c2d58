"""Loading and launching: block shapes, grids, shared memory, limits, texts that are wrong."""

from __future__ import annotations

import struct
import threading
from dataclasses import replace

import numpy as np
import pytest
from tests.runtime.arrays import params, to_device, words
from tests.runtime.single_buffer.texts import ADD_ONE, kernel

from gridlane.core.errors import DeviceError
from gridlane.runtime.drivers.single_buffer.recorder import WordRecorder


def test_a_launch(device):
    artifact = kernel(device, *ADD_ONE, block=(128, 1, 1))
    data = to_device(device, np.arange(1024, dtype=np.uint32))
    device.load(artifact).bind((128, 1, 1)).launch(params(artifact, data, 990), 8, 1, 1, 0)
    device.synchronize()
    expected = np.arange(1024) + (np.arange(1024) < 990)
    assert (words(device, data) == expected).all()


def test_launches_come_one_after_the_other(device):
    artifact = kernel(device, *ADD_ONE)
    data = to_device(device, np.zeros(4096, np.uint32))
    bound = device.load(artifact).bind((64, 1, 1))
    for _ in range(2 * WordRecorder.longest + 44):
        bound.launch(params(artifact, data, 4096), 64, 1, 1, 0)
    assert (words(device, data) == 2 * WordRecorder.longest + 44).all()


def test_a_launch_sees_what_the_one_before_wrote_elsewhere(device):
    body = "heap[to + i] = heap[source + 63u - thread.x + 64u * block.x] + 1u;"
    artifact = kernel(device, "to: ptr, source: ptr", body)
    one, two = (to_device(device, np.arange(640, dtype=np.uint32)) for _ in range(2))
    bound = device.load(artifact).bind((64, 1, 1))
    for n in range(20):
        pair = (two, one) if n % 2 == 0 else (one, two)
        bound.launch(params(artifact, *pair), 10, 1, 1, 0)
    assert (words(device, one) == np.arange(640) + 20).all()


@pytest.mark.parametrize("block", [(7, 1, 1), (4, 3, 2), (1, 1, 5), (33, 2, 1), (1024, 1, 1)])
def test_each_block_shape_and_axis(device, block):
    body = """
        VAR in_block = thread.x + WIDTHu * (thread.y + HEIGHTu * thread.z);
        VAR b = block.x + launch[3] * (block.y + launch[4] * block.z);
        VAR at = values + b * THREADSu + in_block;
        heap[at] = heap[at] + 1u + b * 2000u + in_block;
    """
    threads = int(np.prod(block))
    for name, size in (("WIDTH", block[0]), ("HEIGHT", block[1]), ("THREADS", threads)):
        body = body.replace(name, str(size))
    artifact = kernel(device, "values: ptr", body, block)
    data = to_device(device, np.zeros(24 * threads, np.uint32))
    device.load(artifact).bind(block).launch(params(artifact, data), 2, 3, 4, 0)
    expected = 1 + np.arange(24)[:, None] * 2000 + np.arange(threads)
    assert (words(device, data) == expected.reshape(-1)).all()


GRID = """
    VAR b = block.x + launch[3] * (block.y + launch[4] * block.z);
    VAR told = launch[3] * 7u + launch[4] * 77u + launch[5] * 777u;
    heap[values + b] = heap[values + b] + 1u + b + told;
"""


@pytest.mark.parametrize("most", [(65535, 65535, 65535), (5, 3, 2), (1, 65535, 1)])
def test_grids_beyond_a_dispatch(device, most):
    device.recorder._most = most
    artifact = kernel(device, "values: ptr", GRID, (1, 1, 1))
    data = to_device(device, np.zeros(11 * 5 * 4, np.uint32))
    device.load(artifact).bind((1, 1, 1)).launch(params(artifact, data), 11, 5, 4, 0)
    expected = 1 + np.arange(220) + 11 * 7 + 5 * 77 + 4 * 777
    assert (words(device, data) == expected).all()


def test_a_grid_of_more_than_65535_blocks(device):
    artifact = kernel(device, *ADD_ONE, block=(1, 1, 1))
    data = to_device(device, np.zeros(70000, np.uint32))
    device.load(artifact).bind((1, 1, 1)).launch(params(artifact, data, 70000), 70000, 1, 1, 0)
    assert (words(device, data) == 1).all()


REVERSED = """
    tile[1u + thread.x] = heap[values + i];
    BARRIER;
    heap[values + i] = tile[64u - thread.x] + launch[7] * 1000u;
"""


def test_dynamic_shared_memory(device):
    artifact = kernel(device, "values: ptr", REVERSED, uses_dynamic_shared=True, static_shared=16)
    bound = device.load(artifact).bind((64, 1, 1))
    for shared in (256, 260, device.limits.max_shared - 16):
        data = to_device(device, np.arange(128, dtype=np.uint32))
        bound.launch(params(artifact, data), 2, 1, 1, shared)
        expected = np.arange(128).reshape(2, 64)[:, ::-1].reshape(-1) + shared * 1000
        assert (words(device, data) == expected).all()
    assert len(bound.kernel._programs) == 3


def test_static_shared_memory(device):
    artifact = kernel(device, "values: ptr", REVERSED, words=64)
    data = to_device(device, np.arange(64, dtype=np.uint32))
    device.load(artifact).bind((64, 1, 1)).launch(params(artifact, data), 1, 1, 1, 0)
    assert (words(device, data) == np.arange(64)[::-1]).all()


def test_limits(device):
    most = device.limits.max_threads
    for shape, message in (
        ((most + 1, 1, 1), "INVALID_VALUE"),
        ((most, 2, 1), f"{2 * most} threads"),
        ((0, 1, 1), "INVALID_VALUE"),
    ):
        with pytest.raises(DeviceError, match=message):
            device.load(kernel(device, *ADD_ONE, block=shape))
    artifact = kernel(device, *ADD_ONE, block=(1, 1, 1), static_shared=1000)
    bound = device.load(artifact).bind((1, 1, 1))
    data = device.allocate(4)
    block = params(artifact, data, 1)
    for grid, shared, message in (
        ((0, 1, 1), 0, "grid"),
        ((1, 65536, 1), 0, "grid"),
        ((1, 1, -1), 0, "grid"),
        ((1, 1, 1), device.limits.max_shared - 999, "OUT_OF_RESOURCES"),
        ((1, 1, 1), -1, "OUT_OF_RESOURCES"),
    ):
        with pytest.raises(DeviceError, match=message):
            bound.launch(block, *grid, shared)
    with pytest.raises(DeviceError, match="bytes of parameters"):
        bound.launch(block[:-1], 1, 1, 1, 0)
    with pytest.raises(DeviceError, match=r"compiled for blocks of \(1, 1, 1\)"):
        bound.kernel.bind((2, 1, 1))
    with pytest.raises(DeviceError, match="OUT_OF_RESOURCES"):
        device.load(replace(artifact, static_shared=device.limits.max_shared + 1))


def test_a_text_that_is_wrong(device):
    artifact = kernel(device, "values: ptr", "heap[values] = 1u;\nheap[values] = nowhere + 1u;")
    lines = artifact.code.decode().splitlines()
    number = next(n for n, line in enumerate(lines, 1) if "nowhere" in line)
    told = rf"INVALID_IMAGE \(200\).*nowhere.*line {number} of .*: heap\[values\] = nowhere"
    with pytest.raises(DeviceError, match=told):
        device.load(artifact)
    data = to_device(device, np.zeros(1, np.uint32))
    good = kernel(device, *ADD_ONE)
    device.load(good).bind((64, 1, 1)).launch(params(good, data, 1), 1, 1, 1, 0)
    assert words(device, data).tolist() == [1]


def test_parameters(device):
    artifact = kernel(
        device,
        "values: ptr, a: u32, x: f32, b: u32, other: ptr",
        "heap[values] = a; heap[values + 1u] = x; heap[other + 2u] = b;",
        (1, 1, 1),
    )
    data = to_device(device, np.zeros(4, np.uint32))
    block = params(artifact, data, 7, 1.5, 0xFFFFFFFF, data.address + 4)
    device.load(artifact).bind((1, 1, 1)).launch(block, 1, 1, 1, 0)
    bits = struct.unpack("<I", struct.pack("<f", 1.5))[0]
    assert words(device, data).tolist() == [7, bits, 0, 0xFFFFFFFF]


def test_no_parameters(device):
    device.load(kernel(device, "", "", (1, 1, 1))).bind((1, 1, 1)).launch(b"", 1, 1, 1, 0)
    device.synchronize()


def test_parameter_blocks_fill_the_arena(device):
    many = ", ".join(f"u{n}: ptr" for n in range(500))
    body = "heap[sum] = heap[sum] + last;"
    artifact = kernel(device, f"sum: ptr, {many}, last: u32", body, (1, 1, 1))
    data = to_device(device, np.zeros(1, np.uint32))
    bound = device.load(artifact).bind((1, 1, 1))
    for _ in range(70):  # 280 kB
        bound.launch(params(artifact, data, *range(500), 3), 1, 1, 1, 0)
    assert words(device, data).tolist() == [210]
    with pytest.raises(DeviceError, match="140000 bytes of parameters; the most is 13"):
        bound.launch(bytes(140000), 1, 1, 1, 0)
    bound.launch(params(artifact, data, *range(500), 1), 1, 1, 1, 0)
    assert words(device, data).tolist() == [211]


def test_a_dropped_kernel_finishes_first(device):
    artifact = kernel(device, *ADD_ONE)
    data = to_device(device, np.zeros(4096, np.uint32))
    device.load(artifact).bind((64, 1, 1)).launch(params(artifact, data, 4096), 64, 1, 1, 0)
    assert (words(device, data) == 1).all()


def test_memory_that_a_launch_uses_may_be_dropped(device):
    artifact = kernel(device, *ADD_ONE)
    bound = device.load(artifact).bind((64, 1, 1))
    gone = device.allocate(4096)
    bound.launch(params(artifact, gone, 1024), 16, 1, 1, 0)
    address = gone.address
    del gone
    again = to_device(device, np.zeros(1024, np.uint32))
    assert again.address == address and not words(device, again).any()


def test_other_targets_are_refused(device):
    artifact = kernel(device, *ADD_ONE)
    language = device.engine.format.upper()
    with pytest.raises(DeviceError, match=f"runs {language}, not ptx"):
        device.load(replace(artifact, format="ptx"))
    with pytest.raises(DeviceError, match=f"runs {language}"):
        device.load(replace(artifact, target="cuda"))
    with pytest.raises(DeviceError, match="NOT_SUPPORTED"):
        device.load(replace(artifact, cooperative=True))
    with pytest.raises(DeviceError, match="block shape"):
        device.load(replace(artifact, block=None))


def test_what_code_is_made_for(device, request):
    target = device.target((8, 4, 1))
    assert (target.name, target.block) == (device.name, (8, 4, 1))
    features = target.features
    assert ("es" in features) == ("opengl es" in request.node.name)
    assert ("short_loops" in features) == ("llvmpipe" in device.describe()["name"])


def test_several_threads_launch(device):
    artifact = kernel(device, *ADD_ONE)
    loaded = device.load(artifact)
    buffers = [to_device(device, np.zeros(64, np.uint32)) for _ in range(4)]
    wrong = []

    def work(n):
        try:
            stream = device.new_stream()
            for _ in range(50):
                stream.launch(loaded.bind((64, 1, 1)), params(artifact, buffers[n], 64), 1, 1, 1, 0)
                kept = device.allocate(1000 * (n + 1))
                device.fill(kept.address, n, kept.size)
                assert (words(device, kept, np.uint8) == n).all()
            stream.synchronize()
            mine = kernel(device, "values: ptr", f"heap[values + i] = heap[values + i] + {n}u;")
            device.load(mine).bind((64, 1, 1)).launch(params(mine, buffers[n]), 1, 1, 1, 0)
            device.synchronize()
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    for n, buffer in enumerate(buffers):
        assert (words(device, buffer) == 50 + n).all()


def test_an_index_far_outside(device):
    """It may hit another array, as it may on a GPU, but neither the process nor the device."""
    artifact = kernel(device, "values: ptr, at: u32", "heap[values + at + i] = 5u;")
    data = to_device(device, np.zeros(64, np.uint32))
    bound = device.load(artifact).bind((64, 1, 1))
    for at in (1 << 20, 1 << 28, (1 << 30) - 100, 0xFFFFFF00):
        bound.launch(params(artifact, data, at), 4, 1, 1, 0)
        device.synchronize()
    bound.launch(params(artifact, data, 0), 1, 1, 1, 0)
    assert (words(device, data) == 5).all()
