"""The types of arguments: as a key for the hot path, and in full as an ArgType.

``KEYS[type(value)](value)`` is a hashable key of the argument's type and its way of being read.
"""

# pyright: reportPrivateUsage=false
# What arrays hide is hidden from users, not from gridlane.cuda.

from __future__ import annotations

import enum
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any

import numpy as np

from gridlane.core import argtypes, enums, numpy_types
from gridlane.core.argtypes import ArgType, ArrayType, TupleType
from gridlane.core.errors import ArgumentError
from gridlane.cuda.arrays import allocation
from gridlane.cuda.arrays.devicearray import DeviceNDArray, DeviceRecord, as_device
from gridlane.cuda.interop import dlpack_read
from gridlane.cuda.kernels.hints import Hint
from gridlane.cuda.kernels.user_types import UserArgument
from gridlane.cuda.kernels.user_types import as_numba_type as as_numba_type
from gridlane.cuda.kernels.user_types import typeof_impl as typeof_impl
from gridlane.launch import current, geometry

KeyFunction = Callable[[Any], Hashable]

# Bits of ndarray.flags.num that decide an argument's type and how it is passed.
C_CONTIGUOUS, F_CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x2, 0x100, 0x400
_FLAGS = C_CONTIGUOUS | F_CONTIGUOUS | ALIGNED | WRITEABLE


def typeof(value: Any, _name: str = "") -> ArgType:
    """The type that a kernel sees for ``value``.

    Raises:
        ArgumentError: kernels cannot take it.
    """
    if isinstance(value, ArgType):
        return value
    if isinstance(value, DeviceNDArray):
        return value._key.argtype
    if isinstance(value, (bool, np.bool_)):
        return argtypes.boolean
    if isinstance(value, enum.Enum):
        return _member_type(value)
    if isinstance(value, int) and not isinstance(value, np.generic):
        if not -(2**63) <= value < 2**64:
            raise ArgumentError(f"the integer {value} does not fit into 64 bits")
        return argtypes.int64 if value < 2**63 else argtypes.uint64
    if isinstance(value, np.ndarray):
        return _array_type(value)
    if isinstance(value, (str, bytes)):
        return _foreign_type(value)
    if isinstance(value, np.generic):
        return _element_type(value.dtype)
    if isinstance(value, float):
        return argtypes.float64
    if isinstance(value, complex):
        return argtypes.complex128
    if value is None:
        return argtypes.none
    if isinstance(value, UserArgument):
        return value.argtype
    if isinstance(value, tuple):
        items = tuple(map(typeof, value))
        fields = getattr(type(value), "_fields", ())
        return TupleType(items, fields, type(value) if fields else None)
    if isinstance(value, Hint):
        return typeof(value.value)
    return _foreign_type(value)


def check_alignment(value: Any) -> None:
    """Check that a device which reads whole words can read an argument.

    Raises:
        ArgumentError: elements of an array begin between words.
    """
    if isinstance(value, tuple):
        for each in value:
            check_alignment(each)
    elif isinstance(value, DeviceNDArray) and value._key.misaligned:
        device, alignment = current.device(), min(4, value.dtype.alignment)
        if device.route != "inline":
            raise ArgumentError(
                f"an array of {value.dtype} in the memory of {device.name} whose elements begin at "
                f"no multiples of {alignment} bytes; pass a copy of it, or make the dtype of its "
                "records with align=True"
            )


def _member_type(member: enum.Enum) -> ArgType:
    """The type of an enum member: its class, or that of its value if it is a number of another kind
    than an IntEnum's."""
    if isinstance(member, (int, float)) and not enums.is_int_enum(member):
        return typeof(member.value)
    if enums.index_of(member) is None:
        raise ArgumentError(f"{member!r} is a combination of flags; pass its value")
    return _enum_type(type(member))


