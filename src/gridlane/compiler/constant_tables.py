"""Where shaders have a kernel's constant tables: short ones are literals of the code, longer ones
follow the parameter block in memory, since drivers compile long literals for minutes."""

from __future__ import annotations

from dataclasses import fields, replace

from gridlane.core.errors import TargetError
from gridlane.core.shader_abi import MOST_CONSTANT_BYTES
from gridlane.ir.op import Op
from gridlane.ir.ops import memory
from gridlane.ir.types import PointerType, Space, Type
from gridlane.ir.values import Module, Value, Var

_LITERAL = 512
"""The most bytes of a kernel's tables that are literals."""


def place_tables(module: Module, param_bytes: int) -> bytes:
    """Decide the place of a module's tables, after its passes. Return what follows the parameters.

    Raises:
        TargetError: the tables are too large; located.
    """
    tables = module.constant_data()
    if len(tables) <= _LITERAL:
        return b""
    if len(tables) > MOST_CONSTANT_BYTES:
        place = next(op for op in module.kernel.body.walk() if isinstance(op, memory.GlobalAddress))
        raise TargetError(
            f"the kernel's constant tables have {len(tables)} bytes, and devices whose code is a "
            f"shader hold {MOST_CONSTANT_BYTES}; pass large tables as arguments",
            place.loc,
        )
    module.constants_at = max(16, -(-param_bytes // 16) * 16)
    return tables


def read_as_global(module: Module) -> None:
    """Turn a module's pointers to constant memory into pointers to global memory, for a target
    whose parameter block is in global memory."""
    if not module.constants_at:
        return
    # Copies of a module share its globals.
    for name, item in module.globals.items():
        if item.space is Space.CONSTANT:
            module.globals[name] = replace(item, space=Space.GLOBAL)
    for function in module.functions.values():
        for param in function.params:
            _retype(param.value)
        for var in function.variables:
            _retype(var)
        function.results = tuple([_in_global(type_) for type_ in function.results])
        for op in function.body.walk():
            _rewrite(op)


def _rewrite(op: Op) -> None:
    for item in fields(op):
        value = getattr(op, item.name)
        if isinstance(value, PointerType):
            setattr(op, item.name, _in_global(value))
    for result in op.results:
        _retype(result)


def _retype(holder: Value | Var) -> None:
    holder.type = _in_global(holder.type)


def _in_global(type_: Type) -> Type:
    if isinstance(type_, PointerType) and type_.space is Space.CONSTANT:
        return replace(type_, space=Space.GLOBAL)
    return type_
