"""The code of a group: a module of IR, from its form."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import numpy as np

from gridlane.core import dtypes
from gridlane.core.dtypes import DType, b1, f32, f64, i32, i64
from gridlane.ir.builder import Builder, constant
from gridlane.ir.expressions import FORMATS, Expression, Writer
from gridlane.ir.ops.grid import Axis, BlockIdx, ThreadIdx
from gridlane.ir.types import PointerType, Type, pointer
from gridlane.ir.values import Function, Module, Param, Value
from gridlane.xp import philox
from gridlane.xp.groups import Form
from gridlane.xp.operations import OPERATIONS
from gridlane.xp.operations.record import Complex, Operand

THREADS = 256
"""Threads of a block."""


def part_of(dtype: np.dtype[Any]) -> DType:
    """The scalar type of an element, or of each part of a complex one."""
    if dtype.kind == "c":
        return f32 if dtype.itemsize == 8 else f64
    scalar = dtypes.from_numpy(dtype)
    assert scalar is not None, dtype
    return scalar


def module_of(form: Form) -> Module:
    """The kernel of a form, for blocks of ``THREADS`` threads.

    Its parameters, in order: for each leaf its address, for each number its value or both parts,
    for each index its first value, for each gather the leaf's address and for each of its axes the
    stride and the extent, for a scatter these of its axes; for each stored node the address of its
    elements; the extents of the dimensions; the strides of ``Group.strides``. A block computes
    ``THREADS`` elements, of one row if the form is by rows.
    """
    return _Elementwise(form).module


class Emission:
    """A kernel under construction: its parameters, and the values of a form's nodes.

    Attributes:
        module, function, b, w: what is written, and with what.
        form: the kernel's.
        outputs: the addresses of ``Form.stored``.
        more: the addresses of other results.
        extents: of the dimensions.
        target: the strides of ``Form.target``.
    """

    def __init__(self, form: Form, name: str, more: tuple[np.dtype[Any], ...] = ()) -> None:
        self.form = form
        self.function = Function(name, is_kernel=True)
        self.module = Module({name: self.function})
        self.b = Builder(self.module, self.function)
        self.w = Writer(self.b, FORMATS[f32])
        self.inputs = [self._parameters(step) for step in form.steps]
        self.outputs = [self._pointer(form.steps[place][1]) for place in form.stored]
        self.more = [self._pointer(dtype) for dtype in more]
        self.extents = [self.param(i64) for _ in range(form.rank)]
        self._strides = [self._strides_of(step) for step in form.steps]
        self.target = [self._stride(kind) for kind in form.target or ()]
        self._absent = self.w.const(0, i64)

    def finish(self) -> None:
        """Complete the function."""
        self.function.body.ops[:0] = self.w.constants.values()

    # --- parameters ---

    def param(self, type_: Type) -> Value:
        """A further parameter."""
        number = len(self.function.params)
        value = Value(type_, name=f"p{number}")
        is_pointer = isinstance(type_, PointerType)
        self.function.params.append(Param(value, number, ("data",) if is_pointer else ()))
        return value

    def _pointer(self, dtype: np.dtype[Any]) -> Value:
        return self.param(pointer(part_of(dtype)))

    def _parameters(self, step: tuple[Any, ...]) -> list[Value]:
        kind, dtype = step[:2]
        if kind == "leaf":
            return [self._pointer(dtype)]
        if kind == "number":
            return [self.param(part_of(dtype)) for _ in range(2 if dtype.kind == "c" else 1)]
        if kind == "index":
            return [self.param(i64)]
        if kind == "gather":
            return [self._pointer(dtype), *self._axes(len(step[3]))]
        return self._axes(len(step[3]) - 1) if kind == "scatter" else []

    def _axes(self, count: int) -> list[Value]:
        """The stride and the extent of each axis that has computed indices."""
        return [self.param(i64) for _ in range(2 * count)]

    def _strides_of(self, step: tuple[Any, ...]) -> list[Value]:
        """The stride along each dimension of a node that has some."""
        if step[0] not in ("leaf", "index", "gather"):
            return []
        return [self._stride(kind) for kind in step[2]]

    def _stride(self, kind: int | None) -> Value:
        return self.param(i64) if kind is None else self.b.const(kind, i64)

    # --- indices ---

    def parts(self, index: Value, extents: list[Value]) -> list[Value]:
        """An index among the elements of dimensions as one index along each."""
        b, parts = self.b, list[Value]()
        for extent in reversed(extents[1:]):
            above = b.div(index, extent)
            parts.append(b.sub(index, b.mul(above, extent)))
            index = above
        return [index, *reversed(parts)]

    # --- values ---

    def values(self, indices: list[Value], wanted: Container[int] | None = None) -> list[Operand]:
        """The values of all nodes for an element, or of those at some positions; the operands of
        these are wanted as well."""
        values: list[Operand] = []
        self._results: dict[Any, tuple[Operand, ...]] = {}
        steps = zip(self.form.steps, self.inputs, self._strides, strict=True)
        for position, (step, inputs, own) in enumerate(steps):
            if wanted is None or position in wanted:
                values.append(self.value(step, inputs, own, indices, values))
            else:
                values.append(self._absent)
        return values

    def value(
        self,
        step: tuple[Any, ...],
        parameters: list[Value],
        strides: list[Value],
        indices: list[Value],
        values: list[Operand],
    ) -> Operand:
        """The value of a node for the thread's element."""
        w, dtype = self.w, step[1]
        if step[0] == "leaf":
            return self.load(parameters[0], self.index(indices, strides), dtype)
        if step[0] == "number":
            parts = [w.wrap(each) for each in parameters]
            return Complex(*parts) if len(parts) == 2 else parts[0]
        if step[0] == "index":
            return w.wrap(self.b.add(parameters[0], self.index(indices, strides)))
        if step[0] == "gather":
            place = self.places(step[3], parameters[1:], values)
            place = self.b.add(place, self.index(indices, strides))
            return self.load(parameters[0], place, dtype)
        name, _, part, places = step
        if name == "scatter":
            return values[places[0]]
        operands = [values[place] for place in places]
        if name == "cast":
            return converted(w, operands[0], dtype)
        key = name, places
        if key not in self._results:
            row = philox.OPERATIONS.get(name) or OPERATIONS[name]
            result = row.build(w, *operands)
            is_one = isinstance(result, Complex | Expression)
            self._results[key] = (result,) if is_one else tuple(result)
        return self._results[key][part]

    def index(self, indices: list[Value], strides: list[Value]) -> Value:
        """The index of an element, from that along each dimension."""
        b = self.b
        index = b.const(0, i64)
        for own, stride in zip(indices, strides, strict=True):
            if constant(stride) != 0:
                index = b.add(index, b.mul(own, stride))
        return index

    def places(self, positions: tuple[int, ...], axes: list[Value], values: list[Operand]) -> Value:
        """The place of an element by computed indices, negative ones from the end."""
        b, place = self.b, self.b.const(0, i64)
        for position, stride, extent in zip(positions, axes[::2], axes[1::2], strict=True):
            own = values[position]
            assert isinstance(own, Expression)
            is_from_end = b.lt(own.value, b.const(0, i64))
            own = b.select(is_from_end, b.add(own.value, extent), own.value)
            place = b.add(place, b.mul(own, stride))
        return place

    def load(self, address: Value, index: Value, dtype: np.dtype[Any]) -> Operand:
        """The element at an index."""
        b, w = self.b, self.w
        if dtype.kind != "c":
            return w.wrap(b.load(b.offset(address, index)))
        first = b.offset(address, b.mul(index, b.const(2, i64)))
        return Complex(w.wrap(b.load(first)), w.wrap(b.load(b.offset(first, b.const(1, i64)))))

    def store(self, address: Value, index: Value, value: Operand) -> None:
        """Write the element at an index."""
        b = self.b
        if isinstance(value, Expression):
            b.store(b.offset(address, index), value.value)
            return
        first = b.offset(address, b.mul(index, b.const(2, i64)))
        b.store(first, value.real.value)
        b.store(b.offset(first, b.const(1, i64)), value.imag.value)


