"""What algorithms read from and write to: arrays and iterators, as code and a kernel's argument."""

# pyright: reportMissingParameterType=false, reportPrivateUsage=false
# Device functions: their arguments have the types of each call.

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from gridlane.algorithms import arrays
from gridlane.algorithms.caching import cached
from gridlane.algorithms.item_types import ItemType, item_type
from gridlane.core.frozen import frozen
from gridlane.cuda.kernels.decorators import jit


@frozen
class Code:
    """How a kernel reads and writes a sequence: ``load(state, i)`` and ``store(state, i, value)``.
    Equal codes have one key, and share kernels."""

    key: Hashable
    load: Any
    store: Any
    """Device functions; None for what the sequence does not do."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Code) and other.key == self.key

    def __hash__(self) -> int:
        return hash(self.key)


@frozen
class Access:
    """A sequence at a launch: its code, and the argument of kernels that has its arrays."""

    code: Code
    state: Any


class IteratorBase:
    """A sequence that is no array. ``it + n`` begins n items later."""

    @property
    def kind(self) -> Hashable:
        """A key of the code: equal for iterators that differ in arrays and numbers only."""
        raise NotImplementedError

    @property
    def item(self) -> ItemType | None:
        """The type of the items, None where it accepts any."""
        raise NotImplementedError

    @property
    def value_type(self) -> ItemType | None:
        """The type of the items, by ``cuda.compute``'s name for it."""
        return self.item

    @property
    def children(self) -> tuple[IteratorBase, ...]:
        """The sequences that it is made of."""
        return ()

    def code(self) -> Code:
        """The code of kernels."""
        raise NotImplementedError

    def state(self) -> Any:
        """The argument of kernels, on the current device."""
        raise NotImplementedError

    def given_arrays(self) -> list[Any]:
        """The arrays in it, as the caller gave them."""
        return [array for child in self.children for array in child.given_arrays()]

    def size(self) -> int | None:
        """The number of items, None where there is no end."""
        return None

    def __add__(self, offset: int) -> IteratorBase:
        return Advanced(self, int(offset))

    __radd__ = __add__

    @property
    def is_input_iterator(self) -> bool:
        """Whether items can be read."""
        return self.code().load is not None

    @property
    def is_output_iterator(self) -> bool:
        """Whether items can be written."""
        return self.code().store is not None


class Pointer(IteratorBase):
    """The items of an array."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self._item = item_type(arrays.dtype_of(array))
        arrays.check_contiguous(array)

    @property
    def kind(self) -> Hashable:
        return "array", self._item

    @property
    def item(self) -> ItemType:
        return self._item

    def code(self) -> Code:
        return pointer_code(self._item)

    def state(self) -> Any:
        return arrays.on_device(self.array)

    def given_arrays(self) -> list[Any]:
        return [self.array]

    def size(self) -> int:
        return arrays.size_of(self.array)


@cached
def pointer_code(item: ItemType) -> Code:
    """The code of arrays."""
    return Code(("array", item), item.load, item.store)


class Advanced(IteratorBase):
    """An iterator that begins later."""

    def __init__(self, child: IteratorBase, offset: int) -> None:
        if isinstance(child, Advanced):
            child, offset = child._child, child._offset + offset
        self._child, self._offset = child, offset

    @property
    def kind(self) -> Hashable:
        return "advanced", self._child.kind

    @property
    def item(self) -> ItemType | None:
        return self._child.item

    @property
    def children(self) -> tuple[IteratorBase, ...]:
        return (self._child,)

    def code(self) -> Code:
        return _advanced_code(self._child.code())

    def state(self) -> Any:
        return self._child.state(), self._offset

    def size(self) -> int | None:
        size = self._child.size()
        return None if size is None else max(0, size - self._offset)


@cached
def _advanced_code(child: Code) -> Code:
    return moved(("advanced", child.key), child, lambda state, i: state[1] + i)


def moved(key: Hashable, child: Code, place: Callable[..., Any]) -> Code:
    """The code of a sequence whose item i is item ``place(state, i)`` of another one, which has the
    first member of its state."""
    load, store = child.load, child.store
    at = jit(place, device=True)

    def read(state, i):
        return load(state[0], at(state, i))

    def write(state, i, value):
        store(state[0], at(state, i), value)

    return Code(key, load and jit(read, device=True), store and jit(write, device=True))


def sequence(value: Any) -> IteratorBase:
    """An array or an iterator as a sequence.

    Raises:
        TypeError: it is neither.
    """
    return value if isinstance(value, IteratorBase) else Pointer(value)
