"""Launches of a raw kernel after the first one of their kind, which nothing checks again."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import gridlane
from gridlane import cuda
from gridlane.core.errors import ArgumentError, DeviceError, LaunchError
from gridlane.launch import current
from gridlane.launch.devices import get_device

ADD = """
.version 8.3
.target sm_80
.address_size 64
.global .align 4 .u32 total = 5;
.visible .entry add(.param .u32 more, .param .u64 p, .param .f64 scale) {
  .reg .b32 %r<4>; .reg .b64 %rd<3>; .reg .f64 %d<3>;
  ld.param.u32 %r1, [more];
  ld.param.u64 %rd1, [p];
  ld.param.f64 %d1, [scale];
  mov.u32 %r2, %ctaid.x;
  mul.wide.u32 %rd2, %r2, 8;
  add.s64 %rd1, %rd1, %rd2;
  cvt.rn.f64.u32 %d2, %r1;
  mul.f64 %d2, %d2, %d1;
  st.global.f64 [%rd1], %d2;
  ret;
}
.visible .entry sum(.param .u32 more, .param .u64 p) {
  .reg .b32 %r<4>; .reg .b64 %rd<3>;
  ld.param.u32 %r1, [more];
  ld.param.u64 %rd1, [p];
  ld.global.u32 %r2, [total];
  add.u32 %r2, %r2, %r1;
  st.global.u32 [total], %r2;
  st.global.u32 [%rd1], %r2;
  ret;
}
"""


@pytest.fixture
def kernels():
    current.choose(get_device("cpu"))
    module = cuda.RawModule(code=ADD)
    return module.get_function("add"), module.get_function("sum")


def test_other_arguments_of_the_same_types(kernels):
    first, second = cuda.device_array(4), cuda.device_array(4)
    for count, out in ((3, first), (4, second), (2, first)):
        out.copy_to_device(np.zeros(4))
        kernels[0](count, 1, (np.uint32(count), out, np.float64(0.5)))
        want = [count / 2] * count + [0] * (4 - count)
        assert list(out.copy_to_host()) == want


def test_the_modules_memory(kernels):
    out = cuda.device_array(1, np.uint32)
    for want in (6, 7, 8):
        kernels[1](1, 1, (np.uint32(1), out))
        assert out.copy_to_host()[0] == want


def test_arguments_of_other_types(kernels):
    out, host = cuda.device_array(2), np.zeros(2)
    for _ in range(2):
        kernels[0]((2,), (1,), (np.uint32(3), out, np.float64(2)))
        kernels[0]((2,), (1,), (4, host, 0.25))
        assert list(host) == [1, 1] and list(out.copy_to_host()) == [6, 6]
        kernels[0]((2,), (1,), (np.float32(0), out, np.int64(0)))  # bits of the same size
        assert list(out.copy_to_host()) == [0, 0]
        with pytest.raises(ArgumentError, match="bytes"):
            kernels[0]((2,), (1,), (np.uint16(3), out, np.float64(2)))
        with pytest.raises(ArgumentError, match="takes 3 arguments"):
            kernels[0]((2,), (1,), (np.uint32(3), out))


def test_other_shapes(kernels):
    out = cuda.device_array(2)
    args = np.uint32(3), out, np.float64(2)
    kernels[0]((2,), (1,), args)
    for grid, block, error in (
        ((0,), (1,), LaunchError), ((2,), (2000,), LaunchError), ((2.5,), (1,), TypeError),
        ([2], [0], LaunchError),
    ):  # fmt: skip
        with pytest.raises(error):
            kernels[0](grid, block, args)


def test_each_device_has_its_own_code(kernels):
    for name in ("cpu", "interp", "cpu"):
        current.choose(get_device(name))
        out = cuda.device_array(1)
        for _ in range(2):
            kernels[0](1, 1, (np.uint32(3), out, np.float64(2)))
        assert out.copy_to_host()[0] == 6


@pytest.mark.parametrize("times", [0, 2])
def test_arrays_of_another_device(kernels, times):
    with gridlane.device("interp"):
        elsewhere = cuda.to_device(np.zeros(2))
    here = cuda.device_array(2)
    for _ in range(times):
        kernels[0](2, 1, (np.uint32(3), here, np.float64(2)))
    with pytest.raises(DeviceError, match="'interp', and the launch is on 'cpu'"):
        kernels[0](2, 1, (np.uint32(3), elsewhere, np.float64(2)))
    with gridlane.device("interp"):
        assert list(elsewhere.copy_to_host()) == [0, 0]
        kernels[0](2, 1, (np.uint32(3), elsewhere, np.float64(2)))
        assert list(elsewhere.copy_to_host()) == [6, 6]


@pytest.mark.parametrize("shape", [([2],), (np.array([2]),), ({},)])
def test_shapes_without_a_hash(kernels, shape):
    out = cuda.device_array(2)
    for given in ((shape, 1), (1, shape)):
        with pytest.raises((TypeError, ValueError), match=r"grid|block"):
            kernels[0](*given, (np.uint32(3), out, np.float64(2)))


@pytest.mark.parametrize("shared", [0.0, 16.0, [], None])
def test_shared_memory_that_is_no_number(kernels, shared):
    out = cuda.device_array(2)
    for _ in range(2):
        for good in (0, 16):
            kernels[0](2, 1, (np.uint32(3), out, np.float64(2)), shared_mem=good)
        with pytest.raises(TypeError, match="shared must be a number of bytes"):
            kernels[0](2, 1, (np.uint32(3), out, np.float64(2)), shared_mem=shared)


FIRST = """
import sys
import numpy as np
from gridlane import cuda

text = ".version 8.0 .target sm_80 .address_size 64 .entry k(.param .u64 p) { .reg .b64 %q;" \
    " ld.param.u64 %q, [p]; st.global.u32 [%q], 7; ret; }"
x = np.zeros(1, np.uint32)
cuda.RawKernel(text, "k")(1, 1, (x,))
print(x[0], *(name for name in sys.modules if name.startswith(("gridlane.ir.ops", "gridlane.pas"))))
"""


def test_a_cached_kernel_is_launched_without_the_compiler(tmp_path):
    """Its imports take longer than all the rest."""
    environment = {**os.environ, "GRIDLANE_DEVICE": "cpu", "GRIDLANE_CACHE_DIR": str(tmp_path)}
    said = []
    for _ in range(2):
        command = [sys.executable, "-c", FIRST]  # one that has imported nothing
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout.split())
    assert said[0][0] == "7" and len(said[0]) > 1
    assert said[1] == ["7"]
