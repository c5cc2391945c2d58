"""binary64 for targets without it, in one of four ways that the user chooses (``fp64=``).

``exact``: in integers, bit for bit, arrays included (``exact``). ``emulate``: in pairs of f32, with
about 48 bits in the range of f32; arrays of float64 are refused (``emulate``). ``narrow``: in f32,
with arrays converted on access (``narrow``). ``refuse``: an error that names the line.

Run ``split_aggregates`` before and ``inline_calls`` after: arithmetic becomes calls of functions.
f64 remains in two places: the kernel's parameters, which a ``bitcast`` to u64 reads, and the
operands of ``print``, which are results of such a bitcast.
"""

from __future__ import annotations

from collections.abc import Callable

from gridlane.core.dtypes import f64
from gridlane.core.errors import TargetError
from gridlane.core.options import FP64
from gridlane.ir.op import Op
from gridlane.ir.types import PointerType, Type
from gridlane.ir.values import Module
from gridlane.passes.legalise.fp64.emulate import compute_in_pairs
from gridlane.passes.legalise.fp64.exact import compute_exactly
from gridlane.passes.legalise.fp64.narrow import compute_narrowly

WAYS: dict[str, Callable[[Module], None]] = {
    "emulate": compute_in_pairs,
    "exact": compute_exactly,
    "narrow": compute_narrowly,
}

NOTES = {
    "emulate": "in pairs of float32, about 48 bits in float32's range",
    "exact": "by integers, exact and slow",
    "narrow": "in float32, 24 bits",
}


def legalize_fp64(module: Module, mode: str) -> tuple[str, ...]:
    """Replace the f64 of every function in one of the ways of ``FP64``.

    Returns:
        A note for the user on the precision used, located at the first f64; None without f64.

    Raises:
        TargetError: an op that the chosen way does not support, located.
    """
    if mode not in FP64:
        raise ValueError(f"fp64={mode!r} is none of {', '.join(FP64)}")
    first = first_use(module)
    if first is None:
        return ()
    if mode == "refuse":
        raise TargetError(
            f"{first.name} computes in float64, which the target lacks and fp64='refuse' does not "
            "allow; write numpy.float32(…) round the constants and arguments that make it so, or "
            "use cuda.jit(fp64='exact')",
            first.loc,
        )
    WAYS[mode](module)
    place = f"{first.loc}: " if first.loc.line else ""
    return (f"{place}float64 is computed {NOTES[mode]}; {ADVICE[mode]}",)


ADVICE = {
    "emulate": "write float32, or cuda.jit(fp64='exact') for binary64 bit for bit",
    "exact": "write float32 where that is enough",
    "narrow": "write float32 to say so, or cuda.jit(fp64='exact') for binary64 bit for bit",
}


def first_use(module: Module) -> Op | None:
    """The first op that involves values of f64; the kernel is searched before other functions."""
    functions = sorted(module.functions.values(), key=lambda function: not function.is_kernel)
    for function in functions:
        for op in function.body.walk():
            if any(is_double(value.type) for value in (*op.operands(), *op.results)):
                return op
    return None


def is_double(type_: Type) -> bool:
    """Whether a type is f64, or points to it in the kernel's own memory."""
    return type_ is f64 or (isinstance(type_, PointerType) and type_.element is f64)


__all__ = ["FP64", "legalize_fp64"]
