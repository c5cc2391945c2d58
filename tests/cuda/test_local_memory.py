"""Local arrays up to CUDA's limit work; larger ones are refused by name, before the launch."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from gridlane import compiler, cuda
from gridlane.backends import names
from gridlane.core.argtypes import int64
from gridlane.core.errors import ConstantError
from gridlane.core.options import KernelOptions, Target

MOST = 512 << 10


def _kernel(size, barrier):
    @cuda.jit
    def fill(x):
        own = cuda.local.array(size, np.uint8)
        i = cuda.grid(1)
        for j in range(0, size, 4093):
            own[j] = i + j
        if barrier:
            cuda.syncthreads()
        total = 0
        for j in range(0, size, 4093):
            total += own[j]
        x[i] = total

    return fill


@pytest.mark.parametrize("barrier", [False, True])
@pytest.mark.parametrize("size", [5000, MOST])
def test_arrays_within_the_limit(size, barrier):
    x = np.zeros(70, np.int64)
    _kernel(size, barrier)[2, 35](x)
    want = [sum((i + j) % 256 for j in range(0, size, 4093)) for i in range(70)]
    assert x.tolist() == want


def test_several_large_arrays():
    @cuda.jit
    def several(x):
        first = cuda.local.array(20000, np.float64)
        second = cuda.local.array(40000, np.int16)
        i = cuda.grid(1)
        for j in range(20000):
            first[j] = i
        for j in range(40000):
            second[j] = 3
        x[i] = first[19999] + second[39999] + first[0] + second[0]

    x = np.zeros(64)
    several[2, 32](x)
    assert (x == 2 * np.arange(64) + 6).all()


@pytest.mark.parametrize("target", names())
@pytest.mark.parametrize("size", [MOST + 1, 1 << 20, 1 << 40])
def test_a_large_array_is_refused_on_every_target(target, size):
    module = compiler.translate(_kernel(size, False).py_func, (int64[::1],), KernelOptions())
    with pytest.raises(ConstantError) as caught:
        compiler.generate(module, Target(target, block=(32, 1, 1)))
    text = str(caught.value)
    assert "'own'" in text and str(size) in text and str(MOST) in text and "own = cuda" in text


@cuda.jit(device=True)
def _callee(i):
    below = cuda.local.array(300 << 10, np.uint8)
    below[i] = i
    return below[0]


def test_the_sum_of_several_is_refused():
    @cuda.jit
    def caller(x):
        above = cuda.local.array(300 << 10, np.uint8)
        above[0] = x[0]
        x[0] = _callee(x[1]) + above[x[2]]

    with pytest.raises(ConstantError) as caught:
        caller[1, 1](np.zeros(3, np.int64))
    text = str(caught.value)
    assert "'above'" in text and "'below'" in text and str(600 << 10) in text


def test_no_memory_for_the_arrays_of_a_block(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import resource\n"
        "import numpy as np\n"
        "from gridlane import cuda\n"
        "from gridlane.core.errors import DeviceError\n"
        "@cuda.jit\n"
        "def k(x):\n"
        "    own = cuda.local.array(400000, np.uint8)\n"
        "    own[x[0]] = x[1]\n"
        "    cuda.syncthreads()\n"
        "    x[cuda.grid(1)] = own[x[2]]\n"
        "x = np.zeros(2048, np.int64)\n"
        "k[1, 1](x)\n"
        "configured = k[2, 1024]\n"
        "k.overloads[next(iter(k.overloads))].bound((1024, 1, 1))\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + (100 << 20),) * 2)\n"
        "try:\n"
        "    configured(x)\n"
        "except DeviceError as error:\n"
        "    print(error)\n"
        "k[1, 1](x)\n"
    )
    done = subprocess.run(
        [sys.executable, program],
        env={**os.environ, "GRIDLANE_DEVICE": "cpu"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "OUT_OF_MEMORY" in done.stdout and "k" in done.stdout
