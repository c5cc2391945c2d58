"""Workarounds for drivers' defects, by the names that devices give themselves."""

from __future__ import annotations

from gridlane.core.features import Feature

_SOFTWARE = frozenset((Feature.SHORT_LOOPS, Feature.SWAPS_SELECTS, Feature.MISREADS_UNITS))
_MESA = "mesa", "radv", "radeonsi", "intel", "nvk", "turnip", "v3d", "virgl", "zink"
_FEATURES_BY_NAME = {
    "llvmpipe": _SOFTWARE,
    **{word: frozenset((Feature.MISREADS_UNITS,)) for word in _MESA},
}
"""Words in a device's name and the ``Target.features`` that they imply (Mesa's llvmpipe also runs
lavapipe); see passes/structure/watch_loops.py, codegen/joined_bits.py, codegen/chosen_units.py."""


def workarounds(name: str) -> frozenset[Feature]:
    """The ``Target.features`` that work around defects of a device, by its name.

    >>> [str(each) for each in sorted(workarounds("llvmpipe (LLVM 15.0.6, 256 bits)"))]
    ['misreads_units', 'short_loops', 'swaps_selects']
    >>> sorted(workarounds("NVIDIA H200"))
    []
    """
    none: frozenset[Feature] = frozenset()
    return none.union(*(found for word, found in _FEATURES_BY_NAME.items() if word in name.lower()))


_ROUNDING = ("llvmpipe", "swiftshader")
"""Words in the names of devices that round division and square root as IEEE 754 requires, although
their languages allow more: processors."""


def shader_features(name: str) -> frozenset[Feature]:
    """The ``Target.features`` of WGSL or GLSL code for a device with this name.

    >>> sorted(shader_features("SwiftShader")), sorted(shader_features("NVIDIA H200"))
    ([<Feature.ROUNDS: 'rounds'>], [])
    """
    rounds = any(word in name.lower() for word in _ROUNDING)
    return workarounds(name) | {Feature.ROUNDS} if rounds else workarounds(name)
