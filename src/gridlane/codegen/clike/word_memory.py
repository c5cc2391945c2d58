"""Memory as arrays of 32-bit words, for languages without pointers: an address is an offset in
bytes from the start of the heap, of shared memory, of a thread's arrays or of the constants.

Bindings and launch words are those of ``core.shader_abi``. Scalars of 64, 16 or 8 bits occur at the
edges alone, in the types of ``edges``: passes have lowered all others to words.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import ClassVar

from gridlane.codegen.clike.emission import Dialect, Emission, Pair, Place
from gridlane.codegen.clike.gridops import thread_number
from gridlane.core.dtypes import DType, b1, bf16, f16, f64, i8, i16, i32, i64, u8, u16, u32, u64
from gridlane.core.shader_abi import BASE, DYNAMIC, GRID, REPORT, ZERO, heap_binding
from gridlane.ir.op import Op
from gridlane.ir.ops import grid
from gridlane.ir.types import PointerType, Space, Type, vector

ARRAYS = {
    Space.GENERIC: "heap",
    Space.GLOBAL: "heap",
    Space.SHARED: "shared_words",
    Space.LOCAL: "local_words",
    Space.CONSTANT: "constant_words",
}
_NATIVE = frozenset(("add", "and", "or", "xor", "exchange"))
_UNSIGNED = frozenset(("min", "max"))
COUNTER_BYTES = 16
PAIR = vector(u32, 2)
"""The low and the high word of a 64-bit scalar at an edge."""
_WIDE = "it has 64 bits, and their integers have 32; use int32"


def _small(instead: str) -> str:
    return f"their scalars have 32 bits; use {instead}"


class Words(Dialect):
    """A language without pointers.

    Attributes:
        thread, group: the built-in thread index in the block, and the built-in block index.
    """

    lacks: ClassVar[dict[DType, str]] = {
        **dict.fromkeys((i64, u64), _WIDE),
        **dict.fromkeys((i8, i16), _small("int32")),
        **dict.fromkeys((u8, u16), _small("uint32")),
        **dict.fromkeys((f16, bf16), _small("float32")),
        f64: "binary64 is not in their language; use float32",
    }
    edges: ClassVar[dict[Type, Type]] = {
        **dict.fromkeys((i64, u64, f64), PAIR),
        **dict.fromkeys((i8, i16), i32),
        **dict.fromkeys((u8, u16, f16, bf16), u32),
    }
    folds_zeros = True
    folds = True
    numbers_buffers = True
    tables_in_memory = True
    thread: ClassVar[str]
    group: ClassVar[str]

    def opening(self, state: Emission) -> list[str]:
        """A zero that no compiler can fold; see rounding."""
        if "zero" not in state.uses:
            return []
        return [f"    {self.let(self.types[u32], 'zero', f'launch[{ZERO}]')}"]

    # ---- memory

    def pointer(self, space: Space) -> str:
        return self.types[u32]

    def moved(self, pointer: str, distance: str, dtype: DType, scale: int) -> str:
        step = distance if dtype is u32 else self.convert(u32, distance)
        return f"({pointer} + {step}{f' * {scale}u' if scale != 1 else ''})"

    def _element(self, state: Emission, place: Place) -> str:
        if place.space is Space.CONSTANT and state.module.constants_at:
            return f"params[({place.pointer}) >> 2u]"
        return f"{array_of(place.space, place.buffer)}[({place.pointer}) >> 2u]"

    def word_at(self, state: Emission, place: Place) -> str:
        """The word around a place."""
        return self._element(state, place)

    def put_word(self, state: Emission, place: Place, value: str) -> None:
        """Store a word."""
        state.line(f"{self._element(state, place)} = {value};")

    def load(self, state: Emission, place: Place, dtype: DType) -> str:
        return self.bits(u32, dtype, self.word_at(state, place))

    def store(self, state: Emission, place: Place, dtype: DType, value: str) -> None:
        self.put_word(state, place, self.bits(dtype, u32, value))

    def load_pointer(self, state: Emission, place: Place, space: Space) -> str:
        return self.word_at(state, place)

    def store_pointer(self, state: Emission, place: Place, type_: PointerType, value: str) -> None:
        self.put_word(state, place, value)
        high = replace(place, pointer=f"{place.pointer} + 4u")
        self.put_word(state, high, _upper_half(state, type_.buffer))

    def number(self, pointer: str) -> str:
        return pointer

    def address(self, state: Emission, type_: PointerType, pointer: str) -> str:
        return self.construct(state.type_name(PAIR), [pointer, _upper_half(state, type_.buffer)])

    def from_address(self, space: Space, text: str) -> str:
        return f"{text}.p0" if text else "0u"

    def global_address(self, state: Emission, symbol: str) -> str:
        is_constant = state.module.globals[symbol].space is Space.CONSTANT
        before = state.module.constants_at if is_constant else 0
        return f"{before + state.module.offset_of(symbol)}u"

    def dynamic_shared(self, state: Emission) -> str:
        return f"{shared_bytes(state)}u"

    def local_array(self, state: Emission, size: int) -> str:
        offset = state.local
        state.local += _rounded(size)
        return f"{offset}u"

    # ---- the grid

    def parameter(self, state: Emission, number: int) -> str:
        offset, type_ = state.offsets[number], state.module.kernel.params[number].value.type
        word = f"params[{offset // 4}]"
        if not isinstance(type_, DType):
            return word
        if type_.bits == 64:
            return self.construct(state.type_name(PAIR), [word, f"params[{offset // 4 + 1}]"])
        if type_.size < 4:
            return self._part(word, 8 * (offset % 4), type_)
        return self.bits(u32, type_, word)

    def _part(self, word: str, shift: int, dtype: DType) -> str:
        """A scalar extracted from bits of a word, held in 32 bits."""
        gone = 32 - 8 * dtype.size
        raw = f"({word} << {gone - shift}u)"
        if dtype.is_signed and dtype.is_integer:
            return f"({self.bits(u32, i32, raw)} >> {gone}u)"
        raw = f"({raw} >> {gone}u)"
        return f"{raw} != 0u" if dtype is b1 else raw

    def query(self, state: Emission, op: Op) -> str:
        if isinstance(op, grid.LaneId):
            return f"{thread_number(state)} & 31"
        if isinstance(op, grid.DynamicSharedSize):
            return self.convert(i32, f"launch[{DYNAMIC}]")
        assert isinstance(op, grid.GridQuery) and state.block
        n, axis = op.axis.value, "xyz"[op.axis.value]
        queries: dict[type[Op], str] = {
            grid.ThreadIdx: f"{self.thread}.{axis}",
            grid.BlockIdx: f"{self.group}.{axis} + launch[{BASE + n}]",
            grid.BlockDim: f"{state.block[n]}",
            grid.GridDim: f"launch[{GRID + n}]",
        }
        return self.convert(i32, queries[type(op)])

    def shared_word(self, state: Emission) -> Place:
        return Place(Space.SHARED, f"{static_bytes(state)}u")

    def report(self, state: Emission) -> Place:
        state.uses.add("report")
        return Place(Space.GLOBAL, f"launch[{REPORT}]")

    # ---- atomics

    @abstractmethod
    def call_atomic(self, name: str, element: str, *operands: str) -> str:
        """A call of an atomic function on an element of an array."""

    def atomic(self, state: Emission, place: Place, dtype: DType, kind: str, value: str) -> str:
        if kind == "exchange" or (not dtype.is_float and kind in _NATIVE):
            name = f"atomic{kind.capitalize()}"
            old_bits = self.call_atomic(
                name, self._element(state, place), self.bits(dtype, u32, value)
            )
            return self.bits(u32, dtype, old_bits)
        if dtype is u32 and kind in _UNSIGNED:
            return self.call_atomic(
                f"atomic{kind.capitalize()}", self._element(state, place), value
            )
        return ""

    def atomic_load(self, state: Emission, place: Place) -> str:
        return self.word_at(state, place)

    def word(self, state: Emission, place: Place) -> Pair:
        raise AssertionError("scalars have 32 bits")


def array_of(space: Space, buffer: int = 0) -> str:
    """The name of the array of words of a space, or of a buffer of global memory.

    >>> array_of(Space.GLOBAL), array_of(Space.GLOBAL, 2)
    ('heap', 'heap2')
    """
    return f"{ARRAYS[space]}{buffer or ''}"


def further_heaps(state: Emission) -> list[tuple[int, str]]:
    """The bindings and the names of the buffers of global memory after the first."""
    count = 1 + max(state.module.buffers, default=0)
    return [(heap_binding(n), array_of(Space.GLOBAL, n)) for n in range(1, count)]


def _upper_half(state: Emission, buffer: int) -> str:
    """The upper half of addresses in a buffer, which the address of a parameter there has."""
    if not buffer:
        return "0u"
    pointers = [
        number
        for number, param in enumerate(state.module.kernel.params)
        if isinstance(param.value.type, PointerType)
    ]
    first = pointers[state.module.buffers.index(buffer)]
    return f"params[{state.offsets[first] // 4 + 1}]"


# ---- shared memory: the module's arrays, a counter, the dynamic part


def _rounded(size: int) -> int:
    return -(-size // 16) * 16


def static_bytes(state: Emission) -> int:
    """Bytes of the module's shared arrays, which is the offset of the counter."""
    return sum(_rounded(item.size) for item in state.module.static_shared())


def shared_bytes(state: Emission) -> int:
    """Bytes of shared memory of known size."""
    if any(isinstance(op, grid.BarrierReduce) for op in state.module.kernel.body.walk()):
        state.extra_shared = COUNTER_BYTES
    return static_bytes(state) + state.extra_shared


def constant_words(state: Emission) -> list[str]:
    """The module's constants as literals of u32; none where they are in memory."""
    data = b"" if state.module.constants_at else state.module.constant_data()
    return [f"{int.from_bytes(data[n : n + 4], 'little')}u" for n in range(0, len(data), 4)]
