"""The functions of a library in Python, made of the table's rows."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from gridlane.abi import tracing
from gridlane.abi.calls.registry import Call, calls
from gridlane.abi.errors import UNDONE, way_in
from gridlane.abi.python.values import (
    Handle,
    address_of,
    class_of,
    enum_class,
    kernel_parameters,
    record_of,
    wrapped,
)
from gridlane.abi.state.devices import VERSION
from gridlane.abi.struct import Struct
from gridlane.abi.typed import Typed
from gridlane.core import trace
from gridlane.core.cuda_table import CType, aliases, callbacks, constants, ctype, enums, functions
from gridlane.core.cuda_table.functions import Api, Function, Parameter
from gridlane.core.cuda_table.structs import nodes

_ERRORS: dict[Api, str] = {"driver": "CUresult", "runtime": "cudaError_t", "nvrtc": "nvrtcResult"}
_PREFIXES: dict[Api, tuple[str, ...]] = {
    "driver": ("CU", "cuu"),
    "runtime": ("cuda", "CU", "lib", "dim3"),
    "nvrtc": ("nvrtc",),
}
_KEYWORDS = {
    "type": "typename",
    "len": "length",
    "format": "pformat",
    "bytes": "numbytes",
    "from": "from_",
    "input": "input_",
}
"""Names of parameters that NVIDIA's bindings change, as Python uses them itself."""

_VERSIONS: dict[Api, tuple[str, ...]] = {
    "driver": ("CUDA_VERSION",),
    "runtime": ("CUDART_VERSION",),
    "nvrtc": (),
}
"""The constants with the version of the headers, of which the table has several."""

_NAMES = {"cuGraphInstantiateWithFlags": "cuGraphInstantiate"}
"""Names that the headers of CUDA 12 and later give to other functions."""

_KEPT: dict[str, str] = {"cuLinkCreate": "cuLinkDestroy"}
"""Functions whose arguments are used until another function: the logs of a link."""
_kept: dict[int, Any] = {}

Reader = Callable[[Any], tuple[Any, Any]]
"""From a value of Python's to the call's, and what keeps it valid during the call."""


@cache
def names_of(api: Api) -> frozenset[str]:
    """What a module of this library has: functions, types and constants."""
    names_of_module = set(_rows(api))
    for names in (enums(), aliases(), callbacks(), constants(), nodes(), _VERSIONS[api]):
        names_of_module |= {
            each for each in names if each.startswith(_PREFIXES[api]) and "@" not in each
        }
    if api != "nvrtc":
        for one in enums().values():
            names_of_module |= set(one.values) if one.names[0].startswith(_PREFIXES[api]) else set()
    return frozenset(names_of_module)


def resolve(api: Api, name: str) -> Any:
    """What a name is: a function, a class, a number.

    Raises:
        AttributeError: CUDA has no such name.
    """
    row = _rows(api).get(name)
    if row is not None:
        return _function(api, row)
    class_object = class_of(name)
    if class_object is not None:
        return class_object
    if name in _VERSIONS[api]:
        return VERSION
    if name in constants():
        return constants()[name]
    for each in enums().values():
        if name in each.values:
            return enum_class(each.names[-1])(each.values[name])
    raise AttributeError(f"CUDA's {api} interface has no {name!r}")


@cache
def _rows(api: Api) -> dict[str, Function]:
    """The functions of the Python interface, by the names that programs use."""
    functions_by_name: dict[str, Function] = {}
    for row in functions(api).values():
        if row.outs is not None:
            functions_by_name[_NAMES.get(row.name, row.base)] = row
    return functions_by_name


def _function(api: Api, row: Function) -> Callable[..., Any]:
    """A function of Python for a row."""
    call = calls(api).get(row.name)
    outs = [each for each in row.parameters if each.name in (row.outs or ())]
    if row.result:
        outs = [Parameter(f"{row.result} *", "result")]
    ins = [each for each in row.parameters if _is_given(row, each)]
    readers = [_reader(row, each) for each in ins]
    writers = [_writer(each) for each in outs]
    if row.result:
        writers.append(_result(row))
    names = [_KEYWORDS.get(each.name, each.name) for each in ins]
    rooms = sum(each.name in row.both and ctype(each.type).to == "size_t" for each in ins)
    counts = _counts(ins)
    error = enum_class(_ERRORS[api])
    failed = (None,) * len(writers)
    enter = way_in(row, call)

    def function(*args: Any, **named: Any) -> tuple[Any, ...]:
        if named:
            args = _in_order(row.base, names, args, named)
        if rooms and len(args) == len(readers) - rooms:
            args = (*args, *(0,) * rooms)  # the number alone
        for array, count in counts:
            items = args[array] if len(args) > count else None
            if isinstance(items, (list, tuple)) and len(items) < args[count]:
                raise RuntimeError(f"{names[array]} has {len(items)} of {args[count]}")
        if len(args) != len(readers):
            raise TypeError(f"{row.base} takes ({', '.join(names)}), not {len(args)} arguments")
        read = [reader(value) for reader, value in zip(readers, args)]
        number, results = enter(*[value for value, _ in read])
        if number:
            return (error(number), *failed)
        if row.base in _KEPT:
            _kept[results[0]] = read
        elif row.base in _KEPT.values():
            _kept.pop(read[0][0], None)
        return (error(number), *(write(each) for write, each in zip(writers, results)))

    function.__name__ = function.__qualname__ = row.base
    function.__doc__ = _doc(row, names, call)
    return tracing.traced_values(row, names, function) if trace.enabled() else function