@lru_cache(maxsize=256)
def _enum_type(cls: type[enum.Enum]) -> ArgType:
    arg_type = argtypes.EnumType.of(cls)
    try:
        hash(arg_type)
    except TypeError:
        raise ArgumentError(
            f"{cls.__name__} is an Enum whose values have no hash; pass what the kernel needs of "
            "its member's value"
        ) from None
    number = arg_type.number
    if number is not None:
        for other in cls:
            if not number.dtype.min <= int(other) <= number.dtype.max:  # type: ignore[arg-type]
                raise ArgumentError(
                    f"{cls.__name__}.{other.name} does not fit into 64 bits with the others of "
                    "its class; pass its value"
                )
    return arg_type


def _array_type(array: np.ndarray) -> ArrayType:
    if _is_masked(type(array)):
        raise ArgumentError(
            "a kernel would ignore the mask of a masked array; pass its filled() or its data"
        )
    flags = array.flags.num
    layout = "C" if flags & C_CONTIGUOUS else "F" if flags & F_CONTIGUOUS else "A"
    return ArrayType(_element_type(array.dtype), array.ndim, layout, not flags & WRITEABLE)


def _is_masked(cls: type) -> bool:
    return cls is not np.ndarray and geometry.is_masked(cls)


def _element_type(dtype: np.dtype) -> ArgType:
    try:
        return numpy_types.from_numpy(dtype)
    except TypeError as error:
        raise ArgumentError(str(error)) from None


def _foreign_type(value: Any) -> ArgType:
    users = typeof_impl.of(value)
    if users is not None:
        return users
    shown = _shown(value)
    return shown._key.argtype if isinstance(shown, DeviceNDArray) else _array_type(shown)


def _shown(value: Any) -> DeviceNDArray | np.ndarray:
    """The memory that another library's object exposes, the device's or the host's."""
    device = as_device(value, sync=False)
    if device is not value:
        return device
    host = as_host(value)
    if host is None:
        raise ArgumentError(
            f"a kernel cannot take an object of type {type(value).__name__}; it takes numbers, "
            f"arrays, records, tuples of these and None{_instead(value)}"
        )
    return host


_INSTEAD = {
    "pandas": "pass x.to_numpy(copy=True), and make a new Series or DataFrame of what it holds "
    "then: the memory of pandas is not to be written to",
    "polars": "pass x.to_numpy(writable=True), and make a new Series of what it holds then",
    "xarray": "pass x.data, the array itself",
    "pyarrow": "pass x.to_numpy(zero_copy_only=False)",
    "tensorflow": "pass np.array(x), or the tensor by tf.experimental.dlpack",
}
_TEXT = (
    "pass np.array([x]), and read its element 0; where the text is a choice, pass a number, or "
    "make it a global, a constant of the kernel"
)
_PARTS = "pass the arrays and numbers in it, or a namedtuple of them"
_BY_KIND: tuple[tuple[Any, str], ...] = (
    ((set, frozenset), "pass np.array(list(x))"),
    (type, "a type is a constant of a kernel: give it a global name, and use that"),
    (
        Callable,
        "decorate it with @cuda.jit(device=True), and call it in the kernel by its global name",
    ),
)


def _instead(value: Any) -> str:
    """What to pass instead of an object that has or could be an array."""
    advice = _INSTEAD.get(type(value).__module__.partition(".")[0])
    if isinstance(value, (str, bytes)):
        advice = _TEXT
    elif advice is None and isinstance(value, (list, range)):
        advice = "pass np.array(x)"
    elif advice is None and hasattr(type(value), "__array__"):
        advice = "pass np.array(x), the copy of it that numpy makes"
    elif advice is None:
        advice = next((words for kind, words in _BY_KIND if isinstance(value, kind)), _PARTS)
    return f": {advice}"


def is_in_place(value: np.ndarray) -> bool:
    """Whether a host array is over memory that the device uses in place: mapped or managed. Sums of
    such arrays have the same class, but ordinary memory."""
    return not current.device().host_visible and is_shared(value)


def is_shared(value: np.ndarray) -> bool:
    """Whether a host array is in mapped or managed memory."""
    if not hasattr(type(value), "__gridlane_array__"):
        return False
    return allocation.holds(geometry.address_of(value))


