"""``triton.language.target_info``: the GPU that a program is compiled for.

A program is translated once, for all devices, so none is known: programs take the branch that they
have for no driver.
"""

from __future__ import annotations

from gridlane.frontends.triton.functions import constexpr_function

__all__ = [
    "cuda_capability_geq", "current_target", "is_cuda", "is_hip", "is_hip_cdna3", "is_hip_cdna4",
    "is_hip_gfx1250",
]  # fmt: skip


@constexpr_function
def current_target() -> None:
    """None, as without an active driver."""
    return None


@constexpr_function
def is_cuda() -> bool:
    """False: what a program has for all devices is right on NVIDIA's GPUs too."""
    return False


@constexpr_function
def cuda_capability_geq(major: int, minor: int = 0) -> bool:
    """False, as for every other device."""
    return False


@constexpr_function
def is_hip() -> bool:
    """False."""
    return False


is_hip_cdna3 = is_hip_cdna4 = is_hip_gfx1250 = is_hip
