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


def run(program: str, folder: str, **environment: str) -> float:
    """Milliseconds that a program prints. The cache tells kernels by the file that they are in too,
    so each run has it in the same place."""
    path = os.path.join(folder, "program.py")
    with open(path, "w") as file:
        file.write(program)
    done = subprocess.run(
        [sys.executable, path],
        env={**os.environ, "GRIDLANE_DEVICE": "cuda", **environment},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return json.loads(done.stdout.splitlines()[-1])


def section() -> list[dict[str, Any]]:
    """Medians of several processes each."""
    rows = []

    def note(who: str, times: list[float]) -> None:
        rows.append({"who": who, "ms": median(times)})
        print(f"{who:42} {median(times):8.1f} ms", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        none = {"GRIDLANE_CACHE": "0", "CUDA_CACHE_DISABLE": "1"}
        note("gridlane, no cache", [run(OURS, folder, **none) for _ in range(7)])
        kept = {"GRIDLANE_CACHE_DIR": os.path.join(folder, "cache")}
        run(OURS, folder, **kept)
        note("gridlane, from the disk cache", [run(OURS, folder, **kept) for _ in range(7)])
    note("NVRTC by CuPy, no cache", [_without_cache() for _ in range(3)])
    return rows


def _without_cache() -> float:
    with tempfile.TemporaryDirectory() as folder:
        return run(NVRTC, folder, CUPY_CACHE_DIR=folder, CUDA_CACHE_DISABLE="1")
