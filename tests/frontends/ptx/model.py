"""A model of the elementwise instructions of PTX ISA 9.0, in Python integers and exact rationals.

It imports nothing of what it is compared with. Operands and results are the bits of registers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Result = int | None | Callable[[int], bool]
"""What a result is: its bits; None for any; or a test of the bits."""


@dataclass(frozen=True, slots=True)
class Case:
    """The meaning of an opcode with its modifiers.

    Attributes:
        sources: what the operands are: ``b16 b32 b64 f16 bf16 f32 f64 f16x2 bf16x2 pred``,
            ``count`` (32 bits, small more often), ``carry`` and ``borrow`` (the flag of the
            thread), or ``=N`` (the constant N, which ``compute`` does not get). ``b32.h1`` and
            ``-b32`` are such an operand as ``%r1.h1`` and ``-%r1``.
        results: likewise. ``s8`` and ``u8`` are bytes, extended to a register of 16 bits.
        compute: the results of sources.
    """

    sources: tuple[str, ...]
    results: tuple[str, ...]
    compute: Callable[..., tuple[Result, ...]]
    part: str = ""
    """The part of the result's register that is written, as ``.h0``."""
    target: str = "sm_90"
    """A processor that has the form."""


Modifiers = tuple[str, ...]
Make = Callable[[str, Modifiers], "Case | list[Case] | None"]
MODEL: dict[str, list[Make]] = {}
"""What makes the cases of each root. The first that knows the modifiers does."""


def model(*roots: str) -> Callable[[Make], Make]:
    """Register what makes the cases of some roots."""

    def declare(make: Make) -> Make:
        for root in roots:
            MODEL.setdefault(root, []).append(make)
        return make

    return declare


def cases(spelling: str) -> list[Case]:
    """The meaning of an opcode; nothing if the model has none."""
    root, *modifiers = spelling.split(".")
    for make in MODEL.get(root, ()):
        made = make(root, tuple(modifiers))
        if made is not None:
            return made if isinstance(made, list) else [made]
    return []


def bits_of(name: str) -> int:
    """The width of a type by its name."""
    if name == "f32x2":
        return 64
    return 32 if name.endswith("x2") else int(name.lstrip("usbf"))


def mask(bits: int) -> int:
    """Ones in so many lowest bits."""
    return (1 << bits) - 1


def signed(number: int, bits: int) -> int:
    """The lowest bits as a number in two's complement."""
    number &= mask(bits)
    return number - (1 << bits) if number >> bits - 1 else number


def read(number: int, name: str) -> int:
    """The lowest bits as an integer type."""
    bits = bits_of(name)
    return signed(number, bits) if name[0] == "s" else number & mask(bits)


def limits(name: str) -> tuple[int, int]:
    """The least and the greatest integer of a type."""
    bits = bits_of(name)
    return (-1 << bits - 1, mask(bits - 1)) if name[0] == "s" else (0, mask(bits))


def clamped(number: int, name: str) -> int:
    """A number, or the limit of the type that it is beyond."""
    low, high = limits(name)
    return min(max(number, low), high)
