"""Compression of blocks: a shuffle of the bytes of elements, then a codec of another package."""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from gridlane.core.extras import install

Bytes = bytes | bytearray | memoryview
Encode = Callable[[Bytes], bytes]

RAW, LZ4, ZSTD = 0, 1, 2
NUMBERS = {"raw": RAW, "lz4": LZ4, "zstd": ZSTD}
NAMES = {number: name for name, number in NUMBERS.items()}
_MODULES = {LZ4: "lz4.block", ZSTD: "zstandard"}
_LEVELS = {LZ4: (1, 12), ZSTD: (-7, 22)}
WORTH = 0.95
"""A block whose compressed bytes are more than this part of it is stored as it is."""

_thread = threading.local()


class CodecMissing(ImportError):
    """The package of a codec is not installed."""


def encoder(codec: str, level: int | None) -> Encode | None:
    """The compression by a codec; None for ``raw``.

    Args:
        codec: ``raw``, ``lz4`` or ``zstd``.
        level: of zstd -7 to 22, by default 3; of lz4 1 to 12, which are those of its slow form, by
            default the fast one.

    Raises:
        ValueError: no such codec or level.
        CodecMissing: its package is not installed.
    """
    number = NUMBERS.get(codec)
    if number is None:
        raise ValueError(f"codecs are {', '.join(NUMBERS)}, not {codec!r}")
    if number == RAW:
        if level is not None:
            raise ValueError("the codec raw has no levels")
        return None
    least, most = _LEVELS[number]
    if level is not None and not least <= level <= most:
        raise ValueError(f"levels of {codec} are {least} to {most}, not {level}")
    module = _module(number)
    if number == ZSTD:
        return lambda data: _compressor(module, 3 if level is None else level).compress(data)
    form = {} if level is None else {"mode": "high_compression", "compression": level}
    return lambda data: module.compress(data, store_size=False, **form)


def decode(codec: int, data: Bytes, length: int) -> Bytes:
    """Decompressed bytes.

    Raises:
        ValueError: they are not ``length`` bytes by this codec, or it is unknown.
        CodecMissing: its package is not installed.
    """
    if codec == RAW:
        return data
    if codec not in NAMES:
        raise ValueError(f"no codec has the number {codec}")
    module = _module(codec)
    # Each package has an exception class of its own for malformed bytes.
    try:
        if codec == LZ4:
            result = module.decompress(data, uncompressed_size=length)
        else:
            result = module.ZstdDecompressor().decompress(data, max_output_size=max(1, length))
    except Exception as error:
        raise ValueError(f"{NAMES[codec]} does not decompress: {error}") from error
    if len(result) != length:
        raise ValueError(f"{NAMES[codec]} decompresses to {len(result)} bytes, not {length}")
    return result


def shuffle(data: Bytes, itemsize: int) -> memoryview:
    """The first bytes of all elements, then the second ones, and so on; a part of an element at the
    end stays there.

    >>> bytes(shuffle(b"a1b2c3!", 2))
    b'abc123!'
    """
    flat = np.frombuffer(data, np.uint8)
    whole = len(flat) - len(flat) % itemsize
    result = np.empty_like(flat)
    result[:whole].reshape(itemsize, -1)[...] = flat[:whole].reshape(-1, itemsize).T
    result[whole:] = flat[whole:]
    return result.data


def unshuffle(data: Bytes, itemsize: int, into: memoryview) -> None:
    """Write what ``shuffle`` was called with.

    >>> into = bytearray(7)
    >>> unshuffle(b"abc123!", 2, memoryview(into))
    >>> bytes(into)
    b'a1b2c3!'
    """
    flat, result = np.frombuffer(data, np.uint8), np.frombuffer(into, np.uint8)
    whole = len(flat) - len(flat) % itemsize
    planes, elements = flat[:whole].reshape(itemsize, -1), result[:whole].reshape(-1, itemsize)
    for n, plane in enumerate(planes):  # two and a half times as fast as one transposed copy
        elements[:, n] = plane
    result[whole:] = flat[whole:]


def _module(codec: int) -> Any:
    try:
        return import_module(_MODULES[codec])
    except ImportError as error:
        package = _MODULES[codec].partition(".")[0]
        raise CodecMissing(
            f"the codec {NAMES[codec]} needs the package {package}: {install('tiers')}, or store "
            'with codec="raw"'
        ) from error


def _compressor(module: Any, level: int) -> Any:
    """A compressor of this thread: threads must not share one."""
    known = getattr(_thread, "compressors", None)
    if known is None:
        known = _thread.compressors = {}
    if level not in known:
        known[level] = module.ZstdCompressor(level=level)
    return known[level]
