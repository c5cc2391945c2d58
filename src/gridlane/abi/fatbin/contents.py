"""The content of an image, unpacked."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from gridlane.abi.failure import INVALID_IMAGE, NOT_SUPPORTED, fail
from gridlane.abi.fatbin.container import Image
from gridlane.core.extras import install

_LARGEST = 1 << 28
"""The most bytes of PTX that are unpacked."""

_LZ4_MOST = 255
"""A byte of LZ4 stands for so many bytes at the most, beside the first few."""


def ptx(image: Image) -> str:
    """The text of an image of PTX.

    Raises:
        Failure: INVALID_IMAGE, it is malformed, or claims to be larger than any PTX;
            NOT_SUPPORTED, what unpacks it is not installed.
    """
    data = _unpacked(image)
    try:
        return data.rstrip(b"\0").decode()
    except UnicodeDecodeError as error:
        fail(INVALID_IMAGE, f"the PTX for {image} is no text: {error}")


def _unpacked(image: Image) -> bytes:
    if not image.packing:
        return image.content
    if image.size > _LARGEST:
        fail(
            INVALID_IMAGE,
            f"the image for {image} claims {image.size} bytes of PTX; {_LARGEST} are the most",
        )
    result = _zstd(image) if image.packing == "zstd" else _lz4(image)
    if len(result) != image.size:
        fail(INVALID_IMAGE, f"the image for {image} has {len(result)} bytes, not {image.size}")
    return result


def _zstd(image: Image) -> bytes:
    module = _unpacker("zstandard")
    # A frame says how large it is, and the library allocates as much.
    try:
        stated_size = module.frame_content_size(image.content)
        if stated_size not in (-1, image.size):
            fail(INVALID_IMAGE, f"the image for {image} has {stated_size} bytes, not {image.size}")
        unpack = module.ZstdDecompressor()
        return unpack.decompress(image.content, max_output_size=max(1, image.size))
    except module.ZstdError as error:
        fail(INVALID_IMAGE, f"the image for {image} is not unpacked by zstd: {error}")


def _lz4(image: Image) -> bytes:
    if image.size > _LZ4_MOST * len(image.content) + 64:
        fail(
            INVALID_IMAGE,
            f"{len(image.content)} bytes of LZ4 do not become {image.size}, as {image} claims",
        )
    block = _unpacker("lz4.block")
    try:
        return block.decompress(image.content, uncompressed_size=image.size)
    except (block.LZ4BlockError, ValueError) as error:
        fail(INVALID_IMAGE, f"the image for {image} is not unpacked by LZ4: {error}")


def _unpacker(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        fail(
            NOT_SUPPORTED,
            f"the fatbin is compressed, and {package} is not installed: {install('fatbin')}, or "
            "compile with nvcc --compress-mode=none",
        )
