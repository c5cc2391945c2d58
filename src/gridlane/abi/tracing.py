"""Print each call of CUDA's interface, in the shape of strace, by the rows of the table.

``cudaMalloc(devPtr=0x7ffd2a10 -> 0x7f21c000, size=4096) = 0 cudaSuccess <1234 ns>``: what is behind
an arrow is there after the call. Memory that a call names is read only as far as it is there.
"""

from __future__ import annotations

import functools
import struct
import time
from collections.abc import Callable, Iterator
from typing import Any

from gridlane.abi import raw
from gridlane.abi.struct import Struct
from gridlane.core import trace
from gridlane.core.cuda_table import CType, aliases, ctype, enums, layout
from gridlane.core.cuda_table.functions import Api, Function, Parameter
from gridlane.core.cuda_table.layout import Field, Layout

_MOST_TEXT, _MOST_ITEMS = 64, 8
ERRORS: dict[Api, str] = {"driver": "CUresult", "runtime": "cudaError_t", "nvrtc": "nvrtcResult"}
"""The enumeration of each interface's errors."""


def traced(name: str, row: Function, call: Callable[..., int]) -> Callable[..., int]:
    """A function of words, as C calls it, that prints each of its calls.

    Args:
        name: as it is exported.
    """

    def told(*given: int) -> int:
        before = arguments(row, given)
        start = time.perf_counter_ns()
        code = call(*given)
        tell(name, row, given, before, code, time.perf_counter_ns() - start)
        return code

    return told


def tell(
    name: str, row: Function, given: tuple[int, ...], before: list[str], code: int, took: int
) -> None:
    """Print a call that was made.

    Args:
        before: its arguments as they were.
        code: what it returned.
        took: its nanoseconds.
    """
    succeeded = bool(row.result) or not code
    shown = [
        f"{each.name}={text}{_after(row, each, word, given) if succeeded else ''}"
        for each, text, word in zip(row.parameters, before, given)
    ]
    trace.write(f"{name}({', '.join(shown)}) = {_returned(row, given, code)} <{took} ns>")


def of_c(row: Function) -> Callable[..., int]:
    """A function that prints a call which C answered alone: its arguments are followed by the code
    that it returned and its nanoseconds."""

    def told(*given: int) -> int:
        *numbers, code, took = given
        tell(row.name, row, tuple(numbers), arguments(row, tuple(numbers)), code, took)
        return 0

    return told


def traced_values(
    row: Function, names: list[str], call: Callable[..., tuple[Any, ...]]
) -> Callable[..., tuple[Any, ...]]:
    """A function of Python's that prints each of its calls.

    Args:
        names: of its parameters.
    """

    @functools.wraps(call)
    def told(*args: Any, **named: Any) -> tuple[Any, ...]:
        given = {**dict(zip(names, args)), **named}
        shown = [f"{name}={_shortened(repr(value))}" for name, value in given.items()]
        start = time.perf_counter_ns()
        result = call(*args, **named)
        took = time.perf_counter_ns() - start
        results = [] if result[0] else [_shortened(repr(each)) for each in result[1:]]
        arrow = f" -> {', '.join(results)}" if results else ""
        code = f"{int(result[0])} {result[0].name}"
        trace.write(f"{row.base}({', '.join(shown)}) = {code}{arrow} <{took} ns>")
        return result

    return told


def arguments(row: Function, given: tuple[int, ...]) -> list[str]:
    """What a call was given, one text for each parameter."""
    return [_argument(row, each, word) for each, word in zip(row.parameters, given)]


def _argument(row: Function, parameter: Parameter, word: int) -> str:
    kind = ctype(parameter.type)
    if kind.kind == "struct":  # words by value are at an address
        return _record(layout(kind.name), raw.readable(word, layout(kind.name).size))
    if kind.kind != "pointer" or not word:
        return _value(kind, (word & (1 << 64) - 1).to_bytes(8, "little"))
    is_read = kind.to.startswith("const") and parameter.name not in row.given
    if kind.to == "const char":
        return _string(_text_at(word))
    if is_read and (target := _pointed(kind)) and target.kind == "struct":
        return _memory(target, word)
    return hex(word)


def _after(row: Function, parameter: Parameter, word: int, given: tuple[int, ...]) -> str:
    """What a parameter that is given back points to after the call."""
    if parameter.name not in row.given or not word:
        return ""
    kind = ctype(parameter.type)
    if kind.to == "char":
        return f" -> {_string(_text_at(word))}"
    target = _pointed(kind)
    if target is None:
        return ""  # of any type: the call knows which
    count = None if parameter.name in row.both else _count(row, given)
    if count is None:
        return f" -> {_memory(target, word)}"
    size = layout(target.name).size if target.kind == "struct" else target.size
    shown = [_memory(target, word + n * size) for n in range(min(count, _MOST_ITEMS))]
    return f" -> [{', '.join([*shown, '...'] if count > _MOST_ITEMS else shown)}]"


