"""C's formats: the conversions of ``printf`` in a text, and what they make of values.

ISO C11, 7.21.6.1; CUDA C++ Programming Guide, "Formatted Output": types ``%cdiouxXpeEfgGaAs``
and sizes ``hh h l ll``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

import numpy as np

from gridlane.core.frozen import frozen

_CONVERSION = re.compile(
    r"%(?P<flags>[-+ #0]*)(?P<width>\*|\d*)(?:\.(?P<precision>\*|\d*))?"
    r"(?P<size>hh|h|ll|l|j|z|t|L)?(?P<kind>[cdiouxXpeEfFgGaAs%])"
)
_WIDE = ("l", "ll", "j", "z", "t")
STAR = "*"
"""The format of an argument that is the width or the precision of the next one."""
BYTES = "8"
"""The format of an argument that has eight bytes of a text, which the next one continues."""
UNITS = ("u", "b")
"""The first letters of formats of a text's units, code points or bytes: alone the next argument
continues the text; a format of Python in braces, ``u{!r:>9}``, follows in that of the last one."""

PARTS = "c"
"""The format of the real part of a complex number, which the next argument continues; that one has
a format of Python in braces behind the letter, ``c{:.2f}``."""


@frozen
class Conversion:
    """A conversion of a format: ``%-8.3f``."""

    text: str
    flags: str
    width: str
    precision: str | None
    size: str
    kind: str

    @property
    def stars(self) -> int:
        """How many arguments of it are its width and its precision."""
        return (self.width == STAR) + (self.precision == STAR)

    @property
    def is_wide(self) -> bool:
        """Whether its argument has 64 bits."""
        return self.size in _WIDE or self.kind in "pseEfFgGaA"

    def of(self, value: float | str, stars: Sequence[int] = ()) -> str:
        """The text of a value."""
        given = iter(stars)
        width = next(given) if self.width == STAR else int(self.width or 0)
        precision = next(given) if self.precision == STAR else self.precision
        flags = self.flags
        if width < 0:
            flags, width = flags + "-", -width
        digits = None if precision is None else int(precision or 0)
        if digits is not None and digits < 0:
            digits = None
        plain = self._plain(value, flags, digits)
        return self._padded(plain, flags, width, digits, value)

    def _plain(self, value: float | str, flags: str, digits: int | None) -> str:
        """The text before it is padded."""
        if self.kind == "s":
            return str(value)[:digits]
        if self.kind == "c":
            return chr(int(value) & 0xFF)
        if self.kind == "p":
            return f"0x{int(value):x}" if value else "(nil)"
        if self.kind in "diouxX":
            return _integer(int(value), self.kind, flags, digits)
        if self.kind in "aA":
            digits_text = _hexadecimal(float(value), digits, "#" in flags)
            digits_text = digits_text.upper() if self.kind == "A" else digits_text
            return digits_text if digits_text[0] == "-" else _signed(flags) + digits_text
        plain = "".join(flag for flag in flags if flag in "+ #")
        return f"%{plain}.{6 if digits is None else digits}{self.kind}" % value

    def _padded(
        self, plain: str, flags: str, width: int, digits: int | None, value: float | str
    ) -> str:
        if "-" in flags:
            return plain.ljust(width)
        is_integer = self.kind in "diouxX"
        fills = is_integer and digits is None
        fills |= self.kind in "eEfFgGaA" and math.isfinite(float(value))
        if "0" not in flags or not fills:
            return plain.rjust(width)
        head = re.match(r"[-+ ]?(?:0[xX])?" if self._has_prefix(flags) else "[-+ ]?", plain)
        start = head.end() if head else 0
        return plain[:start] + plain[start:].rjust(width - start, "0")

    def _has_prefix(self, flags: str) -> bool:
        return self.kind in "aA" or (self.kind in "xX" and "#" in flags)


def _signed(flags: str) -> str:
    return "+" if "+" in flags else " " if " " in flags else ""


def _integer(value: int, kind: str, flags: str, digits: int | None) -> str:
    base = {"o": "o", "x": "x", "X": "X"}.get(kind, "d")
    digits_text = f"{abs(value):{base}}"
    if digits is not None:
        digits_text = digits_text.rjust(digits, "0") if value or digits else ""
    if "#" in flags and kind == "o" and not digits_text.startswith("0"):
        digits_text = "0" + digits_text
    if "#" in flags and kind in "xX" and value:
        digits_text = f"0{kind}{digits_text}"
    sign = "-" if value < 0 else _signed(flags) if kind in "di" else ""
    return sign + digits_text


def _hexadecimal(value: float, digits: int | None, dotted: bool) -> str:
    """C's %a: one digit before the point, as few as are needed after it."""
    if not math.isfinite(value):
        return f"{value:f}"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    if not value:
        return f"{sign}0x0{'.' if digits or dotted else ''}{'0' * (digits or 0)}p+0"
    fraction, exponent = math.frexp(abs(value))
    exponent -= 1
    if exponent < -1022:  # subnormal numbers have the exponent of the least normal one
        fraction, exponent = math.ldexp(fraction, exponent + 1022), -1022
    units = int(math.ldexp(fraction, 53))  # of 2^-52
    if digits is not None and digits < 13:
        drop = 4 * (13 - digits)
        half, rest = 1 << drop - 1, units & (1 << drop) - 1
        units >>= drop
        units += rest > half or (rest == half and units & 1)
        whole, tail = divmod(units, 1 << 4 * digits)
        text = f"{tail:0{digits}x}" if digits else ""
    else:
        whole, tail = divmod(units, 1 << 52)
        text = f"{tail:013x}".rstrip("0") if digits is None else f"{tail:013x}".ljust(digits, "0")
    point = "." if text or dotted else ""
    return f"{sign}0x{whole:x}{point}{text}p{exponent:+d}"


