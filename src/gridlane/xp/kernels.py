"""The code of a group: a module of IR, from its form."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.core import dtypes
from gridlane.core.dtypes import DType, b1, f32, f64, i64
from gridlane.ir.builder import Builder, constant
from gridlane.ir.expressions import FORMATS, Expression, Writer
from gridlane.ir.ops.grid import Axis, BlockIdx, ThreadIdx
from gridlane.ir.types import PointerType, Type, pointer
from gridlane.ir.values import Function, Module, Param, Value
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
    return _Emission(form).module


class _Emission:
    """A kernel under construction."""

    def __init__(self, form: Form) -> None:
        self._form = form
        self._function = Function(_name(form), is_kernel=True)
        self.module = Module({self._function.name: self._function})
        self._b = b = Builder(self.module, self._function)
        self._w = Writer(b, FORMATS[f32])
        inputs = [self._inputs(step) for step in form.steps]
        outputs = [self._pointer(form.steps[place][1]) for place in form.stored]
        self._extents = [self._param(i64) for _ in range(form.rank)]
        strides = [self._strides(step) for step in form.steps]
        target = [self._stride(kind) for kind in form.target or ()]
        indices, linear, is_inside = self._indices()
        with b.if_(is_inside):
            values: list[Operand] = []
            self._results: dict[Any, tuple[Operand, ...]] = {}
            for step, parameters, own in zip(form.steps, inputs, strides, strict=True):
                values.append(self._value(step, parameters, own, indices, values))
            for place, address in zip(form.stored[:-1], outputs[:-1], strict=True):
                self._store(address, linear, values[place])
            last = linear if form.target is None else self._index(indices, target)
            if form.steps[-1][0] == "scatter":
                places = form.steps[-1][3][1:]
                last = b.add(last, self._places(places, inputs[-1], values))
            self._store(outputs[-1], last, values[form.stored[-1]])
        self._function.body.ops[:0] = self._w.constants.values()

    # --- parameters ---

    def _param(self, type_: Type) -> Value:
        number = len(self._function.params)
        value = Value(type_, name=f"p{number}")
        is_pointer = isinstance(type_, PointerType)
        self._function.params.append(Param(value, number, ("data",) if is_pointer else ()))
        return value

    def _pointer(self, dtype: np.dtype[Any]) -> Value:
        return self._param(pointer(part_of(dtype)))

    def _inputs(self, step: tuple[Any, ...]) -> list[Value]:
        kind, dtype = step[:2]
        if kind == "leaf":
            return [self._pointer(dtype)]
        if kind == "number":
            return [self._param(part_of(dtype)) for _ in range(2 if dtype.kind == "c" else 1)]
        if kind == "index":
            return [self._param(i64)]
        if kind == "gather":
            return [self._pointer(dtype), *self._axes(len(step[3]))]
        return self._axes(len(step[3]) - 1) if kind == "scatter" else []

    def _axes(self, count: int) -> list[Value]:
        """The stride and the extent of each axis that has computed indices."""
        return [self._param(i64) for _ in range(2 * count)]

    def _strides(self, step: tuple[Any, ...]) -> list[Value]:
        """The stride along each dimension of a node that has some."""
        if step[0] not in ("leaf", "index", "gather"):
            return []
        return [self._stride(kind) for kind in step[2]]

    def _stride(self, kind: int | None) -> Value:
        return self._param(i64) if kind is None else self._b.const(kind, i64)

    # --- the thread's element ---

    def _indices(self) -> tuple[list[Value], Value, Value]:
        """The index along each dimension, that among all elements, and whether there is one."""
        b, extents = self._b, self._extents
        block = b.cast(b.value(BlockIdx(Axis.X)), i64)
        thread = b.cast(b.value(ThreadIdx(Axis.X)), i64)
        threads = b.const(THREADS, i64)
        if not extents:
            linear = b.add(b.mul(block, threads), thread)
            return [], b.const(0, i64), b.eq(linear, b.const(0, i64))
        if self._form.by_rows:
            last = extents[-1]
            blocks = b.div(b.add(last, b.const(THREADS - 1, i64)), threads)
            row = b.div(block, blocks)
            column = b.add(b.mul(b.sub(block, b.mul(row, blocks)), threads), thread)
            linear = b.add(b.mul(row, last), column)
            return [*self._parts(row, extents[:-1]), column], linear, b.lt(column, last)
        linear = b.add(b.mul(block, threads), thread)
        total = extents[0]
        for extent in extents[1:]:
            total = b.mul(total, extent)
        return self._parts(linear, extents), linear, b.lt(linear, total)

    def _parts(self, index: Value, extents: list[Value]) -> list[Value]:
        """An index among the elements of dimensions as one index along each."""
        b, parts = self._b, list[Value]()
        for extent in reversed(extents[1:]):
            above = b.div(index, extent)
            parts.append(b.sub(index, b.mul(above, extent)))
            index = above
        return [index, *reversed(parts)]

    # --- values ---

    def _value(
        self,
        step: tuple[Any, ...],
        parameters: list[Value],
        strides: list[Value],
        indices: list[Value],
        values: list[Operand],
    ) -> Operand:
        """The value of a node for the thread's element."""
        w, dtype = self._w, step[1]
        if step[0] == "leaf":
            return self._load(parameters[0], self._index(indices, strides), dtype)
        if step[0] == "number":
            parts = [w.wrap(each) for each in parameters]
            return Complex(*parts) if len(parts) == 2 else parts[0]
        if step[0] == "index":
            return w.wrap(self._b.add(parameters[0], self._index(indices, strides)))
        if step[0] == "gather":
            place = self._places(step[3], parameters[1:], values)
            place = self._b.add(place, self._index(indices, strides))
            return self._load(parameters[0], place, dtype)
        name, _, part, places = step
        if name == "scatter":
            return values[places[0]]
        operands = [values[place] for place in places]
        if name == "cast":
            return converted(w, operands[0], dtype)
        key = name, places
        if key not in self._results:
            result = OPERATIONS[name].build(w, *operands)
            is_one = isinstance(result, Complex | Expression)
            self._results[key] = (result,) if is_one else tuple(result)
        return self._results[key][part]

    def _index(self, indices: list[Value], strides: list[Value]) -> Value:
        """The index of an element, from that along each dimension."""
        b = self._b
        index = b.const(0, i64)
        for own, stride in zip(indices, strides, strict=True):
            if constant(stride) != 0:
                index = b.add(index, b.mul(own, stride))
        return index

    def _places(
        self, positions: tuple[int, ...], axes: list[Value], values: list[Operand]
    ) -> Value:
        """The place of an element by computed indices, negative ones from the end."""
        b, place = self._b, self._b.const(0, i64)
        for position, stride, extent in zip(positions, axes[::2], axes[1::2], strict=True):
            own = values[position]
            assert isinstance(own, Expression)
            is_from_end = b.lt(own.value, b.const(0, i64))
            own = b.select(is_from_end, b.add(own.value, extent), own.value)
            place = b.add(place, b.mul(own, stride))
        return place

    def _load(self, address: Value, index: Value, dtype: np.dtype[Any]) -> Operand:
        b, w = self._b, self._w
        if dtype.kind != "c":
            return w.wrap(b.load(b.offset(address, index)))
        first = b.offset(address, b.mul(index, b.const(2, i64)))
        return Complex(w.wrap(b.load(first)), w.wrap(b.load(b.offset(first, b.const(1, i64)))))

    def _store(self, address: Value, index: Value, value: Operand) -> None:
        b = self._b
        if isinstance(value, Expression):
            b.store(b.offset(address, index), value.value)
            return
        first = b.offset(address, b.mul(index, b.const(2, i64)))
        b.store(first, value.real.value)
        b.store(b.offset(first, b.const(1, i64)), value.imag.value)


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


def _name(form: Form) -> str:
    """The name of a kernel: the first of its operations."""
    names = [step[0] for step in form.steps if step[0] not in ("leaf", "number")]
    return "_".join(["xp", *names[:6], *(["more"] if len(names) > 6 else [])])