def _count(row: Function, given: tuple[int, ...]) -> int | None:
    """The number of elements that a call returned, if the table has a count that is passed and
    returned."""
    for each, word in zip(row.parameters, given):
        if each.name in row.both and word:
            size = ctype(ctype(each.type).to).size
            return int.from_bytes(raw.readable(word, size), "little")
    return None


def _returned(row: Function, given: tuple[int, ...], code: int) -> str:
    if not row.result:
        return f"{code} {_named(ERRORS[row.api], code) or 'unknown'}"
    kind = ctype(row.result)
    if kind.kind == "struct":
        return _memory(kind, given[-1])
    if row.result.endswith("*"):
        return _string(_text_at(code))
    return _value(kind, (code & (1 << 64) - 1).to_bytes(8, "little"))


# --- values ---


def _pointed(kind: CType) -> CType | None:
    """What a pointer points to; None for bytes of no type."""
    target = kind.to.removeprefix("const ").strip()
    if target in ("void", "char"):
        return None
    try:
        return ctype(target)
    except ValueError:
        return None


def _memory(kind: CType, address: int) -> str:
    """The value of a type at an address."""
    if kind.kind == "struct":
        laid = layout(kind.name)
        data = raw.readable(address, laid.size)
        return _record(laid, data) if len(data) == laid.size else hex(address)
    data = raw.readable(address, kind.size)
    if len(data) < kind.size:
        return "?"
    if kind.kind == "pointer" and kind.to.removeprefix("const ").strip() == "char":
        return _string(_text_at(int.from_bytes(data, "little")))
    return _value(kind, data)


def _value(kind: CType, data: bytes) -> str:
    """A number, enumerator, handle or pointer by its bytes."""
    data = data[: kind.size]
    if kind.kind == "float":
        return f"{struct.unpack('<f' if kind.size == 4 else '<d', data)[0]:g}"
    number = int.from_bytes(data, "little", signed=kind.signed)
    if kind.kind == "enum":
        return _named(kind.name, number) or str(number)
    if kind.kind in ("pointer", "handle"):
        return hex(number) if number else "NULL"
    is_address = kind.size == 8 and kind.name in _ADDRESSES
    return hex(number) if is_address else str(number)


_ADDRESSES = frozenset({"CUdeviceptr", "CUtexObject", "CUsurfObject"})


@functools.cache
def _named(enumeration: str, number: int) -> str:
    """The first name of a value; "" if it has none."""
    while enumeration in aliases():
        enumeration = aliases()[enumeration]
    values = enums()[enumeration].values
    return next((name for name, value in values.items() if value == number), "")


def _record(laid: Layout, data: bytes) -> str:
    """A structure; of members that share their bytes the first, without those that are reserved."""
    struct = Struct.of(laid, data)
    shown: list[str] = []
    for field in _shown(laid):
        if len(shown) == _MOST_ITEMS:
            return f"{{{', '.join(shown)}, ...}}"
        shown.append(f"{field.name}={_member(struct, field)}")
    return f"{{{', '.join(shown)}}}"


def _shown(laid: Layout) -> Iterator[Field]:
    end = 0
    for field in sorted(laid.fields.values(), key=lambda each: each.offset):
        if field.offset >= end and "reserved" not in field.name.lower():
            size = field.inner.size if field.inner else field.type.size
            end = field.offset + size * (field.type.count or 1)
            yield field


def _member(struct: Struct, field: Field) -> str:
    value = struct.member(field.name)
    if isinstance(value, bytes):
        return _string(value.partition(b"\0")[0])
    items = value if isinstance(value, tuple) else (value,)
    shown = [
        _record(field.inner, bytes(each)) if field.inner else _scalar(field.type, each)
        for each in items[:_MOST_ITEMS]
    ]
    return f"[{', '.join(shown)}]" if isinstance(value, tuple) else shown[0]


def _scalar(kind: CType, value: Any) -> str:
    if kind.kind == "float":
        return f"{value:g}"
    return _value(kind, (int(value) & (1 << 8 * kind.size) - 1).to_bytes(kind.size, "little"))


def _text_at(address: int) -> bytes | None:
    """The characters at an address, one more than are shown; None for a null pointer."""
    if not address:
        return None
    return raw.readable(address, _MOST_TEXT + 1).partition(b"\0")[0]


def _string(text: bytes | None) -> str:
    """A text in quotes, as C writes it."""
    if text is None:
        return "NULL"
    more = "..." if len(text) > _MOST_TEXT else ""
    shown = text[:_MOST_TEXT].decode("utf-8", "backslashreplace")
    return '"' + "".join(_ESCAPES.get(each, each) for each in shown) + f'"{more}'


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def _shortened(text: str) -> str:
    return text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}..."
