"""Device functions that call themselves become loops with a stack, as those of PTX do."""

from __future__ import annotations

from gridlane.core.config import config
from gridlane.core.errors import UnsupportedError
from gridlane.ir.ops import control, memory
from gridlane.ir.values import Function, Module
from gridlane.passes.structure.call_cycles import callees, cycles_of


def end_recursion(module: Module, stack_bytes: int) -> None:
    """Replace the functions of a module that call themselves, also by others.

    Args:
        stack_bytes: of a thread, for each cycle of calls; 0 for GRIDLANE_STACK's.

    Raises:
        UnsupportedError: one of them has memory of its own, which its calls would share.
    """
    if len(module.functions) == 1:
        return
    cycles = cycles_of({name: callees(module, name) for name in module.functions})
    if not cycles:
        return
    # Few kernels need these.
    from gridlane.passes.structure.flatten import flatten_control
    from gridlane.passes.structure.recursion import remove_recursion
    from gridlane.passes.structure.structurize import structurize

    for name in sorted(name for names in cycles for name in names):
        _check(module.functions[name])
        flatten_control(module.functions[name])
    remove_recursion(module, stack_bytes or config().stack)
    structurize(module)


def _check(function: Function) -> None:
    for op in function.body.walk():
        if isinstance(op, memory.LocalArray):
            raise UnsupportedError(
                f"{function.name}() calls itself, so its local array would be the same one in all "
                "of its calls; make the array in the kernel and pass it",
                op.loc,
            )
        if isinstance(op, control.Exit):
            raise UnsupportedError(f"{function.name}() calls itself and ends the thread", op.loc)
