"""Options that the user gives for a kernel, as the compiler sees them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KernelOptions:
    """Options of ``@cuda.jit``.

    Attributes:
        fastmath: every fast-math freedom on float ops.
        fma: multiplications and additions may contract, as CUDA does by default.
        debug: bounds checks, assertions and raises report an exception to the host.
        opt: optimise the machine code.
    """

    fastmath: bool = False
    fma: bool = True
    debug: bool = False
    opt: bool = True


@dataclass(frozen=True, slots=True)
class Target:
    """What code is made for.

    Attributes:
        name: ``cpu`` or ``interp``.
        block: block shape that the code may take as constant, or None for any.
        processor: LLVM's name of the processor; "" is the host's.
        features: LLVM's feature string; "" is the host's.
    """

    name: str
    block: tuple[int, int, int] | None = None
    processor: str = ""
    features: str = ""
