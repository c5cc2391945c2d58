"""``numba.cuda.cudadrv.nvrtc``: NVRTC, and the architectures that it compiles for."""

from __future__ import annotations

from typing import Any

from gridlane.cuda import nvrtc
from gridlane.cuda.host import settings

Capability = tuple[int, int]


def get_supported_ccs() -> list[Capability]:
    """The compute capabilities that code is made for, in rising order."""
    return sorted(divmod(arch, 10) for arch in nvrtc.nvrtcGetSupportedArchs()[1])


def get_lowest_supported_cc() -> Capability:
    """The lowest of them."""
    return get_supported_ccs()[0]


def find_closest_arch(capability: Capability) -> Capability:
    """The highest one that a device of a compute capability runs.

    Raises:
        ValueError: it runs none.
    """
    fitting = [each for each in get_supported_ccs() if each <= tuple(capability)]
    if not fitting:
        needed = "{}.{}".format(*get_lowest_supported_cc())
        raise ValueError(
            "GPU compute capability {}.{} is not supported".format(*capability)
            + f" (requires >={needed})"
        )
    return fitting[-1]


def get_arch_option(major: int, minor: int, arch: str = "") -> str:
    """The name of the closest architecture, ``"compute_80"``, or of ``config.FORCE_CUDA_CC``.

    Raises:
        ValueError: the suffix ``arch`` is given, which no other architecture has.
    """
    if settings.FORCE_CUDA_CC:
        major, minor, *suffix = settings.FORCE_CUDA_CC
        return f"compute_{major}{minor}{''.join(suffix)}"
    closest = find_closest_arch((major, minor))
    if arch and closest != (major, minor):
        raise ValueError(
            f"Can't use arch-specific compute_{major}{minor}{arch} with closest found compute "
            f"capability compute_{closest[0]}{closest[1]}"
        )
    return f"compute_{closest[0]}{closest[1]}{arch}"


def __getattr__(name: str) -> Any:
    return getattr(nvrtc, name)


def __dir__() -> list[str]:
    return sorted({*dir(nvrtc), *globals()})
