"""Pictures of arrays: PNG files by the standard library, and text."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np

_DARK = np.array([0.05, 0.03, 0.2])
_LIGHT = np.array([1.0, 0.95, 0.7])


def write(path: str | Path, values: Any) -> None:
    """Write an array of two dimensions as a PNG file, its least value dark and its largest light.

    Format: PNG specification, third edition: RGB of 8 bits, rows without a filter.
    """
    scaled = _scaled(values)[..., None]
    wave = 0.12 * np.sin(np.pi * scaled) * np.array([1.0, -0.4, 0.6])
    colours = np.clip(_DARK + (_LIGHT - _DARK) * scaled + wave, 0.0, 1.0)
    height, width = colours.shape[:2]
    rows = np.zeros((height, 1 + 3 * width), np.uint8)
    rows[:, 1:] = np.rint(colours * 255).astype(np.uint8).reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = (b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b"")
    Path(path).write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*each) for each in chunks))
    print(f"wrote {path}")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _scaled(values: Any) -> np.ndarray:
    """The values from 0 to 1."""
    array = np.asarray(values, np.float64)
    low, high = array.min(), array.max()
    return (array - low) / (high - low) if high > low else np.zeros_like(array)


def text(values: Any, width: int = 64) -> str:
    """An array of two dimensions as text, of at most so many columns."""
    array = np.asarray(values)
    step = -(-array.shape[1] // width)
    shades = _scaled(array[:: 2 * step, ::step])
    return "\n".join("".join(" .:-=+*#%@"[int(each * 9.99)] for each in row) for row in shades)


def bars(heights: Any, labels: list[str], width: int = 48) -> str:
    """A bar of text for each number."""
    numbers = np.asarray(heights, np.float64)
    longest = max(float(numbers.max()), 1e-300)
    return "\n".join(
        f"{label:>9} {'#' * round(width * float(each) / longest)}"
        for label, each in zip(labels, numbers, strict=True)
    )
