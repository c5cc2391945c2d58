"""Values of a tile program that exist when it runs: tensors, and aggregates of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from math import prod
from typing import Any, TypeVar, cast

from gridlane.frontends.triton.types import block_type, dtype, of_ir
from gridlane.ir.types import TileType
from gridlane.ir.values import Value

Function = TypeVar("Function", bound=Callable[..., Any])


class tensor:
    """A scalar or tile that the program computes. ``handle`` is its value in the IR."""

    def __init__(self, handle: Value, type: dtype) -> None:
        self.handle = handle
        self.type = type
        self.dtype = type.scalar
        self.shape: tuple[int, ...] = type.shape if isinstance(type, block_type) else ()
        self.numel = prod(self.shape)

    __hash__ = object.__hash__

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join([f'constexpr[{n}]' for n in self.shape])}]"

    __repr__ = __str__

    def __bool__(self) -> bool:
        raise TypeError("whether a tensor holds is known when the program runs only")


def define(name: str, value: Any) -> None:
    """Add an attribute to tensors. Those that need the functions of the language stand above it."""
    setattr(tensor, name, value)


def member(function: Function) -> Function:
    """Add a function to the methods of tensors."""
    define(function.__name__, function)
    return function


def wrap(value: Value, scalar: dtype | None = None) -> tensor:
    """The tensor of an IR value. ``scalar`` is the type of its elements, where it says more than
    the IR's: that a pointer is to constant memory."""
    type_ = value.type
    if isinstance(type_, TileType):
        return tensor(value, block_type(scalar or of_ir(type_.element), type_.shape))
    return tensor(value, scalar or of_ir(type_))


def parts_of(value: Any) -> tuple[Any, ...] | None:
    """The values that a tuple or an aggregate is made of; None of any other value."""
    if isinstance(value, tuple):
        return cast("tuple[Any, ...]", value)
    return value.parts() if hasattr(type(value), "is_aggregate") else None


def put_together(like: Any, parts: tuple[Any, ...]) -> Any:
    """A tuple or an aggregate with other parts."""
    if isinstance(like, tuple):
        kind: Any = type(cast("tuple[Any, ...]", like))
        return kind(*parts) if hasattr(kind, "_fields") else kind(parts)
    return like.with_parts(parts)


def tensors_in(value: Any) -> Iterator[tensor]:
    """The tensors that a value is made of, in order."""
    if isinstance(value, tensor):
        yield value
        return
    for part in parts_of(value) or ():
        yield from tensors_in(part)


def with_tensors(value: Any, replacements: Iterator[tensor]) -> Any:
    """The value made of other tensors, taken in the order of ``tensors_in``."""
    if isinstance(value, tensor):
        return next(replacements)
    parts = parts_of(value)
    if parts is None or not any(True for _ in tensors_in(value)):
        return value
    return put_together(value, tuple([with_tensors(part, replacements) for part in parts]))


def described(value: Any) -> Hashable:
    """What two values must agree in to be held by one variable."""
    if isinstance(value, tensor):
        return str(value.type)
    parts = parts_of(value)
    if parts is None:
        return "constant", repr(value)
    facts = None if isinstance(value, tuple) else value.facts()
    return (
        type(cast("object", value)).__qualname__,
        facts,
        tuple([described(part) for part in parts]),
    )


def shown(value: Any) -> str:
    """The type of a value for messages."""
    if isinstance(value, tensor):
        return str(value.type)
    if isinstance(value, tuple):
        return "(" + ", ".join([shown(item) for item in cast("tuple[Any, ...]", value)]) + ")"
    return f"constexpr[{value}]"
