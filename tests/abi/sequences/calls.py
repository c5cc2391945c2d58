"""Random calls of the libraries: ``python -m tests.abi.sequences.calls FOLDER SEED CALLS``.

Each call takes handles that are good, destroyed, of another kind or none; sizes up to 2^64; null
pointers; device addresses that are good, interior, freed or foreign. What would be undefined with
any library stays out: memory of the host that is shorter than a call says, a place for a result
that is none. Each call is written to a file before it is made.
"""

from __future__ import annotations

import ctypes
import json
import random
import struct
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from gridlane.abi.library.stubs import c_type, words_of
from gridlane.core.cuda_table import CType, ctype, layout
from gridlane.core.cuda_table.functions import Function, Parameter, exported
from gridlane.core.cuda_table.layout import Layout

ROOM = 1 << 16
"""Bytes of memory of the host behind each pointer."""
PTX = b""".version 8.0
.target sm_80
.address_size 64
.visible .global .u32 g[64];
.visible .entry k(.param .u64 p, .param .u32 n) { .reg .b32 %r; ld.param.u32 %r, [n];
  atom.global.add.u32 %r, [g], %r; ret; }
.visible .entry s() { .shared .b32 x[64]; st.shared.u32 [x], 1; bar.sync 0; ret; }
"""
LEFT_OUT = (
    "WaitValue",  # on a word that no call may write
    "BatchMemOp",
    "WaitExternal",
    "SetConditional",
    "GetExportTable",
    "DebugDot",  # a file for each
    "Checkpoint",
    "DumpToFile",
    "cuGetProcAddress",
)
"""Parts of the names of functions that stay out."""
UNIFIED = ("Memcpy", "Memset", "MemPrefetch", "MemAdvise", "MemDiscard", "PointerGetAttr")
ORDERING = frozenset(
    [
        *("StreamCreate", "StreamCreateWithFlags", "StreamCreateWithPriority", "StreamDestroy"),
        *("StreamDestroy_v2", "StreamSynchronize", "StreamQuery", "StreamWaitEvent"),
        *("StreamGetFlags", "EventCreate", "EventCreateWithFlags", "EventDestroy"),
        *("EventDestroy_v2", "EventRecord", "EventRecordWithFlags", "EventQuery"),
        *("EventSynchronize", "EventElapsedTime", "EventElapsedTime_v2", "LaunchHostFunc"),
        *("CtxSynchronize", "DeviceSynchronize", "GetLastError"),
    ]
)
"""Functions of streams and events, without what is before them in their names."""
_SIZES = (0, 1, 3, 4, 64, 256, 4096, 8192)
_LARGE = (1 << 47, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, (1 << 64) - 8)
_NUMBERS = (0, 0, 1, 1, 2, 3, 4, 8, 16, 31, 32)
_ODD = (-1, 64, 1 << 15, (1 << 31) - 1, 1 << 31, (1 << 32) - 1)
_TEXTS = (b"k", b"s", b"g", b"", b"nothing", b"x" * 5000, b"\xff\xfe\x80", b"/none", b"-arch=x")
_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: None)


