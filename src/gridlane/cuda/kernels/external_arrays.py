"""Other libraries' arrays, and device arrays of other devices, as arguments of kernels."""

from __future__ import annotations

from typing import Any

from gridlane.core.argtypes import ArgType, ComplexType, ScalarType
from gridlane.core.array_interface import ArrayMemory
from gridlane.core.device_errors import INVALID_VALUE, device_error
from gridlane.core.errors import ArgumentError, DeviceError, GridlaneError
from gridlane.cuda.arrays.devicearray import DeviceNDArray, as_device, from_interface
from gridlane.cuda.kernels.argument_types import KEYS, as_host, foreign_key, typeof
from gridlane.cuda.kernels.hints import Hint
from gridlane.cuda.kernels.user_types import UserArgument, typeof_impl
from gridlane.frontends.python.extensions import EXTENSIONS, WRAPPED
from gridlane.launch import current
from gridlane.launch.devices import kind_of


def resolved(value: Any, stream: Any = None) -> Any:
    """Replace the arrays of other libraries in an argument by device arrays or numpy arrays over
    the same memory. Each is read once, so that the kernel gets the checked memory.

    Args:
        stream: of the launch.

    Raises:
        ArgumentError: the memory cannot be an argument.
    """
    cls = value.__class__
    if cls is UserArgument:
        return value
    if cls is tuple or isinstance(value, tuple):
        items = [resolved(item, stream) for item in value]
        if all(map(_same, items, value)):
            return value
        return tuple(items) if cls is tuple else cls(*items)
    if isinstance(value, Hint):
        inner = resolved(value.value, stream)
        return value if inner is value.value else cls(inner)
    if isinstance(value, DeviceNDArray):
        return _reached(value)
    if KEYS[cls] is not foreign_key:
        return value
    users = typeof_impl.of(value)
    if users is not None:
        return _taken_apart(value, users, stream)
    try:
        _check_plain(value)
        device_array = as_device(value, consumer=stream)
        host = as_host(value) if device_array is value else None
    except (GridlaneError, RecursionError, MemoryError):
        raise
    except Exception as error:
        raise ArgumentError(
            f"the {cls.__name__} does not show its memory ({type(error).__name__}: {error})"
        ) from error
    if isinstance(device_array, DeviceNDArray):
        return _reached(device_array)
    return device_array if host is None else host


def _taken_apart(value: Any, kind: ArgType, stream: Any) -> UserArgument:
    """The members of an object of a program's own class, read by the names of their attributes."""
    attributes: dict[str, str] = {}
    for cls in reversed(type(kind).__mro__):
        attributes |= WRAPPED.get(cls, {})
    values = []
    for name, _ in EXTENSIONS.structure(kind):
        attribute = attributes.get(name, name)
        try:
            values.append(getattr(value, attribute))
        except AttributeError:
            raise ArgumentError(
                f"the {type(value).__name__} has no attribute {attribute}, which its type {kind} "
                "passes to kernels; an extension of the kernel, prepare_args, may convert it"
            ) from None
    return user_argument(kind, tuple(values), stream)


def user_argument(kind: ArgType, given: tuple[Any, ...], stream: Any = None) -> UserArgument:
    """The argument of a user's type with the values of its members, converted to their types.

    Raises:
        ArgumentError: there are more or fewer, or one has another type.
    """
    members = EXTENSIONS.structure(kind)
    if len(given) != len(members):
        raise ArgumentError(f"{kind} has {len(members)} members, and {len(given)} values are given")
    values = []
    for (name, member), value in zip(members, given, strict=True):
        item = resolved(value, stream)
        if isinstance(member, ScalarType | ComplexType):
            item = member.numpy.type(item)
        elif typeof(item) != member:
            raise ArgumentError(f"{kind}.{name} is {typeof(item)}, and its model has {member}")
        values.append(item)
    return UserArgument.of(kind, values)


class Captured:
    """The device arrays that a kernel captures from globals and closures, and keeps alive."""

    def __init__(self) -> None:
        self._arrays: list[DeviceNDArray] = []

    def __call__(self, value: Any, interface: Any) -> ArrayMemory:
        """The memory of an object with an array interface, with the checks of an argument.

        Raises:
            ArgumentError, DeviceError: the memory cannot be used.
        """
        if isinstance(value, DeviceNDArray):
            array = value
        elif hasattr(value, "__gridlane_array__"):
            array = from_interface({**interface, "owner": value})
        else:
            _check_plain(value)
            array = as_device(value)
        check_device(array)
        self._arrays.append(array)
        return array.memory

    def check(self) -> None:
        """Raise if this thread's device cannot use arrays captured on another one."""
        for array in self._arrays:
            check_device(array)


def _check_plain(value: Any) -> None:
    """Raise if the numbers in a library's memory differ from its array's values."""
    for question, answer in (("is_conj", "resolve_conj"), ("is_neg", "resolve_neg")):
        ask = getattr(value, question, None)
        if callable(ask) and ask() is True:
            raise ArgumentError(
                f"the {type(value).__name__} is a view whose numbers are conjugated or negated "
                f"when they are read, and kernels read memory; pass its {answer}()"
            )


def _same(one: Any, other: Any) -> bool:
    return one is other


def _reached(array: DeviceNDArray) -> DeviceNDArray:
    """An array that this thread's device can use: the same or, for an empty one on another device,
    an empty one here, since the plan of a launch is keyed by the device of its arrays."""
    check_device(array)
    there, here = array.buffer.device, current.device()
    if array.size or there is None or there is here or here.reaches(there, array.address):
        return array
    return DeviceNDArray(array.shape, array.strides, array.dtype, 0, readonly=array.readonly)


def check_device(array: DeviceNDArray) -> None:
    """Raise if kernels of this thread's device cannot use an array's memory."""
    there, here = array.buffer.device, current.device()
    if there is None or there is here or not array.size or here.reaches(there, array.address):
        return
    way = f"copy it to {here.name!r}, or launch on {there.name!r}"
    if kind_of(here) == kind_of(there):
        way += ", or let GPUs reach each other with context.enable_peer_access"
    error: DeviceError = device_error(
        INVALID_VALUE,
        f"{array.dtype} array of shape {array.shape} is in memory of the device {there.name!r}, "
        f"and the launch is on {here.name!r}, which does not reach it",
        way,
    )
    raise error
