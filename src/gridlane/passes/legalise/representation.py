"""Represents values of some types by values of others: the base of the passes that legalise types.

A pass defines by ``forms`` the representation of a type, and by ``RULES`` the rewriting of an op on
such values. Ops that only pass values on (variables, selects, calls, returns) are handled here.
Memory keeps its layout: the element type of a pointer gives the stride, whatever type is accessed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias

from gridlane.core.dtypes import DType, f32, u32
from gridlane.core.errors import TargetError
from gridlane.ir.builder import Builder
from gridlane.ir.expressions import FORMATS, Expression, Writer
from gridlane.ir.op import FieldKind, Op
from gridlane.ir.ops import arith, control, memory
from gridlane.ir.types import Space, Type, pointer
from gridlane.ir.values import Function, Global, Module, Param, Region, Value, Var

Parts: TypeAlias = tuple[Value, ...]
"""The values that represent one value."""

Rule: TypeAlias = Callable[[Any, Any], Sequence[Parts]]
"""Maps a representation and an op to the values that represent each result of the op."""


class Representation:
    """Rewrites a module. ``builder`` inserts at the op being rewritten."""

    RULES: ClassVar[dict[type[Op], Rule]] = {}
    """The rule for each op that has an operand or a result with a form."""

    LACK = "the target has no such values"
    """The reason for the error where there is no rule."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.parts: dict[Value, Parts] = {}
        self.variables: dict[Var, tuple[Var, ...]] = {}
        self.worded: set[str] = set()
        self.known: dict[Type, tuple[Type, ...] | None] = {}

    # ---- defined by a pass

    def forms(self, type_: Type) -> tuple[Type, ...] | None:
        """The types that represent a type, or None where it stays."""
        raise NotImplementedError

    def entered(self, param: Value) -> Parts:
        """The representation of a kernel's parameter, which keeps its type."""
        raise NotImplementedError

    # ---- used by rules

    def form(self, type_: Type) -> tuple[Type, ...] | None:
        """``forms``, cached."""
        if type_ not in self.known:
            self.known[type_] = self.forms(type_)
        return self.known[type_]

    def of(self, value: Value) -> Parts:
        """The representation of an operand."""
        return self.parts.get(value, (value,))

    def one(self, value: Value) -> Value:
        """The representation of an operand, where it is one value."""
        (single,) = self.of(value)
        return single

    def expressions(self, value: Value) -> tuple[Expression, ...]:
        """The representation of an operand, as expressions."""
        return tuple([self.writer.wrap(part) for part in self.of(value)])

    # ---- the walk

    def run(self) -> None:
        """Rewrite every function that is in the module at the start."""
        functions = list(self.module.functions.values())
        items = self.module.globals
        self.worded = {name for name, item in items.items() if self.in_words(item.element)}
        items.update({name: in_whole_words(items[name]) for name in self.worded})
        for function in functions:
            function.results = self.flat(function.results)
        for function in functions:
            self.function(function)

    def flat(self, types: Sequence[Type]) -> tuple[Type, ...]:
        """The types that represent several types, in order."""
        return tuple([part for type_ in types for part in self.form(type_) or (type_,)])

    def function(self, function: Function) -> None:
        """Rewrite one function."""
        self.builder = Builder(self.module, function)  # knows the variables' names
        body, function.body = function.body, Region()
        variables, function.variables = function.variables, []
        self.builder.region = function.body
        self.writer = Writer(self.builder, FORMATS[f32])
        for var in variables:
            self.declare(var)
        self.parameters(function)
        self.region(body, function.body)
        function.body.ops[:0] = self.writer.constants.values()

    def declare(self, var: Var) -> None:
        """Declare a variable, or the variables that represent it."""
        form = self.form(var.type)
        if form is None:
            self.builder.function.variables.append(var)
            return
        self.variables[var] = tuple([self.builder.variable(var.name, part) for part in form])

    def parameters(self, function: Function) -> None:
        """Rewrite the parameters of a function."""
        params: list[Param] = []
        for param in function.params:
            value, form = param.value, self.form(param.value.type)
            if form is None:
                params.append(param)
            elif function.is_kernel:
                params.append(param)
                self.parts[value] = self.entered(value)
            else:
                names = [value.name] if len(form) == 1 else [f"{value.name}.{n}" for n in range(9)]
                results = [
                    Value(type_, None, name) for type_, name in zip(form, names, strict=False)
                ]
                params += [Param(item) for item in results]
                self.parts[value] = tuple(results)
        function.params = params

    def region(self, old: Region, new: Region) -> None:
        """Rewrite the ops of one region into another."""
        with self.builder.inside(new):
            for op in old.ops:
                self.op(op)

    def op(self, op: Op) -> None:
        """Rewrite an op, or keep it."""
        self.builder.loc = op.loc
        if not self.concerns(op):
            self.keep(op)
            return
        rule = self.rule(op)
        for old, parts in zip(op.results, rule(self, op), strict=True):
            self.parts[old] = parts

    def rule(self, op: Op) -> Rule:
        """The rule for an op; TargetError where there is none."""
        rule = self.RULES.get(type(op)) or GENERIC.get(type(op))
        if rule is None:
            raise TargetError(f"{op.name}: {self.LACK}", op.loc)
        return rule

    def concerns(self, op: Op) -> bool:
        """Whether an op involves values that have a form."""
        if isinstance(op, memory.ReadVar | memory.WriteVar):
            return self.form(op.var.type) is not None
        if isinstance(op, memory.LocalArray):
            return self.in_words(op.element)
        if isinstance(op, memory.GlobalAddress):
            return op.symbol in self.worded
        # This test is the hot path of all these passes.
        form = self.form
        for value in op.results:
            if form(value.type) is not None:
                return True
        return any(form(value.type) is not None for value in op.operands())

    def in_words(self, element: Type) -> bool:
        """Whether an array of the kernel's own is declared as one of 32-bit words."""
        return False

    def keep(self, op: Op) -> None:
        """Keep an op, with its regions rewritten."""
        op.replace_operands(self.one)
        self.builder.region.ops.append(op)
        for name in op.REGION_FIELDS:
            old, new = getattr(op, name), Region()
            setattr(op, name, new)
            self.region(old, new)

    # ---- ops that pass values on

    def select(self, op: arith.Select) -> Sequence[Parts]:
        pairs = zip(self.of(op.on_true), self.of(op.on_false), strict=True)
        condition = self.one(op.condition)
        return [tuple([self.builder.select(condition, a, b) for a, b in pairs])]

    def read(self, op: memory.ReadVar) -> Sequence[Parts]:
        return [tuple([self.builder.read(var) for var in self.variables[op.var]])]

    def write(self, op: memory.WriteVar) -> Sequence[Parts]:
        for var, value in zip(self.variables[op.var], self.of(op.value), strict=True):
            self.builder.write(var, value)
        return []

    def call(self, op: control.Call) -> Sequence[Parts]:
        arguments = tuple([part for value in op.arguments for part in self.of(value)])
        results = self.builder.emit(control.Call(op.callee, arguments, self.flat(op.types))).results
        rest = iter(results)
        return [tuple([next(rest) for _ in self.form(t) or (t,)]) for t in op.types]

    def return_(self, op: control.Return) -> Sequence[Parts]:
        self.builder.return_(tuple([part for value in op.values for part in self.of(value)]))
        return []

    def local_array(self, op: memory.LocalArray) -> Sequence[Parts]:
        """Declare an array as whole words: its last bytes are read with the word around them."""
        count = -(-op.size // u32.size)
        array = self.builder.value(memory.LocalArray(u32, count, op.align))
        return [(self.builder.recast(array, pointer(op.element, Space.LOCAL)),)]

    def global_(self, op: memory.GlobalAddress) -> Sequence[Parts]:
        item = self.module.globals[op.symbol]
        address = self.builder.value(
            memory.GlobalAddress(op.symbol, pointer(item.element, item.space))
        )
        return [(self.builder.recast(address, op.type),)]


def in_whole_words(item: Global) -> Global:
    """A global as an array of words. Its first element keeps its place; the padding is zero."""
    count = -(-item.size // u32.size)
    data = None if item.data is None else item.data.ljust(count * u32.size, b"\0")
    align = max(item.align, u32.align)
    return Global(item.name, u32, count, item.space, align, data)


GENERIC: dict[type[Op], Rule] = {
    arith.Select: Representation.select,
    memory.ReadVar: Representation.read,
    memory.WriteVar: Representation.write,
    control.Call: Representation.call,
    control.Return: Representation.return_,
    memory.LocalArray: Representation.local_array,
    memory.GlobalAddress: Representation.global_,
}


def fields_of(op: Op) -> dict[str, Any]:
    """The attributes of an op, by name: all but operands and regions."""
    plain = (FieldKind.ATTRIBUTE, FieldKind.VARIABLE)
    return {name: getattr(op, name) for name, kind, _ in op.LAYOUT if kind in plain}


def again(rep: Representation, op: Op, *operands: Value) -> Parts:
    """The same op with other operands, in the order of its own."""
    fields = fields_of(op)
    waiting = iter(operands)
    for name in op.OPERAND_FIELDS:
        fields[name] = next(waiting)
    return rep.builder.emit(type(op)(**fields)).results


def scalar(value: Value) -> DType:
    """The type of a scalar value."""
    assert isinstance(value.type, DType), value
    return value.type
