"""The parameters of a program's kernel from the types of its arguments: see README.md."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from gridlane.core import argtypes
from gridlane.core.artifact import Path
from gridlane.core.dtypes import DType, i64, u64
from gridlane.core.errors import TypingError
from gridlane.core.frozen import frozen
from gridlane.core.parameters import array_members
from gridlane.core.tensor_map import ALIGN
from gridlane.frontends.triton.blocks import integers
from gridlane.frontends.triton.descriptors import tensor_descriptor
from gridlane.frontends.triton.types import checked_shape, dtype, int64, of_ir, pointer_type
from gridlane.frontends.triton.values import tensor, wrap
from gridlane.ir.builder import Builder
from gridlane.ir.ops import memory
from gridlane.ir.ops.arith import Div
from gridlane.ir.types import Type, pointer
from gridlane.ir.values import Param, Value

Key = str | tuple[str | int, ...]
"""A parameter, or a place in the tuple that it is."""


@frozen
class Block:
    """What a host's tensor descriptor says besides its array: the shape of its blocks; what is
    read beyond the array, "zero" or "nan"; and whether a tensor map describes it, so that the
    address and the strides are multiples of 16 bytes and no extent is 0 (``core.tensor_map``)."""

    shape: tuple[int, ...]
    padding: str = "zero"
    mapped: bool = False


class Parameters:
    """Makes the parameters of a kernel and the values that the program has of them."""

    def __init__(
        self,
        b: Builder,
        constants: Mapping[Any, Any],
        blocks: Mapping[Any, Block],
        aligned: Mapping[Any, int],
        readonly: Container[str] = (),
        elements: Mapping[Any, dtype] | None = None,
    ) -> None:
        self._b, self._constants, self._blocks, self._aligned = b, constants, blocks, aligned
        self._readonly, self._elements = readonly, elements or {}

    def value(self, name: str, kind: argtypes.ArgType, argument: int, path: Path = ()) -> Any:
        """The program's value of an argument, or of a place in it."""
        key: Any = (name, *path) if path else name
        if key in self._constants:
            return self._constants[key]
        if isinstance(kind, argtypes.ScalarType):
            divisor = self._aligned.get(key, 0)
            return wrap(self._add(name, kind.dtype, argument, path, divisor))
        if isinstance(kind, argtypes.ArrayType) and key in self._blocks:
            return self._descriptor(name, kind, argument, path, self._blocks[key])
        if isinstance(kind, argtypes.ArrayType):
            start = pointer(_element(kind.element))
            align = self._aligned.get(key, 0)
            value = self._add(name, start, argument, (*path, "data"), align)
            kind_there = self._elements.get(key, of_ir(start.element))
            return wrap(value, pointer_type(kind_there, const=name in self._readonly))
        if isinstance(kind, argtypes.CPointerType) and kind.element is not None:
            address = self._add(name, u64, argument, path)
            start = pointer(_element(kind.element))
            return wrap(self._b.value(memory.FromAddress(address, start)))
        if isinstance(kind, argtypes.TupleType):
            items = [
                self.value(name, item, argument, (*path, place))
                for place, item in enumerate(kind.items)
            ]
            return kind.cls(*items) if kind.cls is not None else tuple(items)
        if isinstance(kind, argtypes.NoneType):
            return None
        raise TypingError(f"a tile program cannot take an argument of type {kind}", self._b.loc)

    def _add(self, name: str, type_: Type, argument: int, path: Path, align: int = 0) -> Value:
        tail = "".join(f"_{part}" for part in path if part != "data")
        value = Value(type_, name=name + tail)
        taken = {param.value.name for param in self._b.function.params}
        while value.name in taken:
            value.name += "_"
        self._b.function.params.append(Param(value, argument, path, align=align))
        return value

    def _descriptor(
        self, name: str, kind: argtypes.ArrayType, argument: int, path: Path, block: Block
    ) -> tensor_descriptor:
        """A descriptor of an array: its strides come in bytes, and the last is one element."""
        element = _element(kind.element)
        key: Any = (name, *path) if path else name
        values, aligned = dict[Path, Value](), self._aligned.get(key, 0)
        for scalar, member in array_members(kind.ndim):
            type_ = pointer(element) if scalar is None else scalar
            align = aligned
            if member[0] == "shape":
                align = aligned if member[1] == kind.ndim - 1 else 0
            elif block.mapped:
                align = ALIGN
            values[member] = self._add(name, type_, argument, (*path, *member), align)
        start = values[("data",)]
        for param in self._b.function.params:
            if param.value is start:
                param.mapped = block.mapped
        axes = range(kind.ndim)
        size = self._b.const(element.size, i64)
        steps = [self._b.binary(Div, values["strides", axis], size) for axis in axes[:-1]]
        steps.append(self._b.const(1, i64))
        base = tensor(start, pointer_type(self._elements.get(key, of_ir(element))))
        shape = tuple([tensor(values["shape", axis], int64) for axis in axes])
        strides = tuple([tensor(step, int64) for step in steps])
        numbers = integers(shape, int64)
        return tensor_descriptor(base, numbers, strides, checked_shape(block.shape), block.padding)


def _element(kind: argtypes.ArgType) -> DType:
    """The type of an array's elements.

    Raises:
        TypingError: they are no scalars.
    """
    if isinstance(kind, argtypes.ScalarType):
        return kind.dtype
    raise TypingError(f"a tile program cannot take an array of {kind}; view it as numbers")
