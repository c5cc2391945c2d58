"""Variables: the memory of the module, shared and local memory."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import NoReturn, Protocol

from gridlane.core.dtypes import DType, i64, u32, u64
from gridlane.frontends.ptx.addresses import Numbering, Place
from gridlane.frontends.ptx.data import ModuleData, code_address
from gridlane.frontends.ptx.declarations import Declared
from gridlane.frontends.ptx.instructions import Body
from gridlane.frontends.ptx.module import PtxModule
from gridlane.frontends.ptx.operands import Symbol
from gridlane.frontends.ptx.pieces import pieces
from gridlane.frontends.ptx.roots import Root
from gridlane.frontends.ptx.translating import Translating
from gridlane.frontends.ptx.types import SPACES, TYPES, unsigned
from gridlane.ir.builder import Builder
from gridlane.ir.ops import arith, memory
from gridlane.ir.ops.shared_matrix import ALIGN
from gridlane.ir.types import Space, pointer
from gridlane.ir.values import Function, Global, Module, Value, Var

SEGMENT = "shared.segment."
"""The array of shared memory whose addresses are numbers."""

FIRST = 16
"""The first offset of local variables whose addresses are numbers."""

_BYTE, _WORD = unsigned(8), unsigned(32)
_MOST_ZEROED = 256
"""The bytes of a local array that is zero at first in a function that prints."""


class Whole(Protocol):
    """What the functions of a translation share; see translate.py."""

    module: PtxModule
    made: Module
    data: ModuleData
    numbering: Numbering
    found: Numbering
    segments: Segments
    root: Root
    cluster: tuple[int, int, int]
    is_explicit: bool
    joined: dict[Hashable, Function]

    def addressed_parameters(self) -> Sequence[Declared]:
        """The parameters of the kernel whose address is taken."""
        ...


class Segments:
    """The variables of shared and local memory whose addresses are numbers: one array for each.

    Args:
        frames: bytes of local memory for the variables of functions that call themselves.

    Attributes:
        names: of variables in the IR's module.
        constants: of variables that are constants of the IR's module, by their names there.
    """

    def __init__(self, frames: int) -> None:
        self.names: dict[Declared, str] = {}
        self.constants: dict[str, str] = {}
        self._offsets: dict[Declared, int] = {}
        # Shared memory begins at 0, as on GPUs: a block may have variables in all of it. The tag
        # keeps its generic addresses from null.
        self.sizes = {Place.SHARED: 0, Place.LOCAL: FIRST + frames}
        self.end_of_frames = self.sizes[Place.LOCAL]

    def offset(self, place: Place, variable: Declared) -> int:
        """Where a variable lies in the array of its memory."""
        start = self._offsets.get(variable)
        if start is None:
            step = max(16, variable.align)
            start = self._offsets[variable] = -(-self.sizes[place] // step) * step
            self.sizes[place] = start + max(1, variable.size)
        return start

    def words(self, place: Place) -> int:
        """The size of an array in words of 16 bytes."""
        return -(-self.sizes[place] // 16)


class Variables:
    """The variables that a function uses.

    Args:
        addressed: parameters whose address is taken; they are copied into local memory.
        result: the parameter that is the address of the result, and the result as a variable.

    Attributes:
        data: the start of the module's memory, if the function uses it.
        depot: the start of the local memory whose addresses are numbers, likewise.
        heap: the start of the memory that malloc takes blocks of, likewise.
        gridid: the number of the launch, likewise.
        launches: the start of the memory for launches of the kernel's own, likewise.
    """

    def __init__(
        self,
        whole: Whole,
        body: Body,
        function: str,
        addressed: Sequence[Declared],
        result: tuple[Declared, Declared] | None = None,
        is_root: bool = True,
    ) -> None:
        self.whole, self.module, self.made = whole, whole.module, whole.made
        self.function, self.addressed = function, addressed
        self.data: Value | None = None
        self.depot: Value | None = None
        self.heap: Value | None = None
        self.gridid: Value | None = None
        self.launches: Value | None = None
        self._local: dict[Declared, Value] = {}
        self._own = {each for each in body.variables if each.space == "shared"}
        self._locals = [each for each in body.variables if each.space == "local"]
        self._locals += [] if result is None else [result[1]]
        self.frame: Value | None = None
        if whole.numbering.frames and not is_root:
            self.frame = Value(u32, None, "frame")
        self._allocates = self._has("alloca") or self._has("stacksave")
        self._zeroed = _MOST_ZEROED if self._has("vprintf") else 0
        self._top: Var | None = None
        self._in_frame: dict[Declared, int] = {}
        self.frame_size = 0
        if self.frame is not None and function in whole.numbering.cycles:
            for each in (*self._locals, *addressed):
                step = max(16, each.align)
                self._in_frame[each] = -(-self.frame_size // step) * step
                self.frame_size = self._in_frame[each] + max(1, each.size)
            self.frame_size = -(-self.frame_size // 16) * 16

    def _has(self, word: str) -> bool:
        """Whether a word is in the function's text."""
        known = self.whole.module.functions[self.function]
        return self.whole.module.text.code.find(word, known.start, known.end) >= 0

    @property
    def has_locals(self) -> bool:
        """Whether the function has variables in local memory."""
        return bool(self._locals or self.addressed)

    def top(self, t: Translating) -> Var | None:
        """Where the next alloca begins; None where the next attempt has memory for it."""
        next_numbering = self.whole.found
        self.made.stack = f"{self.function} allocates memory by alloca", t.b.loc
        next_numbering.frames = True
        next_numbering.spaces.add(Space.LOCAL)
        next_numbering.places.add(Place.LOCAL)
        return self._top

    def next_frame(self, b: Builder) -> Value:
        """Where the variables of a function begin that this one calls."""
        if self._top is not None:
            end = b.add(b.read(self._top), b.const(15, u32))
            return b.and_(end, b.const(-16 & _WORD.max, u32))
        return self._end(b)

    def _end(self, b: Builder) -> Value:
        if self.frame is None:
            return b.const(FIRST, u32)
        return b.add(self.frame, b.const(self.frame_size, u32))

    def begin(self, t: Translating) -> None:
        """Make the local arrays, at the function's entry, and copy parameters to them."""
        if self.frame_size:
            self._check_frame(t)
        if self._allocates and self.whole.numbering.frames:
            self._top = t.b.variable("stack", u32)
            t.b.write(self._top, self._end(t.b))
        if Space.LOCAL not in self.whole.numbering.spaces:
            for each in (*self._locals, *self.addressed):
                self._local[each] = self._array(t.b, each)
        for each in self.addressed:
            start = self.pointer(t, Symbol(each.name, each))
            for start_of_piece, dtype in pieces(each):
                value = t.as_type(t.parameters.load(t, each, start_of_piece, dtype), dtype)
                target = t.b.recast(t.offset(start, start_of_piece), pointer(dtype, Space.LOCAL))
                t.b.store(target, value)

    def _check_frame(self, t: Translating) -> None:
        """End the thread where the variables of one more call have no room."""
        end = self.whole.segments.end_of_frames
        message = (
            f"the local variables of {self.function}, which calls itself, have no room in "
            f"{end - FIRST} bytes; GRIDLANE_STACK sets them"
        )
        full = t.b.binary(arith.Gt, self.next_frame(t.b), t.b.const(end, u32))
        t.b.raise_if(full, "RecursionError", message)

    def _array(self, b: Builder, variable: Declared) -> Value:
        kind = unsigned(8 * min(8, max(1, variable.align))) if variable.size else _BYTE
        while variable.size % kind.size:
            kind = unsigned(kind.bits // 2)
        align = variable.align if variable.align > kind.size else 0
        count = max(1, variable.size // kind.size)
        result = b.value(memory.LocalArray(kind, count, align))
        # Compilers store 32 bits of an argument that vprintf reads 64 of: GPUs have zeros there.
        for number in range(count if kind.size * count <= self._zeroed else 0):
            b.store(b.offset(result, b.const(number, i64)), b.zero(kind))
        return b.recast(result, pointer(_BYTE, Space.LOCAL))

    # --- addresses

    def value(self, t: Translating, symbol: Symbol, bits: int = 64) -> Value:
        """The address of a variable: as a pointer to bytes where it is kept as one, or as a number
        with its tag; the address of a function as its number."""
        variable = symbol.variable
        if variable is None:
            code_start = code_address(self.module, symbol.name)
            if code_start is None or not self.module.sees(self.function, symbol.name):
                t.fail(f"{symbol.name} is no variable")
            return t.b.const(code_start + symbol.offset, unsigned(64))
        if variable.is_reference:
            there = t.b.recast(self.pointer(t, symbol), pointer(unsigned(64), Space.GLOBAL))
            return t.b.load(there)
        place = self._place(t, variable)
        if place is Place.GLOBAL or self._space(variable) not in self.whole.numbering.spaces:
            return self.pointer(t, symbol)
        start = place.start
        mask = (1 << bits) - 1
        if variable in self._in_frame and self.frame is not None:
            start += self._in_frame[variable] + symbol.offset
            kind = unsigned(bits)
            return t.b.add(t.b.cast(self.frame, kind), t.b.const(start & mask, kind))
        if place is Place.DYNAMIC:
            start += self.whole.numbering.first_dynamic
        else:
            start += self.whole.segments.offset(place, variable)
        return t.b.const(start + symbol.offset & mask, unsigned(bits))

    def pointer(self, t: Translating, symbol: Symbol) -> Value:
        """The address of a variable as a pointer to bytes."""
        variable = symbol.variable
        if variable is None:
            t.fail(f"{symbol.name} is no variable")
        return t.offset(self._start(t, variable), symbol.offset)

    def bytes_of(self, t: Translating, variable: Declared) -> list[Value]:
        """The pieces of a variable of local memory."""
        start = self.pointer(t, Symbol(variable.name, variable))
        return [
            t.b.load(t.b.recast(t.offset(start, at), pointer(dtype, Space.LOCAL)))
            for at, dtype in pieces(variable)
        ]

    def segment(self, t: Translating, place: Place) -> Value:
        """The start of the memory that numbers with a tag count from."""
        if place is Place.LOCAL:
            return self._depot()
        if place is Place.DYNAMIC:
            align = ALIGN if self.whole.found.described else 16
            return t.b.value(memory.DynamicShared(pointer(_BYTE, Space.SHARED), align))
        start = t.emit(memory.GlobalAddress(SEGMENT, pointer(_WORD, Space.SHARED)))
        return t.b.recast(start, pointer(_BYTE, Space.SHARED))

    def _place(self, t: Translating, variable: Declared) -> Place:
        if variable.space == "shared":
            place = Place.DYNAMIC if self._is_dynamic(variable) else Place.SHARED
            # Of one unit alone, NVIDIA's assembler takes the declaration for the definition.
            if place is Place.SHARED and variable.linking == "extern" and self.module.known:
                self._undefined(t, variable)
        elif variable.space in ("local", "param"):
            place = Place.LOCAL
        elif variable.space in ("const", "global"):
            place = Place.GLOBAL
        else:
            t.fail(f"the address of .{variable.space} {variable.name} is not translated")
        self.whole.found.places.add(place)
        return place

    def _space(self, variable: Declared) -> Space:
        return Space.LOCAL if variable.space == "param" else SPACES[variable.space]

    @staticmethod
    def _is_dynamic(variable: Declared) -> bool:
        return variable.count is None or (variable.linking == "extern" and not variable.size)

    def _start(self, t: Translating, variable: Declared) -> Value:
        place, numbered = self._place(t, variable), self.whole.numbering.spaces
        if place is Place.DYNAMIC:
            return self.segment(t, place)
        if variable in self._in_frame and self.frame is not None:
            offset = t.b.add(self.frame, t.b.const(self._in_frame[variable], u32))
            return t.b.offset(self.segment(t, place), offset)
        if place is not Place.GLOBAL and self._space(variable) in numbered:
            offset = self.whole.segments.offset(place, variable)
            return t.offset(self.segment(t, place), offset)
        if place is Place.LOCAL:
            if variable not in self._local:
                message = "in a call's argument" if variable.space == "param" else "of a module"
                t.fail(f"{variable.name}: the address of local memory {message} is not translated")
            return self._local[variable]
        if place is Place.SHARED:
            return self._shared(t, variable)
        if variable.name not in self.whole.data.offsets:
            self._undefined(t, variable)
        if self.whole.root.variables["global"] is Space.CONSTANT:
            return self._constant(t, variable)
        return t.offset(self._data(), self.whole.data.offsets[variable.name])

    def _undefined(self, t: Translating, variable: Declared) -> NoReturn:
        hint = self.module.hints.get(variable.name, "")
        t.fail(f"{variable.name} is extern, and nothing defines it{hint}")

    def handed(self, kind: str) -> Value:
        """The start of the module's memory (``data``), of the memory of malloc (``heap``) or of the
        local memory (``depot``); the launch's number (``gridid``); the memory for launches of the
        kernel's own (``launches``)."""
        if kind == "gridid":
            self.gridid = self.gridid or Value(u64, None, "gridid")
            return self.gridid
        if kind == "heap" and self.heap is None:
            self.heap = Value(pointer(_BYTE, Space.GLOBAL), None, "heap")
        if kind == "heap" and self.heap is not None:
            return self.heap
        if kind == "launches":
            self.launches = self.launches or Value(pointer(_BYTE, Space.GLOBAL), None, "launches")
            return self.launches
        return self._data() if kind == "data" else self._depot()

    def _data(self) -> Value:
        if self.data is None:
            self.data = Value(pointer(_BYTE, Space.GLOBAL), None, "module_data")
        return self.data

    def _depot(self) -> Value:
        if self.depot is None:
            self.depot = Value(pointer(_BYTE, Space.LOCAL), None, "depot")
        return self.depot

    def _shared(self, t: Translating, variable: Declared) -> Value:
        names, result = self.whole.segments.names, self.made
        name = names.get(variable)
        if name is None:
            own = f"{self.function}.{variable.name}" if variable in self._own else variable.name
            name = re.sub(r"[$%]", "_", own)
            while name in result.globals:
                name += "_"
            kind, count = self._element(variable)
            result.globals[name] = Global(name, kind, count, Space.SHARED, variable.align, None)
            names[variable] = name
        shared_array = result.globals[name]
        start = t.emit(memory.GlobalAddress(name, pointer(shared_array.element, Space.SHARED)))
        return t.b.recast(start, pointer(_BYTE, Space.SHARED))

    def _constant(self, t: Translating, variable: Declared) -> Value:
        """A variable that nothing writes: its initial value."""
        data, result = self.whole.data, self.made
        name = re.sub(r"[$%]", "_", variable.name)
        kind, count = self._element(variable)
        if name not in result.globals:
            before = data.references
            value = data.bytes_of(variable) if variable.value else bytes(variable.size)
            if data.references > before:
                t.fail(f"{variable.name} holds addresses, which a linked function does not have")
            result.globals[name] = Global(name, kind, count, Space.CONSTANT, variable.align, value)
            self.whole.segments.constants[name] = variable.name
        start = t.emit(memory.GlobalAddress(name, pointer(kind, Space.CONSTANT)))
        return t.b.recast(start, pointer(_BYTE, Space.CONSTANT))

    @staticmethod
    def _element(variable: Declared) -> tuple[DType, int]:
        """Words of the alignment, as most accesses are of that size."""
        kind = unsigned(8 * min(4, variable.align))
        if variable.type not in ("b8", "u8", "s8"):
            kind = TYPES[variable.type]
        while variable.size % kind.size:
            kind = unsigned(kind.bits // 2)
        return kind, variable.size // kind.size
