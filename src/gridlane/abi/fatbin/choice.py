"""The image of a fatbin for a device."""

from __future__ import annotations

from collections.abc import Sequence

from gridlane.abi.failure import NO_BINARY_FOR_GPU, fail
from gridlane.abi.fatbin.container import Image

ADVICE = "compile with -gencode arch=compute_80,code=compute_80, so that it holds PTX"


def best(images: Sequence[Image], capability: tuple[int, int], any_newer: bool) -> Image:
    """The PTX for a device: of the newest architecture that is not newer than the device.

    Args:
        capability: the device's compute capability.
        any_newer: whether PTX for a newer one is taken too, where there is no other.

    Raises:
        Failure: NO_BINARY_FOR_GPU, there is none; the message names what there is.
    """
    ptx_images = [each for each in images if each.is_ptx]
    fitting = [each for each in ptx_images if _fits(each, capability)]
    if fitting:
        return max(fitting, key=lambda each: (each.arch, each.suffix))
    if ptx_images and any_newer:
        return min(ptx_images, key=lambda each: (each.arch, each.suffix))
    inside = ", ".join(dict.fromkeys(map(str, images))) or "no image"
    fail(
        NO_BINARY_FOR_GPU,
        f"the fatbin has {inside}, and the device takes PTX for compute capability "
        f"{capability[0]}.{capability[1]} or lower: {ADVICE}",
    )


def _fits(image: Image, capability: tuple[int, int]) -> bool:
    """Whether a device of a compute capability runs PTX."""
    own = 10 * capability[0] + capability[1]
    if image.suffix == "a":
        return image.arch == own
    if image.suffix == "f":
        return image.arch // 10 == capability[0] and image.arch <= own
    return image.arch <= own
