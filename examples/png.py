"""Write an image as a PNG file, with the standard library alone."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np


def write_png(path: str | Path, image: np.ndarray) -> None:
    """Write `image`, uint8 of shape (height, width) for grey or (height, width, 3) for RGB.

    Format: PNG specification, third edition. Every row is stored unfiltered (filter type 0).
    """
    if image.dtype != np.uint8:
        raise TypeError(f"the image must be uint8, got {image.dtype}")
    if image.ndim == 2:
        colour_type = 0
    elif image.ndim == 3 and image.shape[2] == 3:
        colour_type = 2
    else:
        raise ValueError(f"the shape must be (h, w) or (h, w, 3), got {image.shape}")
    height, width = image.shape[:2]
    rows = np.zeros((height, 1 + width * (3 if colour_type else 1)), np.uint8)
    rows[:, 1:] = image.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, colour_type, 0, 0, 0)
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", header)
        + _chunk(b"IDAT", zlib.compress(rows.tobytes(), 6))
        + _chunk(b"IEND", b"")
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def to_bytes(image: np.ndarray) -> np.ndarray:
    """Map floats in 0..1 to uint8, clipping what lies outside."""
    return (np.clip(image, 0.0, 1.0) * 255.0 + 0.5).astype(np.uint8)
