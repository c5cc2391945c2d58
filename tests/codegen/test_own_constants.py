"""gridlane's own functions have no constant that the range of emulated float64 refuses."""

from __future__ import annotations

import cmath

import numpy as np
import pytest
from tests.frontends.running import module_of

from gridlane import cuda
from gridlane.compiler import generate
from gridlane.core.options import KernelOptions, Target
from gridlane.cuda import libdevice

COMPLEX = cmath.sqrt, cmath.log, cmath.acosh, cmath.atanh
REAL = libdevice.erfcx, libdevice.erfcinv, libdevice.j0
TARGET = Target("webgpu", block=(32, 1, 1))


@pytest.mark.parametrize("function", COMPLEX, ids=lambda each: each.__name__)
def test_complex_functions(function):
    def kernel(x):
        z = complex(x[0], x[1]) + 0j
        found = function(z)
        x[0] = 1 if found == 0 or found != found else 0

    assert generate(module_of(kernel, np.zeros(2, np.float32)), TARGET, KernelOptions()).code


@pytest.mark.parametrize("function", REAL, ids=lambda each: each.name)
def test_functions_of_libdevice(function):
    def kernel(x):
        x[1] = np.float32(function(x[0] * 1.5))

    assert generate(module_of(kernel, np.zeros(2, np.float32)), TARGET, KernelOptions()).code


def test_remainders_and_orders():
    def kernel(x, n):
        i = cuda.grid(1)
        x[i] = np.float32(libdevice.remquo(x[i] * 1.5, x[i] + 0.5)[0])
        x[i] += np.float32(libdevice.jn(n, x[i] * 1.5) + libdevice.yn(n, x[i] * 1.5))

    assert generate(module_of(kernel, np.zeros(2, np.float32), 3), TARGET, KernelOptions()).code
