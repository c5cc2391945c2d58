"""Classes of programs, whose members are tensors and constants."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from gridlane.frontends.triton.constants import constexpr, unwrapped

Class = TypeVar("Class", bound=type)


def aggregate(cls: Class) -> Class:
    """Let programs make instances of a class, pass them, and carry them through loops. Its
    annotations are its members; without an ``__init__`` of its own it takes them in order."""
    names = [*cls.__annotations__]

    def define(name: str, value: Any) -> None:
        setattr(cls, name, value)

    define("is_aggregate", True)
    define("__triton_aggregate__", True)
    if "__init__" not in vars(cls):
        define("__init__", _initializer(cls.__name__, names, cls.__annotations__))
    define("parts", lambda self: tuple([getattr(self, name) for name in names]))
    define("with_parts", lambda self, parts: _remade(self, names, parts))
    define("facts", lambda self: _facts(cls))
    return cls


def _initializer(class_name: str, names: list[str], kinds: dict[str, Any]) -> Callable[..., None]:
    def initialise(self: Any, *args: Any, **keywords: Any) -> None:
        given = dict(zip(names, args, strict=False)) | keywords
        if len(args) > len(names) or given.keys() != {*names} or len(given) != len(names):
            raise TypeError(f"{class_name}() takes {', '.join(names)}")
        for name in names:
            value = given[name]
            is_constant = kinds[name] in (constexpr, "tl.constexpr")
            setattr(self, name, constexpr(value) if is_constant else unwrapped(value))

    return initialise


def _remade(like: Any, names: list[str], parts: tuple[Any, ...]) -> Any:
    made = object.__new__(type(like))
    made.__dict__.update(like.__dict__)
    for name, value in zip(names, parts, strict=True):
        made.__dict__[name] = value
    return made


def _facts(cls: type) -> Hashable:
    return cls.__module__, cls.__qualname__


def is_aggregate_class(value: Any) -> bool:
    """Whether a value is a class that ``aggregate`` made one of programs."""
    return isinstance(value, type) and getattr(value, "__triton_aggregate__", False) is True


def must_use_result(marked: Any, why: Any = True) -> Any:
    """Refuse programs that call a function and do not use its result."""
    if isinstance(marked, str):
        return lambda function: must_use_result(function, marked)
    marked._must_use_result = why
    return marked
