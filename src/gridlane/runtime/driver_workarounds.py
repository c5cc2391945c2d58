"""Workarounds for drivers' defects, by the names that devices give themselves."""

from __future__ import annotations

from gridlane.core.features import Feature

_FEATURES_BY_NAME = {"llvmpipe": frozenset((Feature.SHORT_LOOPS, Feature.SWAPS_SELECTS))}
"""Words of a device's name (Mesa's llvmpipe is behind lavapipe as well) and the features of
``Target.features`` that they stand for; see passes/structure/watch_loops.py and
codegen/joined_bits.py."""


def workarounds(name: str) -> frozenset[Feature]:
    """What code for a device with this name has to know.

    >>> sorted(workarounds("llvmpipe (LLVM 15.0.6, 256 bits)")), sorted(workarounds("NVIDIA H200"))
    ([<Feature.SHORT_LOOPS: 'short_loops'>, <Feature.SWAPS_SELECTS: 'swaps_selects'>], [])
    """
    none: frozenset[Feature] = frozenset()
    return none.union(*(found for word, found in _FEATURES_BY_NAME.items() if word in name.lower()))


_ROUNDING = ("llvmpipe", "swiftshader")
"""Words of names of devices that divide, and take square roots, as IEEE 754 has it although their
languages allow more: processors do."""


def shader_features(name: str) -> frozenset[Feature]:
    """What code in WGSL or GLSL for a device with this name has to know.

    >>> sorted(shader_features("SwiftShader")), sorted(shader_features("NVIDIA H200"))
    ([<Feature.ROUNDS: 'rounds'>], [])
    """
    rounds = any(word in name.lower() for word in _ROUNDING)
    return workarounds(name) | {Feature.ROUNDS} if rounds else workarounds(name)
