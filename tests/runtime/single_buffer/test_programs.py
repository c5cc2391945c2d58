"""What users import, on these devices, in processes of their own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests import programs
from tests.runtime.single_buffer.helpers import opener

PROGRAM = """
import numpy as np
from gridlane import cuda

@cuda.jit
def scale(x, y, other):
    tile = cuda.shared.array(64, np.float32)
    i = cuda.grid(1)
    tile[cuda.threadIdx.x] = x[i]
    cuda.syncthreads()
    y[i] += tile[other[cuda.threadIdx.x]] * np.float32(2)

@cuda.jit
def count(total):
    cuda.atomic.add(total, 0, np.int32(1))

host = np.arange(1024, dtype=np.float32).reshape(16, 64)
array, out = cuda.to_device(host.ravel()), cuda.to_device(np.zeros(1024, np.float32))
other = cuda.to_device(np.arange(63, -1, -1, dtype=np.uint32))
for _ in range(3):
    scale[16, 64](array, out, other)
assert (out.copy_to_host().reshape(16, 64) == 6 * host[:, ::-1]).all()
total = np.zeros(1, np.int32)
count[100, 64](total)
assert total[0] == 6400

array = cuda.to_device(host)
array[3] = 7.0
expected = host.copy()
expected[3] = 7
assert (array.copy_to_host() == expected).all()
copy = cuda.device_array_like(array)
copy.copy_to_device(array)
assert (copy.copy_to_host() == expected).all() and copy[3, 5] == 7
small = cuda.to_device(np.arange(7, dtype=np.int8))
assert (small[1:6:2].copy_to_host() == [1, 3, 5]).all()

stream = cuda.stream()
with cuda.pinned(host):
    sent = cuda.to_device(host, stream=stream)
    got = cuda.pinned_array(host.shape, host.dtype)
    sent.copy_to_host(got, stream=stream)
    stream.synchronize()
assert (got == host).all()
start, end = cuda.event(), cuda.event()
start.record(stream)
scale[16, 64, stream](array.ravel(), out, other)
end.record(stream)
end.synchronize()
assert start.elapsed_time(end) >= 0
seen = []
stream.add_callback(lambda stream, status, arg: seen.append(arg), 5)
stream.synchronize()
assert seen == [5]
free, total = cuda.current_context().get_memory_info()
assert 0 < free <= total
cuda.close()
assert (cuda.to_device(host).copy_to_host() == host).all()
print(cuda.get_current_device().name.decode())
"""


def ran(source: str, device: str) -> subprocess.CompletedProcess[str]:
    opener(device)
    environment = {**os.environ, "GRIDLANE_DEVICE": device}
    return programs.run(["-c", source], Path.cwd(), environment)


@pytest.mark.parametrize("device", ["webgpu", "opengl"])
def test_a_program(device):
    done = ran(PROGRAM, device)
    assert done.returncode == 0 and done.stdout.strip(), done.stderr


ENDING = """
from gridlane.launch.devices import get_device
device = get_device({device!r})
kept = [device.allocate(1000), device.new_stream(), device.new_event()]
kept[1].submit(lambda: print("called"))
kept[1].fill(kept[0].address, 0, 1000)
kept[2].record(kept[1])
"""


@pytest.mark.parametrize("device", ["webgpu", "opengl"])
def test_the_end_of_a_process(device):
    """Whatever is alive then: work, host functions, events."""
    done = ran(ENDING.format(device=device), device)
    assert (done.returncode, done.stdout) == (0, "called\n")
    assert "Traceback" not in done.stderr and "panicked" not in done.stderr


@pytest.mark.parametrize("device", ["webgpu", "opengl"])
def test_a_device_that_is_not_there(device):
    source = f"from gridlane.launch.devices import get_device; get_device('{device}:77')"
    done = ran(source, device)
    assert "INVALID_DEVICE" in done.stderr and "device 77 of" in done.stderr


@pytest.mark.parametrize("device, package", [("webgpu", "wgpu"), ("opengl", "moderngl")])
def test_without_its_package(device, package):
    source = f"""
import sys
sys.modules[{package!r}] = None
from gridlane.launch.devices import device_count, get_device
assert device_count({device!r}) == 0
get_device({device!r})
"""
    done = programs.run(["-c", source], Path.cwd(), os.environ)
    assert f"{device.upper()}_NO_DEVICE (100)" in done.stderr and "CUDA" not in done.stderr
    assert f"pip install 'gridlane[{device}]'" in done.stderr
    assert f"pip install -e '.[{device}]'" in done.stderr
