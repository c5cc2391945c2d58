"""Defects of drivers that code is made for, by the names that devices give themselves."""

from __future__ import annotations

_QUIRKS = {"llvmpipe": ("short_loops",)}
"""Words of a device's name (Mesa's llvmpipe is behind lavapipe as well) and the features of
``Target.features`` that they stand for; see passes/watch_loops.py."""


def quirks(name: str) -> tuple[str, ...]:
    """What code for a device with this name has to know.

    >>> quirks("llvmpipe (LLVM 15.0.6, 256 bits)"), quirks("NVIDIA H200")
    (('short_loops',), ())
    """
    return tuple(
        feature for word, found in _QUIRKS.items() if word in name.lower() for feature in found
    )
