"""Finds the buffer of each pointer into global memory, for devices whose memory is several buffers.

A pointer is in the buffer of the parameter that it derives from. A pointer that a kernel makes of a
number, or loads, may be in any.
"""

from __future__ import annotations

from gridlane.core.errors import TargetError
from gridlane.core.shader_abi import located
from gridlane.ir.ops import arith, memory
from gridlane.ir.types import PointerType
from gridlane.ir.values import Module


def settle_buffers(module: Module) -> None:
    """Note in ``Module.untraced`` whether a kernel makes pointers of numbers or of memory.

    Raises:
        TargetError: the kernel refers to an array outside of the first buffer.
    """
    for op in module.kernel.body.walk():
        if isinstance(op, memory.FromAddress):
            _from_number(module, op)
        elif isinstance(op, memory.Load) and isinstance(op.result.type, PointerType):
            module.untraced = True


def _from_number(module: Module, op: memory.FromAddress) -> None:
    """An array that the source refers to is a number that is known."""
    number = op.value.op
    if not isinstance(number, arith.Const):
        module.untraced = True
    elif located(int(number.value))[0]:
        raise TargetError(
            "an array that the kernel refers to is not in the first buffer of the device's memory: "
            "pass it as an argument, or allocate it before the others",
            op.loc,
        )
