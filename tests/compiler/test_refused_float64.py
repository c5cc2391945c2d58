"""What devices without float64 say of float64 in memory, and that what they name helps."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gridlane import compiler, cuda
from gridlane.backends import backend, backends
from gridlane.core.argtypes import ArrayType, complex128, float32, float64
from gridlane.core.errors import TargetError
from gridlane.core.numpy_types import from_numpy
from gridlane.core.options import KernelOptions, Target

TARGETS = [each.name for each in backends() if not each.float64]
RECORD = from_numpy(np.dtype([("a", "f8"), ("b", "f4")], align=True))
TABLE = np.arange(4.0)
IN_MEMORY = (
    "set GRIDLANE_FP64=exact (binary64, slow) or GRIDLANE_FP64=narrow (in float32), for "
    "one kernel cuda.jit(fp64='exact') or 'narrow', or use an array of float32"
)


def load(out, x):
    out[0] = x[0]


def store(out, x):
    x[0] = out[0]


def record(out, x):
    out[0] = x[0].a


def real(out, x):
    out[0] = x[0].real


def shared(out):
    tile = cuda.shared.array(4, float64)
    tile[0] = out[0]


def dynamic(out):
    tile = cuda.shared.array(0, float64)
    tile[0] = out[0]


def local(out):
    mine = cuda.local.array(4, float64)
    mine[int(out[0])] = out[0]
    out[0] = mine[int(out[1])]


def captured(out):
    out[0] = TABLE[int(out[0])]


def constant(out):
    out[0] = cuda.const.array_like(TABLE)[int(out[0])]


def add(out, x):
    cuda.atomic.add(x, 0, out[0])


def swap(out, x):
    cuda.atomic.cas(x, 0, out[0], 2.0)


def following(out):
    out[0] = math.nextafter(out[0] * 0.1, 1.0)


def large(out):
    out[0] = out[0] * 1e300


F32, F64 = float32[::1], float64[::1]
HELD = {  # kernel, its types, what is told of it
    "load": (load, (F32, F64), "load"),
    "store": (store, (F32, F64), "store"),
    "record": (record, (F32, ArrayType(RECORD, 1, "C")), "load"),
    "complex": (real, (F32, ArrayType(complex128, 1, "C")), "load"),
    "dynamic": (dynamic, (F32,), "store"),
}
DECLARED = {
    "shared": (shared, (F32,)),
    "local": (local, (F32,)),
    "captured": (captured, (F32,)),
    "constant": (constant, (F32,)),
}
ATOMICS = {"add": (add, "atomic"), "swap": (swap, "atomic_cas")}


def refused(kernel, types, target, fp64="emulate"):
    """The first line of the error of a kernel, which is located."""
    options = KernelOptions(fp64=fp64)
    with pytest.raises(TargetError) as caught:
        compiler.generate(compiler.translate(kernel, types, options), at(target), options)
    first, place, *_ = str(caught.value).splitlines()
    assert place.endswith(f"in {kernel.__name__}")
    return first


def at(target):
    return Target(target, block=(32, 1, 1) if backend(target).shaped else None)


def test_there_are_such_targets():
    assert {*TARGETS} == {"webgpu", "opengl", "metal"}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", HELD)
def test_loads_and_stores(name, target):
    kernel, types, what = HELD[name]
    assert refused(kernel, types, target) == (
        f"{what} of float64 in memory: the {target} target has no float64, and fp64='emulate' "
        "computes with it but does not keep it there; "
        f"{IN_MEMORY}"
    )


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", DECLARED)
def test_arrays_of_the_kernels_own(name, target):
    assert refused(*DECLARED[name], target) == (
        f"an array of float64: the {target} target has none, and fp64='emulate' keeps none in "
        f"memory; {IN_MEMORY}"
    )


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("mode", ["emulate", "narrow"])
@pytest.mark.parametrize("name", ATOMICS)
def test_atomics_name_no_mode_since_none_has_them(name, mode, target):
    kernel, what = ATOMICS[name]
    assert refused(kernel, (F32, F64), target, mode) == (
        f"{what} of float64 in memory: the {target} target has no float64, and fp64='{mode}' "
        "computes with it but does not keep it there; "
        "use an array of float32"
    )
    assert "64 bits" in refused(kernel, (F32, F64), target, "exact")


@pytest.mark.parametrize("target", TARGETS)
def test_what_pairs_have_not(target):
    assert refused(following, (F32,), target) == (
        f"{target}: nextafter: fp64='emulate' computes in pairs of float32, which have no such op; "
        "set GRIDLANE_FP64=exact, or use cuda.jit(fp64='exact')"
    )
    assert refused(large, (F32,), target) == (
        f"{target}: the number 1e+300 is beyond float32, in which fp64='emulate' computes; set "
        "GRIDLANE_FP64=exact, or use cuda.jit(fp64='exact')"
    )


@pytest.mark.parametrize("target", TARGETS)
def test_all_float64_refused(target):
    assert refused(load, (F32, F64), target, "refuse") == (
        f"load computes in float64, which the {target} target lacks and fp64='refuse' does not "
        "allow; write numpy.float32(…) round the constants and arguments that make it so, use "
        "cuda.jit(floats='float32'), or compute it with GRIDLANE_FP64=exact or "
        "cuda.jit(fp64='exact')"
    )


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_named_helps(target):
    """Every kernel that is told of a mode compiles with it."""
    kernels = [(kernel, types) for kernel, types, _ in HELD.values()]
    for kernel, types in (*kernels, *DECLARED.values(), (following, (F32,)), (large, (F32,))):
        for mode in ("exact",) if kernel is large else ("exact", "narrow"):
            options = KernelOptions(fp64=mode)
            compiler.generate(compiler.translate(kernel, types, options), at(target), options)
