"""``gridlane devices``: list the available devices."""

from __future__ import annotations

from collections.abc import Iterator

from rich.markup import escape

from gridlane.backends import names
from gridlane.cli.failure import check_settings
from gridlane.cli.tables import console, table
from gridlane.cli.wording import described, plain, size
from gridlane.core.config import config
from gridlane.core.errors import DeviceError
from gridlane.launch.devices import device_count, get_device

_UNAVAILABLE = ImportError, OSError, DeviceError
"""What drivers raise where they cannot work."""


def _each() -> Iterator[str]:
    """Every device of every kind; a kind without one is named once."""
    for kind in names():
        try:
            count = device_count(kind)
        except _UNAVAILABLE:
            count = 1
        yield kind
        yield from (f"{kind}:{number}" for number in range(1, count))


def show(limits: bool = False) -> None:
    """Print a line for each device, or a table of their limits; the chosen one has a star."""
    check_settings()
    out = console()
    if limits:
        out.print(_limits())
    else:
        width = max(map(len, names())) + 2
        for name in _each():
            try:
                description = escape(described(get_device(name).describe()))
            except _UNAVAILABLE as error:
                description = f"[red]no:[/] {escape(plain(error) + _installation(error))}"
            out.print(f"{_star(name)} {name:{width}} {description}", soft_wrap=True)
    out.print("* the device in use; choose with GRIDLANE_DEVICE or gridlane run --device")
    if not limits:
        out.print("gridlane doctor tries each, and says what to do; --limits lists their limits")


def _installation(error: Exception) -> str:
    """The command that installs what is missing, if the error has one."""
    advice = error.advice if isinstance(error, DeviceError) else ""
    return f": {advice.partition(' (')[0]}" if advice.startswith("pip install") else ""


def _star(name: str) -> str:
    return "*" if name == config().device else " "


def _limits() -> object:
    rows = table("", "device", "block, at most", "shared memory of a block", "warp")
    for name in _each():
        try:
            limits = get_device(name).limits
        except _UNAVAILABLE:
            continue
        rows.add_row(
            _star(name),
            name,
            f"{limits.max_threads} threads",
            f"{size(limits.max_shared)}, dynamic {size(limits.max_dynamic_shared)}",
            str(limits.warp_size),
        )
    return rows
