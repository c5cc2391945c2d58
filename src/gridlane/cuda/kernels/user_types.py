"""Types of a program's own objects: the type of an object's class, and objects as arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridlane.core import argtypes
from gridlane.core.argtypes import ArgType

TypeOf = Callable[[Any, Any], ArgType | None]


class TypeofImpl:
    """The types of objects by their class: ``@typeof_impl.register(Class)`` above a function of an
    object and a context that returns the type."""

    def __init__(self) -> None:
        self._functions: dict[type, TypeOf] = {}

    def register(self, cls: type, function: TypeOf | None = None) -> Any:
        """Register the function for a class; a decorator where the function is missing."""
        if function is None:
            return lambda own: self.register(cls, own)
        self._functions[cls] = function
        return function

    def of(self, value: Any) -> ArgType | None:
        """The type of an object; None where its class has none."""
        for cls in type(value).__mro__:
            function = self._functions.get(cls)
            if function is not None:
                return function(value, None)
        return None

    def __call__(self, value: Any, context: Any = None) -> ArgType:
        """The type of an object.

        Raises:
            TypeError: its class has none.
        """
        arg_type = self.of(value)
        if arg_type is None:
            raise TypeError(f"no type is registered for {type(value).__name__}")
        return arg_type


typeof_impl = TypeofImpl()


class AsNumbaType:
    """The types of classes in annotations."""

    def __init__(self) -> None:
        self._types: dict[Any, ArgType] = {
            int: argtypes.int64,
            float: argtypes.float64,
            complex: argtypes.complex128,
            bool: argtypes.boolean,
            type(None): argtypes.none,
            None: argtypes.none,
        }

    def register(self, cls: Any, kind: ArgType | None = None) -> Any:
        """Register the type of a class."""
        if kind is None:
            raise TypeError("as_numba_type.register takes a class and its type")
        self._types[cls] = kind
        return cls

    def __call__(self, cls: Any) -> ArgType:
        """The type of a class.

        Raises:
            TypeError: it has none.
        """
        if isinstance(cls, ArgType):
            return cls
        if cls not in self._types:
            raise TypeError(f"no type is registered for {cls!r}; as_numba_type.register does that")
        return self._types[cls]


as_numba_type = AsNumbaType()


class UserArgument(tuple[Any, ...]):
    """An object of a program's own class as an argument: the values of its type's members.

    Attributes:
        argtype: the type.
    """

    argtype: ArgType

    @classmethod
    def of(cls, argtype: ArgType, values: list[Any]) -> UserArgument:
        """The argument of a type with the values of its members."""
        user_argument = cls(values)
        user_argument.argtype = argtype
        return user_argument
