"""Measure functions of one float32 over all 2**32 arguments, on the CPU, in ulp.

    python benchmarks/every_float.py [--only NAME ...] [--library] [--record]

One kernel computes gridlane's own function (``--library``: the device's), and glibc's of float64,
and the distance of both in units of the last bit of the float32 that is nearest to the latter.
glibc's functions of float64 are at most a few ulp of float64 off, which is 1e-8 of a unit. A NaN,
an infinity or the sign of a zero in the wrong place is an error of infinite size.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))

from benchmarks import results

from gridlane.core.dtypes import f32, f64, i32, i64, u32
from gridlane.core.options import KernelOptions
from gridlane.ir.builder import Builder
from gridlane.ir.expressions import FORMATS, Expression, Writer
from gridlane.ir.op import REGISTRY
from gridlane.ir.ops import math as functions
from gridlane.ir.ops.grid import Axis, BlockIdx, ThreadIdx
from gridlane.ir.source import ModuleSource
from gridlane.ir.types import pointer
from gridlane.ir.values import Function, Module, Param, Value
from gridlane.launch.devices import get_device
from gridlane.launch.kernel import Kernel
from gridlane.passes.legalise.math import CPU, function_for

CHUNK = 1 << 22
"""Arguments of a launch."""
THREADS = 256
NAMES = tuple(
    name
    for name, op in REGISTRY.items()
    if (issubclass(op, functions.MathUnary) and op.approximate) or name == "sqrt"
)


@dataclass(frozen=True)
class Worst:
    """The largest error of a function, in ulp, and its argument."""

    ulp: float
    argument: float
    seconds: float


def kernel(name: str, own: bool) -> Module:
    """errors[i] = the error for the float whose bits are first + i."""
    function = Function(f"every_{name}", is_kernel=True)
    module = Module({function.name: function})
    b = Builder(module, function)
    first, errors = Value(u32, name="first"), Value(pointer(f32), name="errors")
    function.params += [Param(first, 0), Param(errors, 1)]
    block, thread = b.value(BlockIdx(Axis.X)), b.value(ThreadIdx(Axis.X))
    index = b.add(b.mul(block, b.const(THREADS, i32)), thread)
    argument = b.bitcast(b.add(first, b.cast(index, u32)), f32)
    op = REGISTRY[name]
    if not own or name == "sqrt" or CPU(op, f32):
        result = b.unary(op, argument)
    else:  # as legalize_math has it, which would take the other call too
        of = f64 if op in CPU.widened else f32
        (result,) = b.call(function_for(module, op, of, CPU.fuses), (b.cast(argument, of),))
        result = b.cast(result, f32)
    wide = b.unary(op, b.cast(argument, f64))
    w = Writer(b, FORMATS[f64])
    error = _error(w, w.wrap(result), w.wrap(wide))
    b.store(b.offset(errors, b.cast(index, i64)), error.cast(f32).value)
    function.body.ops[:0] = w.constants.values()
    return module


def _error(w: Writer, result: Expression, exact: Expression) -> Expression:
    """The distance of a float32 from a float64, in units of the last bit."""
    top = 2.0**128  # an infinity stands where the next float would be
    got = result.cast(f64).least(top).most(-top)
    clamped = exact.least(top).most(-top)
    exponent = ((w.bits(clamped) >> 52) & 0x7FF) - 1023
    exponent = exponent.most(-126).least(127)
    inverse = w.from_bits((23 + 1023 - exponent) << 52)
    error = abs(got - clamped) * inverse
    wrong_nan = result.is_nan() ^ exact.is_nan()
    both_zero = result.equals(0.0) & exact.equals(0.0)
    wrong_zero = both_zero & ((result.reread(i32) < 0) ^ (w.bits(exact) < 0))
    error = w.select(result.is_nan() & exact.is_nan(), 0.0, error)
    return w.select(wrong_nan | wrong_zero, math.inf, error)


def measured(name: str, own: bool) -> Worst:
    """The largest error over all floats."""
    begin = time.perf_counter()
    device = get_device("cpu")
    options = KernelOptions(fma=False)
    plan = Kernel(ModuleSource(kernel(name, own)), (), options).plan((THREADS, 1, 1), device=device)
    buffer = device.allocate(CHUNK * 4)
    errors = np.empty(CHUNK, np.float32)
    worst, argument = -1.0, 0
    for first in range(0, 1 << 32, CHUNK):
        plan.launch((CHUNK // THREADS, 1, 1), plan.pack(first, buffer))
        device.download(errors.view(np.uint8).data, buffer.address)
        largest = float(errors.max())
        if largest > worst or math.isnan(largest):
            worst, argument = largest, first + int(errors.argmax())
    value = float(np.array([argument], np.uint32).view(np.float32)[0])
    return Worst(worst, value, time.perf_counter() - begin)


def main() -> None:
    """Print a line for each function."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=NAMES, choices=NAMES, metavar="NAME")
    parser.add_argument("--library", action="store_true", help="measure the device's functions")
    results.option(parser)
    chosen = parser.parse_args()
    for name in chosen.only:
        found = measured(name, not chosen.library)
        results.add(name, "library" if chosen.library else "own", found.ulp, "ulp")
        print(f"{name:8}{found.ulp:12.8f}  {found.argument!r:26}{found.seconds:6.0f} s", flush=True)
    results.write("every_float", chosen.record)


if __name__ == "__main__":
    main()
