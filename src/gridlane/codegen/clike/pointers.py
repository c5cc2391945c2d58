"""Memory by byte pointers with address spaces, and atomics on them, as in Metal."""

from __future__ import annotations

from gridlane.codegen.clike.emission import Dialect, Emission, Pair, Place
from gridlane.core.dtypes import DType, b1, f32, i64, u8, u32, u64
from gridlane.ir.types import PointerType, Space

_SPACES = {
    Space.GENERIC: "device",
    Space.GLOBAL: "device",
    Space.SHARED: "threadgroup",
    Space.CONSTANT: "constant",
    Space.LOCAL: "thread",
}
_RELAXED = "memory_order_relaxed"
_NATIVE = frozenset(("add", "sub", "min", "max", "and", "or", "xor", "exchange"))

LAUNCH = """\
struct Launch {
    uint base[3];
    uint grid[3];
    device uchar* report;
    uint dynamic_bytes;
};"""
"""The launch words, as in ``core.shader_abi``."""


class Pointers(Dialect):
    """A language with byte pointers; each access states its type."""

    def pointer(self, space: Space) -> str:
        return f"{_SPACES[space]} uchar*"

    def moved(self, pointer: str, distance: str, dtype: DType, scale: int) -> str:
        wide = i64 if dtype.is_signed else u64
        text = distance if dtype is wide else self.convert(wide, distance)
        return f"({pointer} + {text}{f' * {scale}' if scale != 1 else ''})"

    def _at(self, place: Place, type_: str) -> str:
        volatile = "volatile " if place.volatile else ""
        return f"*({volatile}{_SPACES[place.space]} {type_}*)({place.pointer})"

    def load(self, state: Emission, place: Place, dtype: DType) -> str:
        if dtype is b1:
            return f"({self._at(place, 'uchar')} != 0)"
        return self._at(place, self.types[dtype])

    def store(self, state: Emission, place: Place, dtype: DType, value: str) -> None:
        text = self.convert(u8, value) if dtype is b1 else value
        state.line(f"{self._at(place, 'uchar' if dtype is b1 else self.types[dtype])} = {text};")

    def load_pointer(self, state: Emission, place: Place, space: Space) -> str:
        return f"({self.pointer(space)})({self._at(place, 'ulong')})"

    def store_pointer(self, state: Emission, place: Place, type_: PointerType, value: str) -> None:
        state.line(f"{self._at(place, 'ulong')} = {self.number(value)};")

    def number(self, pointer: str) -> str:
        return f"(ulong)({pointer})"

    def from_address(self, space: Space, text: str) -> str:
        return f"({self.pointer(space)})({text})" if text else "nullptr"

    # ---- atomics

    def global_address(self, state: Emission, symbol: str) -> str:
        item = state.module.globals[symbol]
        index = list(state.module.globals).index(symbol)
        if item.data is None:
            declare_array(state, f"threadgroup uint4 shared{index}", item.size)
            return f"(threadgroup uchar*)shared{index}"
        data = item.data + bytes(-len(item.data) % 16)
        words = [f"{int.from_bytes(data[n : n + 4], 'little')}u" for n in range(0, len(data), 4)]
        fours = ", ".join(f"uint4({', '.join(words[n : n + 4])})" for n in range(0, len(words), 4))
        name = f"constant{index}"
        state.declarations[name] = f"constant uint4 {name}[{len(words) // 4}] = {{{fours}}};"
        return f"(constant uchar*){name}"

    def dynamic_shared(self, state: Emission) -> str:
        return "dynamic_shared"

    def local_array(self, state: Emission, size: int) -> str:
        name = state.fresh("local")
        declare_array(state, f"uint4 {name}", size)
        return f"(thread uchar*){name}"

    def parameter(self, state: Emission, number: int) -> str:
        return f"params.p{number}"

    def shared_word(self, state: Emission) -> Place:
        state.extra_shared = 16
        declare_array(state, "threadgroup uint4 counter", 4)
        return Place(Space.SHARED, "(threadgroup uchar*)counter")

    def report(self, state: Emission) -> Place:
        state.uses.add("report")
        return Place(Space.GLOBAL, "launch.report")

    def _atomic(self, place: Place, type_: str = "atomic_uint") -> str:
        return f"({_SPACES[place.space]} {type_}*)({place.pointer})"

    def atomic(self, state: Emission, place: Place, dtype: DType, kind: str, value: str) -> str:
        if dtype is f32 and kind in ("add", "sub") and place.space is not Space.SHARED:
            call = f"atomic_fetch_{kind}_explicit"
            return f"{call}({self._atomic(place, 'atomic_float')}, {value}, {_RELAXED})"
        if dtype.bits != 32 or dtype.is_float or kind not in _NATIVE:
            return ""
        call = "atomic_exchange" if kind == "exchange" else f"atomic_fetch_{kind}"
        pointer = self._atomic(place, f"atomic_{self.types[dtype]}")
        return f"{call}_explicit({pointer}, {value}, {_RELAXED})"

    def exchange_if(self, state: Emission, place: Place, expected: str, desired: str) -> Pair:
        seen = state.variable("uint", expected)
        arguments = f"{self._atomic(place)}, &{seen}, {desired}, {_RELAXED}, {_RELAXED}"
        return seen, state.let(b1, f"atomic_compare_exchange_weak_explicit({arguments})")

    def atomic_load(self, state: Emission, place: Place) -> str:
        return f"atomic_load_explicit({self._atomic(place)}, {_RELAXED})"

    def word(self, state: Emission, place: Place) -> Pair:
        low = state.let(u32, f"uint({self.number(place.pointer)} & 3ul)")
        return f"({place.pointer} - {low})", low


def declare_array(state: Emission, declaration: str, size: int) -> None:
    """Declare an array of so many bytes at the start of the kernel, once."""
    text = f"{declaration}[{-(-size // 16)}];"
    if text not in state.prologue:
        state.prologue.append(text)
