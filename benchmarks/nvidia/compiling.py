"""From a kernel of five lines to its first result, in a new process, after import and context."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from statistics import median
from typing import Any

OURS = """
import json, time
import numpy as np
from gridlane import cuda
@cuda.jit
def add(a, b, c, n):
    i = cuda.grid(1)
    if i < n:
        c[i] = a[i] + b[i]
x = cuda.to_device(np.ones(1024, np.float32)); y = cuda.device_array(1024, np.float32)
cuda.synchronize()
start = time.perf_counter()
add[4, 256](x, x, y, 1024)
cuda.synchronize()
took = (time.perf_counter() - start) * 1e3
assert (y.copy_to_host() == 2).all()
print(json.dumps(took))
"""

NVRTC = """
import json, time, os
import cupy, numpy as np
x = cupy.ones(1024, cupy.float32); y = cupy.zeros(1024, cupy.float32)
cupy.cuda.Device().synchronize()
start = time.perf_counter()
k = cupy.RawKernel(r'''extern "C" __global__ void add(const float*a,const float*b,float*c,int n){
int i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n)c[i]=a[i]+b[i];}''', "add")
k((4,), (256,), (x, x, y, np.int32(1024))); cupy.cuda.Device().synchronize()
print(json.dumps((time.perf_counter() - start) * 1e3))
"""


def run(program: str, **environment: str) -> float:
    """Milliseconds that a program prints."""
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
        file.write(program)
    done = subprocess.run(
        [sys.executable, file.name],
        env={**os.environ, "GRIDLANE_DEVICE": "cuda", **environment},
        capture_output=True,
        text=True,
    )
    os.unlink(file.name)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return json.loads(done.stdout.splitlines()[-1])


def section() -> list[dict[str, Any]]:
    """Medians of five processes each."""
    rows = []

    def note(who: str, times: list[float]) -> None:
        rows.append({"who": who, "ms": median(times)})
        print(f"{who:42} {median(times):8.1f} ms", flush=True)

    note(
        "gridlane, no cache",
        [run(OURS, GRIDLANE_CACHE="0", CUDA_CACHE_DISABLE="1") for _ in range(7)],
    )
    with tempfile.TemporaryDirectory() as folder:
        run(OURS, GRIDLANE_CACHE_DIR=folder)
        cached = [run(OURS, GRIDLANE_CACHE_DIR=folder) for _ in range(7)]
    note("gridlane, from the disk cache", cached)
    note("NVRTC by CuPy, no cache", [_without_cache() for _ in range(3)])
    return rows


def _without_cache() -> float:
    with tempfile.TemporaryDirectory() as folder:
        return run(NVRTC, CUPY_CACHE_DIR=folder, CUDA_CACHE_DISABLE="1")
