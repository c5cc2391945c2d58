"""What a user says of the kernels of a nest, which each device honours or refuses by name."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

from gridlane.compute.hints import Hints
from gridlane.core.errors import ArgumentError, UnsupportedError
from gridlane.core.frozen import frozen
from gridlane.core.source import Loc
from gridlane.runtime.protocol import Device

_ASYNC = (8, 0)
"""The first compute capability with asynchronous copies."""


@frozen
class Metadata:
    """Limits of launches.

    Attributes:
        workgroup: threads of a block along x, y and z; None for the schedule's.
        launch_bounds: the largest number of threads of a block, and the blocks that a
            multiprocessor should hold; may be empty.
        max_registers: of a thread, on an NVIDIA GPU.
        shared_bytes: of each block of the launches, beside what kernels need.
    """

    workgroup: tuple[int, ...] | None = None
    launch_bounds: tuple[int, ...] = ()
    max_registers: int | None = None
    shared_bytes: int = 0

    @property
    def options(self) -> dict[str, Any]:
        """The options of ``cuda.jit``."""
        found: dict[str, Any] = {}
        if self.launch_bounds:
            found["launch_bounds"] = self.launch_bounds
        if self.max_registers is not None:
            found["max_registers"] = self.max_registers
        return found


def metadata_of(
    workgroup: tuple[int, ...] | None,
    launch_bounds: int | tuple[int, ...] | None,
    max_registers: int | None,
    shared_bytes: int,
) -> Metadata:
    """Metadata whose numbers fit each other.

    Raises:
        ArgumentError: they do not.
    """
    if workgroup is not None and not _is_block(workgroup):
        raise ArgumentError(f"a workgroup has one to three extents of at least 1: {workgroup!r}")
    bounds = (launch_bounds,) if isinstance(launch_bounds, int) else tuple(launch_bounds or ())
    if len(bounds) > 2 or any(type(each) is not int or each < 1 for each in bounds):
        raise ArgumentError(
            f"launch_bounds={launch_bounds!r}; they are the threads of a block, and the blocks of "
            "a multiprocessor"
        )
    made = Metadata(workgroup, bounds, max_registers, shared_bytes)
    if bounds and workgroup is not None and _threads(made) > bounds[0]:
        raise ArgumentError(
            f"the workgroup {workgroup} has {_threads(made)} threads, and launch_bounds {bounds[0]}"
        )
    if max_registers is not None and not (type(max_registers) is int and max_registers >= 16):
        raise ArgumentError(f"max_registers={max_registers!r}; it must be at least 16")
    if type(shared_bytes) is not int or shared_bytes < 0:
        raise ArgumentError(f"shared_bytes={shared_bytes!r}; it must be 0 or more")
    return made


def _is_block(given: Any) -> bool:
    is_one = isinstance(given, tuple | list) and 1 <= len(given) <= 3
    return is_one and all(isinstance(each, Integral) and int(each) >= 1 for each in given)


def _threads(metadata: Metadata) -> int:
    count = 1
    for each in metadata.workgroup or ():
        count *= each
    return count


def check_device(
    metadata: Metadata, hints: Hints, device: Device, loc: Loc, by_library: bool
) -> None:
    """Require that a device can do what is asked.

    Args:
        loc: of the function.
        by_library: the tile library computes the nest.

    Raises:
        UnsupportedError: it cannot.
    """
    for is_asked, check in _CHECKS:
        if is_asked(metadata, hints):
            why = check(metadata, device, by_library)
            if why:
                raise UnsupportedError(f"{device.name}: {why}", loc)


def _no_registers(metadata: Metadata, device: Device, by_library: bool) -> str:
    if device.target((1, 1, 1)).name == "cuda":
        return ""
    return f"max_registers={metadata.max_registers}: registers are limited on NVIDIA GPUs alone"


def _no_async_copy(metadata: Metadata, device: Device, by_library: bool) -> str:
    if not by_library:
        return "async_copy=True: these loops load from memory as they need it; products of the " \
            "tile library copy ahead"  # fmt: skip
    is_new = device.compute_capability >= _ASYNC
    if device.target((1, 1, 1)).name == "cuda" and is_new:
        return ""
    return "async_copy=True: NVIDIA GPUs of compute capability 8.0 have asynchronous copies"


def _too_large(metadata: Metadata, device: Device, by_library: bool) -> str:
    limits, block = device.limits, metadata.workgroup or ()
    for axis, size, most in zip("xyz", block, limits.max_block, strict=False):
        if size > most:
            return f"workgroup={block}: {size} threads along {axis}, and the most is {most}"
    if _threads(metadata) > limits.max_threads:
        return f"workgroup={block}: {_threads(metadata)} threads, at most {limits.max_threads}"
    return ""


def _too_much(metadata: Metadata, device: Device, by_library: bool) -> str:
    most = device.limits.max_dynamic_shared
    if metadata.shared_bytes <= most:
        return ""
    return f"shared_bytes={metadata.shared_bytes}: a block has {most} at most"


def _too_bound(metadata: Metadata, device: Device, by_library: bool) -> str:
    most = device.limits.max_threads
    if metadata.launch_bounds[0] <= most:
        return ""
    return f"launch_bounds={metadata.launch_bounds}: a block has {most} threads at most"


_CHECKS: tuple[
    tuple[Callable[[Metadata, Hints], bool], Callable[[Metadata, Device, bool], str]], ...
] = (
    (lambda metadata, hints: metadata.workgroup is not None, _too_large),
    (lambda metadata, hints: bool(metadata.launch_bounds), _too_bound),
    (lambda metadata, hints: metadata.max_registers is not None, _no_registers),
    (lambda metadata, hints: metadata.shared_bytes > 0, _too_much),
    (lambda metadata, hints: hints.async_copy, _no_async_copy),
)
