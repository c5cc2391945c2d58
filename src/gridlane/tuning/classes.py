"""Classes of shapes: arguments of one class have the same fastest schedule, one may expect.

Extents are of one class if they have the same power of two above them and are multiples of the
same power of two, up to 128, as kernels have other code for what their blocks do not divide.
"""

from __future__ import annotations

from collections.abc import Iterable

_DIVISOR = 128


def of_number(number: int) -> str:
    """The class of an extent or an integer.

    >>> of_number(1000), of_number(1024), of_number(-3), of_number(0)
    ('1024/8', '1024/128', '-4/1', '0')
    """
    if not number:
        return "0"
    size = abs(number)
    above = 1 << (size - 1).bit_length()
    return f"{'-' if number < 0 else ''}{above}/{min(size & -size, _DIVISOR)}"


def of_shape(shape: Iterable[int]) -> str:
    """The class of an array's shape.

    >>> of_shape((1000, 64))
    '[1024/8, 64/64]'
    """
    return f"[{', '.join(of_number(int(each)) for each in shape)}]"
