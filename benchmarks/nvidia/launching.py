"""What a launch costs the host, and a launch with a synchronisation, for us and for others."""

from __future__ import annotations

import ctypes
import glob
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from statistics import median

import numpy as np

from gridlane import cuda
from gridlane.cli.gpu_bench.kernels import add
from gridlane.cli.gpu_bench.launching import Pair, pair
from gridlane.cli.gpu_bench.timing import host_us, round_trip_us

SOURCE = r"""
extern "C" __global__ void add(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}"""

LOOP = r"""
#include <time.h>
typedef int (*Launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                      void *, void **, void **);
typedef int (*Sync)(void *);
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}
double launches(Launch launch, void *f, void **args, int n) {
    double start = now();
    for (int i = 0; i < n; i++) launch(f, 4, 1, 1, 256, 1, 1, 0, 0, args, 0);
    return (now() - start) / n;
}
double round_trips(Launch launch, Sync sync, void *f, void **args, int n) {
    double start = now();
    for (int i = 0; i < n; i++) { launch(f, 4, 1, 1, 256, 1, 1, 0, 0, args, 0); sync(0); }
    return (now() - start) / n;
}
"""


def cupy_raw() -> Pair:
    """CuPy's RawKernel."""
    import cupy

    kernel, n = cupy.RawKernel(SOURCE, "add"), np.int32(1024)
    x = cupy.zeros(1024, cupy.float32)
    stream = cupy.cuda.get_current_stream()
    return lambda: kernel((4,), (256,), (x, x, x, n)), stream.synchronize


def torch_add() -> Pair:
    """torch.add into an existing tensor."""
    import torch

    a, b, c = (torch.zeros(1024, device="cuda") for _ in range(3))
    return lambda: torch.add(a, b, out=c), torch.cuda.synchronize


def cuda_core() -> Pair:
    """cuda.core's launch."""
    from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

    device = Device()
    device.set_current()
    stream = device.create_stream()
    kernel = Program(SOURCE, "c++", ProgramOptions(arch="sm_90")).compile("cubin").get_kernel("add")
    config = LaunchConfig(grid=4, block=256)
    address, n = cuda.device_array(1024, np.float32), np.int32(1024)
    p = address.address
    keep = address
    return lambda: launch(stream, config, kernel, p, p, p, n) or keep, stream.sync


def triton_kernel() -> Pair:
    """Triton's launch."""
    import torch
    from benchmarks.nvidia.triton_add import add as kernel

    a = torch.zeros(1024, device="cuda")
    return lambda: kernel[(4,)](a, a, a, 1024, 256), torch.cuda.synchronize


def numba_cuda() -> Pair:
    """numba-cuda's launch, with its device arrays."""
    for old, new in (("row_stack", "vstack"), ("in1d", "isin"), ("trapz", "trapezoid")):
        if not hasattr(np, old):  # numba-cuda against numpy 2.5
            setattr(np, old, getattr(np, new))
    from numba import cuda as theirs

    kernel = theirs.jit(add.py_func)
    # The function's global `cuda` is ours; numba's needs its own.
    scope = {"cuda": theirs}
    exec(
        "def add(a, b, c, n):\n    i = cuda.grid(1)\n    if i < n:\n        c[i] = a[i] + b[i]",
        scope,
    )
    kernel = theirs.jit(scope["add"])
    x = theirs.device_array(1024, np.float32)
    configured = kernel[4, 256]
    return lambda: configured(x, x, x, 1024), theirs.synchronize


PEERS: dict[str, Callable[[], Pair]] = {
    "gridlane": pair,
    "cuda.core": cuda_core,
    "torch.add(out=)": torch_add,
    "CuPy RawKernel": cupy_raw,
    "Triton": triton_kernel,
    "numba-cuda": numba_cuda,
}


def floor() -> tuple[float, float]:
    """A C loop of cuLaunchKernel, and of that with cuStreamSynchronize."""
    import cupy

    folder = tempfile.mkdtemp()
    source, library = os.path.join(folder, "loop.c"), os.path.join(folder, "loop.so")
    with open(source, "w") as file:
        file.write(LOOP)
    subprocess.check_call(["gcc", "-O2", "-shared", "-fPIC", source, "-o", library])
    driver, loop = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL(library)
    loop.launches.restype = loop.round_trips.restype = ctypes.c_double
    kernel, x = cupy.RawKernel(SOURCE, "add"), cupy.zeros(1024, cupy.float32)
    kernel((4,), (256,), (x, x, x, np.int32(1024)))
    pointer, n = ctypes.c_uint64(x.data.ptr), ctypes.c_int(1024)
    places = [ctypes.cast(ctypes.pointer(v), ctypes.c_void_p) for v in (pointer,) * 3 + (n,)]
    args = (ctypes.c_void_p * 4)(*places)
    function = ctypes.c_void_p(kernel.kernel.ptr)
    one, both = [], []
    for _ in range(9):
        cuda.synchronize()
        one.append(loop.launches(driver.cuLaunchKernel, function, args, 500))
        cuda.synchronize()
        both.append(
            loop.round_trips(driver.cuLaunchKernel, driver.cuStreamSynchronize, function, args, 300)
        )
    return median(one), median(both)


def section() -> list[dict[str, object]]:
    """All of them; each prints its line."""
    rows: list[dict[str, object]] = []
    for name, launch, trip in _measured():
        rows.append({"who": name, "launch_us": launch, "round_trip_us": trip})
        if isinstance(launch, str):
            print(f"{name:18} {launch}", flush=True)
        else:
            print(f"{name:18} launch {launch:7.3f} us   and wait {trip:7.3f} us", flush=True)
    return rows


def _measured() -> Iterator[tuple[str, object, object]]:
    calls = {}
    for name, make in PEERS.items():
        try:
            call, wait = make()
            for _ in range(100):
                call()
            wait()
        except Exception as error:  # a peer that is missing or broken is a line, not the end
            yield name, f"not measured: {error!r}"[:150], ""
            continue
        calls[name] = call, wait
    yield "C loop, the floor", *floor()
    for name, (call, wait) in calls.items():
        yield name, host_us(call, wait), round_trip_us(call, wait)
    yield "C loop, again", *floor()


def libraries() -> list[str]:
    """Where the driver's library may be, for messages."""
    return glob.glob("/usr/lib/*/libcuda.so.1")
