"""Parts of CUDA's own C++ library; nvcc with NVIDIA's headers gives the same numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gridlane import cuda
from gridlane.core.errors import GridlaneError
from gridlane.launch import current
from gridlane.launch.devices import get_device

SOURCE = Path(__file__).parent / "programs" / "library.cu"


@pytest.fixture(params=["c++17", "c++20"])
def module(request):
    current.choose(get_device("cpu"))
    names, options = ("views", "values", "met"), (f"-std={request.param}",)
    return cuda.RawModule(path=SOURCE, name_expressions=names, options=options, backend="clang")


def test_views(module):
    data, out = np.arange(40, dtype=np.float32), np.zeros(8, np.float32)
    module.get_function("views")(1, 1, (data, out, np.int32(4)))
    assert np.allclose(out, [5, 7, 5, 4, 433, 1233, 12121, 1.5 + np.pi])


def test_values(module):
    out, shared = np.zeros(12, np.int32), np.zeros(1, np.int32)
    module.get_function("values")(1, 1, (out, shared))
    assert list(out) == [51, 7110, 6, 21, 6084, 39, 5, 82, 6, 1, 75, 80] and shared[0] == 6


def test_threads_meet(module):
    out = np.zeros(128, np.int32)
    module.get_function("met")(1, 128, (out,))
    assert (out == np.arange(128)[::-1] + 4000).all()


def test_what_the_host_would_throw():
    current.choose(get_device("interp"))
    code = """#include <array>
#include <optional>
extern "C" __global__ void k(int *x)
{
    std::array<int, 3> a = {5, 6, 7};
    std::optional<int> some;
    if (x[0] > 0)
        some = x[0];
    x[1] = a.at(x[0]), x[2] = some.value();
}"""
    kernel = cuda.RawModule(code=code, backend="clang").get_function("k")
    values = np.array([2, 0, 0], np.int32)
    kernel(1, 1, (values,))
    assert list(values) == [2, 7, 2]
    for wrong in (3, 0):
        with pytest.raises(GridlaneError, match="trap"):
            kernel(1, 1, (np.array([wrong, 0, 0], np.int32),))
