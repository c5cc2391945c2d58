"""Calls of device functions: argument binding, specialisation, the call op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridlane.core import argtypes
from gridlane.core.errors import CompileError, TypingError, UnsupportedError
from gridlane.frontends.python.calls.overloads import choose_signature
from gridlane.frontends.python.closures import passed_on
from gridlane.frontends.python.constants import operand_of
from gridlane.frontends.python.conversion import cast_to
from gridlane.frontends.python.device_function import DeviceFunction
from gridlane.frontends.python.functions import compile_device
from gridlane.frontends.python.operands import NONE, Operand, Scalar, TupleOperand, Vector
from gridlane.frontends.python.specs import (
    UNBOUNDED,
    LiteralSpec,
    OptionalSpec,
    PartsSpec,
    ScalarSpec,
    Spec,
    StaticSpec,
    TupleSpec,
    UserSpec,
    flatten,
    passed_spec,
    rebuild,
)
from gridlane.frontends.python.translator import ResultUnknown, Translator
from gridlane.frontends.python.unit import Compiled, Instance, LiteralNeeded, Opened
from gridlane.ir.builder import constant

DEPTH = 200
"""The maximum nesting depth of calls."""
TYPES = 40
"""The maximum number of types and constants for which a function calls itself."""


def call_device(
    t: Translator, device: DeviceFunction, arguments: list[Operand], keywords: dict[str, Operand]
) -> Operand:
    """Call a device function, compiled for the operands' types."""
    operands = [passed_on(t, item) for item in _bind(t, device, arguments, keywords)]
    declared = choose_signature(t, device, operands)
    if declared is not None:
        operands = [cast_to(t, item, kind) for item, kind in zip(operands, declared.args)]
    while True:
        literals = t.unit.literals.get(device.py_func, set()) | device.constants
        specs = tuple([_argument_spec(t, item, n in literals) for n, item in enumerate(operands)])
        if any(function is device.py_func for function, _ in t.unit.active):
            # Else a function that calls itself would have an instance for each sign of each
            # argument, and a stack for each cycle of these.
            specs = tuple([_unbounded(spec) for spec in specs])
        try:
            compiled = _compiled(t, device, specs)
            break
        except LiteralNeeded as error:
            if error.function is not device.py_func or error.position in literals:
                raise
            if _literal(operands[error.position]) is None:
                error.loc = error.loc.inlined_at(t.b.loc)
                raise _not_constant(t, error, operands[error.position]) from None
            t.unit.literals.setdefault(device.py_func, set()).add(error.position)
    return _emit(t, compiled, operands, specs, declared)


def _emit(
    t: Translator,
    compiled: Compiled,
    operands: list[Operand],
    specs: tuple[Spec, ...],
    declared: argtypes.Signature | None,
) -> Operand:
    values = []
    for operand, spec in zip(operands, specs, strict=True):
        values += flatten(operand) if not _is_literal(spec) else []
    results = t.b.call(compiled.function, tuple(values))
    result = rebuild(t.b, compiled.result, iter(results))
    wanted = None if declared is None else declared.return_type
    if wanted is None or isinstance(wanted, argtypes.NoneType):
        return result
    return cast_to(t, result, wanted)


def _is_literal(spec: Spec) -> bool:
    if isinstance(spec, TupleSpec):
        return bool(spec.items) and all(_is_literal(item) for item in spec.items)
    return isinstance(spec, LiteralSpec)


def _not_constant(t: Translator, error: LiteralNeeded, operand: Operand) -> LiteralNeeded:
    """The error of an argument that is not constant, moved to the parameter here that it is, if
    any."""
    for value in flatten(operand):
        position = t.parameters.get(value)
        if position is not None:
            return LiteralNeeded(error.message, error.loc, t.function, position)
    return error


def _compiled(t: Translator, device: DeviceFunction, specs: tuple[Spec, ...]) -> Compiled:
    place = t.b.loc if device.is_library else None
    instance = Instance(device.py_func, specs, device.floats or t.floats, place)
    compiled_function = t.unit.compiled.get(instance)
    if compiled_function is not None:
        return compiled_function
    opened = t.unit.opened.get(instance)
    if opened is not None:
        return _called_again(t, device, opened)
    _check_depth(t, device)
    t.unit.active.append((device.py_func, t.b.loc))
    try:
        compiled_function = t.unit.compiled[instance] = compile_device(t.unit, t.rules, instance)
    except CompileError as error:
        if place is None and not isinstance(error, LiteralNeeded | ResultUnknown):
            error.loc = error.loc.inlined_at(t.b.loc)
        raise
    finally:
        t.unit.active.pop()
    return compiled_function


def _called_again(t: Translator, device: DeviceFunction, opened: Opened) -> Compiled:
    """A function that is being translated, for a call of it inside, with the result that it is
    known to have."""
    opened.called = True
    if opened.result is None or opened.target is None:
        raise ResultUnknown(
            f"{device.py_func.__name__}() calls itself, and what it returns is not known here",
            t.b.loc,
            opened,
        )
    return Compiled(opened.target, opened.result)


