"""The functions of ``calls`` for callers in C: arguments and results are 64-bit words."""

from __future__ import annotations

import ctypes
import struct
import sys
import threading
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, NoReturn, cast

from gridlane.abi import raw, tracing
from gridlane.abi.calls.registry import calls
from gridlane.abi.errors import way_in
from gridlane.abi.failure import (
    INVALID_VALUE,
    NOT_READY,
    SUCCESS,
    UNKNOWN,
    Failure,
    fail,
    failure_of,
)
from gridlane.abi.library import hot, hot_launches, output, ready, registration
from gridlane.abi.library.mark import mark as own_mark
from gridlane.abi.library.stubs import STREAMS
from gridlane.abi.state import streams, threads
from gridlane.abi.state.streams import PER_THREAD
from gridlane.abi.struct import Struct
from gridlane.abi.typed import Typed
from gridlane.core import trace
from gridlane.core.cuda_table import CType, ctype, functions
from gridlane.core.cuda_table.functions import Function, Parameter
from gridlane.core.device_errors import device_error
from gridlane.core.embedding import enter
from gridlane.core.errors import CompileError, GridlaneError

Entry = Callable[..., int]
_INTERNAL = 11
"""NVRTC_ERROR_INTERNAL_ERROR."""
_TRACED = "__traced_"
"""The prefix of a function that C answered alone, for a call that the trace prints."""
_texts: dict[bytes, Any] = {}
"""Texts to which C has pointers; they live as long as the process."""


def begin(embedded: int, table: int = 0, mark: str = "") -> int:
    """Prepare for calls from C; 1 where the library does not fit this Python, else 0.

    Args:
        embedded: whether the process had no Python before.
        table: the address through which Python publishes to C, or 0; see ``hot.py``.
        mark: of the sources of the library. Libraries of versions before the mark pass none.

    Raises:
        ImportError: the library has no mark; it accepts no other refusal.
    """
    if mark != own_mark():
        _tell_mismatch()
        if not mark:
            raise ImportError("the library is of another version of gridlane")
        return 1
    if embedded:
        sys.argv = ["gridlane"]
        import_module("signal")  # it takes SIGINT at its first import, which the caller undoes
        enter()
        output.take()
    else:
        _tell_scope()
    try:
        hot.begin(table)
    except CompileError as error:
        trace.write(f"gridlane: {error}")
        return 1
    return 0


def _tell_mismatch() -> None:
    """Warn once that a library of this process is of another version."""
    if "libraries" not in _told:
        _told.add("libraries")
        trace.write(
            "gridlane: the CUDA libraries of this program were installed by another version of "
            'gridlane: run "gridlane install --force", with the --prefix that they are in'
        )


_FOREIGN = {"cupy": "CuPy", "torch": "PyTorch"}
"""Packages whose kernels need NVIDIA's compiler, libraries or machine code."""
_told: set[str] = set()


def _tell_scope() -> None:
    """Warn once that a package of this process, which looks for CUDA, is unsupported."""
    for package, name in _FOREIGN.items():
        module = sys.modules.get(package)
        built_for = getattr(getattr(module, "version", None), "cuda", None)
        wanted = built_for if package == "torch" else module
        if wanted and name not in _told:
            _told.add(name)
            trace.write(
                f"gridlane: {name} is out of gridlane's scope: its kernels need NVIDIA's compiler "
                "and libraries, or are machine code of NVIDIA's GPUs"
            )


def resolve(symbol: str) -> Entry:
    """The entry of a function.

    Args:
        symbol: ``driver:cuMemAlloc_v2``; with the suffix ``_ptsz`` or ``_ptds`` for the form whose
            default stream is the thread's.

    Raises:
        KeyError: the table has no such function.
    """
    api, _, name = symbol.partition(":")
    if name in _OWN:
        return _OWN[name]
    assert api in ("driver", "runtime", "nvrtc")
    if name.startswith(_TRACED):
        return tracing.of_c(functions(api)[name.removeprefix(_TRACED)])
    plain = name.removesuffix("_ptsz").removesuffix("_ptds")
    return _entry(symbol, functions(api)[plain], plain != name)


def _initialise(binary: int) -> int:
    """Call ``registration.initialise`` and return CUDA's number of its error."""
    try:
        return registration.initialise(binary)
    except (Failure, GridlaneError, MemoryError) as error:
        failure = failure_of(error)
        trace.write(f"gridlane: {failure.what}")
        return failure.number


