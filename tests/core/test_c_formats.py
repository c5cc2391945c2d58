"""C's formats against the C library's snprintf."""

from __future__ import annotations

import ctypes
import random

import pytest
from tests.effort import examples

from gridlane.core.c_formats import Conversion, conversion, conversions, joined

LIBC = ctypes.CDLL(None)


def printed(text: str, value: object) -> str:
    """What the C library makes of a value."""
    made = ctypes.create_string_buffer(600)
    LIBC.snprintf(made, 600, text.encode(), value)
    return made.value.decode("latin1")


def drawn(random_: random.Random) -> tuple[str, float | str, object]:
    """A conversion, a value, and the value as C takes it."""
    kind = random_.choice("diouxXeEfFgGaAcs")
    flags = "".join(flag for flag in "-+ #0" if random_.random() < 0.3)
    width = random_.choice(["", "5", "12", "3"])
    precision = random_.choice(["", ".0", ".", ".3", ".10"])
    if kind in "diouxX":
        size, bits = random_.choice([("", 32), ("ll", 64)])
        number = random_.choice([0, 1, 5, random_.getrandbits(bits), 1 << bits - 1])
        if kind in "di":
            number = (number + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)
        of = ctypes.c_longlong if size else ctypes.c_int
        return f"%{flags}{width}{precision}{size}{kind}", number, of(number)
    if kind in "cs":  # of these C leaves most flags open
        flags = "-" if "-" in flags else ""
        if kind == "c":
            code = random_.randint(33, 126)
            return f"%{flags}{width}c", code, ctypes.c_int(code)
        word = random_.choice(["", "abc", "hello world"])
        return f"%{flags}{width}{precision}s", word, ctypes.c_char_p(word.encode())
    power = 10.0 ** random_.randint(-300, 300)
    edges = [0.0, -0.0, 0.5, 1.5, 2.5, float("inf"), float("-inf"), 5e-324]
    real = random_.choice([*edges, random_.gauss(0, 1), random_.gauss(0, 1) * power])
    return f"%{flags}{width}{precision}{kind}", real, ctypes.c_double(real)


def test_conversions_are_those_of_the_c_library():
    random_ = random.Random(5)
    for _ in range(examples(3000, 100_000)):
        text, value, given = drawn(random_)
        assert conversion(text).of(value) == printed(text, given), (text, value)


def test_a_format_in_parts():
    parts = list(conversions("a%%b %-*.*f%s"))
    assert [part for part in parts if isinstance(part, str)] == ["a", "%", "b "]
    first, last = (part for part in parts if isinstance(part, Conversion))
    assert (first.stars, first.of(1.25, [8, 1])) == (2, "1.2     ")
    assert (last.kind, last.is_wide) == ("s", True)


def test_pointers_and_signs_of_widths():
    assert conversion("%p").of(0x7F10) == "0x7f10"
    assert conversion("%p").of(0) == "(nil)"
    assert conversion("%*d").of(7, [-4]) == "7   "
    assert conversion("%.*f").of(1.5, [-1]) == "1.500000"


def test_a_line_of_values():
    assert joined(["x=", None, "!"], ["%04d"], [7]) == "x=0007!"
    assert joined([None, None], ["*", "%*d"], [4, 7]) == "   7"
    assert joined(["x", None], [], [7]) == "x7"


@pytest.mark.parametrize("text", ["%", "%n", "%y", "100%-", "%5"])
def test_what_is_no_conversion(text):
    with pytest.raises(ValueError, match="%"):
        list(conversions(text))
