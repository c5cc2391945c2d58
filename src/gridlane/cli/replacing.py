"""Put gridlane in the place of numba.cuda, for this process and its children."""

from __future__ import annotations

import os

from gridlane.cli.failure import check_settings


def choose(device: str | None) -> None:
    """Select the device that ``cuda`` means, by its name or ``auto``; None for the environment's.

    Children inherit it. A name that is no device ends the process with an error.
    """
    from gridlane.core.config import config

    if device == "auto":
        from gridlane.cli.choosing import best_device

        device = best_device()
    if device is not None:
        os.environ["GRIDLANE_DEVICE"] = device
    config.cache_clear()  # a plugin of pytest, or the choice, has read it
    check_settings()


def replace() -> None:
    """Make imports of numba, of Triton and of NVIDIA's bindings find gridlane."""
    from gridlane import cuda
    from gridlane.cuda.bindings_compat import install_as_bindings
    from gridlane.cuda.triton_compat import install_as_triton

    cuda.install_as_numba(children=True)
    install_as_bindings()
    install_as_triton(children=True)
