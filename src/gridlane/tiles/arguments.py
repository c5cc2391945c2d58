"""The arguments of a launch: their types, which of them are constants, and what is packed.

The rules are Triton's: an integer 1 becomes a constant unless the program says otherwise, integers
have the narrowest of i32, i64 and u64 that holds them, floats are float32.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from gridlane.core import argtypes
from gridlane.core.argtypes import ArgType, ArrayType, ScalarType
from gridlane.core.encoding import NotEncodable
from gridlane.core.errors import ArgumentError
from gridlane.core.numpy_types import from_numpy
from gridlane.core.tensor_map import fits
from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.cuda.kernels.overlaps import Writebacks
from gridlane.cuda.raw.arguments import on_device
from gridlane.frontends.triton.constants import constexpr, unwrapped
from gridlane.frontends.triton.fingerprint import constant_bytes
from gridlane.frontends.triton.functions import TileFunction
from gridlane.frontends.triton.parameters import Block
from gridlane.frontends.triton.types import dtype, float8e4b15, pointer_type
from gridlane.launch.geometry import address_of
from gridlane.tiles.descriptors import TensorDescriptor
from gridlane.tiles.errors import IntegerOverflow
from gridlane.tiles.wrappers import (
    NARROW,
    MockTensor,
    Part,
    TensorWrapper,
    element_of,
    memory_behind,
)

ALIGNMENT = 16
"""The multiple of bytes at which code may know that a pointer lies."""


class Described(NamedTuple):
    """What code depends on of an argument.

    Attributes:
        type: of a runtime argument; None for a constant.
        constant: its value where it has no type.
        aligned: whether a pointer lies at a multiple of ``ALIGNMENT`` bytes, or an integer is one;
            of a descriptor, the address, the strides in bytes and the last extent.
        block: of a tensor descriptor.
        element: the type of the elements in memory, where it is a float of 8 bits; the argument's
            type has uint8 in its place.
    """

    type: ArgType | TuplePart | None
    constant: Any = None
    aligned: bool = False
    block: Block | None = None
    element: dtype | None = None


class TuplePart(NamedTuple):
    """A tuple's items, in place of a type."""

    parts: tuple[Described, ...]
    cls: type | None


class Parameter(NamedTuple):
    """How a program takes a parameter.

    Attributes:
        is_constant: its annotation is ``tl.constexpr``.
        fixed: the type that its annotation names, or None.
        by_value: an integer 1 becomes a constant, and code knows multiples of ``ALIGNMENT``.
    """

    name: str
    is_constant: bool
    fixed: ArgType | None
    by_value: bool


class DescribedArray(NamedTuple):
    """A tensor descriptor, as packers read it: strides in bytes."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def parameters_of(function: TileFunction, plain: frozenset[str | int]) -> tuple[Parameter, ...]:
    """The parameters of a function.

    Args:
        plain: names or places of those whose values code does not depend on.
    """
    return tuple(
        [
            Parameter(
                name,
                function.is_constant(name),
                _annotated(function.signature.parameters[name]),
                not ({name, place} & plain),
            )
            for place, name in enumerate(function.arg_names)
        ]
    )


def _annotated(parameter: inspect.Parameter) -> ArgType | None:
    """The type of a scalar that an annotation such as ``tl.int64`` or ``"i64"`` names."""
    wanted = parameter.annotation
    if isinstance(wanted, str):
        wanted = _SHORT.get(wanted) or _SHORT.get(wanted.rpartition(".")[2])
    if not isinstance(wanted, dtype) or isinstance(wanted, pointer_type):
        return None
    return _SCALARS.get(wanted.name)


_SCALARS: dict[str, ScalarType] = {
    "int1": argtypes.boolean,
    **{name: getattr(argtypes, name) for name in ("int8", "int16", "int32", "int64")},
    **{name: getattr(argtypes, name) for name in ("uint8", "uint16", "uint32", "uint64")},
    "fp16": argtypes.float16,
    "bf16": argtypes.bfloat16,
    "fp32": argtypes.float32,
    "fp64": argtypes.float64,
}
"""Types of arguments by the names of Triton's types."""


def scalar_type(kind: dtype) -> ScalarType:
    """The type of an argument by the language's type of a scalar.

    Raises:
        ArgumentError: no argument has it.
    """
    known = _SCALARS.get(kind.name)
    if known is None:
        raise ArgumentError(f"no argument is a scalar of {kind}")
    return known