def _check_depth(t: Translator, device: DeviceFunction) -> None:
    active = [function for function, _ in t.unit.active]
    name = device.py_func.__name__
    if active.count(device.py_func) > TYPES:
        raise t.fail(
            TypingError,
            f"{name}() calls itself with arguments of ever new types, or that must be known when "
            f"the kernel is compiled, more than {TYPES} deep; call it with the types that it has",
        )
    if len(active) <= DEPTH:
        return
    raise t.fail(
        UnsupportedError,
        f"calls of device functions nest more than {DEPTH} deep, from "
        f"{active[0].__name__}() to {name}(): turn the chain into a loop",
    )


def _bind(
    t: Translator, device: DeviceFunction, arguments: list[Operand], keywords: dict[str, Operand]
) -> list[Operand]:
    """One operand per parameter; defaults are filled in, ``*args`` becomes a tuple."""
    function = device.py_func
    if not keywords and device.plain_parameters == len(arguments):
        return arguments
    signature = t.unit.around.signature(function)
    try:
        bound = signature.bind(*arguments, **keywords)
    except TypeError as error:
        raise t.fail(TypingError, f"{function.__name__}{signature}: {error}") from None
    operands = []
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            raise t.fail(UnsupportedError, f"{function.__name__}: **{name} cannot be compiled")
        if parameter.kind is parameter.VAR_POSITIONAL:
            operands.append(TupleOperand(tuple(bound.arguments.get(name, ()))))
        elif name in bound.arguments:
            operands.append(bound.arguments[name])
        else:
            operands.append(_default(t, device, parameter.default))
    return operands


def _default(t: Translator, device: DeviceFunction, value: Any) -> Operand:
    """The default of a parameter, whose floats are those of the function that has it."""
    outer, t.floats = t.floats, device.floats or t.floats
    operand = operand_of(t, value)
    t.floats = outer
    return operand


def _argument_spec(t: Translator, operand: Operand, literal: bool) -> Spec:
    """The spec that a callee is compiled for: bounds are reduced to whether a number is negative,
    so that constants do not multiply its instances."""
    if literal:
        known = _literal(operand)
        if known is not None:
            return known
    spec = passed_spec(operand)
    if spec is None:
        raise t.fail(
            TypingError, f"a device function does not take {operand.type_name}; pass its parts"
        )
    return _coarse(spec)


def _unbounded(spec: Spec) -> Spec:
    """A spec without any bound of a number."""
    if isinstance(spec, ScalarSpec) and spec.dtype.is_integer:
        low = spec.dtype.min
        return ScalarSpec(spec.dtype, low, spec.dtype.max if low else UNBOUNDED, spec.cls)
    if isinstance(spec, TupleSpec):
        return TupleSpec(tuple([_unbounded(item) for item in spec.items]), spec.fields, spec.cls)
    if isinstance(spec, UserSpec):
        return UserSpec(spec.type, tuple([_unbounded(item) for item in spec.items]))
    if isinstance(spec, OptionalSpec):
        return OptionalSpec((_unbounded(spec.items[0]),))
    if isinstance(spec, PartsSpec):
        return PartsSpec(spec.shape, tuple([_part(item, _unbounded) for item in spec.items]))
    return spec


def _coarse(spec: Spec) -> Spec:
    if isinstance(spec, ScalarSpec) and spec.dtype.is_integer:
        dtype = spec.dtype
        sure = spec.hi <= dtype.max
        if spec.lo >= 0:
            return ScalarSpec(dtype, 0, dtype.max if sure else UNBOUNDED, spec.cls)
        return ScalarSpec(dtype, dtype.min, dtype.max, spec.cls)
    if isinstance(spec, TupleSpec):
        return TupleSpec(tuple([_coarse(item) for item in spec.items]), spec.fields, spec.cls)
    if isinstance(spec, UserSpec):
        return UserSpec(spec.type, tuple([_coarse(item) for item in spec.items]))
    if isinstance(spec, OptionalSpec):
        return OptionalSpec((_coarse(spec.items[0]),))
    if isinstance(spec, PartsSpec):
        return PartsSpec(spec.shape, tuple([_part(item, _coarse) for item in spec.items]))
    return spec


def _part(spec: Spec, without: Callable[[Spec], Spec]) -> Spec:
    """A part of a range or slice: a constant stays one, as most are a step of 1."""
    return spec if isinstance(spec, ScalarSpec) and spec.lo == spec.hi else without(spec)


def _literal(operand: Operand) -> Spec | None:
    """The spec of a constant number, or a tuple of them; None for any other operand."""
    if isinstance(operand, Scalar):
        known = constant(operand.value)
        return None if known is None else LiteralSpec(operand.dtype, known)
    if isinstance(operand, TupleOperand) and not isinstance(operand, Vector):
        items = [_literal(item) for item in operand.items]
        if all(item is not None for item in items):
            return TupleSpec(tuple(items), operand.fields, operand.cls)  # type: ignore[arg-type]
    if operand is NONE:
        return StaticSpec(None)
    return None
