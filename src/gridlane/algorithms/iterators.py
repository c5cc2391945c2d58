"""Iterators: sequences that kernels compute, or that change how they read and write others."""

# pyright: reportMissingParameterType=false, reportPrivateUsage=false
# Device functions: their arguments have the types of each call.

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from gridlane.algorithms.caching import cached
from gridlane.algorithms.inference import annotated_item, result_item
from gridlane.algorithms.item_types import ItemType, item_type
from gridlane.algorithms.operators import Operator, operator
from gridlane.algorithms.sequences import Code, IteratorBase, Pointer, moved, sequence
from gridlane.algorithms.shuffle import ShuffleIterator
from gridlane.cuda.kernels.decorators import jit
from gridlane.cuda.ufuncs.generated import define

__all__ = [
    "CacheModifiedInputIterator",
    "ConstantIterator",
    "CountingIterator",
    "DiscardIterator",
    "IteratorBase",
    "PermutationIterator",
    "ReverseIterator",
    "ShuffleIterator",
    "TransformIterator",
    "TransformOutputIterator",
    "ZipIterator",
]


class _Value(IteratorBase):
    """An iterator whose state is one value."""

    def __init__(self, value: Any) -> None:
        array = np.asarray(value)
        if array.size != 1:
            raise ValueError(f"{type(self).__name__} is made of one value; got {array.size}")
        self._item = item_type(array.dtype)
        self._value = self._item.argument(array)

    @property
    def kind(self) -> Hashable:
        return type(self).__name__, self._item

    @property
    def item(self) -> ItemType:
        return self._item

    def state(self) -> Any:
        return self._value


class ConstantIterator(_Value):
    """The same value at every place: a number, or one of a ``gpu_struct``."""

    def code(self) -> Code:
        return _constant(self._item)

    def __add__(self, offset: int) -> ConstantIterator:
        return self


@cached
def _constant(item: ItemType) -> Code:
    return Code(("constant", item), jit(lambda state, i: state, device=True), None)


class CountingIterator(_Value):
    """``start``, ``start + 1``, … in the type of ``start``."""

    def __init__(self, start: Any) -> None:
        super().__init__(start)
        if self._item.is_struct or self._item.dtype.kind not in "iuf":
            raise TypeError(f"CountingIterator counts in real numbers, not in {self._item.dtype}")

    def code(self) -> Code:
        return _counting(self._item)


@cached
def _counting(item: ItemType) -> Code:
    cast = item.cast

    def load(state, i):
        return cast(state + cast(i))

    return Code(("counting", item), jit(load, device=True), None)


class DiscardIterator(IteratorBase):
    """An output that keeps nothing; as an input, uninteresting zeros.

    Args:
        reference_iterator: has the type of the items; int64 by default.
    """

    def __init__(self, reference_iterator: Any = None) -> None:
        source = None if reference_iterator is None else sequence(reference_iterator)
        self._item = item_type(np.int64) if source is None else source.item or item_type(np.int64)

    @property
    def kind(self) -> Hashable:
        return "discard", self._item

    @property
    def item(self) -> ItemType:
        return self._item

    def code(self) -> Code:
        return _discard(self._item)

    def state(self) -> Any:
        return self._item.argument(np.zeros((), self._item.dtype))

    def __add__(self, offset: int) -> DiscardIterator:
        return self


@cached
def _discard(item: ItemType) -> Code:
    def store(state, i, value):
        pass

    load = jit(lambda state, i: state, device=True)
    return Code(("discard", item), load, jit(store, device=True))


class _Wrapper(IteratorBase):
    """An iterator over another sequence."""

    def __init__(self, underlying: Any) -> None:
        self._child = sequence(underlying)

    @property
    def kind(self) -> Hashable:
        return type(self).__name__, self._child.kind

    @property
    def item(self) -> ItemType | None:
        return self._child.item

    @property
    def children(self) -> tuple[IteratorBase, ...]:
        return (self._child,)

    def state(self) -> Any:
        return self._child.state()

    def size(self) -> int | None:
        return self._child.size()


class CacheModifiedInputIterator(_Wrapper):
    """The items of an array, to be read only.

    Args:
        modifier: how CUDA caches them: ``"stream"``. It changes no result, and no code here.
    """

    def __init__(self, device_array: Any, modifier: str) -> None:
        if modifier != "stream":
            raise NotImplementedError(f"the modifier is 'stream'; got {modifier!r}")
        super().__init__(device_array)

    def code(self) -> Code:
        child = self._child.code()
        return Code(("read only", child.key), child.load, None)


class ReverseIterator(_Wrapper):
    """The items of an array from the last to the first, or of an iterator backwards from where it
    begins."""

    def code(self) -> Code:
        return _reversed(self._child.code())

    def state(self) -> Any:
        last = (self._child.size() or 0) - 1 if isinstance(self._child, Pointer) else 0
        return self._child.state(), last


@cached
def _reversed(child: Code) -> Code:
    return moved(("reversed", child.key), child, lambda state, i: state[1] - i)


class PermutationIterator(IteratorBase):
    """``values[indices[i]]``, to be read or written. ``it + n`` begins n indices later."""

    def __init__(self, values: Any, indices: Any) -> None:
        self._values, self._indices = sequence(values), sequence(indices)
        item = self._indices.item
        if item is not None and item.dtype.kind not in "iu":
            raise TypeError(f"indices are integers; got {item.dtype}")

    @property
    def kind(self) -> Hashable:
        return "permutation", self._values.kind, self._indices.kind

    @property
    def item(self) -> ItemType | None:
        return self._values.item

    @property
    def children(self) -> tuple[IteratorBase, ...]:
        return self._values, self._indices

    def code(self) -> Code:
        return _permuted(self._values.code(), self._indices.code())

    def state(self) -> Any:
        return self._values.state(), self._indices.state()

    def size(self) -> int | None:
        return self._indices.size()