_SHORT_NAMES = (
    {dtype(name).codegen_name(): name.replace("uint", "u").replace("int", "i") for name in _SCALARS}
    | {kind.codegen_name(): kind.name for kind in (*NARROW.values(), float8e4b15)}
    | {name: kind.name for name, kind in NARROW.items()}
    | {"half": "fp16", "float": "fp32", "double": "fp64", "int": "i32", "void": "void"}
    | dict.fromkeys(("bool", "int1", "uint1", "i1"), "u1")
)

type_canonicalisation_dict: dict[str, str] = {
    **{name: name for name in _SHORT_NAMES.values()},
    **_SHORT_NAMES,
}
"""The short names of types, by their names in ``triton.language``, in torch, in C and as they
are."""

_SHORT: dict[str, dtype] = {
    short: dtype(name)
    for name in _SCALARS
    for short in (
        name,
        dtype(name).codegen_name(),
        name.replace("uint", "u").replace("int", "i"),
    )
}


def on_current_device(args: tuple[Any, ...], back: Writebacks) -> tuple[Any, ...]:
    """The arguments with arrays that this thread's device uses, those of tuples and descriptors
    included; ``back`` receives the copies back to host arrays, and a check of those that are
    read-only."""
    args = tuple([_wrapped(value) for value in args])
    leaves: list[Any] = []
    for value in args:
        _gather(value, leaves)
    there = on_device(tuple(leaves), back)
    for leaf, array in zip(leaves, there, strict=True):
        # A shared copy may change by another argument's memory.
        if (
            isinstance(leaf, np.ndarray)
            and not leaf.flags.writeable
            and id(leaf) not in back.shared
        ):
            back.append(partial(_check_unwritten, leaf.tobytes(), array))
    converted = iter(there)
    return tuple([_rebuilt(value, converted) for value in args])


def _check_unwritten(before: bytes, copy: Any) -> None:
    """Raise ArgumentError if a program has written to its copy of a read-only array."""
    if isinstance(copy, DeviceNDArray) and copy.copy_to_host().tobytes() != before:
        raise ArgumentError(
            f"a program wrote into a read-only array ({copy.dtype} of shape {copy.shape}); pass a "
            "copy of it"
        )


@cache
def _narrow(elements: Any) -> dtype | None:
    """The language's type of an array's floats of 8 bits; None for any other type."""
    return NARROW.get(str(elements).removeprefix("torch."))


def _wrapped(value: Any) -> Any:
    """Arrays of floats of 8 bits as their bytes, with the type beside; torch's tensors without
    their history; arrays without axes with one; other values as they are."""
    if isinstance(value, tuple):
        items = [_wrapped(item) for item in value]
        return getattr(value, "_make", tuple)(items)
    if isinstance(value, TensorDescriptor):
        return value.over(_wrapped(value.base))
    if isinstance(value, TensorWrapper):
        return TensorWrapper(_memory_of(_wrapped(value.base)), element_of(value.dtype))
    if isinstance(value, MockTensor):
        return value
    kind = getattr(value, "dtype", None)
    if kind is None or isinstance(kind, dtype) or not isinstance(kind, Hashable):
        return value
    if getattr(value, "requires_grad", False):  # torch exports the memory of no such tensor
        value = value.detach()
    part = memory_behind(value)
    if part is not None:
        return part
    if getattr(value, "ndim", 1) == 0 and not isinstance(value, np.generic):
        value = value.reshape(1)  # kernels of other kinds take such an array for a number
    narrow = _narrow(kind)
    if narrow is None:
        return value
    bits = np.uint8 if isinstance(value, np.ndarray) else _torch_bytes()
    return TensorWrapper(value.view(bits), narrow)


def _torch_bytes() -> Any:
    import torch  # type: ignore[import-not-found]  # pyright: ignore[reportMissingImports]

    return torch.uint8


def _gather(value: Any, leaves: list[Any]) -> None:
    if isinstance(value, tuple):
        for item in value:
            _gather(item, leaves)
    elif isinstance(value, TensorDescriptor):
        leaves.append(_memory_of(value.base))
    elif isinstance(value, Part) or is_array(value):
        leaves.append(_memory_of(value))


