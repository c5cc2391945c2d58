"""The user's options for a kernel, in the compiler's form."""

from __future__ import annotations

from gridlane.core.compact import ANY, Variant
from gridlane.core.features import Feature
from gridlane.core.frozen import frozen

FP64 = ("emulate", "exact", "narrow", "refuse")
"""Modes of float64 on a device without it: emulated in pairs of float32, emulated bitwise by
integers, narrowed to float32, refused. Devices that have float64 compute with it."""

FLOATS = ("float64", "float32")
"""What a kernel's Python floats are: its literals, and what integers become beside floats."""


@frozen
class KernelOptions:
    """Options of ``@cuda.jit``.

    Attributes:
        fastmath: every fast-math freedom on float ops.
        finite: with fastmath, no operand and no result is NaN or infinite.
        fma: multiplications and additions may contract, as CUDA does by default.
        debug: bounds checks, assertions and raises report an exception to the host.
        opt: optimise the machine code.
        lineinfo: the machine code has the source line of each instruction.
        max_registers: maximum registers per thread, on a GPU; None for the compiler's choice.
        launch_bounds: (maximum threads of a block[, minimum resident blocks per multiprocessor]).
        fp64: one of ``FP64``.
        floats: one of ``FLOATS``.
        stack: bytes of a thread's stack, where functions call themselves; 0 for GRIDLANE_STACK's.
        chip: the processor that the program names, for what it evaluates at compile time.
        runtime_shared: shared arrays may have shapes that the kernel learns when it runs.
        integral: ``math.floor``, ``ceil`` and ``trunc`` of float32 and float64 give integers.
        check: accesses are checked: indices of arrays, and addresses on targets that can.
        apart: what the kernel writes by one array argument is of no other one.
        own_functions: mathematical functions are gridlane's own, the same on all devices, also
            where the device has a library of them.
    """

    fastmath: bool = False
    fma: bool = True
    debug: bool = False
    opt: bool = True
    lineinfo: bool = False
    max_registers: int | None = None
    launch_bounds: tuple[int, ...] = ()
    fp64: str = "emulate"
    floats: str = "float64"
    stack: int = 0
    chip: str = ""
    finite: bool = True
    integral: bool = False
    runtime_shared: bool = False
    check: bool = False
    own_functions: bool = False
    apart: bool = False

    @property
    def bounds(self) -> bool:
        """Whether indices are checked against the extents of arrays."""
        return self.debug or self.check


@frozen
class Target:
    """The target of a compilation.

    Attributes:
        name: ``cpu``, ``interp``, ``cuda``, ``vulkan``, ``metal``, ``opengl`` or ``webgpu``.
        block: block shape that the code may assume constant, or None for any.
        processor: LLVM's name of the processor; for cpu one of ``core.processors``, or "" for that
            of GRIDLANE_CPU, else the host's; for cuda ``sm_90`` and the like.
        attributes: LLVM's own feature string; for cpu the features added and removed.
        identity: other dependencies of the machine code, such as the driver that assembles it.
        variant: the launches that the code is specialised for.
        features: the device's, of those in the backend's record; none for the default ones.
    """

    name: str
    block: tuple[int, int, int] | None = None
    processor: str = ""
    attributes: str = ""
    identity: str = ""
    variant: Variant = ANY
    features: frozenset[Feature] = frozenset()
