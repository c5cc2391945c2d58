"""What users import, on a Vulkan device, in a process of its own."""

from __future__ import annotations

import os
from pathlib import Path

from tests import programs

PROGRAM = """
import numpy as np
from gridlane import cuda

host = np.arange(1000, dtype=np.float32).reshape(10, 100)
array = cuda.to_device(host)
array[3] = 7.0
expected = host.copy()
expected[3] = 7
assert (array.copy_to_host() == expected).all()
copy = cuda.device_array_like(array)
copy.copy_to_device(array)
assert (copy.copy_to_host() == expected).all() and copy[3, 5] == 7

stream = cuda.stream()
with cuda.pinned(host):
    other = cuda.to_device(host, stream=stream)
    out = cuda.pinned_array(host.shape, host.dtype)
    other.copy_to_host(out, stream=stream)
    stream.synchronize()
assert (out == host).all()
cuda.mapped_array(10, np.int32)[:] = 3
cuda.managed_array(10, np.int32)[:] = 3

start, end = cuda.event(), cuda.event()
start.record(stream)
end.record(stream)
end.synchronize()
assert start.elapsed_time(end) >= 0
seen = []
stream.add_callback(lambda stream, status, arg: seen.append(arg), 5)
stream.synchronize()
assert seen == [5]
free, total = cuda.current_context().get_memory_info()
assert 0 < free <= total
with cuda.gpus[0]:
    assert (cuda.to_device(host).copy_to_host() == host).all()
cuda.close()
assert (cuda.to_device(host).copy_to_host() == host).all()
print(cuda.get_current_device().name.decode())
"""


def test_a_program(tmp_path: Path) -> None:
    environment = {**os.environ, "GRIDLANE_DEVICE": "vulkan"}
    done = programs.run(["-c", PROGRAM], tmp_path, environment)
    assert done.returncode == 0 and done.stdout.strip(), done.stderr
