"""What programs read of compiled kernels: PTX and a GPU's LLVM IR, and the device's own code."""

from __future__ import annotations

import pytest

from gridlane import cuda
from gridlane.core.errors import TargetError, UnsupportedError
from gridlane.launch import current
from gridlane.launch.devices import get_device


@cuda.jit("void(float64[::1])")
def scale(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2.5


def shown(kernel, method="inspect_asm", **options):
    return getattr(kernel, method)(kernel.signatures[0], **options)


@pytest.fixture(autouse=True)
def of_host(monkeypatch):
    current.choose(get_device("cpu"))


def test_ptx_without_a_gpu():
    text = shown(scale)
    assert ".target sm_80" in text and ".visible .entry scale" in text and "mul.f64" in text
    assert list(scale.inspect_asm().values()) == [text]
    assert "nvptx64" in shown(scale, "inspect_llvm")


def test_ptx_for_a_capability():
    kernel = scale.overloads[scale.signatures[0]]
    assert ".target sm_90" in kernel.inspect_asm((9, 0))
    assert ".target sm_75" in kernel.inspect_asm(cc=(7, 5))
    with pytest.raises(TargetError, match="no NVIDIA processor sm_76"):
        kernel.inspect_asm((7, 6))


@pytest.mark.parametrize(
    "cc", ["sm_90", 90, (9,), (9, 0, 0), (9.0, 0), (-9, 0), (True, 0), ("9", "0")]
)
def test_capabilities_that_are_none(cc):
    kernel = scale.overloads[scale.signatures[0]]
    with pytest.raises(TypeError, match="a compute capability is two integers"):
        kernel.inspect_asm(cc)
    with pytest.raises(TypeError, match="a compute capability is two integers"):
        cuda.compile_ptx(scale.py_func, "void(float64[::1])", cc=cc)


def test_what_the_device_runs():
    text = shown(scale, "inspect_native")
    assert ".target" not in text and "scale.kernel:" in text
    assert "nvptx" not in shown(scale, "inspect_native", stage="llvm")
    assert list(scale.inspect_native().values()) == [text]
    with pytest.raises(ValueError, match="stage='ptx'; it is 'asm' or 'llvm'"):
        scale.inspect_native(stage="ptx")


@pytest.mark.parametrize("bounds", [128, (128,), [128, 2], (128, 2, 1)])
def test_launch_bounds(bounds):
    kernel = cuda.jit("void(float64[::1])", launch_bounds=bounds)(scale.py_func)
    text = next(iter(kernel.inspect_asm().values()))
    assert ".maxntid 128, 1, 1\n" in text
    assert (".minnctapersm 2" in text) == (bounds not in (128, (128,)))
    assert kernel.get_max_threads_per_block() == 128
    assert scale.get_max_threads_per_block() == 1024


def test_options_of_compile():
    for option in {"fastmath": "no"}, {"debug": 2}, {"launch_bounds": "x"}, {"opt": "3"}:
        with pytest.raises(TypeError, match=f"cuda.compile: {next(iter(option))}="):
            cuda.compile_ptx(scale.py_func, "void(float64[::1])", **option)
    with pytest.raises(ValueError, match="fp64='no'"):
        cuda.compile_ptx(scale.py_func, "void(float64[::1])", fp64="no")


READERS = ("inspect_asm", "inspect_llvm", "inspect_ir", "inspect_native", "get_regs_per_thread")


@pytest.mark.parametrize("reader", READERS)
def test_what_is_not_compiled(reader):
    with pytest.raises(KeyError, match=r"scale is not compiled for .*int32.*, but for .*float64"):
        getattr(scale, reader)("void(int32[:])")

    @cuda.jit("float64(float64)", device=True)
    def twice(x):
        return 2 * x

    if reader in ("inspect_native", "get_regs_per_thread"):
        with pytest.raises(UnsupportedError, match="twice is a device function"):
            getattr(twice, reader)("(float64,)")


def test_blocks_that_a_multiprocessor_holds():
    @cuda.jit("(float32[::1],)")
    def one(x):
        x[cuda.grid(1)] += 1

    context = cuda.current_context()
    (kernel,) = one.overloads.values()
    found = context.get_active_blocks_per_multiprocessor(kernel, 128, 0)
    assert found == context.get_active_blocks_per_multiprocessor(one, 128, 0, 0) > 0

    @cuda.jit
    def none(x):
        x[0] = 1

    with pytest.raises(TypeError, match=r"one of kernel\.overloads"):
        context.get_active_blocks_per_multiprocessor(none, 128, 0)
    with pytest.raises(ValueError, match="only 0 is known"):
        context.get_active_blocks_per_multiprocessor(one, 128, 0, 1)
