"""Functions that passes write for ops that a target lacks, each once per module.

The name of a function determines its meaning. So a code generator may cache its code, and lists the
name in ``Module.known``: then the function is only declared, and no pass works on its body again.
"""

from __future__ import annotations

from collections.abc import Callable

from gridlane.core.dtypes import i64, u64
from gridlane.core.frozen import frozen
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, control
from gridlane.ir.types import Type
from gridlane.ir.values import Function, Module, Param, Region, Value

LEAST_OPS = 24
"""The size below which a function is no library function and is inlined."""
_OPS_OF_WIDE: dict[type[Op], int] = {arith.MulHi: 24}
"""The ops on words that an op on 64-bit integers becomes at least, where they are more than 3."""


@frozen
class _Signature:
    """The types of a function as written, before passes change them."""

    params: tuple[Type, ...]
    results: tuple[Type, ...]


_SIGNATURES: dict[str, _Signature] = {}
"""The signature of each library function that this process has written."""


def library_function(module: Module, name: str, write: Callable[[], Function]) -> Function:
    """The module's function of a name, written or declared on first use.

    Args:
        write: creates it, and may add the functions that it calls to the module.
    """
    if name in module.functions:
        return module.functions[name]
    if name in module.known and name in _SIGNATURES:
        function = _declared(name, _SIGNATURES[name])
    else:
        function = write()
        function.is_library = _size(function) >= LEAST_OPS
        if function.is_library:
            types = tuple([param.value.type for param in function.params])
            _SIGNATURES[name] = _Signature(types, function.results)
    module.functions[name] = function
    return function


def _size(function: Function) -> int:
    """The number of ops; one on 64-bit integers counts as the ops on words that it may become."""
    return sum(
        _OPS_OF_WIDE.get(type(op), 3)
        if any(value.type in (i64, u64) for value in op.results)
        else 1
        for op in function.body.walk()
    )


def _declared(name: str, signature: _Signature) -> Function:
    params = [Param(Value(type_, None, f"x{n}")) for n, type_ in enumerate(signature.params)]
    return Function(name, params, signature.results, is_library=True, is_declared=True)


def call_instead(module: Module, callee: Callable[[Op], Function | None]) -> None:
    """Replace ops by calls of library functions, with the same operands and results.

    Args:
        callee: the function for an op, or None where the op stays. Ops in functions that it adds
            stay as they are.
    """
    for function in list(module.functions.values()):
        _call_in(function.body, callee, {})


def _call_in(
    region: Region, callee: Callable[[Op], Function | None], values: dict[Value, Value]
) -> None:
    ops: list[Op] = []
    for op in region.ops:
        op.replace_operands(lambda value: values.get(value, value))
        for inner in op.regions():
            _call_in(inner, callee, values)
        function = callee(op)
        if function is not None:
            call = control.Call(function.name, tuple(op.operands()), function.results, loc=op.loc)
            values.update(zip(op.results, call.results, strict=True))
            op = call
        ops.append(op)
    region.ops = ops