def _rebuilt(value: Any, arrays: Any) -> Any:
    if isinstance(value, tuple):
        items = [_rebuilt(item, arrays) for item in value]
        make: Any = getattr(value, "_make", tuple)
        return make(items)
    if isinstance(value, TensorDescriptor):
        return value.over(_rebuilt(value.base, arrays))
    if isinstance(value, TensorWrapper):
        return value.over(next(arrays))
    if isinstance(value, Part):
        return next(arrays)[value.start :]
    return next(arrays) if is_array(value) else value


_OF_ARRAYS = "__gridlane_array__", "__cuda_array_interface__", "__dlpack__", "data_ptr"


def is_array(value: Any) -> bool:
    """Whether an argument is an array in memory, of any library."""
    if isinstance(value, DeviceNDArray | TensorWrapper):
        return True
    if isinstance(value, np.ndarray):
        return True
    if isinstance(value, int | float | np.generic | MockTensor | None):
        return False
    return _is_of_arrays(type(value)) or any(hasattr(value, name) for name in _OF_ARRAYS)


@lru_cache(256)
def _is_of_arrays(kind: type) -> bool:
    """Whether all objects of a class are arrays; no attribute of them is computed."""
    return any(hasattr(kind, name) for name in _OF_ARRAYS)


def _memory_of(value: Any) -> Any:
    """What is in memory of an array."""
    return value.base if isinstance(value, TensorWrapper | Part) else value


def describe(value: Any, parameter: Parameter) -> Described:
    """What code depends on of an argument.

    Raises:
        ArgumentError: programs cannot take it.
    """
    if parameter.is_constant:
        return Described(None, unwrapped(value))
    return _described(value, parameter)


def _described(value: Any, parameter: Parameter) -> Described:
    read = _READERS.get(type(value))
    if read is not None:
        return read(value, parameter)
    for kind, reader in _READERS.items():
        if isinstance(value, kind):
            return reader(value, parameter)
    raise ArgumentError(
        f"{parameter.name}: a tile program cannot take an argument of type "
        f"{type(value).__name__}; pass an array, a number or a tuple of these, or annotate the "
        "parameter with tl.constexpr"
    )


def _of_int(value: int, parameter: Parameter) -> Described:
    if parameter.fixed is not None:
        return Described(parameter.fixed)
    if value == 1 and parameter.by_value:
        return Described(None, 1)
    aligned = parameter.by_value and value % ALIGNMENT == 0
    if -(2**31) <= value < 2**31:
        return Described(argtypes.int32, aligned=aligned)
    if not -(2**63) <= value < 2**64:
        raise IntegerOverflow(f"{parameter.name}: the integer {value} does not fit into 64 bits")
    return Described(argtypes.int64 if value < 2**63 else argtypes.uint64, aligned=aligned)


def _of_float(value: float, parameter: Parameter) -> Described:
    return Described(parameter.fixed or argtypes.float32)


def _of_bool(value: bool, parameter: Parameter) -> Described:
    return Described(parameter.fixed or argtypes.boolean)


def _of_generic(value: np.generic, parameter: Parameter) -> Described:
    """A numpy scalar, which has its own type."""
    return Described(parameter.fixed or from_numpy(value.dtype))


def _of_array(value: Any, parameter: Parameter) -> Described:
    address = address_of(value) if isinstance(value, np.ndarray) else value.address
    return Described(_pointer_to(value.dtype), aligned=address % ALIGNMENT == 0)


def _pointer_to(elements: np.dtype[Any]) -> ArrayType:
    """The type of a pointer: neither the shape nor the strides of an array reach a program."""
    return ArrayType(from_numpy(elements), 1, "A")


def _of_wrapper(value: TensorWrapper, parameter: Parameter) -> Described:
    address = address_of(value.base) if isinstance(value.base, np.ndarray) else value.base.address
    is_aligned = address % ALIGNMENT == 0
    if value.dtype.is_fp8():
        bits = ArrayType(argtypes.uint8, 1, "A")
        return Described(bits, aligned=is_aligned, element=value.dtype)
    element = _SCALARS.get(value.dtype.name)
    if element is None:
        raise ArgumentError(f"{parameter.name}: no device has pointers to {value.dtype}")
    return Described(ArrayType(element, 1, "A"), aligned=is_aligned)


def _of_descriptor(value: TensorDescriptor, parameter: Parameter) -> Described:
    base = _described(value.base, parameter)
    assert isinstance(base.type, ArrayType)
    type_ = ArrayType(base.type.element, len(value.shape), "A")
    assert isinstance(base.type.element, argtypes.ScalarType)
    steps = [step * base.type.element.dtype.size for step in value.strides[:-1]]
    aligned = base.aligned and all(each % ALIGNMENT == 0 for each in (*steps, value.shape[-1]))
    mapped = fits(_address_of(value.base), value.shape, steps)
    block = Block(tuple(value.block_shape), value.padding, mapped)
    return Described(type_, aligned=aligned, block=block, element=base.element)


