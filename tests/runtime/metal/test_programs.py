"""What users import, on the stand-in for Metal, in a process of its own."""

from __future__ import annotations

import os
from pathlib import Path

from tests import programs

PROGRAM = '''
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
cuda.close()
assert (cuda.to_device(host).copy_to_host() == host).all()

from gridlane.cuda import texture
code = """
extern "C" __global__ void between(cudaTextureObject_t t, float *x)
{
    x[threadIdx.x] = tex1D<float>(t, threadIdx.x + 1.0f);
}"""
pixels = texture.CUDAarray(texture.ChannelFormatDescriptor(32, 0, 0, 0, 2), 3)
pixels.copy_from(np.array([1, 2, 4], np.float32))
resource = texture.ResourceDescriptor(0, cuArr=pixels)
line = texture.TextureObject(resource, texture.TextureDescriptor(filterMode=1))
out = np.zeros(3, np.float32)
cuda.RawKernel(code, "between")(1, 3, (line, out))
assert list(out) == [1.5, 3, 4]

waits = """
extern "C" __global__ void waits(volatile int *x)
{
    while (x[0] == 0)
        ;
    x[1] = 1;
}"""
try:
    cuda.RawKernel(waits, "waits")(1, 32, (np.zeros(2, np.int32),))
except RuntimeError as error:
    assert "has waited in this loop for 0.001 s" in str(error), error
else:
    raise AssertionError("the wait has ended")
print(cuda.get_current_device().name.decode())
'''


def test_a_program(tmp_path: Path) -> None:
    environment = {**os.environ, "GRIDLANE_DEVICE": "metal", "GRIDLANE_METAL": "emulated"}
    environment["GRIDLANE_SPIN_LIMIT"] = "0.001"
    done = programs.run(["-c", PROGRAM], tmp_path, environment)
    assert done.returncode == 0 and done.stdout.strip(), done.stderr
