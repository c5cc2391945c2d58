"""The declarations of messages in another language, for programs that write or read them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from gridlane.actors.layouts import cuda_cpp, glsl, msl, wgsl
from gridlane.actors.layouts.from_class import from_class
from gridlane.actors.layouts.schema import Layout
from gridlane.core.errors import ArgumentError

_TEXTS: dict[str, Callable[[Sequence[Layout]], str]] = {
    "cuda_cpp": cuda_cpp.text,
    "glsl": glsl.text,
    "wgsl": wgsl.text,
    "msl": msl.text,
}
LANGUAGES: tuple[str, ...] = tuple(_TEXTS)
"""The languages that layouts are written in."""


def declarations(language: str, layouts: Iterable[Layout | type]) -> str:
    """The text that declares messages in a language, so that a program in it can write them.

    Each structure has its size and offsets asserted where the language can (C++, MSL), and a
    constant ``NAME_type_id``, which stands in the header of each message of that type. A name that
    the language reserves has the suffix ``_`` there. What a language lacks is named in comments:
    GLSL and WGSL have a bool as a byte, WGSL has 64-bit values as vec2<u32> and functions for
    fields of 8 and 16 bits, MSL has the bits of a binary64.

    Args:
        language: ``cuda_cpp`` (C++ for the host and for CUDA), ``glsl``, ``wgsl`` or ``msl``.
        layouts: classes with annotations, or layouts; those inside them are declared as well.

    Raises:
        ArgumentError: no such language, or two different layouts of one name.
        TypingError: a class that is no layout; see from_class.

    >>> from gridlane.core.argtypes import float32, int32
    >>> class Order:
    ...     "An order to buy."
    ...     price: float32
    ...     size: int32
    >>> print(declarations("cuda_cpp", [Order]))  # doctest: +ELLIPSIS
    // Messages of gridlane: made from their layouts, not by hand.
    ...
    // An order to buy.
    struct Order {
        float price; // byte 0
        int size; // byte 4
    };
    static_assert(sizeof(Order) == 8, "Order: its size");
    static_assert(alignof(Order) == 4, "Order: its alignment");
    static_assert(GRIDLANE_OFFSET(Order, price) == 0 && sizeof(Order::price) == 4, ...
    static_assert(GRIDLANE_OFFSET(Order, size) == 4 && sizeof(Order::size) == 4, ...
    static constexpr unsigned long long Order_type_id = 0x...ull;
    #endif
    <BLANKLINE>
    """
    if language not in _TEXTS:
        raise ArgumentError(f"no layouts for {language!r}: one of {', '.join(LANGUAGES)}")
    shapes = [each if isinstance(each, Layout) else from_class(each) for each in layouts]
    return _TEXTS[language](shapes)
