"""Divides fragments into the matrices that subgroups of shaders multiply, of 16 by 16 elements. A
kernel with fragments of other types, or other ops on them, has them by registers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from gridlane.core.dtypes import DType, bf16, f16, f32, i32, i64
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, matrix
from gridlane.ir.ops.matrix import EDGE
from gridlane.ir.types import FragmentType, Role, Type
from gridlane.ir.values import Module, Value
from gridlane.passes.legalise.fragments import fragments_by_loops
from gridlane.passes.legalise.representation import Parts, Representation, Rule

Elements = Mapping[Role, tuple[DType, ...]]

ELEMENTS: Elements = {Role.A: (f16,), Role.B: (f16,), Role.ACC: (f16, f32)}
"""The elements of the matrices of ``Feature.MATRIX_HALVES``."""

WITH_BFLOATS: Elements = {Role.A: (f16, bf16), Role.B: (f16, bf16), Role.ACC: (f16, f32)}
"""Those of ``Feature.MATRIX_BFLOATS``, and of Metal."""


def fragments_by_subgroups(module: Module) -> None:
    """Divide the fragments of a module, for Vulkan."""
    _divide(module, ELEMENTS, ())


def fragments_with_bfloats(module: Module) -> None:
    """Divide the fragments of a module, for Vulkan's devices with matrices of bf16."""
    _divide(module, WITH_BFLOATS, ())


def fragments_by_simdgroups(module: Module) -> None:
    """Divide the fragments of a module, for Metal."""
    _divide(module, WITH_BFLOATS, (matrix.FragmentScale, matrix.FragmentConvert))


def _divide(module: Module, elements: Elements, refused: tuple[type[Op], ...]) -> None:
    others = False
    types: set[Type] = set()
    for function in module.functions.values():
        types.update(var.type for var in function.variables)
        for op in function.body.walk():
            types.update(value.type for value in op.results)
            others |= isinstance(op, refused)
    fragments = [type_ for type_ in types if isinstance(type_, FragmentType)]
    if others or not all(type_.element in elements[type_.role] for type_ in fragments):
        fragments_by_loops(module)
    elif fragments:
        _Matrices(module).run()


def _type_of(value: Value) -> FragmentType:
    assert isinstance(value.type, FragmentType)
    return value.type


class _Matrices(Representation):
    """A fragment is its matrices, in row-major order."""

    def forms(self, type_: Type) -> tuple[Type, ...] | None:
        if not isinstance(type_, FragmentType):
            return None
        return (self.one_of(type_),) * (type_.rows // EDGE * (type_.cols // EDGE))

    def one_of(self, type_: FragmentType) -> FragmentType:
        """The type of one matrix."""
        return FragmentType(type_.role, EDGE, EDGE, type_.element)

    def starts(self, op: matrix.FragmentLoad | matrix.FragmentStore, type_: FragmentType) -> Parts:
        """The addresses of the matrices."""
        b, pointer, stride = self.builder, self.one(op.pointer), self.one(op.stride)
        result: list[Value] = []
        for row in range(0, type_.rows, EDGE):
            for column in range(0, type_.cols, EDGE):
                line, item = (column, row) if op.by_columns else (row, column)
                at = b.offset(pointer, b.mul(stride, b.const(line, i64))) if line else pointer
                result.append(b.offset(at, b.const(item, i32)) if item else at)
        return tuple(result)

    def fill(self, op: matrix.FragmentFill) -> Sequence[Parts]:
        one = self.builder.value(matrix.FragmentFill(self.one(op.value), self.one_of(op.type)))
        return [(one,) * len(self.flat((op.type,)))]

    def load(self, op: matrix.FragmentLoad) -> Sequence[Parts]:
        b, type_, stride = self.builder, self.one_of(op.type), self.one(op.stride)
        return [
            tuple([
                b.value(matrix.FragmentLoad(start, stride, type_, op.by_columns))
                for start in self.starts(op, op.type)
            ])
        ]  # fmt: skip

    def store(self, op: matrix.FragmentStore) -> Sequence[Parts]:
        starts, stride = self.starts(op, _type_of(op.fragment)), self.one(op.stride)
        for start, part in zip(starts, self.of(op.fragment), strict=True):
            self.builder.emit(matrix.FragmentStore(start, stride, part, op.by_columns))
        return []

    def multiply(self, op: matrix.FragmentMma) -> Sequence[Parts]:
        a, b, c = self.of(op.a), self.of(op.b), list(self.of(op.c))
        left, sums = _type_of(op.a), _type_of(op.c)
        steps, across = left.cols // EDGE, sums.cols // EDGE
        for step in range(steps):
            for place, total in enumerate(c):
                row, column = divmod(place, across)
                factors = a[row * steps + step], b[step * across + column]
                c[place] = self.builder.value(matrix.FragmentMma(*factors, total))
        return [tuple(c)]

    def scale(self, op: matrix.FragmentScale) -> Sequence[Parts]:
        factor = self.one(op.factor)
        parts = self.of(op.fragment)
        return [tuple([self.builder.value(matrix.FragmentScale(each, factor)) for each in parts])]

    def convert(self, op: matrix.FragmentConvert) -> Sequence[Parts]:
        type_ = self.one_of(op.type)
        parts = self.of(op.fragment)
        return [tuple([self.builder.value(matrix.FragmentConvert(each, type_)) for each in parts])]

    def select(self, op: arith.Select) -> Sequence[Parts]:
        """Matrices are chosen by a branch, which all lanes take alike."""
        b, sides = self.builder, (self.of(op.on_true), self.of(op.on_false))
        chosen = [b.variable("chosen", value.type) for value in sides[0]]
        with b.if_(self.one(op.condition)) as branch:
            for var, value in zip(chosen, sides[0], strict=True):
                b.write(var, value)
        with b.inside(branch.orelse):
            for var, value in zip(chosen, sides[1], strict=True):
                b.write(var, value)
        return [tuple([b.read(var) for var in chosen])]

    RULES: ClassVar[dict[type[Op], Rule]] = {
        matrix.FragmentFill: fill,
        matrix.FragmentLoad: load,
        matrix.FragmentStore: store,
        matrix.FragmentMma: multiply,
        matrix.FragmentScale: scale,
        matrix.FragmentConvert: convert,
        arith.Select: select,
    }
