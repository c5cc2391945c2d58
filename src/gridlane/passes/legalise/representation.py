"""Holds values of some types in values of others: what the passes that legalise types share.

A pass says by ``forms`` what stands for a type, and by ``RULES`` what stands for an op on such
values. What only passes values on (variables, selects, calls, returns) is done here. Memory keeps
its layout: the element of a pointer says where elements are, whatever loads and stores them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias

from gridlane.core.dtypes import DType, f32, u32
from gridlane.core.errors import TargetError
from gridlane.ir.builder import Builder
from gridlane.ir.op import FieldKind, Op
from gridlane.ir.ops import arith, control, memory
from gridlane.ir.types import Space, Type, pointer
from gridlane.ir.values import Function, Global, Module, Param, Region, Value, Var
from gridlane.passes.legalise.math.expression import FORMATS, Expression, Writer

Parts: TypeAlias = tuple[Value, ...]
"""The values that stand for one."""

Rule: TypeAlias = Callable[[Any, Any], Sequence[Parts]]
"""From a representation and an op to what stands for each result of the op."""


class Representation:
    """Rewrites a module. ``builder`` stands where the op that is rewritten stood."""

    RULES: ClassVar[dict[type[Op], Rule]] = {}
    """What stands for an op that has an operand or a result with a form."""

    LACK = "the target has no such values"
    """What is wrong where there is no rule."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.parts: dict[Value, Parts] = {}
        self.variables: dict[Var, tuple[Var, ...]] = {}
        self.worded: set[str] = set()
        self.known: dict[Type, tuple[Type, ...] | None] = {}

    # ---- what a pass says

    def forms(self, type_: Type) -> tuple[Type, ...] | None:
        """The types that stand for one, or None for the type itself."""
        raise NotImplementedError

    def entered(self, param: Value) -> Parts:
        """What stands for a parameter of the kernel, which keeps its type."""
        raise NotImplementedError

    # ---- what rules use

    def form(self, type_: Type) -> tuple[Type, ...] | None:
        """``forms``, remembered."""
        if type_ not in self.known:
            self.known[type_] = self.forms(type_)
        return self.known[type_]

    def of(self, value: Value) -> Parts:
        """What stands for an operand."""
        return self.parts.get(value, (value,))

    def one(self, value: Value) -> Value:
        """What stands for an operand, where that is one value."""
        (made,) = self.of(value)
        return made

    def expressions(self, value: Value) -> tuple[Expression, ...]:
        """What stands for an operand, with operators."""
        return tuple([self.writer.wrap(part) for part in self.of(value)])

    # ---- the walk

    def run(self) -> None:
        """Rewrite every function that the module has now."""
        functions = list(self.module.functions.values())
        items = self.module.globals
        self.worded = {name for name, item in items.items() if self.in_words(item.element)}
        items.update({name: in_whole_words(items[name]) for name in self.worded})
        for function in functions:
            function.results = self.flat(function.results)
        for function in functions:
            self.function(function)

    def flat(self, types: Sequence[Type]) -> tuple[Type, ...]:
        """The types that stand for several."""
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
        """Declare a variable, or what stands for it."""
        form = self.form(var.type)
        if form is None:
            self.builder.function.variables.append(var)
            return
        self.variables[var] = tuple([self.builder.variable(var.name, part) for part in form])

    def parameters(self, function: Function) -> None:
        """Take the parameters of a function."""
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
                made = [Value(type_, None, name) for type_, name in zip(form, names, strict=False)]
                params += [Param(item) for item in made]
                self.parts[value] = tuple(made)
        function.params = params

    def region(self, old: Region, new: Region) -> None:
        """Rewrite the ops of one region into another."""
        with self.builder.inside(new):
            for op in old.ops:
                self.op(op)

    def op(self, op: Op) -> None:
        """Rewrite an op, or pass it on."""
        self.builder.loc = op.loc
        if not self.concerns(op):
            self.keep(op)
            return
        rule = self.rule(op)
        for old, parts in zip(op.results, rule(self, op), strict=True):
            self.parts[old] = parts

    def rule(self, op: Op) -> Rule:
        """How an op is rewritten; TargetError where it cannot be."""
        rule = self.RULES.get(type(op)) or GENERIC.get(type(op))
        if rule is None:
            raise TargetError(f"{op.name}: {self.LACK}", op.loc)
        return rule

    def concerns(self, op: Op) -> bool:
        """Whether an op has to do with values that have a form."""
        if isinstance(op, memory.ReadVar | memory.WriteVar):
            return self.form(op.var.type) is not None
        if isinstance(op, memory.LocalArray):
            return self.in_words(op.element)
        if isinstance(op, memory.GlobalAddress):
            return op.symbol in self.worded
        # The hot test of all these passes.
        form = self.form
        for value in op.results:
            if form(value.type) is not None:
                return True
        return any(form(value.type) is not None for value in op.operands())

    def in_words(self, element: Type) -> bool:
        """Whether an array of the kernel's own is to be declared as one of 32-bit words."""
        return False

    def keep(self, op: Op) -> None:
        """Pass an op on, with its regions rewritten."""
        op.replace_operands(self.one)
        self.builder.region.ops.append(op)
        for name in op.REGION_FIELDS:
            old, new = getattr(op, name), Region()
            setattr(op, name, new)
            self.region(old, new)

    # ---- what passes values on

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
        made = self.builder.emit(control.Call(op.callee, arguments, self.flat(op.types))).results
        rest = iter(made)
        return [tuple([next(rest) for _ in self.form(t) or (t,)]) for t in op.types]

    def return_(self, op: control.Return) -> Sequence[Parts]:
        self.builder.return_(tuple([part for value in op.values for part in self.of(value)]))
        return []

    def local_array(self, op: memory.LocalArray) -> Sequence[Parts]:
        """An array of whole words: its last bytes are read with the word that they are in."""
        words = -(-op.element.size * op.count // u32.size)
        made = self.builder.value(memory.LocalArray(u32, words))
        return [(self.builder.recast(made, pointer(op.element, Space.LOCAL)),)]

    def global_(self, op: memory.GlobalAddress) -> Sequence[Parts]:
        made = self.module.globals[op.symbol]
        at = self.builder.value(memory.GlobalAddress(op.symbol, pointer(made.element, made.space)))
        return [(self.builder.recast(at, op.type),)]


def in_whole_words(item: Global) -> Global:
    """A global as an array of words. Its first element keeps its place; what is added is zero."""
    words = -(-item.size // u32.size)
    data = None if item.data is None else item.data.ljust(words * u32.size, b"\0")
    align = max(item.align, u32.align)
    return Global(item.name, u32, words, item.space, align, data)


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
    """The same op with other operands, in the order of the op's own."""
    fields = fields_of(op)
    waiting = iter(operands)
    for name in op.OPERAND_FIELDS:
        fields[name] = next(waiting)
    return rep.builder.emit(type(op)(**fields)).results


def scalar(value: Value) -> DType:
    """The type of a value that is a scalar."""
    assert isinstance(value.type, DType), value
    return value.type
