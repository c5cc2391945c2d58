"""The formats of texels, as the driver and the runtime name them."""

from __future__ import annotations

from gridlane.abi.failure import INVALID_VALUE, NOT_SUPPORTED, fail
from gridlane.abi.struct import Struct
from gridlane.core.cuda_table import enums
from gridlane.core.errors import ArgumentError
from gridlane.core.texture_record import ChannelKind
from gridlane.textures.formats import ChannelFormatDescriptor

_U, _S, _F = ChannelKind.UNSIGNED, ChannelKind.SIGNED, ChannelKind.FLOAT
_DRIVERS = {
    f"CU_AD_FORMAT_{name}": form
    for name, form in (
        *((f"UNSIGNED_INT{bits}", (_U, bits)) for bits in (8, 16, 32)),
        *((f"SIGNED_INT{bits}", (_S, bits)) for bits in (8, 16, 32)),
        ("HALF", (_F, 16)),
        ("FLOAT", (_F, 32)),
    )
}
_NUMBERS = enums()["CUarray_format"].values
_FORMS = {_NUMBERS[name]: form for name, form in _DRIVERS.items()}
_VIEWS = (
    *((kind, bits) for bits in (8, 16, 32) for kind in (_U, _S)),
    (_F, 16),
    (_F, 32),
)
_FIRST_BLOCKS = enums()["CUresourceViewFormat"].values["CU_RES_VIEW_FORMAT_UNSIGNED_BC1"]


def _form(kind: ChannelKind, bits: int, channels: int) -> ChannelFormatDescriptor:
    given = [bits] * channels + [0] * (4 - channels)
    return ChannelFormatDescriptor(*given, f=kind)


def of_driver(number: int, channels: int) -> ChannelFormatDescriptor:
    """Texels by a number of CUarray_format.

    Raises:
        Failure: NOT_SUPPORTED for packed and compressed formats; INVALID_VALUE.
    """
    if number not in _FORMS:
        for name, each in _NUMBERS.items():
            if each == number:
                fail(NOT_SUPPORTED, f"texels of the format {name}")
        fail(INVALID_VALUE, f"no format has the number {number}")
    if channels not in (1, 2, 4):
        fail(INVALID_VALUE, f"texels of {channels} channels; they have 1, 2 or 4")
    return _form(*_FORMS[number], channels)


def to_driver(form: ChannelFormatDescriptor) -> int:
    """The number of CUarray_format."""
    return next(n for n, each in _FORMS.items() if each == (form.kind, form.bits))


def of_runtime(desc: Struct | None) -> ChannelFormatDescriptor:
    """Texels by a structure of the runtime.

    Raises:
        Failure: NOT_SUPPORTED for packed and compressed formats; INVALID_VALUE.
    """
    if desc is None:
        fail(INVALID_VALUE, "no description of the texels")
    names = enums()["cudaChannelFormatKind"].values
    if desc.f not in tuple(ChannelKind):
        for name, each in names.items():
            if each == desc.f and not name.endswith("None"):
                fail(NOT_SUPPORTED, f"texels of the kind {name}")
    try:
        return ChannelFormatDescriptor(desc.x, desc.y, desc.z, desc.w, desc.f)
    except ArgumentError as error:
        fail(_BAD_CHANNELS, str(error))


_BAD_CHANNELS = 20
"""cudaErrorInvalidChannelDescriptor."""


def to_runtime(form: ChannelFormatDescriptor) -> Struct:
    """The structure of the runtime."""
    struct = Struct("cudaChannelFormatDesc")
    for name, value in form.get_channel_format().items():
        setattr(struct, name, value)
    return struct


def of_view(number: int, own: ChannelFormatDescriptor) -> ChannelFormatDescriptor:
    """Texels as a view of a resource reads them, by a number of CUresourceViewFormat.

    Args:
        own: of the resource.

    Raises:
        Failure: NOT_SUPPORTED, compressed ones, or ones of another size; INVALID_VALUE.
    """
    if not number:
        return own
    if number >= _FIRST_BLOCKS:
        fail(NOT_SUPPORTED, "textures of compressed blocks")
    place, channel = divmod(number - 1, 3)
    if not 0 <= place < len(_VIEWS):
        fail(INVALID_VALUE, f"no format of views has the number {number}")
    result = _form(*_VIEWS[place], 1 << channel)
    if result.size != own.size:
        fail(NOT_SUPPORTED, f"a view with texels of {result.size} bytes, of an array of {own.size}")
    return result