class _Elementwise(Emission):
    """A kernel that has a thread for each element."""

    def __init__(self, form: Form) -> None:
        super().__init__(form, name_of(form))
        b, outputs = self.b, self.outputs
        indices, linear, is_inside = self._indices()
        with b.if_(is_inside):
            values = self.values(indices)
            for place, address in zip(form.stored[:-1], outputs[:-1], strict=True):
                self.store(address, linear, values[place])
            last = linear if form.target is None else self.index(indices, self.target)
            if form.steps[-1][0] == "scatter":
                places = form.steps[-1][3][1:]
                last = b.add(last, self.places(places, self.inputs[-1], values))
            self.store(outputs[-1], last, values[form.stored[-1]])
        self.finish()

    def _indices(self) -> tuple[list[Value], Value, Value]:
        """The index along each dimension, that among all elements, and whether there is one."""
        b, extents = self.b, self.extents
        number = b.value(BlockIdx(Axis.X))
        block = b.cast(number, i64)
        thread = b.cast(b.value(ThreadIdx(Axis.X)), i64)
        threads = b.const(THREADS, i64)
        if not extents:
            linear = b.add(b.mul(block, threads), thread)
            return [], b.const(0, i64), b.eq(linear, b.const(0, i64))
        if self.form.by_rows:
            last = extents[-1]
            blocks = b.div(b.add(last, b.const(THREADS - 1, i64)), threads)
            # A grid has less than 2**31 blocks, so that one division of 32 bits is enough.
            row = b.cast(b.div(number, b.cast(blocks, i32)), i64)
            column = b.add(b.mul(b.sub(block, b.mul(row, blocks)), threads), thread)
            linear = b.add(b.mul(row, last), column)
            return [*self.parts(row, extents[:-1]), column], linear, b.lt(column, last)
        linear = b.add(b.mul(block, threads), thread)
        total = extents[0]
        for extent in extents[1:]:
            total = b.mul(total, extent)
        return self.parts(linear, extents), linear, b.lt(linear, total)


def converted(w: Writer, value: Operand, dtype: np.dtype[Any]) -> Operand:
    """A number as one of another dtype; a complex one loses its imaginary part as NumPy's do."""
    part = part_of(dtype)
    if dtype.kind == "c":
        if isinstance(value, Complex):
            return Complex(value.real.cast(part), value.imag.cast(part))
        return Complex(value.cast(part), w.const(0.0, part))
    if isinstance(value, Complex):
        if part is b1:
            return value.real.differs(0.0) | value.imag.differs(0.0)
        value = value.real
    return value.cast(part)


def name_of(form: Form) -> str:
    """The name of a kernel: the first of its operations."""
    names = [step[0] for step in form.steps if step[0] not in ("leaf", "number")]
    return "_".join(["xp", *names[:6], *(["more"] if len(names) > 6 else [])])
