"""Tensor maps as the driver encodes them."""

from __future__ import annotations

from collections.abc import Sequence

from gridlane.core.device_errors import NEWER_DRIVER, device_error, fail
from gridlane.core.tensor_map import TensorMap
from gridlane.runtime.drivers.cuda.api import address_of
from gridlane.runtime.tensor_maps import PROMOTION, encode_at

NAME = "cuTensorMapEncodeTiled"


def encode(of: TensorMap) -> bytes:
    """The bytes of a map for a launch.

    Raises:
        DeviceError: the driver refuses it, or lacks the function.
    """
    memory = of.address, of.extents, of.strides
    return encode_tiled(of.element, *memory, of.box, of.steps, 0, of.swizzle, PROMOTION, of.nan)


def encode_tiled(
    kind: int,
    address: int,
    extents: Sequence[int],
    strides: Sequence[int],
    box: Sequence[int],
    steps: Sequence[int],
    *enumerations: int,
) -> bytes:
    """What ``cuTensorMapEncodeTiled`` writes; the last numbers are interleave, swizzle, promotion
    and fill.

    Raises:
        DeviceError: the driver refuses it, or lacks the function.
    """
    function = address_of(NAME)
    if not function:
        fail(NEWER_DRIVER, f"{NAME}: this driver has none")
    numbers = [int(each) for each in enumerations]
    code, data = encode_at(function, int(kind), address, extents, strides, box, steps, *numbers)
    if code:
        raise device_error(code, f"{NAME}: a tensor of {tuple(extents)} at {address:#x}")
    return data
