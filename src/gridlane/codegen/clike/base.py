"""What differs between C-like languages, as attributes and small functions of text.

The defaults are what C, MSL and GLSL share; each language overrides what it spells otherwise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from gridlane.core.dtypes import DType, f32
from gridlane.ir.op import Op
from gridlane.ir.types import Space, Type

if TYPE_CHECKING:
    from gridlane.codegen.clike.emission import Emission
    from gridlane.codegen.clike.memory import Place

Pair = tuple[str, str]


class Dialect(ABC):
    """One language. It has no state of its own.

    Attributes:
        target: name of gridlane's target.
        device: what errors call its devices.
        types: the name of each scalar type that the language has.
        lacks: why it has not the others.
        edges: the types that hold the bits of those others where they come in and go out.
        functions: the functions of the language that ops on 32 and 64 bits map to; of the ops
            that count bits, with a {} for the operand.
        wraps: signed integers wrap around, so they need no detour over unsigned ones.
        loop: how an endless loop begins.
        merges: compilers may contract and reorder float operations, whatever the text says.
        folds_zeros: compilers take 0 + x as x, 0 * x as 0, and the smaller of two for a minimum
            that has no NaN, whatever the text says.
        names_constants: a constant gets a name, as what is computed of literals alone is computed
            by the compiler of the language, which refuses overflow.
        halves_unsigned: a u32 becomes a float in two halves, as the language's own conversion may
            take either neighbour of a number that f32 does not hold.
        has_warps: lanes exchange by ops of the language, in divergent control flow as well.
            Elsewhere passes have made barriers of the block of that.
        once: how a block that ``break`` leaves begins and ends.
    """

    target: ClassVar[str]
    device: ClassVar[str]
    types: ClassVar[dict[DType, str]]
    lacks: ClassVar[dict[DType, str]]
    edges: ClassVar[dict[Type, Type]] = {}
    functions: ClassVar[dict[type[Op], str]]
    wraps: ClassVar[bool] = True
    has_warps: ClassVar[bool] = False
    merges: ClassVar[bool] = False
    folds_zeros: ClassVar[bool] = False
    names_constants: ClassVar[bool] = False
    halves_unsigned: ClassVar[bool] = False
    loop: ClassVar[str] = "for (;;) {"
    once: ClassVar[Pair] = ("do {", "} while (false);")

    # ---- expressions

    def let(self, type_: str, name: str, text: str) -> str:
        """A name for a value."""
        return f"{type_} {name} = {text};"

    def var(self, type_: str, name: str, text: str) -> str:
        """A variable with its first value."""
        return f"{type_} {name} = {text};"

    def choose(self, condition: str, on_true: str, on_false: str) -> str:
        """One of two scalars."""
        return f"({condition} ? {on_true} : {on_false})"

    def convert(self, target: DType, text: str) -> str:
        """C's conversion of a scalar that is in range."""
        return f"{self.types[target]}({text})"

    @abstractmethod
    def bits(self, source: DType, target: DType, text: str) -> str:
        """The same bits as another scalar of the same size."""

    @abstractmethod
    def literal(self, state: Emission, value: bool | int | float, dtype: DType) -> str:
        """A scalar constant, exact."""

    def construct(self, type_: str, parts: Sequence[str]) -> str:
        """A struct from its parts."""
        return f"{type_}({', '.join(parts)})"

    def struct(self, name: str, fields: Sequence[Pair]) -> list[str]:
        """The declaration of a struct with (type, name) fields."""
        return [f"struct {name} {{", *(f"    {t} {n};" for t, n in fields), "};"]

    def function(self, name: str, result: str, params: Sequence[Pair]) -> str:
        """The head of a function with (type, name) parameters, up to its brace."""
        return f"{result} {name}({', '.join(f'{type_} {param}' for type_, param in params)}) {{"

    def opening(self, state: Emission) -> list[str]:
        """What stands at the start of a function that has been emitted."""
        return []

    # ---- memory

    @abstractmethod
    def pointer(self, space: Space) -> str:
        """The type of an address, in bytes, of a space."""

    @abstractmethod
    def moved(self, pointer: str, distance: str, dtype: DType, scale: int) -> str:
        """An address ``distance`` times ``scale`` bytes further; ``dtype`` is the distance's."""

    @abstractmethod
    def load(self, state: Emission, place: Place, dtype: DType) -> str:
        """A scalar in memory."""

    @abstractmethod
    def store(self, state: Emission, place: Place, dtype: DType, value: str) -> None:
        """Write a scalar to memory."""

    @abstractmethod
    def load_pointer(self, state: Emission, place: Place, space: Space) -> str:
        """A pointer in memory, of 8 bytes, into a space."""

    @abstractmethod
    def store_pointer(self, state: Emission, place: Place, space: Space, value: str) -> None:
        """Write a pointer to memory."""

    @abstractmethod
    def number(self, pointer: str) -> str:
        """An address as an unsigned integer, to compare it."""

    def address(self, state: Emission, pointer: str) -> str:
        """An address as a u64."""
        return self.number(pointer)

    @abstractmethod
    def from_address(self, space: Space, text: str) -> str:
        """A u64 as an address; "" gives the null pointer."""

    @abstractmethod
    def global_address(self, state: Emission, symbol: str) -> str:
        """Where a global of the module starts."""

    @abstractmethod
    def dynamic_shared(self, state: Emission) -> str:
        """Where the shared memory starts whose size is given at launch."""

    @abstractmethod
    def local_array(self, state: Emission, size: int) -> str:
        """Where an array of the thread starts, of so many bytes."""

    # ---- the grid

    @abstractmethod
    def parameter(self, state: Emission, number: int) -> str:
        """The value of a scalar parameter, or the address that a pointer parameter has."""

    @abstractmethod
    def query(self, state: Emission, op: Op) -> str:
        """A number of the launch, as i32."""

    @abstractmethod
    def barrier(self, state: Emission) -> None:
        """Wait for the block; orders shared and global memory."""

    @abstractmethod
    def fence(self, state: Emission, op: Op) -> None:
        """Order memory accesses; see ``ir.ops.grid.Fence``."""

    @abstractmethod
    def shared_word(self, state: Emission) -> Place:
        """A u32 of shared memory for what gridlane itself counts."""

    @abstractmethod
    def report(self, state: Emission) -> Place:
        """The report block; see ``core.gpu_abi``."""

    # ---- atomics

    @abstractmethod
    def atomic(self, state: Emission, place: Place, dtype: DType, kind: str, value: str) -> str:
        """A native read-modify-write; "" when the language has none. Gives the old value."""

    @abstractmethod
    def exchange_if(
        self, state: Emission, place: Place, expected: str, desired: str
    ) -> tuple[str, str]:
        """A weak compare-and-swap of a u32: (what was there, whether it was replaced)."""

    @abstractmethod
    def atomic_load(self, state: Emission, place: Place) -> str:
        """A u32 that other threads may change."""

    def agreed(self, state: Emission, place: Place, first: str) -> str:
        """A u32 of shared memory which all threads of the block read behind a barrier, so that the
        compiler sees that it is one for all; ``first`` is true for one thread."""
        return self.atomic_load(state, place)

    @abstractmethod
    def word(self, state: Emission, place: Place) -> Pair:
        """The address of the 32-bit word that a place is in, and which byte of it (u32)."""

    # ---- warps, where ``has_warps``: what lanes hold is exchanged in words of 32 bits

    def peer(self, state: Emission, word: str, lane: str) -> str:
        """The word of the lane with a u32 number."""
        raise NotImplementedError("its lanes exchange through shared memory")

    def together(self, state: Emission) -> str:
        """The u32 of the lanes that run an op together."""
        raise NotImplementedError("its lanes exchange through shared memory")

    def ballot(self, state: Emission, predicate: str) -> str:
        """The u32 of the lanes that run an op together and whose predicate holds."""
        raise NotImplementedError("its lanes exchange through shared memory")

    def sync_warp(self, state: Emission) -> None:
        """Wait for the lanes of the warp; orders their memory accesses."""
        raise NotImplementedError("its lanes exchange through shared memory")

    # ---- the whole

    @abstractmethod
    def assemble(self, state: Emission, entry: str) -> str:
        """The whole program, from what the emission has collected."""


def decimal(value: float) -> str | None:
    """A finite normal f32 as a decimal that any parser rounds back to it; else None.

    17 digits tell all doubles apart, so one that goes by way of a double gets there as well.

    >>> decimal(0.1), decimal(1.0), decimal(float("inf"))
    ('0.10000000000000001', '1.0', None)
    """
    if value and not 2.0**-126 <= abs(value) < 2.0**128:
        return None
    if value != value:
        return None
    text = f"{value:.17g}"
    return text if "." in text or "e" in text else f"{text}.0"


def pattern(value: float, dtype: DType) -> int:
    """The bits of a float."""
    return int(np.array(value, dtype.numpy).view(f"u{dtype.size}"))


def float_literal(value: float, convert: str, suffix: str) -> str:
    """An f32: a decimal where that is exact, else its bits in a call of ``convert``."""
    text = decimal(value)
    return f"{text}{suffix}" if text else f"{convert}({pattern(value, f32):#x}u)"
