"""Names of ``cuda.compute`` that gridlane refuses: code and files of its own compiler."""

from __future__ import annotations

from typing import Any, NoReturn


def _refuse(name: str, instead: str) -> NoReturn:
    raise NotImplementedError(f"gridlane.algorithms has no {name}: {instead}")


_CACHED = "the disk cache keeps compiled code between processes; see gridlane cache"


def serialize(algorithm: Any) -> bytes:
    """Refused: the disk cache has compiled code."""
    _refuse("serialize", _CACHED)


def deserialize(blob: bytes) -> Any:
    """Refused: the disk cache has compiled code."""
    _refuse("deserialize", _CACHED)


class RawOp:
    """Refused: an operator of LTO-IR, which NVIDIA's linker alone reads."""

    def __init__(self, **arguments: Any) -> None:
        _refuse("RawOp", "LTO-IR is read by NVIDIA's linker alone; write a Python function")


class ProxyArray:
    """Refused: an array for a compilation without a device."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        _refuse("ProxyArray", "code is made at the first call; pass an array")


class ProxyValue:
    """Refused: a value for a compilation without a device."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        _refuse("ProxyValue", "code is made at the first call; pass a value")
