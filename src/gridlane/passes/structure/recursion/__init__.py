"""Turns cycles of calls into loops with a stack, at stage ``cfg``.

The functions of a cycle become one function, whose graph has the blocks of all of them. A call
saves the variables that live across it on a stack of the thread, and branches to a dispatch block,
which selects the next block; a return pops the position of its call from the stack and branches
there as well. So all threads of a warp reconverge between calls, and no target needs recursive
calls. A stack that is full ends the thread with a located error.
"""

from __future__ import annotations

from gridlane.core.dtypes import u32
from gridlane.ir.ops import control, memory
from gridlane.ir.values import Module, Param, Value
from gridlane.passes.structure.call_cycles import callees, cycles_of
from gridlane.passes.structure.recursion.cycle import Cycle


def remove_recursion(module: Module, stack_bytes: int, root: str = "") -> None:
    """Replace the functions that call themselves, also by others, by loops.

    Args:
        stack_bytes: of a thread, for each cycle. The kernel has the stack.
        root: a function that has it as well, in a module without a kernel.
    """
    if len(module.functions) == 1:
        return
    calls = {name: callees(module, name) for name in module.functions}
    for names in cycles_of(calls):
        first = module.functions[next(name for name in calls if name in names)]
        others = [name for name in calls if name in names and name != first.name]
        path = f", by {' and '.join(others)}" if others else ""
        entered = {
            callee
            for name, called in calls.items()
            if name not in names
            for callee in called
            if callee in names
        }
        cycle = Cycle(module, [module.functions[name] for name in calls if name in names])
        known = module.stack is not None and module.stack_holds_addresses
        module.stack_holds_addresses = known or cycle.saves_addresses
        module.stack = f"{first.name} calls itself{path}", first.loc
        results = [cycle.entered_at(name, stack_bytes // 4) for name in sorted(entered)]
        for name in names:
            del module.functions[name]
        module.functions.update((function.name, function) for function in results)
        module.stack_bytes += stack_bytes
        _hand_on(
            module, {loop.name: loop.params[-1].value for loop in results}, stack_bytes // 4, root
        )


def _hand_on(module: Module, stacks: dict[str, Value], words: int, root: str) -> None:
    """Add a stack to the kernel, and pass it to the functions that have it as last parameter.

    Args:
        stacks: the parameter of each of them; receives those of functions between.
    """
    waiting = list(stacks)
    name = f"stack.{waiting[0]}"
    while waiting:
        callee = waiting.pop()
        for function in module.functions.values():
            if function.name in stacks or callee not in callees(module, function.name):
                continue
            array = memory.LocalArray(u32, words, loc=function.loc)
            if function.is_kernel or function.name == root:
                function.body.ops.insert(0, array)
                stacks[function.name] = array.result
                continue
            own = Value(array.result.type, None, name)
            function.params.append(Param(own, len(function.params)))
            stacks[function.name] = own
            waiting.append(function.name)
    for function in module.functions.values():
        for op in function.body.walk():
            if isinstance(op, control.Call) and op.callee in stacks:
                op.arguments = (*op.arguments, stacks[function.name])
