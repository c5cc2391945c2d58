"""Quantities and facts in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from gridlane.core.errors import DeviceError


def counted(number: int, noun: str) -> str:
    """A count with its noun.

    >>> counted(1, "kernel"), counted(3, "kernel")
    ('1 kernel', '3 kernels')
    """
    return f"{number} {noun}" + ("" if number == 1 else "s")


def size(count: int) -> str:
    """A size in bytes, in a readable unit.

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


# The facts that describe a GPU in a line, of the many that its device knows.
_GPU: dict[str, Callable[[Any], str]] = {
    "name": str,
    "compute_capability": "compute capability {}".format,
    "multiprocessors": lambda number: counted(number, "multiprocessor"),
    "memory": size,
    "cuda_version": "driver for CUDA {}".format,
}


def described(facts: Mapping[str, object]) -> str:
    """A device's facts, in a line.

    >>> described({"processor": "x86_64", "threads": 2, "checked": True, "remote": False})
    'x86_64, 2 threads, checked'
    >>> described({"name": "H100", "compute_capability": "9.0", "memory": 80 << 30, "ecc": True})
    'H100, compute capability 9.0, 80 GiB'
    """
    if "compute_capability" in facts:
        return ", ".join(say(facts[name]) for name, say in _GPU.items() if name in facts)
    parts = []
    for name, value in facts.items():
        if name == "uuid":
            continue
        if isinstance(value, bool):
            parts += [name] if value else []
        else:
            number = isinstance(value, int)
            parts.append(counted(value, name.removesuffix("s")) if number else str(value))
    return ", ".join(parts)


def plain(error: BaseException) -> str:
    """Why a device is unavailable, in one line, without names and numbers of errors.

    >>> from gridlane.core.errors import DeviceError
    >>> plain(DeviceError("X", 1, "there is no such device on this machine: Y does not load (Z)"))
    'Y does not load'
    """
    text = error.meaning if isinstance(error, DeviceError) else str(error)
    text = text.removeprefix("there is no such device on this machine: ").partition("\n")[0]
    return re.sub(r"\s*\(.*\)\.?$", "", text)
