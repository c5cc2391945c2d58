"""The lines of a kernel that became float64, with causes: those that the translator recorded, as
far as they remain in the IR, and the types of arguments and arrays."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterable, Iterator

from gridlane.core.argtypes import ArgType, ArrayType, ComplexType
from gridlane.core.dtypes import f64
from gridlane.core.frozen import frozen
from gridlane.core.options import KernelOptions
from gridlane.core.source import Loc
from gridlane.frontends.python.doubles import Cause, is_double
from gridlane.frontends.python.source import parameter_names, source_of
from gridlane.frontends.python.translation import translate_unit, with_memory
from gridlane.frontends.python.unit import Unit
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, control, memory
from gridlane.ir.types import ArrayType as HeldArray
from gridlane.ir.types import PointerType, StructType, Type
from gridlane.ir.values import Function, Module, Value


@frozen
class Explanation:
    """Why lines of a kernel are float64.

    Attributes:
        causes: each once, in the order of the source.
        others: further lines that compute in float64, because of these.
    """

    causes: tuple[Cause, ...]
    others: tuple[Loc, ...]


def explain(
    function: types.FunctionType, args: tuple[ArgType, ...], options: KernelOptions
) -> Explanation:
    """Translate a kernel for argument types, and report what became float64.

    Raises:
        CompileError: the kernel is outside the dialect or its types do not fit; located.
    """

    def attempt(stored: set[Loc]) -> Unit:
        unit = Unit(Module(), options, causes={}, stored=stored)
        translate_unit(unit, function, args)
        return unit

    unit = with_memory(attempt)
    module = unit.module
    lines = {(op.loc.file, op.loc.line): op.loc for op in _doubles(module)}
    causes: dict[tuple[Loc, str], Cause] = {}
    for cause in (*_of_arguments(module, function, args), *_noted(unit), *_arrays(module)):
        causes.setdefault((cause.place, cause.reason), cause)
    reported = {(cause.place.file, cause.place.line) for cause in causes.values()}
    ordered = sorted(causes.values(), key=lambda cause: _order(cause.place))
    others = sorted((loc for line, loc in lines.items() if line not in reported), key=_order)
    return Explanation(tuple(ordered), tuple(others))


def _order(place: Loc) -> tuple[str, int, int]:
    return place.file, place.line, place.column


# --- what is left in the IR ---


def _doubles(module: Module) -> Iterator[Op]:
    """The ops that compute with float64. Constants and reads of variables do not, until an op uses
    them."""
    for function in module.functions.values():
        for op in function.body.walk():
            if op.operands() and any(map(is_double, (*op.operands(), *op.results))):
                yield op


def _noted(unit: Unit) -> Iterator[Cause]:
    """The translator's causes that are left."""
    module = unit.module
    noted = {
        name: causes for name, causes in (unit.causes or {}).items() if name in module.functions
    }
    asked = [cause.value for causes in noted.values() for cause in causes if cause.asked]
    sources = [value for value in asked if value is not None]
    sources += [param.value for param in module.kernel.params if _holds_double(param.value.type)]
    sources += [op.results[0] for op in _declared(module)]
    wide = _reached(module, sources)
    for name, causes in noted.items():
        used = _Uses(module.functions[name], wide)
        yield from (
            cause
            for cause in causes
            if used.shows(cause) and (cause.asked or cause.value not in sources)
        )


class _Uses:
    """How a function uses what is float64. ``wide``: the values that the source declares as
    float64."""

    def __init__(self, function: Function, wide: set[object]) -> None:
        self._wide, self._by_value = wide, dict[Value, list[Op]]()
        self._results = [(function.name, number) for number in range(len(function.results))]
        for op in function.body.walk():
            for value in op.operands():
                self._by_value.setdefault(value, []).append(op)
        self._places = {op.loc for op in function.body.walk() if self._became_double(op)}

    def _became_double(self, op: Op) -> bool:
        """Whether an op is on float64 that the source does not declare. An earlier attempt at a
        loop may have had integers in its place."""
        values = (*op.operands(), *op.results)
        if not any(map(is_double, values)) or any(value in self._wide for value in values):
            return False
        return not isinstance(op, arith.Const | arith.Cast) or self._is_used(op.results[0])

    def _is_used(self, value: Value) -> bool:
        """Whether an op uses a value beside what is not float64 already."""
        return not all(map(self._is_wide, self._by_value.get(value, [])))

    def shows(self, cause: Cause) -> bool:
        """Whether a value is float64 for a cause. The type of a literal among declared float64 is
        due to the declaration."""
        if cause.joins:
            return bool(self._places)
        if cause.value is None:
            return cause.place in self._places
        return self._is_used(cause.value) or (cause.asked and cause.value in self._by_value)

    def _is_wide(self, op: Op) -> bool:
        if isinstance(op, memory.WriteVar):
            return op.var in self._wide
        if isinstance(op, control.Return):
            return any(result in self._wide for result in self._results)
        if isinstance(op, control.Call):
            return False  # what the callee does with it is float64 because of it
        return any(value in self._wide for value in op.operands())


