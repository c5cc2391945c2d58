"""``gpu_struct``: structures as items of arrays, arguments of operators and initial values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_type_hints

import numpy as np

from gridlane.algorithms.item_types import ItemType, constructor, item_type


class StructClass(type):
    """The class of structures' classes. In a kernel, a call of one makes a value."""

    dtype: np.dtype
    fields: dict[str, Any]
    """Each field's class: a numpy scalar type or a structure's class."""

    @property
    def __gridlane_function__(cls) -> Any:
        return constructor(cls.dtype).__gridlane_function__

    @property
    def _type_descriptor(cls) -> ItemType:
        return item_type(cls.dtype)


class Struct(metaclass=StructClass):
    """A value of a structure on the host: of its fields' values, in order, by name, or in one dict.

    Structures within may be given as tuples or dicts.
    """

    def __init__(self, *args: Any, **named: Any) -> None:
        cls = type(self)
        if len(args) == 1 and not named and isinstance(args[0], dict):
            args, named = (), args[0]
        values = dict(zip(cls.fields, args, strict=False)) | named
        if len(args) + len(named) != len(cls.fields) or set(values) != set(cls.fields):
            raise TypeError(
                f"{cls.__name__} has the fields {', '.join(cls.fields)}; got {len(args)} values"
                + (f" and {', '.join(map(str, named))}" if named else "")
            )
        for name, kind in cls.fields.items():
            setattr(self, name, _coerced(kind, values[name]))

    def __iter__(self) -> Iterator[Any]:
        return (getattr(self, name) for name in type(self).fields)

    def __getitem__(self, place: int) -> Any:
        return tuple(self)[place]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Struct)
            and type(other).dtype == type(self).dtype
            and (tuple(self) == tuple(other))
        )

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in type(self).fields)
        return f"{type(self).__name__}({values})"

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        array = np.array(_plain(self), type(self).dtype)
        return array if dtype is None else array.astype(dtype)


def _plain(value: Any) -> Any:
    return tuple(map(_plain, value)) if isinstance(value, Struct) else value


def _coerced(kind: Any, value: Any) -> Any:
    if not isinstance(kind, StructClass):
        return kind(value)
    if isinstance(value, Struct) and type(value).dtype == kind.dtype:
        return value
    if isinstance(value, dict):
        return kind(value)
    if isinstance(value, np.void):
        return kind(*value.item())
    return kind(*value)


def gpu_struct(field_dict: Any, name: str = "AnonymousStruct") -> Any:
    """Make a structure's class of an annotated class, a dict of fields, or a structured dtype.

    Fields are numbers or structures. ``cls.dtype`` is the dtype of arrays of it, aligned as in C.

    >>> import numpy as np
    >>> @gpu_struct
    ... class Pixel:
    ...     red: np.uint8
    ...     depth: np.float32
    >>> Pixel(1, 2.5)
    Pixel(red=np.uint8(1), depth=np.float32(2.5))
    >>> Pixel.dtype.itemsize
    8

    Raises:
        ValueError: a name is no identifier.
        TypeError: a field has a type that kernels cannot hold.
    """
    if isinstance(field_dict, np.dtype):
        described: Any = field_dict.fields
        fields = {each: described[each][0] for each in field_dict.names or ()}
    elif isinstance(field_dict, type):
        name, fields = field_dict.__name__, get_type_hints(field_dict)
    else:
        fields = dict(field_dict)
    for each in fields:
        if not isinstance(each, str) or not each.isidentifier():
            raise ValueError(f"the name of a field, {each!r}, is not a valid Python identifier")
    if not fields:
        raise TypeError(f"{name} has no fields; a structure has one or more")
    kinds = {each: _kind(value) for each, value in fields.items()}
    made = StructClass(name, (Struct,), {})
    made.fields = kinds
    dtypes = [kind.dtype if isinstance(kind, StructClass) else kind for kind in kinds.values()]
    made.dtype = np.dtype(list(zip(kinds, dtypes, strict=True)), align=True)
    item_type(made.dtype)
    return made


def _kind(value: Any) -> Any:
    if isinstance(value, StructClass):
        return value
    if isinstance(value, dict):
        return gpu_struct(value)
    dtype = np.dtype(getattr(value, "dtype", value) if not isinstance(value, type) else value)
    return gpu_struct(dtype) if dtype.names is not None else dtype.type
