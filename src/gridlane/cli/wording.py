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
    ('512.0 MiB', '1.5 KiB', '12 bytes')
    """
    value, unit = float(count), "bytes"
    for larger in ("KiB", "MiB", "GiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{count} bytes" if unit == "bytes" else f"{value:.1f} {unit}"


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
            words.append(f"{value} {name}" if isinstance(value, int) else str(value))
    return ", ".join(words)