@cached
def _permuted(values: Code, indices: Code) -> Code:
    index = indices.load
    if index is None:
        raise TypeError("the indices of a PermutationIterator cannot be read")
    return moved(("permuted", values.key, indices.key), values, lambda state, i: index(state[1], i))


class ZipIterator(IteratorBase):
    """Structures whose fields are the items of several sequences: ``pair[0]``, ``pair[1]``, …"""

    def __init__(self, *args: Any) -> None:
        if len(args) == 1 and isinstance(args[0], tuple | list):
            args = tuple(args[0])
        if not args:
            raise ValueError("ZipIterator is made of at least one array or iterator")
        self._parts = tuple(map(sequence, args))

    @property
    def kind(self) -> Hashable:
        return "zip", tuple(each.kind for each in self._parts)

    @property
    def item(self) -> ItemType | None:
        items = [each.item for each in self._parts]
        if None in items:
            return None
        fields = [(f"field_{n}", each.dtype) for n, each in enumerate(items) if each is not None]
        return item_type(np.dtype(fields, align=True))

    @property
    def children(self) -> tuple[IteratorBase, ...]:
        return self._parts

    def code(self) -> Code:
        return _zipped(tuple(each.code() for each in self._parts), self.item)

    def state(self) -> Any:
        return tuple(each.state() for each in self._parts)

    def size(self) -> int | None:
        sizes = [size for each in self._parts if (size := each.size()) is not None]
        return min(sizes) if sizes else None


@cached
def _zipped(parts: tuple[Code, ...], item: ItemType | None) -> Code:
    names: dict[str, Any] = {"cast": item.cast if item is not None else tuple}
    for n, part in enumerate(parts):
        names |= {f"load{n}": part.load, f"store{n}": part.store}
    loads = ", ".join(f"load{n}(state[{n}], i)" for n in range(len(parts)))
    built = f"({loads},)" if item is None else f"cast(({loads},))"
    stores = "".join(f"    store{n}(state[{n}], i, value[{n}])\n" for n in range(len(parts)))
    load = define("load", f"def load(state, i):\n    return {built}\n", names)
    store = define("store", f"def store(state, i, value):\n{stores}", names)
    return Code(
        ("zip", tuple(part.key for part in parts)),
        jit(load, device=True) if all(part.load for part in parts) else None,
        jit(store, device=True) if all(part.store for part in parts) else None,
    )


class TransformIterator(_Wrapper):
    """``transform_op(x)`` for each item ``x`` of another sequence.

    Args:
        value_type: the dtype of the results; that of the function's result by default.
    """

    def __init__(self, underlying: Any, transform_op: Any, value_type: Any = None) -> None:
        super().__init__(underlying)
        self._op: Operator = operator(transform_op, 1, self._child.item, "transform_op")
        annotated = annotated_item(transform_op, "return")
        self._given = annotated if value_type is None else item_type(_as_dtype(value_type))

    @property
    def kind(self) -> Hashable:
        return "transform", self._child.kind, self._op.key, self._given

    @property
    def item(self) -> ItemType | None:
        if self._given is None and self._child.item is not None:
            self._given = result_item(self._op, (self._child.item,))
        return self._given

    def code(self) -> Code:
        return _transformed(self._child.code(), self._op, self._given)


def _as_dtype(value: Any) -> Any:
    return value.dtype if isinstance(value, ItemType) else value


@cached
def _transformed(child: Code, op: Operator, item: ItemType | None) -> Code:
    read, function = child.load, op.function
    if read is None:
        raise TypeError("a TransformIterator reads, and the sequence below can only be written")
    if item is None:

        def load(state, i):
            return function(read(state, i))
    else:
        cast = item.cast

        def load(state, i):
            return cast(function(read(state, i)))

    return Code(("transform", child.key, op.key, item), jit(load, device=True), None)


class TransformOutputIterator(_Wrapper):
    """An output: ``transform_op(x)`` is written to another one where ``x`` is written to this.

    Args:
        output_value_type: the dtype of ``x``; that of the function's annotation by default, else
            that of the value which an algorithm writes.
    """

    def __init__(self, underlying: Any, transform_op: Any, output_value_type: Any = None) -> None:
        super().__init__(underlying)
        self._op: Operator = operator(transform_op, 1, self._child.item, "transform_op")
        annotated = annotated_item(transform_op, 0)
        given = output_value_type
        self._given = annotated if given is None else item_type(_as_dtype(given))

    @property
    def kind(self) -> Hashable:
        return "transform output", self._child.kind, self._op.key, self._given

    @property
    def item(self) -> ItemType | None:
        return self._given

    def code(self) -> Code:
        return _transformed_output(self._child.code(), self._op, self._given)


@cached
def _transformed_output(child: Code, op: Operator, item: ItemType | None) -> Code:
    write, function = child.store, op.function
    if write is None:
        raise TypeError("a TransformOutputIterator writes, and the sequence below can only be read")
    if item is None:

        def store(state, i, value):
            write(state, i, function(value))
    else:
        cast = item.cast

        def store(state, i, value):
            write(state, i, function(cast(value)))

    return Code(("transform output", child.key, op.key, item), None, jit(store, device=True))
