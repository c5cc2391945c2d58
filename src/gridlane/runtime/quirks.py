"""What is known of drivers that code is made for, by the names that devices give themselves."""

from __future__ import annotations

_QUIRKS = {"llvmpipe": ("short_loops", "swaps_selects")}
"""Words of a device's name (Mesa's llvmpipe is behind lavapipe as well) and the features of
``Target.features`` that they stand for; see passes/watch_loops.py and codegen/joined_bits.py."""


def quirks(name: str) -> tuple[str, ...]:
    """What code for a device with this name has to know.

    >>> quirks("llvmpipe (LLVM 15.0.6, 256 bits)"), quirks("NVIDIA H200")
    (('short_loops', 'swaps_selects'), ())
    """
    return tuple(
        feature for word, found in _QUIRKS.items() if word in name.lower() for feature in found
    )


_ROUNDING = ("llvmpipe", "swiftshader")
"""Words of names of devices that divide, and take square roots, as IEEE 754 has it although their
languages allow more: processors do."""


def shader_features(name: str) -> tuple[str, ...]:
    """What code in WGSL or GLSL for a device with this name has to know.

    >>> shader_features("llvmpipe (LLVM 15.0.6, 256 bits)"), shader_features("NVIDIA H200")
    (('short_loops', 'swaps_selects', 'rounds'), ())
    """
    rounds = any(word in name.lower() for word in _ROUNDING)
    return (*quirks(name), *(["rounds"] if rounds else []))