def _note(number: int) -> int:
    """Store the error of a call that C answered alone as the thread's last one."""
    threads.note(number)
    if number not in (SUCCESS, NOT_READY):
        device_error(number, "a call that needs no device")
    return number


_OWN: dict[str, Entry] = {
    "__note": _note,
    "__register": registration.register,
    "__take_over_thread": ready.take_over_thread,
    "__initialise_module": _initialise,
    "tell": hot.tell,
    "learn": hot_launches.learn,
    "failed": hot_launches.failed,
}
"""The functions that the libraries call besides those of CUDA."""


def _entry(symbol: str, row: Function, per_thread: bool) -> Entry:
    api = row.api
    call = calls(api).get(row.name)
    numbers = {each.name: n for n, each in enumerate(row.parameters)}
    read = _arguments(row, numbers, per_thread)
    writers = [
        (numbers[name], _writer(row.parameters[numbers[name]], symbol)) for name in row.given
    ]
    result = _writer_of_result(row) if row.result else None
    needed = [(numbers[name], name) for name in row.given if name not in row.optional]
    enter = way_in(row, call)

    def enter_call(*given: int) -> int:
        try:
            way = enter
            for place, name in needed:
                if not given[place]:
                    way = way_in(row, call and partial(_null, name))
                    break
            number, results = way(*read(*given))
            if result is not None:
                return result(results[0] if results else None, given)
            for (n, write), value in zip(writers, results):
                if given[n]:
                    write(given[n], value)
        except Exception as error:  # no exception of Python may reach a program in C
            return _broken(row, error)
        return number

    # As above, for the two most frequent signatures.
    def enter_plain(*given: int) -> int:
        try:
            return enter(*read(*given))[0]
        except Exception as error:
            return _broken(row, error)

    def enter_for_one(*given: int) -> int:
        try:
            place = given[position]
            if not place:
                return enter_call(*given)
            number, results = enter(*read(*given))
            if results:
                write(place, results[0])
            return number
        except Exception as error:
            return _broken(row, error)

    chosen: Entry = enter_call
    if result is None and not writers:
        chosen = enter_plain
    elif result is None and len(writers) == 1:
        position, write = writers[0]
        chosen = enter_for_one
    if per_thread and not any(each.type in STREAMS for each in row.parameters):
        chosen = partial(streams.call_of_thread, chosen)
    name = symbol.partition(":")[2]
    return tracing.traced(name, row, chosen) if trace.enabled() else chosen


def _broken(row: Function, error: Exception) -> int:
    """The number of an internal error, which no call should raise."""
    if trace.enabled():
        trace.write(f"gridlane: {row.base}: {error!r}")
    return _INTERNAL if row.api == "nvrtc" else UNKNOWN


def _null(name: str, *values: object) -> NoReturn:
    """Refuse a null pointer to a result."""
    fail(INVALID_VALUE, f"{name} is a null pointer")


def _arguments(row: Function, numbers: dict[str, int], per_thread: bool) -> Callable[..., Any]:
    """Compile one expression that makes the arguments of a call from the words that C passes.
    Hot."""
    arrays = [numbers[name] for name in row.given if name not in row.both]
    known: dict[str, Any] = {"__builtins__": {}}
    expressions: list[str] = []
    for n, each in enumerate(row.parameters):
        if each.name in row.both:
            known[f"r{n}"] = _room(n, arrays)
            expressions.append(f"r{n}(({_words(row)}))")
        elif each.name not in row.given:
            kind = ctype(each.type)
            if per_thread and each.type in STREAMS:
                expressions.append(f"a{n} or {PER_THREAD}")
            elif kind.kind in ("pointer", "struct", "float"):
                known[f"r{n}"] = _reader(kind)
                expressions.append(f"r{n}(a{n})" if known[f"r{n}"] else f"a{n}")
            else:
                expressions.append(_number(kind, f"a{n}"))
    compiled = eval(
        f"lambda {_words(row)}*_: ({''.join(f'{text}, ' for text in expressions)})", known
    )
    return cast(Callable[..., Any], compiled)


def _words(row: Function) -> str:
    return "".join(f"a{n}, " for n in range(len(row.parameters)))


def _number(kind: CType, name: str) -> str:
    """The source of a word as a number of its type."""
    bits = 8 * kind.size
    if kind.kind == "enum" or kind.signed:
        half = 1 << bits - 1
        return f"(({name} & {2 * half - 1}) ^ {half}) - {half}"
    return name if bits == 64 else f"{name} & {(1 << bits) - 1}"