def _reached(module: Module, sources: Iterable[Value]) -> set[object]:
    """What is computed in float64 from values: values, variables, results of functions."""
    reached: set[object] = set(sources)
    size = -1
    while size != len(reached):
        size = len(reached)
        for function in module.functions.values():
            for op in function.body.walk():
                reached.update(_next(module, function, op, reached))
    return reached


def _next(module: Module, function: Function, op: Op, reached: set[object]) -> Iterator[object]:
    """What an op makes of what is reached."""
    if isinstance(op, memory.ReadVar):
        if op.var in reached:
            yield op.results[0]
    elif isinstance(op, memory.WriteVar):
        if op.value in reached:
            yield op.var
    elif isinstance(op, control.Return):
        yield from ((function.name, n) for n, value in enumerate(op.values) if value in reached)
    elif isinstance(op, control.Call):
        callee = module.functions[op.callee]
        pairs = zip(callee.params, op.arguments, strict=True)
        yield from (param.value for param, value in pairs if value in reached)
        yield from (value for n, value in enumerate(op.results) if (op.callee, n) in reached)
    elif any(value in reached for value in op.operands()):
        yield from (value for value in op.results if _carries(value.type))


def _carries(kind: Type) -> bool:
    """Whether a value may lead to a float64. Any pointer may: strides are added as bytes."""
    return isinstance(kind, PointerType) or _holds_double(kind)


def _holds_double(kind: Type) -> bool:
    if isinstance(kind, PointerType | HeldArray):
        return _holds_double(kind.element)
    if isinstance(kind, StructType):
        return any(map(_holds_double, kind.types))
    return kind is f64


# --- arguments and arrays ---


def _of_arguments(
    module: Module, function: types.FunctionType, args: tuple[ArgType, ...]
) -> Iterator[Cause]:
    """The arguments whose float64 the kernel uses."""
    locations = _argument_places(function)
    for number, (name, kind) in enumerate(zip(parameter_names(function), args, strict=True)):
        own = [p.value for p in module.kernel.params if p.argument == number]
        reached = _reached(module, [value for value in own if _holds_double(value.type)])
        if any(value in reached for op in _doubles(module) for value in op.operands()):
            yield Cause(locations[name], f"the argument {name} is {kind}", _narrower(name, kind))


def _argument_places(function: types.FunctionType) -> dict[str, Loc]:
    source = source_of(function)
    every = [node for node in ast.walk(source.node.args) if isinstance(node, ast.arg)]
    return {node.arg: source.locate(node) for node in every}


def _narrower(name: str, kind: ArgType) -> str:
    element = kind.element if isinstance(kind, ArrayType) else kind
    narrow = "complex64" if isinstance(element, ComplexType) else "float32"
    if isinstance(kind, ArrayType):
        return f"pass an array of {narrow}, as {name}.astype(np.{narrow})"
    return f"pass {narrow}, as np.{narrow}({name})"


def _declared(module: Module) -> Iterator[Op]:
    """The ops that make arrays of float64 of the kernel's own."""
    for function in module.functions.values():
        for op in function.body.walk():
            is_memory = isinstance(
                op, memory.LocalArray | memory.GlobalAddress | memory.DynamicShared
            )
            if is_memory and _holds_double(op.results[0].type):
                yield op


def _arrays(module: Module) -> Iterator[Cause]:
    """The arrays of the kernel's own whose float64 it uses."""
    for op in _declared(module):
        reached = _reached(module, op.results)
        if any(value in reached for use in _doubles(module) for value in use.operands()):
            yield Cause(op.loc, "this array is of float64", "give it float32 elements")