def _address_of(base: Any) -> int:
    """Where an array's memory begins; an aligned address for a type in place of one."""
    memory = _memory_of(base)
    if isinstance(memory, MockTensor):
        return ALIGNMENT
    return address_of(memory) if isinstance(memory, np.ndarray) else memory.address


def _of_mock(value: MockTensor, parameter: Parameter) -> Described:
    """A type in place of a tensor, which is taken for an aligned one, as in Triton."""
    kind = value.element
    if kind.is_fp8():
        return Described(ArrayType(argtypes.uint8, 1, "A"), aligned=True, element=kind)
    return Described(ArrayType(scalar_type(kind), 1, "A"), aligned=True)


def _of_none(value: None, parameter: Parameter) -> Described:
    return Described(None, None)


def _of_constant(value: constexpr, parameter: Parameter) -> Described:
    return Described(None, value.value)


def _of_function(value: TileFunction, parameter: Parameter) -> Described:
    return Described(None, value)


def _of_tuple(value: tuple[Any, ...], parameter: Parameter) -> Described:
    inner = parameter._replace(fixed=None)
    parts = [_described(item, inner) for item in value]
    cls = None if type(value) is tuple else type(value)
    return Described(TuplePart(tuple(parts), cls))


_READERS: dict[type, Callable[[Any, Parameter], Described]] = {
    bool: _of_bool,
    int: _of_int,
    float: _of_float,
    np.generic: _of_generic,
    DeviceNDArray: _of_array,
    np.ndarray: _of_array,
    TensorWrapper: _of_wrapper,
    TensorDescriptor: _of_descriptor,
    MockTensor: _of_mock,
    type(None): _of_none,
    constexpr: _of_constant,
    tuple: _of_tuple,
    TileFunction: _of_function,
}


def packed_form(value: Any) -> Any:
    """What packers read of an argument."""
    if isinstance(value, tuple):
        return tuple([packed_form(item) for item in value])
    if isinstance(value, TensorDescriptor):
        base = _memory_of(value.base)
        address = _address_of(base)
        steps = tuple([step * base.dtype.itemsize for step in value.strides])
        return DescribedArray(address, tuple(value.shape), steps)
    return value.base if isinstance(value, TensorWrapper) else value


def key_of(described: Described) -> Hashable:
    """A key of what code depends on; constants that are equal and not the same differ."""
    if isinstance(described.type, TuplePart):
        return described.type.cls, tuple([key_of(each) for each in described.type.parts])
    return _exactly(described.constant), *described._replace(constant=None)


def _exactly(constant: Any) -> Hashable:
    """A key of a constant: 1, True and 1.0 are equal in Python, and so are 0.0 and -0.0."""
    if isinstance(constant, float):
        return type(constant), constant.hex()
    if isinstance(constant, tuple | list):
        items: Any = constant
        return type(constant), tuple([_exactly(item) for item in items])
    if isinstance(constant, dict):
        pairs: Any = constant.items()
        return dict, tuple([(_exactly(key), _exactly(value)) for key, value in pairs])
    try:
        hash(constant)
    except TypeError:
        return _encoded(constant)
    return type(constant), constant


def _encoded(constant: Any) -> bytes:
    """The bytes of a constant without a hash, as an array is.

    Raises:
        ArgumentError: it has none, so code for it could not be told from code for another one.
    """
    try:
        return constant_bytes(constant)
    except NotEncodable as reason:
        raise ArgumentError(f"a constant of type {type(constant).__name__}: {reason}") from None


def short_name(described: Described) -> str:
    """The name of an argument's type in a signature of Triton's: ``*fp32``, ``i32``."""
    if described.type is None:
        return "constexpr"
    if isinstance(described.type, TuplePart):
        return f"({', '.join(map(short_name, described.type.parts))})"
    if isinstance(described.type, ArrayType):
        return f"*{_NAMES.get(described.type.element, described.type.element)}"
    return _NAMES.get(described.type, str(described.type))


_NAMES: dict[ArgType, str] = {
    type_: name.replace("uint", "u").replace("int", "i") for name, type_ in _SCALARS.items()
}
