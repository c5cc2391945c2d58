"""A device function as one that code of other tools calls, with a calling convention of numba's."""

from __future__ import annotations

import types

from gridlane.core import argtypes
from gridlane.core.argtypes import ArgType
from gridlane.core.errors import CompileError
from gridlane.core.exports import Export
from gridlane.core.options import KernelOptions
from gridlane.core.source import Loc
from gridlane.frontends.python.abi import layout_of, result_values, store_result, taken
from gridlane.frontends.python.calls.device import call_device
from gridlane.frontends.python.device_function import DeviceFunction
from gridlane.frontends.python.operands import ArrayView, RecordView
from gridlane.frontends.python.results import result_type
from gridlane.frontends.python.rules import RULES
from gridlane.frontends.python.scope import Surroundings
from gridlane.frontends.python.source import source_of
from gridlane.frontends.python.specs import spec_of
from gridlane.frontends.python.translation import tidy, with_memory
from gridlane.frontends.python.translator import Translator
from gridlane.frontends.python.unit import Unit
from gridlane.ir.types import Space, Type, pointer
from gridlane.ir.values import Function, Module, Param, Value


def translate_exported(
    function: types.FunctionType,
    signature: argtypes.Signature,
    options: KernelOptions,
    name: str,
    abi: str,
) -> tuple[Module, ArgType]:
    """The IR of a device function that other code calls, and the type of its result.

    The module's kernel takes the address of the result, then the flat arguments of ``abi.py``.

    Args:
        signature: the types of the arguments; a return type of None is what the function returns.
        name: its symbol.
        abi: one of ``abi.ABIS``.

    Raises:
        CompileError: the function is outside the dialect or its types do not fit; located.
    """
    around = Surroundings()

    def attempt(stored: set[Loc]) -> tuple[Unit, ArgType]:
        unit = Unit(Module(), options, around, stored=stored)
        return unit, _translated(unit, function, signature)

    try:
        unit, kind = with_memory(attempt)
    except CompileError as error:
        raise error.with_traceback(None) from None
    layout = layout_of(kind)
    unit.module.export = Export(name, abi, layout.scalar, layout.size, layout.align)
    return unit.module, kind


def _translated(unit: Unit, function: types.FunctionType, signature: argtypes.Signature) -> ArgType:
    source = source_of(function)
    target = Function(unit.function_name(source.name), is_kernel=True)
    target.loc = source.locate(source.node)
    unit.module.functions[target.name] = target
    t = Translator(unit, RULES, function, target, unit.options.floats)
    t.b.loc = target.loc

    def take(type_: Type) -> Value:
        value = Value(type_, None, f"p{len(target.params)}")
        target.params.append(Param(value, len(target.params)))
        return value

    there = take(pointer(_BYTE, Space.GENERIC))
    operands = [taken(kind, take) for kind in signature.args]
    unit.arguments[there] = None
    for each in operands:
        if isinstance(each, ArrayView | RecordView):
            unit.arguments[each.pointer] = each
    wanted: ArgType | None = signature.return_type  # None where the function decides
    declared = () if wanted is None else (signature,)
    device = DeviceFunction(function, unit.options, declared)
    result = call_device(t, device, operands, {})
    if isinstance(wanted, argtypes.NoneType):
        tidy(unit, target)
        return wanted
    spec = spec_of(result)
    assert spec is not None  # a function has returned it
    kind = result_type(spec) if wanted is None else wanted
    store_result(t.b, there, layout_of(kind), result_values(result))
    tidy(unit, target)
    return kind


_BYTE = argtypes.uint8.dtype
