"""Memory as arrays of 32-bit words, for languages without pointers: an address is a number of
bytes from the start of the heap, of shared memory, of a thread's arrays or of the constants.

Bindings and launch words are those of ``core.shader_abi``.

Where the language has no warps, lanes exchange through shared memory, a word a thread, between
barriers of the block; ``convergence`` has seen to it that all threads come there.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from gridlane.codegen.clike.base import Dialect, Pair
from gridlane.codegen.clike.gridops import thread_number
from gridlane.codegen.clike.memory import Place
from gridlane.core.dtypes import DType, b1, bf16, f16, f64, i8, i16, i64, u8, u16, u32, u64
from gridlane.core.shader_abi import BASE, DYNAMIC, GRID, REPORT
from gridlane.ir.op import Op
from gridlane.ir.ops import grid
from gridlane.ir.types import Space

if TYPE_CHECKING:
    from gridlane.codegen.clike.emission import Emission

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
_WIDE = "it has 64 bits, and their integers have 32; use int32"


def _small(instead: str) -> str:
    return f"their scalars have 32 bits; use {instead}"


class Words(Dialect):
    """What such languages share.

    Attributes:
        thread, group: the built-in index of the thread in its block, of the block.
    """

    lacks: ClassVar[dict[DType, str]] = {
        **dict.fromkeys((i64, u64), _WIDE),
        **dict.fromkeys((i8, i16), _small("int32")),
        **dict.fromkeys((u8, u16), _small("uint32")),
        **dict.fromkeys((f16, bf16), _small("float32")),
        f64: "binary64 is not in their language; use float32",
    }
    thread: ClassVar[str]
    group: ClassVar[str]

    def opening(self, state: Emission) -> list[str]:
        """What stands at the start of the kernel: a zero that no compiler knows; see rounding."""
        if "zero" not in state.uses:
            return []
        return [f"    {self.let(self.types[u32], 'zero', f'launch[{REPORT}] & 3u')}"]

    # ---- memory

    def pointer(self, space: Space) -> str:
        return self.types[u32]

    def moved(self, pointer: str, distance: str, dtype: DType, scale: int) -> str:
        step = distance if dtype is u32 else self.convert(u32, distance)
        return f"({pointer} + {step}{f' * {scale}u' if scale != 1 else ''})"

    def _element(self, place: Place) -> str:
        return f"{ARRAYS[place.space]}[({place.pointer}) >> 2u]"

    def word_at(self, state: Emission, place: Place) -> str:
        """The word that a place is in."""
        return self._element(place)

    def put_word(self, state: Emission, place: Place, value: str) -> None:
        """Write a word."""
        state.line(f"{self._element(place)} = {value};")

    def load(self, state: Emission, place: Place, dtype: DType) -> str:
        if dtype is b1:
            return f"{self.load_byte(state, place)} != 0u"
        return self.bits(u32, dtype, self.word_at(state, place))

    def store(self, state: Emission, place: Place, dtype: DType, value: str) -> None:
        if dtype is b1:
            self.store_byte(state, place, self.choose(value, "1u", "0u"))
        else:
            self.put_word(state, place, self.bits(dtype, u32, value))

    def load_byte(self, state: Emission, place: Place) -> str:
        return f"(({self.word_at(state, place)} >> ((({place.pointer}) & 3u) * 8u)) & 0xffu)"

    def store_byte(self, state: Emission, place: Place, value: str) -> None:
        """Other threads may write the other bytes of the word meanwhile."""
        shift = state.let(u32, f"(({place.pointer}) & 3u) * 8u")
        octet = state.let(u32, f"({value} & 0xffu) << {shift}")
        kept = state.let(u32, f"~(0xffu << {shift})")
        if place.space is Space.LOCAL:
            old = state.let(u32, self.word_at(state, place))
            self.put_word(state, place, f"({old} & {kept}) | {octet}")
            return
        for kind, operand in (("and", kept), ("or", octet)):
            state.let(u32, self.atomic(state, place, u32, kind, operand))

    def load_pointer(self, state: Emission, place: Place, space: Space) -> str:
        return self.word_at(state, place)

    def store_pointer(self, state: Emission, place: Place, space: Space, value: str) -> None:
        self.put_word(state, place, value)
        high = Place(place.space, f"{place.pointer} + 4u", place.volatile)
        self.put_word(state, high, "0u")

    def number(self, pointer: str) -> str:
        return pointer

    def from_address(self, space: Space, text: str) -> str:
        return text or "0u"

    def global_address(self, state: Emission, symbol: str) -> str:
        item, at = state.module.globals[symbol], 0
        for other in state.module.globals.values():
            if other is item:
                return f"{at}u"
            if other.space is item.space:
                at += _rounded(other.size)
        raise AssertionError(symbol)

    def dynamic_shared(self, state: Emission) -> str:
        return f"{shared_bytes(state)}u"

    def local_array(self, state: Emission, size: int) -> str:
        at = state.local
        state.local += _rounded(size)
        return f"{at}u"

    # ---- the grid

    def parameter(self, state: Emission, number: int) -> str:
        at, type_ = state.offsets[number], state.module.kernel.params[number].value.type
        word = f"params[{at // 4}]"
        if not isinstance(type_, DType):
            return word
        if type_ is b1:
            return f"(({word} >> {8 * (at % 4)}u) & 0xffu) != 0u"
        return self.bits(u32, type_, word)

    def query(self, state: Emission, op: Op) -> str:
        if isinstance(op, grid.LaneId):
            return f"{thread_number(state)} & 31"
        if isinstance(op, grid.DynamicSharedSize):
            return f"{self._int()}(launch[{DYNAMIC}])"
        assert isinstance(op, grid.GridQuery) and state.block
        n, axis = op.axis.value, "xyz"[op.axis.value]
        texts = {
            grid.ThreadIdx: f"{self.thread}.{axis}",
            grid.BlockIdx: f"{self.group}.{axis} + launch[{BASE + n}]",
            grid.BlockDim: f"{state.block[n]}",
            grid.GridDim: f"launch[{GRID + n}]",
        }
        return f"{self._int()}({texts[type(op)]})"

    def _int(self) -> str:
        return next(name for dtype, name in self.types.items() if dtype.name == "i32")

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
            made = self.call_atomic(name, self._element(place), self.bits(dtype, u32, value))
            return self.bits(u32, dtype, made)
        if dtype is u32 and kind in _UNSIGNED:
            return self.call_atomic(f"atomic{kind.capitalize()}", self._element(place), value)
        return ""

    def atomic_load(self, state: Emission, place: Place) -> str:
        return self.word_at(state, place)

    def word(self, state: Emission, place: Place) -> Pair:
        raise AssertionError("scalars have 32 bits")

    # ---- warps

    def publish(self, state: Emission, op: Op, words: list[str]) -> list[str]:
        (word,) = words
        number = state.let(u32, self.convert(u32, thread_number(state)))
        start = exchange_start(state)
        self.put_word(state, Place(Space.SHARED, f"{start}u + {number} * 4u"), word)
        self.barrier(state)
        return [state.let(u32, f"{number} & ~31u")]

    def peer(self, state: Emission, published: str, lane: str) -> str:
        number = f"({published} + {lane})"
        place = Place(Space.SHARED, f"{exchange_start(state)}u + {number} * 4u")
        word = self.word_at(state, place)
        if threads(state) % 32 == 0:
            return word
        return self.choose(f"{number} < {threads(state)}u", word, "0u")

    def retract(self, state: Emission) -> None:
        self.barrier(state)

    def together(self, state: Emission, op: Op) -> str:
        if threads(state) % 32 == 0:
            return "0xffffffffu"
        number = self.convert(u32, thread_number(state))
        last = state.let(b1, f"({number} >> 5u) == {threads(state) // 32}u")
        return self.choose(last, f"{(1 << threads(state) % 32) - 1:#x}u", "0xffffffffu")

    def ballot(self, state: Emission, op: Op, predicate: str) -> str:
        return ""

    def sync_warp(self, state: Emission, op: Op) -> None:
        self.barrier(state)


# ---- shared memory: the module's arrays, a counter, the words of an exchange, the dynamic part


def threads(state: Emission) -> int:
    """Threads of a block."""
    assert state.block
    x, y, z = state.block
    return x * y * z


def _rounded(size: int) -> int:
    return -(-size // 16) * 16


def static_bytes(state: Emission) -> int:
    """Bytes of the module's shared arrays, which is where the counter is."""
    return sum(_rounded(item.size) for item in state.module.static_shared())


def exchange_start(state: Emission) -> int:
    """Where the words of an exchange are, in bytes."""
    return static_bytes(state) + COUNTER_BYTES


def shared_bytes(state: Emission) -> int:
    """Bytes of shared memory whose size is known."""
    ops = list(state.module.kernel.body.walk())
    if any(op.cross_lane for op in ops):
        state.extra_shared = COUNTER_BYTES + 4 * -(-threads(state) // 32) * 32
    elif any(isinstance(op, grid.BarrierReduce) for op in ops):
        state.extra_shared = COUNTER_BYTES
    return static_bytes(state) + state.extra_shared


def constant_words(state: Emission) -> list[str]:
    """The module's constants as literals of u32."""
    items = [item for item in state.module.globals.values() if item.space is Space.CONSTANT]
    data = b"".join((i.data or b"") + bytes(_rounded(i.size) - i.size) for i in items)
    return [f"{int.from_bytes(data[n : n + 4], 'little')}u" for n in range(0, len(data), 4)]
