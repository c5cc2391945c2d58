"""Whole functions: kernels with flat parameters, device functions with specs."""

from __future__ import annotations

import types

from gridlane.core import argtypes
from gridlane.core.errors import TypingError
from gridlane.core.source import Loc
from gridlane.frontends.python.conversion import convert
from gridlane.frontends.python.operands import NONE, Conflict, Operand
from gridlane.frontends.python.parameters import kernel_parameters
from gridlane.frontends.python.source import FunctionSource, parameter_names, source_of
from gridlane.frontends.python.specs import Spec, flatten, ir_types, rebuild, spec_of, suffixes
from gridlane.frontends.python.specs import unify as unify_specs
from gridlane.frontends.python.translator import Rules, Translator
from gridlane.frontends.python.unit import Compiled, Unit
from gridlane.ir.op import Op
from gridlane.ir.ops import control
from gridlane.ir.values import Function, Param, Value


def compile_kernel(
    unit: Unit, rules: Rules, function: types.FunctionType, args: tuple[argtypes.ArgType, ...]
) -> Function:
    """Translate a kernel for argument types."""
    source = source_of(function)
    names = parameter_names(function)
    if len(names) != len(args):
        raise TypingError(
            f"{source.name}() takes {len(names)} arguments ({', '.join(names)}), but "
            f"{len(args)} types are given ({', '.join(map(str, args))})",
            source.locate(source.node),
        )
    target = Function(unit.function_name(source.name), is_kernel=True)
    target.loc = source.locate(source.node)
    unit.module.functions[target.name] = target
    t = Translator(unit, rules, function, target)
    unit.active.append((function, target.loc))
    for name, operand in zip(names, kernel_parameters(t, names, args), strict=True):
        t.env[name] = operand
    t.block(source.body if not _is_lambda(source) else [])
    if _is_lambda(source):
        t.expr(source.node.body)  # type: ignore[arg-type]  # a lambda's result is dropped
    unit.active.pop()
    return target


def _is_lambda(source: FunctionSource) -> bool:
    return source.name == "lambda"


def compile_device(
    unit: Unit, rules: Rules, function: types.FunctionType, specs: tuple[Spec, ...]
) -> Compiled:
    """Translate a device function for the specs of its arguments; its results follow."""
    source = source_of(function)
    target = Function(unit.function_name(source.name))
    target.loc = source.locate(source.node)
    unit.module.functions[target.name] = target
    t = Translator(unit, rules, function, target)
    try:
        _bind_parameters(t, target, parameter_names(function), specs)
        t.block(source.body)
        result = _finish(t, target)
    except BaseException:
        del unit.module.functions[target.name]
        raise
    return Compiled(target, result)


def _bind_parameters(
    t: Translator, target: Function, names: list[str], specs: tuple[Spec, ...]
) -> None:
    for number, (name, spec) in enumerate(zip(names, specs, strict=True)):
        values = [
            Value(type_, name=name + tail)
            for type_, tail in zip(ir_types(spec), suffixes(spec), strict=True)
        ]
        for value in values:
            t.parameters[value] = number
            target.params.append(Param(value, number))
        t.env[name] = rebuild(t.b, spec, iter(values))


def _finish(t: Translator, target: Function) -> Spec:
    """Unify the results of the returns and emit them."""
    if not t.dead:
        t.returns.append((target.body, NONE, t.b.loc))
    result: Spec | None = None
    first: tuple[Operand, Loc] | None = None
    for _, operand, loc in t.returns:
        own = None if isinstance(operand, Conflict) else spec_of(operand)
        joined = own if result is None else (unify_specs(result, own) if own else None)
        if joined is None:
            raise _no_common_result(t, first, operand, loc)
        first = first or (operand, loc)
        result = joined
    if result is None:
        result = spec_of(NONE)
        assert result is not None
    target.results = tuple(ir_types(result))
    _emit_returns(t, result)
    return result


def _emit_returns(t: Translator, result: Spec) -> None:
    for region, operand, loc in t.returns:
        with t.b.inside(region):
            t.b.loc = loc
            op: Op = control.Return(tuple(flatten(convert(t, operand, result))))
            t.b.emit(op)


def _no_common_result(
    t: Translator, first: tuple[Operand, Loc] | None, operand: Operand, loc: Loc
) -> TypingError:
    if first is None:
        return TypingError(f"{operand.type_name} cannot be returned", loc)
    return TypingError(
        f"{t.source.name}() returns {first[0].type_name} on one path and {operand.type_name} on "
        "another; return one type on all paths",
        loc,
        ((f"{first[0].type_name} here:", first[1]),),
    )
