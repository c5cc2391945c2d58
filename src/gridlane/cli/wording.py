"""Quantities and facts in words."""

from __future__ import annotations

from collections.abc import Mapping


def counted(number: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "kernel"), counted(3, "kernel")
    ('1 kernel', '3 kernels')
    """
    return f"{number} {noun}" + ("" if number == 1 else "s")


def size(count: int) -> str:
    """Bytes for people.

    >>> size(512 * 2**20), size(1500), size(12)
    ('512 MiB', '1.5 KiB', '12 bytes')
    """
    value, unit = float(count), "bytes"
    for larger in ("KiB", "MiB", "GiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    text = f"{value:.1f}".removesuffix(".0")
    return f"{text} {unit}"


def described(facts: Mapping[str, object]) -> str:
    """What a device says of itself.

    >>> described({"processor": "x86_64", "threads": 2, "checked": True, "remote": False})
    'x86_64, 2 threads, checked'
    """
    words = []
    for name, value in facts.items():
        if isinstance(value, bool):
            words += [name] if value else []
        else:
            number = isinstance(value, int)
            words.append(counted(value, name.removesuffix("s")) if number else str(value))
    return ", ".join(words)
