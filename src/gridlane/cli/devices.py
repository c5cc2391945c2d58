"""``gridlane devices``: list the available devices."""

from __future__ import annotations

from collections.abc import Iterator

from rich.markup import escape

from gridlane.backends import names
from gridlane.cli.failure import check_settings
from gridlane.cli.tables import console, table
from gridlane.cli.wording import described, size
from gridlane.core.config import config
from gridlane.core.errors import DeviceError
from gridlane.launch.devices import device_count, get_device


def _each() -> Iterator[str]:
    """Every device of every kind; a kind without one is named once."""
    for kind in names():
        try:
            found = device_count(kind)
        except (ImportError, OSError, DeviceError):
            found = 1
        yield kind
        yield from (f"{kind}:{number}" for number in range(1, found))


def show() -> None:
    """Print a line for each device; the chosen one has a star."""
    check_settings()
    rows = table("", "device", "", "block, at most", "shared memory of a block", "warp")
    for name in _each():
        star = "*" if name == config().device else ""
        try:
            device = get_device(name)
        except (ImportError, OSError, DeviceError) as error:  # drivers raise it when unavailable
            rows.add_row(star, name, f"[red]not available:[/] {escape(str(error))}")
            continue
        limits = device.limits
        rows.add_row(
            *(star, name, escape(described(device.describe()))),
            f"{limits.max_threads} threads",
            f"{size(limits.max_shared)}, dynamic {size(limits.max_dynamic_shared)}",
            str(limits.warp_size),
        )
    out = console()
    out.print(rows)
    out.print("* the device in use; choose with GRIDLANE_DEVICE or gridlane run --device")
