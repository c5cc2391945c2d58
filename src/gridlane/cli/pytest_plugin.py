"""``pytest --gridlane``: tests of numba.cuda code on a machine without a GPU.

pytest imports this in every run of an environment that has gridlane, with the option or without;
so it imports nothing of gridlane's that is not needed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

import pytest

from gridlane.core.version import VERSION

_EVERYWHERE = ("cpu", "interp")
"""Devices that every machine has."""


class _AsInstalled:
    """Finds gridlane's own modules. pytest rewrites the assertions of every package with a plugin,
    and compiles all its modules for that."""

    @staticmethod
    def find_spec(
        fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module of gridlane's, None of others."""
        if not fullname.startswith("gridlane."):
            return None
        return PathFinder.find_spec(fullname, path, target)


sys.meta_path.insert(0, _AsInstalled)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options, and what a configuration file may set."""
    group = parser.getgroup("gridlane", "CUDA kernels without a GPU")
    group.addoption(
        "--gridlane",
        action="store_true",
        default=None,
        help="imports of numba.cuda find gridlane; ini: gridlane = true",
    )
    group.addoption(
        "--gridlane-device",
        metavar="DEVICE",
        default=None,
        help="--gridlane on a device: cpu (default), interp, vulkan ..., or auto for the best; "
        "ini: gridlane_device = DEVICE",
    )
    parser.addini("gridlane", "imports of numba.cuda find gridlane", type="bool", default=False)
    parser.addini("gridlane_device", "the device of --gridlane", default="")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Replace numba.cuda before a conftest imports it."""
    if not _wanted(early_config):
        return
    from gridlane.cli import replacing

    replacing.choose(_device(early_config))
    replacing.replace()


def pytest_configure(config: pytest.Config) -> None:
    """Fail where the device does not run kernels: tests would be skipped for the lack of CUDA."""
    if not _wanted(config) or hasattr(config, "workerinput"):  # a worker's controller has looked
        return
    from gridlane.core.config import config as settings

    device = settings().device
    if device in _EVERYWHERE:
        return
    from gridlane.cli.doctor import climb

    last = climb(device)[-1]
    if not last.ok:
        raise pytest.UsageError(f"--gridlane: device {device} is not {last.name}: {last.detail}")


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Name the device."""
    if not _wanted(config):
        return []
    from gridlane.core.config import config as settings

    return [f"gridlane: {VERSION}, numba.cuda on the device {settings().device}"]


def _wanted(config: pytest.Config) -> bool:
    options = config.known_args_namespace
    if options.gridlane or options.gridlane_device:
        return True
    return bool(config.getini("gridlane"))


def _device(config: pytest.Config) -> str | None:
    return config.known_args_namespace.gridlane_device or config.getini("gridlane_device") or None