class Sequence:
    """A random sequence on loaded libraries."""

    def __init__(self, folder: Path, seed: int, log: Callable[[str], None]) -> None:
        self.random = random.Random(seed)
        self.log = log
        self.handles: dict[str, list[int]] = {}
        self.device: list[int] = []
        self.counts: dict[int, int] = {}
        self.alive: list[Any] = []
        self.kept: list[Any] = []
        self.registered: list[int] = []
        self.functions: list[tuple[Function, Any]] = []
        for api, file in (("driver", "libcuda.so.1"), ("runtime", "libcudart.so.13")):
            library = ctypes.CDLL(str(folder / file))
            for row in exported(api, 13):  # type: ignore[arg-type]
                if any(part in row.name for part in LEFT_OUT):
                    continue
                function = library[row.name]
                function.argtypes = [_passed(ctype(each.type)) for each in row.parameters]
                function.restype = ctypes.c_void_p if "*" in row.result else ctypes.c_int
                if not row.result.startswith(("cudaChannel", "cudaExtent", "cudaPitched")):
                    self.functions.append((row, function))
            if api == "driver":
                self.range = library.cuMemGetAddressRange_v2
        self.makers = [
            each for each in self.functions
            if any(word in each[0].name for word in ("Create", "Alloc", "Load", "GetFunction"))
            and not each[0].refused
        ]  # fmt: skip

    def run(self, count: int) -> None:
        """Make calls."""
        named = {row.name: each for each in self.functions for row in (each[0],)}
        for name in ("cuInit", "cudaMalloc", "cuModuleLoadData", "cuModuleGetFunction"):
            self.call(*named[name])
        ordering = [each for each in self.functions if self._orders(each[0])]
        is_ordered = self.random.random() < 0.5  # a sequence of streams and events above all
        for _ in range(20 if is_ordered else 0):
            self.call(*named["cuModuleLoadData"])
            self.call(*named["cuModuleGetFunction"])
        for _ in range(count):
            if is_ordered and self.random.random() < 0.7:
                self._launch(named["cuLaunchKernel"])
                self.call(*self.random.choice(ordering))
                continue
            made = self.makers if self.random.random() < 0.3 else self.functions
            self.call(*self.random.choice(made))

    def _orders(self, row: Function) -> bool:
        """Whether a function makes, uses or ends streams and events, without captures."""
        return row.name.removeprefix("cuda").removeprefix("cu") in ORDERING and not row.refused

    def _launch(self, launch: tuple[Function, Any]) -> None:
        """Give a stream work, if there are kernels and streams."""
        kernels, known = self.handles.get("function"), self.handles.get("stream", [])
        if not kernels or self.random.random() < 0.5:
            return
        stream = self.random.choice([0, *known])
        self.log(f"{launch[0].name} of a kernel on {stream:#x}")
        block = self.random.choice((1, 1, 2, 32))
        for _ in range(self.random.choice((1, 1, 2, 5))):
            shape = 1, 1, 1, block, 1, 1
            number = launch[1](self.random.choice(kernels), *shape, 0, stream, self._two(), 0)
            self.counts[number] = 1 + self.counts.get(number, 0)

    def _two(self) -> Any:
        """The parameters of ``k``; ``s`` has none."""
        self.alive = [ctypes.c_uint64(0), ctypes.c_uint32(1)]
        made = (ctypes.c_void_p * 2)(*(ctypes.addressof(each) for each in self.alive))
        self.alive.append(made)
        return ctypes.addressof(made)

    def call(self, row: Function, function: Any) -> None:
        """Make one call."""
        self.alive = []
        large = self.random.random() < 0.15 and not self._reads_much(row)
        words = [self.value(row, each, large) for each in row.parameters]
        shown = ", ".join(f"{w:#x}" if isinstance(w, int) else repr(w) for w in words)
        self.log(f"{row.name}({shown})")
        if _outlives(row):
            self.kept.extend(self.alive)
        number = function(*words)
        self.counts[number if isinstance(number, int) else 0] = 1 + self.counts.get(number, 0)
        if number == 0 and not row.result:
            self._keep(row, words)

    def _keep(self, row: Function, words: list[Any]) -> None:
        """Remember the handles and the memory that a call made."""
        for each, word in zip(row.parameters, words, strict=True):
            kind = ctype(each.type)
            if kind.kind != "pointer" or not word or "const" in kind.to:
                continue
            to = ctype(kind.to)
            if to.kind == "handle" or to.name == "CUdeviceptr" or to.kind == "pointer":
                value = ctypes.c_uint64.from_address(word).value
                address = to.name == "CUdeviceptr" or row.name.startswith("cudaMalloc")
                pool = self.device if address else self.handles.setdefault(_plain(to.name), [])
                if value and "Host" not in row.name and value not in pool:
                    pool.append(value)
                    del pool[:-12]

    def _reads_much(self, row: Function) -> bool:
        """Whether a number of a call says how long memory of the host is."""
        return any("*" in each.type and each.name not in row.given for each in row.parameters)

    # --- values

    def value(self, row: Function, each: Parameter, large: bool) -> Any:
        """A value of a parameter."""
        kind = ctype(each.type)
        if kind.kind == "float":
            return self.random.choice((0.0, 1.0, -1.0, float("nan")))
        if kind.kind == "struct":
            return _by_value(kind).from_buffer_copy(self._struct(layout(kind.name)))
        if kind.kind == "handle":
            return self.handle(kind.name)
        if kind.name == "CUdeviceptr":
            return self.address(row, large)
        if kind.kind == "pointer":
            return self.pointer(row, each, kind)
        if large:
            return self.random.choice(_LARGE if kind.size == 8 else _ODD) % (1 << 8 * kind.size)
        return self._number(each.name, kind, "2D" in row.name or "3D" in row.name)

    def _number(self, name: str, kind: CType, is_box: bool) -> int:
        if name.lower().startswith(("grid", "block")):
            return self.random.choice((0, 1, 1, 2, 3, 32))
        if kind.kind == "enum" or kind.size < 8:
            odd = self.random.random() < 0.1 and not _is_count(name)
            return self.random.choice(_ODD if odd else _NUMBERS) % (1 << 8 * kind.size)
        return self.random.choice(_NUMBERS if _is_count(name) or is_box else _SIZES)

    def handle(self, name: str) -> int:
        """A handle: one of the kind that lives or lived, of another kind, or of none."""
        draw, own = self.random.random(), self.handles.get(_plain(name), [])
        if own and draw < 0.8:
            return self.random.choice(own)
        others = [each for some in self.handles.values() for each in some] or [0]
        return self.random.choice((0, 0, 1, 2, 0xDEAD0000, 1 << 63, self.random.choice(others)))

    def address(self, row: Function, large: bool = False) -> int:
        """An address of a device; freed and foreign ones where they cannot be the host's."""
        draw, unified = self.random.random(), any(part in row.name for part in UNIFIED)
        if self.device and draw < 0.6:
            found = self.random.choice(self.device[-3:])
            start, size = self._allocation(found)
            if not unified:
                return found + self.random.choice((0, 0, 4, 60))
            if size:
                return min(found + self.random.choice((0, 0, 4, 60)), start + size - 1)
        if draw < 0.75 or unified:
            return self._room(b"") if unified and draw > 0.7 and not large else 0
        return self.random.choice((8, 0xDEAD0000, 1 << 63, (1 << 64) - 4, self.handle("CUstream")))

    def _allocation(self, address: int) -> tuple[int, int]:
        """The start of memory of a device and its bytes; 0 bytes if none is there now."""
        start, size = ctypes.c_uint64(), ctypes.c_size_t()
        places = ctypes.byref(start), ctypes.byref(size)
        error = self.range(*places, ctypes.c_uint64(address))
        return (0, 0) if error else (start.value, size.value)

    def pointer(self, row: Function, each: Parameter, kind: CType) -> int:
        """A pointer: null, or to memory of the host."""
        to = kind.to.replace("const", "").strip()
        written = each.name in row.given
        if self.random.random() < 0.08:
            return 0
        if written and each.name not in row.both:
            return self._room(b"")
        if each.name == "extra":
            return self._extra() if self.random.random() < 0.2 else 0
        if kind.name not in ("void *", "const void *") and to == "void":  # a callback
            return ctypes.cast(_CALLBACK, ctypes.c_void_p).value or 0
        if to == "char":
            return self._room(self.random.choice(_TEXTS) + b"\0")
        if to == "void":
            return self._void(row, each)
        inner = ctype(to)
        if inner.kind == "struct":
            return self._room(self._struct(layout(inner.name)) * 4)
        if inner.kind == "handle":
            return self._room(struct.pack("<8Q", *(self.handle(inner.name) for _ in range(8))))
        if inner.kind == "pointer":
            return self._room(struct.pack("<8Q", *(self._room(b"") for _ in range(8))))
        if inner.name == "CUdeviceptr":
            return self._room(struct.pack("<8Q", *(self.address(row) for _ in range(8))))
        return self._room(struct.pack("<8Q", *self.random.choices(_NUMBERS, k=8)))

    def _void(self, row: Function, each: Parameter) -> int:
        """What a pointer to anything points to: an image, memory of either side, or a handle."""
        if each.name in ("image", "code", "data", "fatCubin"):
            return self._room(self._image())
        if each.name in ("func", "f", "function", "entry", "symbol"):
            return self.random.choice((0, 8, self.handle("CUfunction"), self.handle("CUkernel")))
        if (
            "HostRegister" in row.name
        ):  # not memory that another call frees, which is registered then
            self.registered.append(self._room(b""))
            return self.registered[-1]
        if "HostUnregister" in row.name and self.registered:
            return self.random.choice(self.registered)
        is_either = row.api == "runtime" and each.name in ("devPtr", "ptr", "dst", "src")
        return self.address(row) if is_either and self.random.random() < 0.5 else self._room(b"")

    def _image(self) -> bytes:
        draw, noise = self.random.random(), self.random.randbytes(512)
        if draw < 0.5:
            return PTX + b"\0"
        if draw < 0.7:
            return PTX[: self.random.randrange(len(PTX))] + b"\0"
        start = self.random.choice((b"\x7fELF", b"\x50\xed\x55\xba", b"\x46\x62\x43\xb1"))
        return start + noise + b"\0"

    def _extra(self) -> int:
        size = self._room(struct.pack("<Q", self.random.choice((0, 1, 12, 16, 4096))))
        return self._room(struct.pack("<5Q", 1, self._room(b""), 2, size, 0))

    def _struct(self, of: Layout) -> bytes:
        """A structure whose pointers to memory of the host are null."""
        made = bytearray(of.size)
        self._fill(of, made, 0)
        return bytes(made)

    def _fill(self, of: Layout, made: bytearray, at: int) -> None:
        if of.is_union:  # one of whose members may be the address of a function
            return
        end = 0
        for each in of.fields.values():
            kind, start = each.type, at + each.offset
            if each.offset < end:  # of a union without a name
                continue
            end = each.offset + kind.size * (kind.count or 1)
            if each.inner is not None or kind.count:
                if each.inner is not None and not kind.count:
                    self._fill(each.inner, made, start)
                continue
            if kind.kind == "struct":
                self._fill(layout(kind.name), made, start)
                continue
            value = 0
            if kind.kind == "handle":
                value = self.handle(kind.name)
            elif kind.name == "CUdeviceptr":
                live = [each for each in self.device if self._allocation(each)[1]]
                value = self.random.choice([0, *live])
            elif kind.kind in ("int", "enum"):
                value = self.random.choice(_NUMBERS[:7])  # a box of these fits into the room
            made[start : start + kind.size] = value.to_bytes(kind.size, "little")

    def _room(self, data: bytes) -> int:
        """Memory of the host, which begins with some bytes."""
        made = ctypes.create_string_buffer(data, max(ROOM, len(data)))
        self.alive.append(made)
        return ctypes.addressof(made)


