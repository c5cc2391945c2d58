"""Products by tensor descriptors, prepared for arrays of one kind: a call like one before it goes
to its launches."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from importlib import import_module
from typing import Any, NamedTuple, cast

import numpy as np

from gridlane.cuda.arrays.creation import device_array
from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.launch import current
from gridlane.tiles.descriptors import TensorDescriptor

_ALIGN = 16
_MOST = 1024
_TORCH: dict[type, bool] = {}
"""Classes of arguments, and whether they are torch's tensors."""


class Launch(NamedTuple):
    """A program over a grid, with the arguments behind the arrays.

    Attributes:
        over: what ``kernel[grid]`` returns.
        rest: the other arguments, in order.
        options: of the launch.
    """

    over: Callable[..., Any]
    rest: tuple[Any, ...]
    options: dict[str, Any]


_Optional = TensorDescriptor | None
Forms = tuple[TensorDescriptor, TensorDescriptor, _Optional, _Optional, _Optional]
"""Descriptors of ``Prepared``."""


class Prepared(NamedTuple):
    """The launches of a product.

    Attributes:
        forms: the descriptors of the factors and of the result, over other arrays: of a, of b, of
            more columns of b, of the result, and of more columns of it. None where there are no
            more columns, and where the program takes the result's address.
        first: of the products.
        second: of the sums of parts; None where all tiles are computed whole.
        parts: the shape of the parts.
        sum_name: their type.
        has_more: whether there is an epilogue.
        has_extra: whether there are more columns.
        shape, dtype: of the result.
        copies: of the factors whose inner axis is not the last one in memory, where it has to be.
    """

    forms: Forms
    first: Launch
    second: Launch | None
    parts: tuple[int, int]
    sum_name: str
    has_more: bool
    has_extra: bool
    shape: tuple[int, ...]
    dtype: str
    copies: tuple[Any, Any] = (None, None)

    def run(self, a: Any, b: Any, out: Any, more: tuple[Any, ...]) -> Any:
        """Launch over arrays like those that it was prepared for; ``out`` is new where it is
        None."""
        if out is None:
            out = empty(a, self.shape, self.dtype)
        a, b = (x if c is None else c.run(x) for c, x in zip(self.copies, (a, b), strict=True))
        left, right, others, target, beyond = self.forms
        split = None if self.second is None else empty(a, self.parts, self.sum_name)
        given = more if self.has_more else None
        first = self.first
        extra = None
        if self.has_extra:
            extra = out if beyond is None else over(beyond, out)
        first.over(
            over(left, a), over(right, b), None if others is None else over(others, b),
            out if target is None else over(target, out), extra,
            split, given, *first.rest, **first.options,
        )  # fmt: skip
        if self.second is not None:
            self.second.over(split, out, given, *self.second.rest, **self.second.options)
        return out


class PreparedGroups(NamedTuple):
    """The launch of products of groups of rows.

    Attributes:
        forms: the descriptors of a, of b, and of more columns of b, if there are any.
        launch: of the products.
        shape, dtype: of the result.
    """

    forms: tuple[TensorDescriptor, TensorDescriptor, TensorDescriptor | None]
    launch: Launch
    shape: tuple[int, ...]
    dtype: str

    def run(self, a: Any, b: Any, sizes: Any, out: Any) -> Any:
        """Launch over arrays like those that it was prepared for; see ``Prepared.run``."""
        if out is None:
            out = empty(a, self.shape, self.dtype)
        left, right, others = self.forms
        self.launch.over(
            over(left, a), over(right, b), None if others is None else over(others, b), sizes,
            out, *self.launch.rest, **self.launch.options,
        )  # fmt: skip
        return out


def over(form: TensorDescriptor, base: Any) -> TensorDescriptor:
    """A descriptor like another one, whose numbers are known to be right."""
    made = object.__new__(TensorDescriptor)
    made.__dict__.update(form.__dict__)
    made.base = base
    return made


def empty(like: Any, shape: tuple[int, ...], dtype: str) -> Any:
    """A new array of the kind of another one."""
    if isinstance(like, DeviceNDArray):
        return device_array(shape, _numpy(dtype))
    if isinstance(like, np.ndarray):
        return np.empty(shape, _numpy(dtype))
    return like.new_empty(shape, dtype=getattr(import_module("torch"), dtype))


def _numpy(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(import_module("ml_dtypes"), name) if name == "bfloat16" else name)


# --- what is known


_known: dict[Hashable, Any] = {}
"""``Prepared`` and its like; keys tell which."""


def key_of(arrays: tuple[Any, ...], options: tuple[Any, ...]) -> Hashable:
    """What a product's launches depend on; None where a call has to look at its arrays.

    Args:
        arrays: the arguments; each may be None.
    """
    facts = [_facts(each) for each in arrays]
    return None if None in facts else (current.device(), *facts, options)


def _facts(array: Any) -> Hashable:
    """The kind of an array; None for one that may have to be copied."""
    if array is None:
        return ()
    kind = type(array)
    if kind is DeviceNDArray:
        if min(array.strides, default=1) <= 0:
            return None
        return kind, array.shape, array.strides, array.dtype, array.address % _ALIGN
    is_torch = _TORCH.get(kind)
    if is_torch is None:
        is_torch = _TORCH[kind] = kind.__module__ == "torch" and kind.__name__ == "Tensor"
    if not is_torch or array.requires_grad or not array.is_cuda or array.is_neg():
        return None
    strides = array.stride()
    if 0 in strides:
        return None
    return kind, array.shape, strides, array.dtype, array.data_ptr() % _ALIGN, array.device


def find(key: Hashable) -> Any:
    """The launches for a key, if these are known."""
    return _known.get(key)


def remember(key: Hashable, prepared: Any) -> None:
    """Keep launches for later calls, and no array of this one."""
    if len(_known) >= _MOST:
        _known.clear()
    _known[key] = _without_arrays(prepared)


def _without_arrays(value: Any) -> Any:
    """What is prepared, with descriptors over no array; ``over`` has them over a call's."""
    if isinstance(value, TensorDescriptor):
        return over(value, None)
    if not isinstance(value, tuple):
        return value
    parts = [_without_arrays(each) for each in cast("tuple[Any, ...]", value)]
    return getattr(type(value), "_make", tuple)(parts)


def forget() -> None:
    """Drop all launches."""
    _known.clear()