Given = tuple[int, ...]
"""The words of a call."""


def _room(place: int, arrays: list[int]) -> Callable[[Given], int]:
    """A reader of the length of the caller's array, which is 0 where there is no array."""

    def read(given: Given) -> int:
        has_array = not arrays or any(given[each] for each in arrays)  # edges may lack their data
        return raw.words(given[place], 1)[0] if has_array and given[place] else 0

    return read


def _reader(kind: CType) -> Callable[[int], Any] | None:
    """A reader of a word that is no number; None for a word that is passed as it is."""
    if kind.kind == "pointer":
        target = kind.to.replace("const", "").strip()
        if target == "char" and "const" in kind.to:
            return lambda value: raw.text(value) if value else None
        if _is_record(target):
            return lambda value: Struct(target, value) if value else None
        return None
    if kind.kind == "struct":
        return lambda value: Struct(kind.name, value)
    return lambda value: struct.unpack("<f", value.to_bytes(8, "little")[:4])[0]


def _is_record(name: str) -> bool:
    if name.endswith("*") or name == "void":
        return False
    try:
        return ctype(name).kind == "struct"
    except ValueError:
        return False


def _writer(parameter: Parameter, symbol: str) -> Callable[[int, Any], None]:
    target = ctype(parameter.type).to
    if target.replace("const", "").strip() == "char *":
        return lambda place, value: raw.put(place, struct.pack("<Q", lasting(value)))
    of = ctype(target) if target != "void" else None
    # A reader of a pointer to elements: the array is the library's own.
    own = ctype(of.to) if of and of.kind == "pointer" and "void" not in of.to else None

    cell = _CELLS.get(of.size) if of is not None and of.kind not in ("float", "struct") else None

    def write(place: int, value: Any) -> None:
        if cell is not None and type(value) is int:
            cell.from_address(place).value = value  # the low bytes of the word
        elif isinstance(value, Typed):
            raw.put(place, _typed(value))
        elif not isinstance(value, (list, tuple)):
            raw.put(place, _bytes(value, of))
        elif own is not None:
            data = b"".join(_bytes(each, own) for each in value)
            address = _kept_array((threading.get_ident(), symbol, parameter.name), data)
            raw.put(place, struct.pack("<Q", address))
        else:
            raw.put(place, b"".join(_bytes(each, of) for each in value))

    return write


_CELLS: dict[int, Any] = {
    1: ctypes.c_uint8,
    2: ctypes.c_uint16,
    4: ctypes.c_uint32,
    8: ctypes.c_uint64,
}


def _typed(value: Typed) -> bytes:
    kind = ctype(value.type)
    many = value.value if isinstance(value.value, tuple) else (value.value,)
    return b"".join(_bytes(each, kind) for each in many)


_arrays: dict[tuple[int, str, str], Any] = {}
"""The last array of the library that each thread got for a function's parameter."""


def _kept_array(key: tuple[int, str, str], data: bytes) -> int:
    """Store an array until the thread's next call of the function, and return its address."""
    if not data:
        return 0
    cell = _arrays[key] = ctypes.create_string_buffer(data)
    return ctypes.addressof(cell)


def _bytes(value: Any, kind: CType | None) -> bytes:
    if isinstance(value, (bytes, Struct)):
        return bytes(value)
    if isinstance(value, float):
        return struct.pack("<f" if kind is not None and kind.size == 4 else "<d", value)
    size = kind.size if kind is not None else 8
    return (int(value) & (1 << 8 * size) - 1).to_bytes(size, "little")


def lasting(text: bytes | None) -> int:
    """Store a text with a NUL behind it for good, and return its address."""
    if text is None:
        return 0
    cell = _texts.get(text)
    if cell is None:
        cell = _texts[text] = ctypes.create_string_buffer(text)
    return ctypes.addressof(cell)


def _writer_of_result(row: Function) -> Callable[[Any, tuple[int, ...]], int]:
    """A maker of the C result of a function that returns no error code."""
    if row.result.endswith("*"):
        return lambda value, given: lasting(value)
    if ctype(row.result).kind == "struct":

        def write(value: Any, given: tuple[int, ...]) -> int:
            if value is not None:
                raw.put(given[-1], bytes(value))
            return 0

        return write
    return lambda value, given: int(value or 0)