def _is_given(row: Function, parameter: Parameter) -> bool:
    """Whether the caller passes a parameter."""
    return parameter.name not in (row.outs or ()) or parameter.name in row.both


def _counts(parameters: list[Parameter]) -> list[tuple[int, int]]:
    """The places of the arrays of handles and structures that are given, and of their counts."""
    pairs: list[tuple[int, int]] = []
    arrays: list[int] = []
    for place, each in enumerate(parameters):
        if each.type == "size_t" and each.name == "numDependencies":
            pairs += [(array, place) for array in arrays]
        elif ctype(each.type).kind == "pointer":
            arrays.append(place)
    return pairs


def _doc(row: Function, names: list[str], call: Call | None) -> str:
    about = (call.__doc__ or "") if call else f"Refused: {row.refused or UNDONE}."
    result = (row.result,) if row.result else ()
    given = ", ".join((_ERRORS[row.api], *(row.outs or ()), *result))
    return f"{row.base}({', '.join(names)}) -> ({given})\n\n{about}"


def _in_order(
    function: str, names: list[str], args: tuple[Any, ...], named: dict[str, Any]
) -> tuple[Any, ...]:
    given = dict(zip(names, args)) | named
    unknown = set(named) - set(names)
    if unknown or len(given) != len(args) + len(named):
        raise TypeError(f"{function} takes ({', '.join(names)})")
    missing = [name for name in names if name not in given]
    if missing:
        raise TypeError(f"{function} lacks the arguments {', '.join(missing)}")
    return tuple(given[name] for name in names)


# --- from Python to the call ---


def _reader(row: Function, parameter: Parameter) -> Reader:
    kind = ctype(parameter.type)
    if parameter.name in row.both and kind.kind == "pointer":
        kind = ctype(kind.to)  # its value, not its place
    if parameter.name in ("kernelParams", "args") and kind.to == "void *":
        return kernel_parameters
    if parameter.name == "value" and kind.to.replace("const", "").strip() == "void":
        return _attribute
    if kind.kind == "pointer":
        target = kind.to.replace("const", "").strip()
        if target == "char" and "const" in kind.to:
            return _text
        if not target.endswith("*") and target != "void" and _is_record(target):
            return lambda value: _record(value, target)
        return lambda value: address_of(value, kind)
    if kind.kind == "float":
        return lambda value: (float(value), None)
    if kind.kind == "struct":
        return lambda value: (value._struct, value)
    return lambda value: (_number(value, kind, row, parameter), None)


def _is_record(name: str) -> bool:
    try:
        return ctype(name).kind == "struct"
    except ValueError:
        return False


def _text(value: Any) -> tuple[bytes | None, Any]:
    if value is None or isinstance(value, bytes):
        return value, None
    if isinstance(value, str):
        return value.encode(), None
    raise TypeError(f"a text is bytes, not {type(value).__name__}")


def _attribute(value: Any) -> tuple[int, Any]:
    """The address of an attribute's value, which programs in Python give as a number."""
    if isinstance(value, (int, Handle, np.integer)):
        cell = ctypes.c_uint64(int(value) & (1 << 64) - 1)
        return ctypes.addressof(cell), cell
    return address_of(value, ctype("void *"))


def _record(value: Any, name: str) -> tuple[Struct | None, Any]:
    if value is None or (isinstance(value, int) and not value):
        return None, None
    number, held = address_of(value, ctype(f"{name} *"))
    return Struct(name, number, held), held


def _number(value: Any, kind: CType, row: Function, parameter: Parameter) -> int:
    if value is None:
        if kind.kind != "handle":
            raise TypeError(f"{row.base}: {parameter.name} is None, and {kind.name} is no handle")
        return 0
    number = int(value)
    bits = 8 * kind.size
    low, high = (-(1 << bits - 1), 1 << bits - 1) if kind.signed else (0, 1 << bits)
    if kind.kind == "enum":
        low, high = -(1 << 31), 1 << 32
    if not low <= number < high:
        raise OverflowError(f"{row.base}: {parameter.name} is {number}, which {kind.name} lacks")
    return number


# --- from the call to Python ---


def _result(row: Function) -> Callable[[Any], Any]:
    """What a function returns that returns no error."""
    return _writer(Parameter(f"{row.result} *", ""))


def _writer(parameter: Parameter) -> Callable[[Any], Any]:
    kind = ctype(ctype(parameter.type).to) if ctype(parameter.type).to != "void" else None
    if kind and kind.kind == "pointer" and kind.to.startswith(("const CUg", "const cudaG")):
        kind = ctype(kind.to)  # an array of the library's

    def write(value: Any) -> Any:
        if isinstance(value, Typed):
            of = ctype(value.type)
            if isinstance(value.value, tuple):
                return [wrapped(each, of) for each in value.value]
            return wrapped(value.value, of)
        if isinstance(value, Struct):
            if kind is None or kind.kind != "struct":
                return record_of(value, "")
            return record_of(Struct(kind.name, value.address, value), kind.name)
        if isinstance(value, (list, tuple)):
            return [write(each) for each in value]
        if value is None or isinstance(value, (bytes, float)) or kind is None:
            return value
        return wrapped(value, kind)

    return write