def _outlives(row: Function) -> bool:
    """Whether memory of the host that a call gets is used after the call: by a graph, by a capture,
    by a link until its end, or as it is registered."""
    named = any(word in row.name for word in ("LinkCreate", "Graph", "HostRegister"))
    return named or any(_plain(each.type) == "stream" for each in row.parameters)


def _is_count(name: str) -> bool:
    return name.lower().startswith(("num", "n", "count", "len")) or name.lower().endswith("count")


def _plain(name: str) -> str:
    """The name of a kind of handles that the driver and the runtime share."""
    short = name.removeprefix("CU").removeprefix("cuda").removesuffix("_t").lower()
    return {"func": "function", "mempool": "memorypool"}.get(short, short)


@cache
def _by_value(kind: CType) -> type[ctypes.Structure]:
    fields = [("words", ctypes.c_uint32 * words_of(kind))]
    return type(kind.name, (ctypes.Structure,), {"_fields_": fields})


def _passed(kind: CType) -> Any:
    if kind.kind == "float":
        return ctypes.c_float if kind.size == 4 else ctypes.c_double
    if kind.kind == "struct":
        return _by_value(kind)
    return ctypes.c_uint64 if c_type(kind) == "void *" or kind.size == 8 else ctypes.c_uint32


def main() -> None:
    """Make the calls; the last lines of the file are the last calls."""
    folder, seed, count, file = sys.argv[1:]
    with open(file, "w") as out:

        def log(line: str) -> None:
            out.write(line + "\n")
            out.flush()

        sequence = Sequence(Path(folder), int(seed), log)
        sequence.run(int(count))
    print(json.dumps(sequence.counts))


if __name__ == "__main__":
    main()