def as_host(value: Any) -> np.ndarray | None:
    """A host array over the memory that an object exposes, or None."""
    if isinstance(value, (str, bytes)):
        return None
    if hasattr(value, "__array_interface__") or hasattr(value, "__array_struct__"):
        return np.asarray(value)
    try:
        return np.asarray(memoryview(value))
    except (TypeError, ValueError, BufferError):
        return dlpack_read.host_array(value) if dlpack_read.is_tensor(value) else None


# --- keys ---

REFUSED = "refused"
"""The key of an unsupported argument. No plan has it, and the slow path raises the error."""

# Strings, because they cache their hashes and ArgTypes do not.
_INT64, _UINT64 = "int", "big int"


def _constant(key: Hashable) -> KeyFunction:
    return lambda value: key


def _int_key(value: int) -> Hashable:
    if -(2**63) <= value < 2**63:
        return _INT64
    return _UINT64 if 0 < value < 2**64 else REFUSED


def _device_key(value: DeviceNDArray) -> Hashable:
    return value._key


def _ndarray_key(value: np.ndarray) -> Hashable:
    return value.dtype, value.ndim, value.flags.num & _FLAGS


def _tuple_key(value: tuple[Any, ...]) -> Hashable:
    return value.__class__, *[KEYS[item.__class__](item) for item in value]


def _user_key(value: UserArgument) -> Hashable:
    return value.argtype, *[KEYS[item.__class__](item) for item in value]


def _record_key(value: np.void) -> Hashable:
    return np.void, value.dtype


def _enum_key(value: enum.Enum) -> Hashable:
    if isinstance(value, (int, float)) and not enums.is_int_enum(value):
        return enum.Enum, KEYS[value.value.__class__](value.value)
    return REFUSED if enums.index_of(value) is None else (enum.Enum, value.__class__)


def _hint_key(value: Hint) -> Hashable:
    return value.__class__, KEYS[value.value.__class__](value.value)


def _mapped_key(value: np.ndarray) -> Hashable:
    return is_in_place(value), _ndarray_key(value)


def _subclass_key(cls: type) -> KeyFunction:
    if _is_masked(cls):
        return _constant(REFUSED)
    return _mapped_key if hasattr(cls, "__gridlane_array__") else _ndarray_key


def foreign_key(value: Any) -> Hashable:
    """The key of another library's array: none, as it is read once per launch, and then replaced by
    a device array or a numpy array; see external_arrays.py."""
    return REFUSED


class _Keys(dict[type, KeyFunction]):
    """The key functions by class; a new class is looked up through its bases."""

    def __missing__(self, cls: type) -> KeyFunction:
        if issubclass(cls, np.ndarray):
            function = _subclass_key(cls)
        else:
            function = next((f for base, f in _BASES if issubclass(cls, base)), foreign_key)
        self[cls] = function
        return function


KEYS = _Keys(
    {
        int: _int_key,
        bool: _constant("bool"),
        float: _constant("float"),
        complex: _constant("complex"),
        type(None): _constant(None),
        np.ndarray: _ndarray_key,
        DeviceNDArray: _device_key,
        DeviceRecord: _device_key,
        tuple: _tuple_key,
        UserArgument: _user_key,
        **{
            dtype.type: _constant(f"numpy {dtype}")
            for dtype in (
                *(scalar.numpy for scalar in argtypes.SCALARS),
                *map(np.dtype, ("c8", "c16")),
            )
        },
    }
)
# On platforms with two C types of one width numpy has a scalar class for each.
_BASES: tuple[tuple[type, KeyFunction], ...] = (
    (DeviceNDArray, _device_key),
    (enum.Enum, _enum_key),
    (bool, KEYS[bool]),
    (np.void, _record_key),
    (np.generic, lambda value: ("numpy", value.dtype)),
    (int, _int_key),
    (float, KEYS[float]),
    (complex, KEYS[complex]),
    (tuple, _tuple_key),
    (Hint, _hint_key),
)
