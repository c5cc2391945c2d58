"""Clusters of several blocks in CUDA C++, by each compiler, against numpy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.devices import DEVICES

from gridlane import cuda
from gridlane.core.errors import CompileError, LaunchError
from gridlane.frontends.cuda_cpp import nvcc
from gridlane.launch import current
from gridlane.launch.devices import get_device

FILE = Path(__file__).parent / "programs" / "clusters.cu"
WITH_NVCC = pytest.mark.skipif(nvcc.find_nvcc() is None, reason="nvcc is absent")
COMPILERS = ["clang", pytest.param("nvcc", marks=WITH_NVCC)]
CLUSTERED = ["interp", *(each for each in DEVICES if each in ("cpu", "cuda"))]


@pytest.fixture(scope="module", params=COMPILERS)
def module(request):
    """The program by each compiler."""
    return cuda.RawModule(path=FILE, backend=request.param, options=("-arch=sm_90",))


def launched(module, kernel, grid, threads, arguments, shared=0, cluster=None):
    """Launch a kernel in clusters of a shape."""
    function = module.get_function(kernel)
    function(grid, (threads,), arguments, shared_mem=shared, cluster=cluster)


@pytest.mark.parametrize("device", CLUSTERED)
@pytest.mark.parametrize("size", [1, 2, 8])
def test_a_histogram(module, device, size):
    current.choose(get_device(device))
    values = np.random.default_rng(size).integers(0, 64, 3000).astype(np.int32)
    out = np.zeros(64, np.int32)
    arguments = values, np.int32(len(values)), np.int32(64), out
    launched(module, "histogram", (16,), 96, arguments, 4 * 64, (size, 1, 1))
    np.testing.assert_array_equal(out, np.bincount(values, minlength=64))


@pytest.mark.parametrize("device", CLUSTERED)
def test_sums_of_clusters_that_the_kernel_names(module, device):
    current.choose(get_device(device))
    values = np.random.default_rng(3).integers(0, 100, (3, 4 * 128)).astype(np.float32)
    out = np.zeros(3, np.float32)
    launched(module, "sums", (12,), 128, (values, out))
    np.testing.assert_array_equal(out, values.sum(1))
    with pytest.raises(LaunchError, match=r"its code is for clusters of \(4, 1, 1\)"):
        launched(module, "sums", (12,), 128, (values, out), cluster=(2, 1, 1))


@pytest.mark.parametrize("device", CLUSTERED)
def test_places(module, device):
    current.choose(get_device(device))
    grid, (cx, cy, cz), threads = (4, 6, 2), (2, 3, 1), 32
    out = np.zeros((2, 6, 4, threads, 20), np.int32)
    launched(module, "places", grid, threads, (out,), cluster=(cx, cy, cz))
    z, y, x, t = np.indices(out.shape[:4])
    rank = x % cx + cx * (y % cy)
    wanted = (
        x % cx, y % cy, z % cz, cx, cy, cz, x % cx * threads + t, y % cy, cx * threads, cy,
        x // cx, y // cy, 2, 2, rank, 6, rank * threads + t, 6 * threads, 5, rank,
    )  # fmt: skip
    for n, each in enumerate(wanted):
        np.testing.assert_array_equal(out[..., n], each, str(n))


def test_cluster_dims_need_hopper():
    with pytest.raises(CompileError, match="__cluster_dims__ is for -arch=sm_90"):
        code = 'extern "C" __global__ void __cluster_dims__(2) k() {}'
        cuda.RawModule(code=code, backend="clang", options=("-arch=sm_80",)).get_function("k")
