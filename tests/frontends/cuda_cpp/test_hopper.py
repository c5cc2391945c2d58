"""A product of matrices for Hopper, by each compiler: boxes of tensors, mbarriers, warpgroups."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.frontends.ptx.test_tensors import encoded

from gridlane import cuda
from gridlane.frontends.cuda_cpp import nvcc
from gridlane.launch import current
from gridlane.launch.devices import get_device

FILE = Path(__file__).parent / "programs" / "warp_specialised.cu"
NVCC = pytest.param(
    "nvcc", "interp", marks=pytest.mark.skipif(nvcc.find_nvcc() is None, reason="nvcc is absent")
)
TILE, STAGES = (128, 64, 64), 3


@pytest.mark.parametrize(("compiler", "device"), [("clang", "interp"), ("clang", "cpu"), NVCC])
def test_a_product_of_producers_and_consumers(compiler: str, device: str) -> None:
    current.choose(get_device(device))
    rows, columns, depth = 256, 64, 320  # the stages are used again
    rng = np.random.default_rng(2)
    a = rng.standard_normal((rows, depth)).astype(np.float16)
    b = rng.standard_normal((columns, depth)).astype(np.float16)
    c = np.zeros((rows, columns), np.float32)
    arrays = [cuda.to_device(each) for each in (a, b)]
    maps = [
        encoded(host, (TILE[2], size), 3, address=array.address)[1]
        for host, array, size in zip((a, b), arrays, TILE[:2], strict=True)
    ]
    options = ("-arch=sm_90a",)
    module = cuda.RawModule(path=FILE, backend=compiler, options=options)
    kernel = module.get_function("product")
    shared = STAGES * 2 * (TILE[0] + TILE[1]) * TILE[2]
    kernel.max_dynamic_shared_size_bytes = shared
    grid = columns // TILE[1], rows // TILE[0]
    kernel(grid, (384,), (*maps, c, np.int32(columns), np.int32(depth)), shared_mem=shared)
    wanted = a.astype(np.float64) @ b.astype(np.float64).T
    np.testing.assert_allclose(c, wanted, rtol=0, atol=1e-4)
