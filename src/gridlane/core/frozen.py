"""Frozen, slotted dataclasses that are quick to declare.

``dataclass(frozen=True, slots=True)`` compiles seven functions for a class in Python 3.11 and 3.12,
and hundreds of classes took a third of the time of a process's first compilation. ``frozen``
compiles the constructor alone, once for all classes with the same names of fields; what else a
class has are closures and functions that all share.
"""

from __future__ import annotations

from abc import update_abstractmethods
from collections.abc import Callable
from dataclasses import (
    MISSING,
    Field,
    FrozenInstanceError,
    dataclass,
    field,
    fields,
)
from functools import cache
from operator import attrgetter
from reprlib import recursive_repr
from types import CodeType, FunctionType
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")

_set = object.__setattr__


class _Factory:
    """The default of a parameter whose field has a factory, as signatures show it."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """Make a class what ``dataclass(frozen=True, slots=True)`` makes of it.

    It differs in three points. A ``__repr__`` of a base class is kept. Without a docstring
    a class has its name as one. A base class that is a dataclass must be made by this function too.

    Raises:
        TypeError: the class assigns attributes by its own method, has an ``InitVar``, which is not
            supported, a field without a default behind one with it, or a base class that is
            another dataclass.
    """
    own = dict(cls.__dict__)
    _check(cls, own)
    cls.__doc__ = cls.__doc__ or cls.__name__  # else dataclass() imports inspect to write one
    data_class: Any = dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    compared = [each.name for each in fields(data_class) if each.compare]
    hashed = [
        each.name
        for each in fields(data_class)
        if (each.compare if each.hash is None else each.hash)
    ]
    if "__init__" not in own:
        data_class.__init__ = constructor(data_class, refuses=True)
    if data_class.__repr__ is object.__repr__:
        data_class.__repr__ = _repr
    if "__eq__" not in own:
        data_class.__eq__ = _equality(_key(compared))
    if "__hash__" not in own or (own["__hash__"] is None and "__eq__" in own):
        data_class.__hash__ = _hash(_key(hashed))
    data_class.__setattr__, data_class.__delattr__ = _refusals(data_class)
    for name, function in (("__getstate__", _getstate), ("__setstate__", _setstate)):
        if name not in own:
            setattr(data_class, name, function)
    return update_abstractmethods(data_class)


def _check(cls: type[Any], own: dict[str, Any]) -> None:
    for name in ("__setattr__", "__delattr__"):
        if name in own:
            raise TypeError(f"Cannot overwrite attribute {name} in class {cls.__name__}")
    for base in cls.__mro__[1:]:
        known = base.__dict__
        if "__dataclass_fields__" in known and "__setattr__" not in known:
            raise TypeError(f"{cls.__name__} is frozen, but {base.__name__}, its base, is not")


def constructor(cls: Any, refuses: bool) -> Callable[..., None]:
    """The ``__init__`` of a dataclass without one, with the signature that a dataclass has.

    Classes whose fields have the same names share its code.

    Args:
        refuses: whether assignments to attributes are refused.
    """
    _check_fields(cls)
    parameters = [each for each in fields(cls) if each.init]
    self = "__frozen_self__" if any(each.name == "self" for each in parameters) else "self"
    change = (
        f"__frozen_set__({self}, {{name!r}}, {{value}})" if refuses else self + ".{name} = {value}"
    )
    names: dict[str, Any] = {"__frozen_set__": _set, "__frozen_factory__": _FACTORY}
    lines = [
        change.format(name=each.name, value=value)
        for each in fields(cls)
        if (value := _value(each, names))
    ]
    if hasattr(cls, "__post_init__"):
        lines.append(f"{self}.__post_init__()")
    positional = [each for each in parameters if not each.kw_only]
    keywords = [each for each in parameters if each.kw_only]
    parameter_names = [self, *(each.name for each in positional)]
    parameter_names += ["*", *(each.name for each in keywords)] if keywords else []
    text = f"def __init__({', '.join(parameter_names)}):\n    " + "\n    ".join(lines or ["pass"])
    defaults = tuple(_default(each) for each in positional if _has_default(each))
    function = FunctionType(_code(text), names, "__init__", defaults)
    function.__kwdefaults__ = {each.name: _default(each) for each in keywords if _has_default(each)}
    function.__qualname__ = f"{cls.__qualname__}.__init__"
    function.__module__ = cls.__module__
    function.__annotations__ = {each.name: each.type for each in parameters} | {"return": None}
    return function


@cache
def _code(text: str) -> CodeType:
    """The code of a function."""
    names: dict[str, Any] = {}
    exec(text, names)
    return names["__init__"].__code__


def _check_fields(cls: Any) -> None:
    """Refuse what dataclasses refuse of the fields, and ``InitVar``."""
    default = ""
    for each in cls.__dataclass_fields__.values():
        if each._field_type.name == "_FIELD_INITVAR":
            raise TypeError(f"InitVar is not supported: field {each.name!r} of {cls.__name__}")
    for each in fields(cls):
        if not each.init or each.kw_only:
            continue
        if _has_default(each):
            default = each.name
        elif default:
            raise TypeError(f"non-default argument {each.name!r} follows default argument")


def _has_default(item: Field[Any]) -> bool:
    return item.default is not MISSING or item.default_factory is not MISSING


def _default(item: Field[Any]) -> Any:
    return _FACTORY if item.default is MISSING else item.default


def _value(item: Field[Any], names: dict[str, Any]) -> str:
    """The expression that a constructor assigns to a field; "" if the class assigns it."""
    name = item.name
    if item.default_factory is not MISSING:
        new = f"__frozen_new_{name}__"
        names[new] = item.default_factory
        return f"{new}() if {name} is __frozen_factory__ else {name}" if item.init else f"{new}()"
    if item.init or item.default is MISSING:
        return name if item.init else ""
    default = f"__frozen_default_{name}__"
    names[default] = item.default
    return default


def _key(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """What reads the values of some fields."""
    if not names:
        return lambda _: ()
    if len(names) == 1:
        (name,) = names
        read = attrgetter(name)
        return lambda self: (read(self),)
    return attrgetter(*names)


def _equality(key: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any, Any], Any]:
    def equals(self: Any, other: Any) -> Any:
        return key(self) == key(other) if other.__class__ is self.__class__ else NotImplemented

    return equals


def _hash(key: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any], int]:
    def hashed(self: Any) -> int:
        return hash(key(self))

    return hashed


def _refusals(cls: Any) -> tuple[Callable[..., None], Callable[..., None]]:
    """``__setattr__`` and ``__delattr__``: a subclass may have attributes of its own."""
    names = frozenset(each.name for each in fields(cls))
    base: Any = super

    def assign(self: Any, name: str, value: Any) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        base(cls, self).__setattr__(name, value)

    def delete(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        base(cls, self).__delattr__(name)

    return assign, delete


@recursive_repr()
def _repr(self: Any) -> str:
    values = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{self.__class__.__qualname__}({', '.join(values)})"


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, each.name) for each in fields(self)]


def _setstate(self: Any, state: list[Any]) -> None:
    for each, value in zip(fields(self), state, strict=True):
        _set(self, each.name, value)
