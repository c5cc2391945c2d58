"""The bytes of the Python objects that functions capture, as part of a key."""

from __future__ import annotations

import enum
import sys
import types
from abc import ABCMeta
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from gridlane.core import argtypes
from gridlane.core.array_interface import ArrayMemory
from gridlane.core.encoding import NotEncodable, encode, frame, named_class
from gridlane.frontends.python import stubs
from gridlane.frontends.python.consteval_stubs import CompileTime
from gridlane.frontends.python.device_function import (
    ConstantFunction,
    DeviceFunction,
    device_function_of,
    foreign_of,
    is_from_buffer,
    key_of,
)
from gridlane.frontends.python.extensions import EXTENSIONS
from gridlane.frontends.python.scope import Surroundings

_STUBS = (stubs.Stub, stubs.ValueStub, stubs.Dim3Stub, stubs.Namespace)
_METACLASSES = (type, ABCMeta, enum.EnumType)
_PLAIN = (type(None), type(...), bool, int, float, complex)
_HEAP_TYPE = 1 << 9
"""The flag of a class that a class statement made, so that its attributes can change."""


class Capture:
    """Encode values for one key. ``function`` numbers a device function's Python function.

    A repeated object is encoded as the number of its first occurrence: kernels compare objects by
    identity, and structures may have cycles.

    Attributes:
        loose: names of attributes that are read of objects under another name than their own.
    """

    def __init__(
        self, around: Surroundings, loose: Iterable[str], function: Callable[[Any], bytes]
    ) -> None:
        self._around = around
        self.loose = sorted(loose)
        self._followed: list[Any] = []
        self._function = function
        self._numbers: dict[int, tuple[int, Any]] = {}  # the object too, so that it stays alive

    def value(self, value: Any) -> bytes:
        """The bytes of a value, with everything that a kernel can read from it.

        Raises:
            NotEncodable: a part cannot be encoded.
        """
        if type(value) in _PLAIN:
            return encode(value)
        return self.once(value, self._object)

    def once(self, value: Any, make: Callable[[Any], bytes]) -> bytes:
        """``make(value)`` at an object's first occurrence, its number afterwards."""
        known = self._numbers.get(id(value))
        if known is not None:
            return frame(b"<", encode(known[0]))
        self._numbers[id(value)] = len(self._numbers), value
        return make(value)

    def path(self, value: Any, names: tuple[str, ...]) -> bytes:
        """The bytes of ``value.name.name``. An object with a meaning of its own in kernels, such as
        an array, ends the path: its attributes follow from its bytes."""
        for name in names:
            if self._is_operand(value):
                break
            exists, value = self._attribute(value, name)
            if not exists:
                return frame(b"-")
        return self.value(value)

    def may_read(self, names: Iterable[str]) -> bool:
        """Whether an encoded object has an attribute of these names."""
        return any(self._readable(value, name)[0] for value in self._followed for name in names)

    # --- kinds of objects, in the order in which the translator distinguishes them ---

    def _object(self, value: Any) -> bytes:
        if EXTENSIONS.entries(value):
            raise NotEncodable("its implementations are chosen by functions of types")
        if EXTENSIONS.constant_of(value) is not None:
            raise NotEncodable("a function of the program emits its value")
        if isinstance(value, CompileTime):
            raise NotEncodable("what it evaluates may be anything")
        if isinstance(value, type):
            return self._class(value)
        device = device_function_of(value)
        if device is not None:
            return self._device(value, device)
        if isinstance(value, ConstantFunction):
            function = value.py_func
            return frame(b"K", encode((function.__module__, function.__qualname__, value.facts)))
        foreign = foreign_of(value)
        if foreign is not None:
            declared = foreign.signature.return_type, foreign.signature.args, foreign.abi
            return frame(b"X", encode((foreign.name, *declared)), encode(key_of(foreign.links)))
        if is_from_buffer(value):
            return frame(b"Y")
        if isinstance(value, (np.generic, np.ndarray)):
            return self._array(value)
        if isinstance(value, enum.Enum):
            return self._member(value)
        if isinstance(value, (bool, int, float)):
            return frame(b"N", encode(type(value)), encode(_number(value)))
        if isinstance(value, tuple):
            return frame(b"T", encode(type(value)), *map(self.value, value))
        if isinstance(value, _STUBS):
            return frame(b"S", encode((type(value), value.name)))
        if type(value) in (str, bytes) or isinstance(value, (np.dtype, argtypes.ArgType)):
            return encode(value)
        if isinstance(value, types.ModuleType):
            place = getattr(value, "__file__", None)
            return frame(b"M", encode((value.__name__, place)), self._loose(value))
        memory = self._memory(value)
        return _named(value) if memory is None else _device_array(memory)

    def _is_operand(self, value: Any) -> bool:
        """Whether the translator turns an object into an operand other than the object itself."""
        if value is None or type(value) is complex:
            return True
        if isinstance(value, (int, float, tuple, np.generic, np.ndarray, stubs.ValueStub)):
            return True
        return self._memory(value) is not None

    def _memory(self, value: Any) -> ArrayMemory | None:
        try:
            return self._around.memory(value)
        except Exception as error:  # the translator raises it again, if the value is used
            raise NotEncodable(f"its array interface is refused: {error!r:.60}") from None

    def _device(self, value: Any, device: DeviceFunction) -> bytes:
        declared = tuple([(each.return_type, each.args) for each in device.signatures])
        constants = tuple(sorted(device.constants))
        facts = encode((device.options, declared, device.floats, constants))
        return frame(b"D", facts, self._function(device.py_func), self._loose(value))

    def _class(self, cls: type) -> bytes:
        """A class: its name, whether a lookup finds it by that, the attributes a kernel reads."""
        if type(cls) not in _METACLASSES:
            raise NotEncodable(f"the class {cls.__qualname__} has a metaclass of its own")
        bases = tuple([named_class(base) for base in cls.__bases__])
        is_importable = _find(cls.__module__, cls.__qualname__) is cls
        if is_importable and not cls.__flags__ & _HEAP_TYPE:
            return encode(cls)
        parts = [encode((is_importable, bases)), encode(cls)]
        kind = vars(cls).get("__gridlane_type__")
        if isinstance(kind, argtypes.ArgType):
            parts.append(encode(kind))  # a call of the class makes a record of this type
        if isinstance(cls, enum.EnumType):
            parts += [self.value(member) for member in cls.__members__.values()]
        return frame(b"C", *parts, self._loose(cls))

    def _member(self, member: enum.Enum) -> bytes:
        cls: Any = type(member)
        if cls.__eq__ not in (enum.Enum.__eq__, object.__eq__, int.__eq__, str.__eq__):
            raise NotEncodable(f"{cls.__qualname__} compares its members in a way of its own")
        shown = encode((cls, member.name, str(member)))
        others = self.value(cls)  # a variable may hold any of them
        return frame(b"E", shown, others, self.value(member.value), self._loose(member))

    def _loose(self, value: Any) -> bytes:
        """The attributes that may be read of an object under another name."""
        self._followed.append(value)
        parts = []
        for name in self.loose:
            exists, inner = self._readable(value, name)
            if exists:
                parts += [encode(name), self.value(inner)]
        return frame(b"L", *parts)

    def _readable(self, owner: Any, name: str) -> tuple[bool, Any]:
        """(whether an object has an attribute for kernels, its value); methods do not count."""
        exists, value = self._attribute(owner, name)
        if isinstance(owner, types.ModuleType) or device_function_of(value) is not None:
            return exists, value
        is_method = hasattr(type(value), "__get__") or isinstance(value, types.BuiltinMethodType)
        return exists and not is_method, value

    def _attribute(self, value: Any, name: str) -> tuple[bool, Any]:
        try:
            return True, self._around.attribute(value, name)
        except AttributeError:
            return False, None
        except Exception as error:  # of a property; the translator raises it again, if it is used
            raise NotEncodable(f"its attribute {name} raises {error!r:.60}") from None

    def _array(self, value: np.ndarray | np.generic) -> bytes:
        """An array or scalar of numpy: it becomes a constant of the module, in its order."""
        dtype = value.dtype
        if dtype.hasobject:
            raise NotEncodable(f"an array of {dtype} holds objects")
        kept = self._around.array(value) if isinstance(value, np.ndarray) else value
        flags = kept.flags
        order = "F" if flags.f_contiguous and not flags.c_contiguous else "C"
        parts = encode((type(value), dtype, tuple(map(int, value.shape)), order))
        return frame(b"A", parts, encode(kept.tobytes(order)))


def _number(value: Any) -> int | float:
    return int(value) if isinstance(value, int) else float(value)


def _device_array(memory: ArrayMemory) -> bytes:
    """An array in device memory: the kernel holds its address."""
    facts = memory.shape, memory.strides, memory.dtype, memory.address, memory.readonly
    return frame(b"G", encode(facts))


def _named(value: Any) -> bytes:
    """A function or the like, if it can be found by its name: ``math.sin``, ``numpy.add``."""
    kind = type(value)
    if kind.__module__.partition(".")[0] in ("builtins", "numpy"):
        name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
        module = getattr(value, "__module__", None) or "numpy"
        if isinstance(name, str) and isinstance(module, str) and _find(module, name) is value:
            return frame(b"F", encode((kind, module, name)))
    raise NotEncodable(
        f"an object of {kind.__module__}.{kind.__qualname__}, of which only attributes can be told"
    )


def _find(module: str, name: str) -> Any:
    """The object that a qualified name refers to, or None."""
    named_object: Any = sys.modules.get(module)
    for part in name.split("."):
        named_object = getattr(named_object, part, None)
    return named_object
