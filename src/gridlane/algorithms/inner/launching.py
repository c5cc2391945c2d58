"""Launches of the kernels: blocks, and the options that all of them have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridlane.cuda.kernels.decorators import jit
from gridlane.cuda.kernels.dispatcher import Dispatcher

SHARED_BYTES = 8192
"""Shared memory of one array of items: devices have 16 KiB of it at least."""
MOST_BLOCKS = 256
"""Blocks of a kernel whose results one block combines. No device's number enters, so that every
device computes the same tree."""


def kernel(function: Callable[..., Any], **options: Any) -> Dispatcher:
    """Compile a kernel: float64 is binary64 on devices without it too.

    Args:
        options: more of ``cuda.jit``.
    """
    return jit(function, fp64="exact", **options)


def threads_for(size: int, most: int = 256) -> int:
    """Threads of a block that keeps an item of ``size`` bytes for each in shared memory."""
    threads = most
    while threads > 1 and threads * size > SHARED_BYTES:
        threads //= 2
    return threads


def blocks_for(count: int, threads: int, most: int = MOST_BLOCKS) -> int:
    """Blocks for ``count`` items, at least one."""
    return max(1, min(most, -(-count // threads)))
