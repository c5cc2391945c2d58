"""Numbers of bytes as people write them."""

from __future__ import annotations

import operator
import re

_UNITS = {"": 1, "B": 1} | {
    f"{prefix}{ending}": base**power
    for power, prefix in enumerate("KMGT", start=1)
    for ending, base in (("", 1000), ("B", 1000), ("iB", 1024))
}
_LOWER = {name.lower(): size for name, size in _UNITS.items()}


def byte_size(size: int | str) -> int:
    """Bytes of a number, or of a text such as ``512MB`` (10^6 each) or ``2GiB`` (2^30 each).

    Raises:
        ValueError: it is negative, or no such text.
        TypeError: it is neither.

    >>> byte_size("1.5 KiB"), byte_size("2GB"), byte_size(4096)
    (1536, 2000000000, 4096)
    """
    if not isinstance(size, str):
        count = operator.index(size)
        if count < 0:
            raise ValueError(f"{count} bytes are fewer than none")
        return count
    match = re.fullmatch(r"\s*([0-9]+)(\.[0-9]+)?\s*([A-Za-z]*)\s*", size)
    if match is None or match[3].lower() not in _LOWER:
        raise ValueError(
            f"{size!r} is no size: a number of bytes, or one with a unit as 512MB, 2GiB"
        )
    whole, fraction, unit = int(match[1]), match[2] or ".0", _LOWER[match[3].lower()]
    return whole * unit + int(fraction[1:]) * unit // 10 ** (len(fraction) - 1)