def conversions(text: str) -> Iterator[str | Conversion]:
    """The parts of a format: texts, and conversions between them.

    Raises:
        ValueError: a conversion that is none of C's; its message is the conversion.
    """
    position = 0
    while position < len(text):
        percent = text.find("%", position)
        if percent < 0:
            yield text[position:]
            return
        if percent > position:
            yield text[position:percent]
        match = _CONVERSION.match(text, percent)
        if match is None:
            raise ValueError(text[percent : percent + 8])
        position = match.end()
        if match["kind"] == "%":
            yield "%"
            continue
        parts = match["flags"], match["width"], match["precision"], match["size"] or ""
        yield Conversion(match[0], *parts, match["kind"])


def conversion(text: str) -> Conversion:
    """The conversion that a text is."""
    (only,) = conversions(text)
    assert isinstance(only, Conversion)
    return only


def joined(parts: Sequence[str | None], formats: Sequence[str], values: Sequence[float]) -> str:
    """The text of a line.

    Args:
        parts: texts, and None or "" for the next value.
        formats: for each value its conversion, STAR or BYTES, or a format of Python in braces, or
            "" as numpy prints it, or one of a unit or of a part; nothing where all are printed as
            numpy prints them.
    """
    results: list[str] = []
    stars: list[int] = []
    pending: list[float] = []
    number = 0
    for part in parts:
        if part:
            results.append(part)
            continue
        value = values[number]
        text = formats[number] if formats else ""
        number += 1
        if text == STAR:
            stars.append(int(value))
        elif text == BYTES:
            pending.append(value)
        elif text.startswith(UNITS):
            pending.append(value)
            if text not in UNITS:
                results.append(text[1:].format(_of_units(text[0], pending)))
                pending = []
        elif text == PARTS:
            pending.append(value)
        elif text.startswith(PARTS):
            results.append(text[1:].format(_complex(pending.pop(), value)))
        elif text.startswith("{!s"):
            results.append(text.format(value))
        elif text.startswith("{"):
            results.append(text.format(np.asarray(value).item()))
        elif text:
            parsed = conversion(text)
            given = _text([*pending, value]) if parsed.kind == "s" else value
            results.append(parsed.of(given, stars))
            stars, pending = [], []
        else:
            results.append(str(value))
    return "".join(results)


def _complex(real: float, imag: float) -> complex | np.complex64:
    """The number of two parts, which has the digits of its own width as text."""
    number = complex(real, imag)
    return np.complex64(number) if np.asarray(imag).dtype == np.float32 else number


def _of_units(kind: str, units: Sequence[float]) -> str | bytes:
    """The text of code points or bytes, which end in NULs; U+FFFD for numbers that are none."""
    if kind == "b":
        return bytes([int(unit) for unit in units]).rstrip(b"\0")
    codes = [int(unit) for unit in units]
    return "".join([chr(code) if _is_letter(code) else "\ufffd" for code in codes]).rstrip("\0")


def _is_letter(code: int) -> bool:
    """Whether a number is a code point that a text can be encoded with."""
    return 0 <= code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF


def _text(units: Sequence[float]) -> str:
    """The text whose bytes are in words of 64 bits, up to a zero."""
    data = b"".join((int(word) % 2**64).to_bytes(8, "little") for word in units)
    return data.partition(b"\0")[0].decode("utf-8", "replace")
