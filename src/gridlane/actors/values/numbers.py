"""Checks of a user's counts."""

from __future__ import annotations


def verify(**numbers: int) -> None:
    """Raise TypeError or ValueError for values that are no counts; capacities are powers of two."""
    for name, value in numbers.items():
        if not isinstance(value, int) or isinstance(value, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"{name}={value!r} is no number")
        power = name in ("capacity", "outbox")
        if not 1 <= value <= 1 << 20 or (power and value & value - 1):
            what = "a power of two" if power else "a number"
            raise ValueError(f"{name}={value} is not {what} between 1 and 1048576")
