"""Images of code, as programs pass them: PTX, fatbins, pointers to fatbins, and cubins.

An image at an address contains its length: PTX ends with NUL, the others have headers. No more is
read than the memory has, whatever the header's length is.
"""

from __future__ import annotations

import struct

from gridlane.abi import cubins, fatbin, raw
from gridlane.abi.failure import (
    INVALID_IMAGE,
    INVALID_VALUE,
    NO_BINARY_FOR_GPU,
    Failure,
    fail,
)
from gridlane.abi.fatbin.choice import ADVICE
from gridlane.frontends.ptx import PtxModule, parse_ptx
from gridlane.frontends.ptx.linking import link
from gridlane.modules.native import compiles_ptx
from gridlane.runtime.protocol import Device

_FATBIN = b"\x50\xed\x55\xba"
_WRAPPER = b"\xb1\x43\x62\x46"
_MOST_PARTS = 4096

Units = tuple[bytes, ...]
"""The images of one module; several are linked."""


def at(address: int) -> Units:
    """The images at an address.

    Raises:
        Failure: INVALID_VALUE, there is no address; INVALID_IMAGE, what is there is no image.
    """
    if not address:
        fail(INVALID_VALUE, "no image")
    start = raw.copied(address, 4)
    if start == _WRAPPER:
        return _wrapped(address)
    if start == _FATBIN:
        return (_region(address),)
    if start == cubins.MAGIC:
        return (raw.copied(address, cubins.size(raw.copied(address, cubins.HEAD))),)
    return (raw.text(address),)


def _region(address: int) -> bytes:
    size = fatbin.region_size(raw.copied(address, fatbin.HEAD))
    return raw.copied(address, size)


def _wrapped(address: int) -> Units:
    """What a ``__fatBinC_Wrapper_t`` points to: a fatbin, and the parts that were not linked."""
    version, data, others = struct.unpack_from("<4xIQQ", raw.copied(address, 24))
    if version not in (1, 2):
        fail(INVALID_IMAGE, f"a fatbin's wrapper of version {version}; known are 1 and 2")
    regions = [_region(data)] if data else []
    while version == 2 and others:
        part = int.from_bytes(raw.copied(others, 8), "little")
        if not part:
            break
        regions.append(_region(part))
        others += 8
        if len(regions) > _MOST_PARTS:
            fail(INVALID_IMAGE, f"a fatbin's wrapper with more than {_MOST_PARTS} parts")
    return tuple(regions)


def module(units: Units, device: Device, name: str = "") -> PtxModule:
    """The PTX of images for a device.

    Args:
        name: of the file, for errors.

    Raises:
        Failure: NO_BINARY_FOR_GPU, there is machine code only; INVALID_IMAGE.
        PtxError: the PTX is malformed, or its parts do not go together; located.
    """
    newer = not compiles_ptx(device)
    if len(units) == 1:
        return link([parse_ptx(_text(units[0], device, newer), name)]).module
    # NVIDIA's linker has made machine code of the first; its library for kernels that launch
    # kernels comes last, as PTX that is for few devices.
    ptx_texts = _parts(units, device, False) or (_parts(units, device, True) if newer else [])
    if not ptx_texts:
        fail(NO_BINARY_FOR_GPU, f"no part of the fatbin has PTX for the device: {ADVICE}")
    return link([parse_ptx(each, name) for each in ptx_texts]).module


def _parts(units: Units, device: Device, newer: bool) -> list[str]:
    """The PTX of those units that have some for a device."""
    results: list[str] = []
    for each in units:
        try:
            results.append(_text(each, device, newer))
        except Failure as failure:
            if failure.number != NO_BINARY_FOR_GPU:
                raise
    return results


def _text(image: bytes, device: Device, newer: bool) -> str:
    """The PTX of an image."""
    if image.startswith(cubins.MAGIC):
        if (ptx := cubins.text(image)) is not None:
            return ptx.decode()
        fail(
            NO_BINARY_FOR_GPU,
            f"the image is machine code of one NVIDIA GPU (a cubin): {ADVICE}",
        )
    if image.startswith(_FATBIN):
        image_for_device = fatbin.best(fatbin.images(image), device.compute_capability, newer)
        return fatbin.ptx(image_for_device)
    try:
        return image.rstrip(b"\0").decode()
    except UnicodeDecodeError as error:
        fail(INVALID_IMAGE, f"the image is no text: {error}")
