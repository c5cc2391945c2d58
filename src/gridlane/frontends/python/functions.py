"""Whole functions: kernels with flat parameters, device functions with specs."""

from __future__ import annotations

import types

from gridlane.core import argtypes
from gridlane.core.dtypes import i64
from gridlane.core.errors import TypingError
from gridlane.core.source import Loc
from gridlane.frontends.python.compile_time import bind_values, evaluate, known_type
from gridlane.frontends.python.conversion import convert
from gridlane.frontends.python.joins import relaxed
from gridlane.frontends.python.operands import NONE, Conflict, Operand
from gridlane.frontends.python.parameters import kernel_parameters
from gridlane.frontends.python.source import FunctionSource, parameter_names, source_of
from gridlane.frontends.python.specs import (
    Spec,
    flatten,
    ir_types,
    passed_spec,
    rebuild,
    spec_of,
    suffixes,
)
from gridlane.frontends.python.translator import Rules, Translator
from gridlane.frontends.python.unit import Compiled, Instance, Opened, Unit
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
    evaluated = evaluate(unit, function, source, dict(zip(names, args, strict=True)))
    source = source if evaluated is None else evaluated.source
    t = Translator(unit, rules, function, target, unit.options.floats, source=source)
    bind_values(t, evaluated)
    unit.active.append((function, target.loc))
    for name, operand in zip(names, kernel_parameters(t, names, args), strict=True):
        t.env[name] = operand
    unit.counts_shared = target.loc in unit.stored
    if unit.counts_shared:
        t.shared_used = t.b.variable("shared_used", i64)
        t.b.write(t.shared_used, t.b.const(0, i64))
    t.block(source.body if not _is_lambda(source) else [])
    if _is_lambda(source):
        t.expr(source.node.body)  # type: ignore[arg-type]  # a lambda's result is dropped
    unit.active.pop()
    return target


def _is_lambda(source: FunctionSource) -> bool:
    return source.name == "lambda"


_ATTEMPTS = 20
"""The most translations of a function that calls itself: each has a wider result."""


def compile_device(unit: Unit, rules: Rules, instance: Instance) -> Compiled:
    """Translate a device function for the specs of its arguments; its results follow.

    One that calls itself is translated again until its results are those that its calls had.
    """
    opened = unit.opened[instance] = Opened()
    try:
        for _ in range(_ATTEMPTS):
            known, opened.called = len(unit.compiled), False
            compiled = _attempt(unit, rules, instance)
            if not opened.called or compiled.result == opened.result:
                return compiled
            opened.result = relaxed(compiled.result)
            # What was translated inside had too narrow a result of the calls.
            for each in list(unit.compiled)[known:]:
                del unit.compiled[each]
            del unit.module.functions[compiled.function.name]
        source = source_of(instance.function)
        raise TypingError(
            f"Return type of recursive function does not converge: what {source.name}() returns "
            "holds what its own calls return; return one type on all paths",
            source.locate(source.node),
        )
    finally:
        del unit.opened[instance]


def _attempt(unit: Unit, rules: Rules, instance: Instance) -> Compiled:
    function = instance.function
    source = source_of(function)
    target = Function(unit.function_name(source.name))
    target.loc = instance.place or source.locate(source.node)
    unit.module.functions[target.name] = target
    opened = unit.opened[instance]
    opened.target = target
    if opened.result is not None:
        target.results = tuple(ir_types(opened.result))
    names = parameter_names(function)
    evaluated = evaluate(unit, function, source, dict(zip(names, map(known_type, instance.specs))))
    source = source if evaluated is None else evaluated.source
    t = Translator(unit, rules, function, target, instance.floats, instance.place, source)
    bind_values(t, evaluated)
    try:
        _bind_parameters(t, target, names, instance.specs)
        if t.run(target.body, source.body, t.env) is None:
            t.dead = True
        result = _finish(t, target, opened)
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


def _finish(t: Translator, target: Function, opened: Opened) -> Spec:
    """Unify the results of the returns and emit them."""
    if not t.dead:
        t.returns.append((target.body, NONE, t.b.loc))
    result = opened.result
    if result is None and not t.returns and t.unknown:
        raise _runaway(t, opened)
    first: tuple[Operand, Loc] | None = None
    for _, operand, loc in t.returns:
        own = None if isinstance(operand, Conflict) else passed_spec(operand)
        joined = own if result is None else (t.unify(result, own, "the result") if own else None)
        if joined is None:
            raise _no_common_result(t, first, operand, loc, opened.called)
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


def _runaway(t: Translator, opened: Opened) -> TypingError:
    """The error of a function whose results all come from calls of itself, or of another open
    function. The result of the other may be known in a later attempt."""
    for error in t.unknown:
        if error.called is not opened:
            return error
    return TypingError(
        f"cannot type infer runaway recursion: every path of {t.source.name}() calls it again; "
        "return a value on a path that does not",
        t.unknown[0].loc,
    )


def _no_common_result(
    t: Translator,
    first: tuple[Operand, Loc] | None,
    operand: Operand,
    loc: Loc,
    recursive: bool,
) -> TypingError:
    if recursive:
        return TypingError(
            f"Return type of recursive function does not converge: {t.source.name}() returns "
            f"{operand.type_name} here, and another type where it does not call itself; return one "
            "type on all paths",
            loc,
        )
    if first is None:
        return TypingError(
            f"{operand.type_name} cannot be returned; return the values that it is made of", loc
        )
    return TypingError(
        f"{t.source.name}() returns {first[0].type_name} on one path and {operand.type_name} on "
        "another; return one type on all paths",
        loc,
        ((f"{first[0].type_name} here:", first[1]),),
    )
