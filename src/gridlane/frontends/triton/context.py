"""The translation that is going on, which the functions of the language add ops to."""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from gridlane.core.options import KernelOptions
from gridlane.core.source import Loc
from gridlane.ir.builder import Builder
from gridlane.ir.op import FastMath
from gridlane.ir.types import PointerType, Type
from gridlane.ir.values import ErrorSite, Function, Module, Param, Value

Build = Callable[..., "Value | tuple[Value, ...]"]
"""Emits the ops of a scalar function, by a builder and its arguments."""


class Caller(Protocol):
    """What translates calls of functions that are written in the language."""

    def call(self, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Translate a function's body at this place; return its result."""
        ...


@dataclass
class Unit:
    """The module in the making.

    Attributes:
        b: the builder of the function that ops go to at this moment.
        caller: translates calls of functions.
        functions: the device functions, by what they compute and their types.
        names: the names of functions that are taken.
    """

    module: Module
    options: KernelOptions
    b: Builder
    caller: Caller | None = None
    functions: dict[tuple[Any, ...], Function] = field(default_factory=dict[Any, Function])
    names: set[str] = field(default_factory=set[str])
    label: int = 0

    def new_label(self) -> int:
        """A number for a scope."""
        self.label += 1
        return self.label

    def error(self, site: ErrorSite) -> int:
        """The number of an error in the module's table."""
        errors = self.module.errors
        if site not in errors:
            errors.append(site)
        return errors.index(site)

    def device_function(
        self, key: tuple[Any, ...], name: str, types: tuple[Type, ...], build: Build
    ) -> Function:
        """The function of scalars that ``build`` writes, one for each key and types."""
        known = self.functions.get((*key, types))
        if known is not None:
            return known
        function = Function(
            self.unique(".".join([name, *map(_short, types)])),
            [Param(Value(type_, name=f"x{n}"), n) for n, type_ in enumerate(types)],
        )
        with self.inside(function) as b:
            made = build(b, *[param.value for param in function.params])
            values = made if isinstance(made, tuple) else (made,)
            function.results = tuple([value.type for value in values])
            b.return_(values)
        # After its own callees, which the text then has in front of it.
        self.module.functions[function.name] = self.functions[*key, types] = function
        return function

    def unique(self, name: str) -> str:
        """A name that no other function of the module has."""
        number, wanted = 1, name
        while wanted in self.names:
            number += 1
            wanted = f"{name}.{number}"
        self.names.add(wanted)
        return wanted

    @contextmanager
    def inside(self, function: Function) -> Generator[Builder, None, None]:
        """Let ops go to another function within the with block."""
        outer = self.b
        self.b = make_builder(self.module, function, self.options, outer.loc)
        try:
            yield self.b
        finally:
            self.b = outer


def make_builder(module: Module, function: Function, options: KernelOptions, loc: Loc) -> Builder:
    """A builder with the program's options for floats."""
    b = Builder(module, function)
    b.loc = loc
    if options.fastmath:
        b.fast = FastMath.FAST
    elif options.fma:
        b.fast = FastMath.CONTRACT
    return b


def _short(type_: Type) -> str:
    if isinstance(type_, PointerType):
        return "p" + _short(type_.element)
    return str(type_)


_CURRENT: ContextVar[Unit] = ContextVar("tile_unit")


def unit() -> Unit:
    """The translation that is going on.

    Raises:
        ValueError: there is none: the function was called outside of a program.
    """
    try:
        return _CURRENT.get()
    except LookupError:
        raise ValueError(
            "Did you forget to add @triton.jit ? (functions of the language are for programs that "
            "are compiled)"
        ) from None


def builder() -> Builder:
    """The builder of the function that ops go to."""
    return unit().b


@contextmanager
def translating(new: Unit) -> Generator[Unit, None, None]:
    """Make a translation the one that is going on, within the with block."""
    token = _CURRENT.set(new)
    try:
        yield new
    finally:
        _CURRENT.reset(token)


Made = TypeVar("Made", bound=Callable[..., Any])


def builtin(function: Made) -> Made:
    """Mark a function as one of the language, which programs call."""

    @functools.wraps(function)
    def checked(*args: Any, **keywords: Any) -> Any:
        unit()
        return function(*args, **keywords)

    checked.__qualname__ = function.__name__  # by which keys tell it from others
    checked.__triton_builtin__ = True  # type: ignore[attr-defined]
    return checked  # type: ignore[return-value]


def is_builtin(value: Any) -> bool:
    """Whether a value is a function of the language."""
    return getattr(value, "__triton_builtin__", False) is True
