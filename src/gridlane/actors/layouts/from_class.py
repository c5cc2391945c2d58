"""A layout from a class with annotations."""

from __future__ import annotations

import builtins
import inspect
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, cast, get_args, get_origin

import numpy as np

from gridlane.actors.layouts.class_lines import line_of
from gridlane.actors.layouts.schema import (
    SCALARS,
    Array,
    FieldType,
    Layout,
    Member,
    lay_out,
    verify_name,
)
from gridlane.core import argtypes, numpy_types
from gridlane.core.argtypes import ArgType, ArrayType, NestedArrayType, ScalarType
from gridlane.core.errors import CompileError, NameLookupError, TypingError

_PYTHON: dict[object, ScalarType] = {
    bool: argtypes.boolean,
    int: argtypes.int64,
    float: argtypes.float64,
}
_MARK = "'{}' is not the type of a field: {}"
_ADVICE = {
    "none": "a field holds a value",
    "bfloat16": "use float16 or float32, or its bits in a uint16",
    "complex64": "use float32[2]",
    "complex128": "use float64[2]",
}
_ALLOWED = f"use {', '.join(map(str, SCALARS))}, an array such as float32[16], or a class of these"


@dataclass(frozen=True, slots=True)
class ArrayOfClass:
    """An array of a class's layout, which is made with that of the class around it."""

    element: type
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.element.__qualname__}{list(self.shape)}"


def array(element: Any, *shape: int) -> Array | ArrayOfClass:
    """The type of a field that is an array of fixed shape: of a scalar, or of a class's layout.

    Of a scalar, ``float32[16]`` and ``float32[2, 3]`` are the same.

    Raises:
        TypingError: no such element, or an extent below 1.

    >>> str(array(argtypes.float32, 2, 3))
    'float32[2, 3]'
    """
    Array(argtypes.uint8, shape)  # verifies the shape
    is_class = isinstance(element, type) and element not in _PYTHON
    if is_class and _numpy_dtype(element) is None:
        return ArrayOfClass(cast("type", element), shape)
    element_type = _type_of(element, {}, ())
    return Array(element_type, shape)  # type: ignore[arg-type]  # Array verifies it


def from_class(cls: type, names: Mapping[str, object] | None = None) -> Layout:
    """The layout of a class's annotations, those of its bases first.

    A field's type is one of gridlane's or numpy's scalars, Python's int, float or bool (int64,
    float64, bool), an array (``float32[16]``, ``array(Order, 4)``), or another such class. Text in
    ``Annotated[float32, "dollars"]`` is the field's meaning. A ClassVar is no field.

    Args:
        names: what strings may name beside the class's module and gridlane's types: local names of
            the function that the class is made in.

    Raises:
        TypingError: no fields, a type that cannot be in memory, or two fields of one name.
        NameLookupError: a string names nothing.

    >>> class Order:
    ...     price: argtypes.float32
    ...     size: np.int32
    >>> made = from_class(Order)
    >>> made.name, made.size, [field.offset for field in made.fields]
    ('Order', 8, [0, 4])
    """
    return _from_class(cls, names or {}, ())


def _from_class(cls: type, names: Mapping[str, object], outer: tuple[type, ...]) -> Layout:
    if cls in outer:
        chain = " in ".join(each.__qualname__ for each in (cls, *reversed(outer)))
        raise TypingError(f"a value of {cls.__qualname__} contains itself: {chain}", line_of(cls))
    members: list[Member] = []
    owner: dict[str, type] = {}
    for each in reversed(cls.__mro__):
        for name, annotation in _annotations(each).items():
            member = _member(each, name, annotation, names, (*outer, cls))
            if member is None:
                continue
            if name in owner:
                raise TypingError(
                    f"{cls.__qualname__} has two fields of the name {name}: of "
                    f"{owner[name].__qualname__} and of {each.__qualname__}; rename one",
                    line_of(each, name),
                    (("the other one", line_of(owner[name], name)),),
                )
            owner[name] = each
            members.append(member)
    if not members:
        raise TypingError(
            f"{cls.__qualname__} has no fields: write annotations such as price: float32",
            line_of(cls),
        )
    try:
        return lay_out(cls.__name__, *members, meaning=_first_line(cls))
    except TypingError as error:
        raise TypingError(error.message, line_of(cls)) from None


