"""CUDA kernels on any device: numba.cuda programs run on the CPU's vector units.

PYTEST_DONT_REWRITE: `gridlane run -m pytest` imports this first, and pytest would warn of that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gridlane.core.endings import begin
from gridlane.core.version import VERSION

if TYPE_CHECKING:
    from gridlane.launch.current import Using as device  # noqa: N813  # it reads as a verb

__all__ = ["device"]
__version__ = VERSION

begin()  # before a program registers its exit handlers


def load_ipython_extension(shell: Any) -> None:  # IPython passes its shell
    """Make ``from numba import cuda`` find gridlane, for ``%load_ext gridlane`` of a notebook."""
    __getattr__("cuda").install_as_numba(children=True)


def __getattr__(name: str) -> Any:
    if name == "cuda":
        from importlib import import_module

        return import_module("gridlane.cuda")
    if name == "device":
        from gridlane.launch.current import Using

        return Using
    raise AttributeError(f"module 'gridlane' has no attribute {name!r}")
