"""The names of short vectors: numba's, such as ``float32x4``, and CUDA's, such as ``float4``."""

from __future__ import annotations

LENGTHS = (1, 2, 3, 4)

ELEMENTS = (
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
    "float64",
)  # fmt: skip
"""The types of components. numba has no vectors of float16."""

_CUDA = {
    "char": "int8",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "longlong": "int64",
    "uchar": "uint8",
    "ushort": "uint16",
    "uint": "uint32",
    "ulong": "uint64",
    "ulonglong": "uint64",
    "float": "float32",
    "double": "float64",
}

ALIASES: dict[str, str] = {
    f"{short}{count}": f"{element}x{count}" for short, element in _CUDA.items() for count in LENGTHS
}
"""The vector behind each of CUDA's names."""

NAMES: dict[str, str] = {
    **{f"{element}x{count}": f"{element}x{count}" for element in ELEMENTS for count in LENGTHS},
    **ALIASES,
    **{f"make_{alias}": name for alias, name in ALIASES.items()},
}
"""The vector behind each name, CUDA's constructors included."""