def _member(
    cls: type, name: str, annotation: object, names: Mapping[str, object], outer: tuple[type, ...]
) -> Member | None:
    """The field of an annotation; None for a ClassVar."""
    try:
        kind = _value(cls, annotation, names)
        if kind is ClassVar or get_origin(kind) is ClassVar:
            return None
        verify_name(name, "field")
        meaning = ""
        if get_origin(kind) is Annotated:
            kind, *notes = get_args(kind)
            meaning = next((note for note in notes if isinstance(note, str)), "")
            kind = _value(cls, getattr(kind, "__forward_arg__", kind), names)
        return (name, _type_of(kind, names, outer), meaning)
    except CompileError as error:
        if error.loc.line:
            raise  # of a class that is nested
        text = f"{cls.__qualname__}.{name}: {error.message}"
        raise type(error)(text, line_of(cls, name)) from None


def _annotations(cls: type) -> Mapping[str, object]:
    """Those of a class's own body; none of a class of Python itself."""
    if cls.__module__ == "builtins":
        return {}
    try:
        return inspect.get_annotations(cls)
    except NameError as error:  # where annotations are evaluated late, from Python 3.14 on
        text = f"{cls.__qualname__}: {error}; define it before, at the module's top level"
        raise NameLookupError(text, line_of(cls)) from None


def _value(cls: type, annotation: object, names: Mapping[str, object]) -> object:
    """The object of an annotation, which may be a string of it, or of one that is written as a
    string."""
    for _ in range(2):
        if isinstance(annotation, str):
            annotation = _evaluated(cls, annotation, names)
    return annotation


def _evaluated(cls: type, annotation: str, names: Mapping[str, object]) -> object:
    module = sys.modules.get(cls.__module__)
    globals_ = vars(module) if module is not None else {}
    scope = {**_dialect(), **vars(builtins), **globals_, **vars(cls), **names}
    try:
        return eval(annotation, scope)
    except NameError as error:
        raise NameLookupError(
            f"{error}: neither {cls.__module__} nor gridlane's types have it; define it at the "
            "module's top level, or pass names={...}"
        ) from None
    except CompileError:
        raise
    except Exception as error:
        raise TypingError(f"{annotation!r} fails: {error}") from None


@cache
def _dialect() -> dict[str, object]:
    """The names of the dialect's types: float32, f4, uint8 …"""
    from gridlane.cuda import types

    kinds = {name: each for name, each in vars(types).items() if isinstance(each, ArgType)}
    return {**kinds, "array": array}


def _type_of(value: Any, names: Mapping[str, object], outer: tuple[type, ...]) -> FieldType:
    """The field's type of an annotation."""
    if isinstance(value, Array | Layout):
        return value
    if isinstance(value, ArrayOfClass):
        return Array(_of_class(value.element, names, outer), value.shape)
    if isinstance(value, type) and value in _PYTHON:
        return _PYTHON[value]
    dtype = _numpy_dtype(value)
    if dtype is not None:
        value = _of_numpy(dtype)
    elif isinstance(value, type):
        return _of_class(value, names, outer)
    if isinstance(value, NestedArrayType):
        element = _type_of(value.element, names, outer)
        return Array(element, value.shape)  # type: ignore[arg-type]  # Array verifies it
    if isinstance(value, ScalarType) and value in SCALARS:
        return value
    if isinstance(value, ArrayType):
        advice = f"a field has a fixed shape: {value.element}[16]"
        raise TypingError(_MARK.format(value, advice))
    raise TypingError(_MARK.format(value, _ADVICE.get(str(value), _ALLOWED)))


def _numpy_dtype(value: Any) -> np.dtype[Any] | None:
    """The type of a dtype or of numpy's class of a scalar; None for anything else."""
    is_class = isinstance(value, type) and issubclass(value, np.generic)
    return np.dtype(cast("Any", value)) if is_class or isinstance(value, np.dtype) else None


def _of_numpy(dtype: np.dtype[Any]) -> ArgType:
    if not dtype.isnative:
        raise TypingError(_MARK.format(dtype, "bytes are little-endian"))
    if dtype.names is not None:
        raise TypingError(_MARK.format(dtype, "write a class, which gives the record a name"))
    try:
        return numpy_types.from_numpy(dtype)
    except TypeError:
        raise TypingError(_MARK.format(dtype, _ALLOWED)) from None


def _of_class(cls: type, names: Mapping[str, object], outer: tuple[type, ...]) -> Layout:
    if not any(_annotations(each) for each in cls.__mro__):
        raise TypingError(_MARK.format(cls.__qualname__, _ALLOWED))
    return _from_class(cls, names, outer)


def _first_line(cls: type) -> str:
    """The meaning from a class's own docstring."""
    return (vars(cls).get("__doc__") or "").strip().partition("\n")[0]
