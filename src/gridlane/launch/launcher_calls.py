"""Calls of a function of launches that are like calls before: a look-up in C (``_calls.h``).

``Calls`` is called with the arguments of a call, and returns whether it has made it. It keeps up to
8 calls, the latest first, and each is one of the thread's device then. An argument is what it was:

    NUMPY       an array of NumPy's: its address, shape, strides, dtype, and whether it is aligned
                and writeable
    DEVICE      an array of a device, by its ``__gridlane_launch__``
    TENSOR      a tensor like torch's in the host's memory: its address, shape, strides and dtype;
                it has no gradients and nothing that is computed at its use
    GPU_TENSOR  one on a GPU; the GPU as well
    INTEGER     an int of 64 bits, by its value
    REAL        a float, by its bits

``keep(args, kinds, work, rest, streams, is_direct)`` keeps a call; it returns False if an argument
is none of its kind. ``work`` makes the call and returns whether it has; or it is a tuple of
launches that are ready (``launcher``), in whose place ``rest(number, args)`` makes those behind the
first ones where one of them is not ready any more. ``streams`` returns the stream that the call is
in order of, 0 for the default one, or is None. Launches are on another stream only if ``is_direct``
is true; else the call is not made.
"""

from __future__ import annotations

from typing import Any

from gridlane.launch import launcher

NUMPY, DEVICE, TENSOR, GPU_TENSOR, INTEGER, REAL = range(6)


class PythonCalls:
    """Where there is no native launcher: every call is looked up by Python."""

    def __init__(self, of_numpy: type, of_device: type) -> None:
        pass

    def __call__(self, *args: Any) -> bool:
        return False

    def keep(self, *call: Any) -> bool:
        """Keep nothing."""
        return False

    def forget(self) -> None:
        """Drop nothing."""


def _chosen() -> Any:
    if launcher.Launcher is launcher.PythonLauncher:
        return PythonCalls
    from gridlane.launch import _native

    return _native.Calls


Calls: Any = _chosen()
