"""Figures as words: times, sizes and rates with three digits and a unit."""

from __future__ import annotations

from gridlane.profiler.figures import KernelFigures

NOTHING = "-"
"""What is unknown, or does not exist on the device."""


def scaled(number: float, units: tuple[str, ...], step: float) -> str:
    """A number in the largest unit in which it is at least 1.

    >>> scaled(1536, ("B", "KB"), 1024), scaled(12, ("B", "KB"), 1024)
    ('1.50 KB', '12.0 B')
    """
    place = 0
    while abs(number) >= step * 0.9995 and place < len(units) - 1:
        number, place = number / step, place + 1
    digits = 2 if abs(number) < 9.995 else 1 if abs(number) < 99.95 else 0
    return f"{number:.{digits}f} {units[place]}"


def time(ns: float | None) -> str:
    """A duration.

    >>> time(1234.5), time(2.5e9), time(None)
    ('1.23 us', '2.50 s', '-')
    """
    return NOTHING if ns is None else scaled(ns, ("ns", "us", "ms", "s"), 1000)


def size(number: float | None) -> str:
    """Bytes.

    >>> size(4_000_000)
    '4.00 MB'
    """
    return NOTHING if number is None else scaled(number, ("B", "KB", "MB", "GB", "TB"), 1000)


def gigabytes(per_second: float | None) -> str:
    """A rate in GB/s."""
    return NOTHING if per_second is None else f"{per_second / 1e9:.3g}"


def gigaflops(per_second: float | None) -> str:
    """An estimated rate in GFLOP/s.

    >>> gigaflops(1.5e9), gigaflops(0.0)
    ('~1.5', '-')
    """
    return f"~{per_second / 1e9:.3g}" if per_second else NOTHING


def occupancy(kernel: KernelFigures) -> str:
    """The occupancy and its limit."""
    held = kernel.occupancy
    return NOTHING if held is None else f"{held.share:.0%} ({held.limit})"


def roofline(kernel: KernelFigures) -> str:
    """The share of the roofline and what limits it."""
    share = kernel.roofline
    return NOTHING if share is None else f"{share[0]:.0%} ({share[1]})"


def block(kernel: KernelFigures) -> str:
    """The block's shape, without axes of one thread at its end."""
    if not kernel.block[0]:  # a graph
        return NOTHING
    sizes = list(kernel.block)
    while len(sizes) > 1 and sizes[-1] == 1:
        sizes.pop()
    return "x".join(map(str, sizes))


def calls(kernel: KernelFigures) -> str:
    """The launches, and how many of them have no device time."""
    missing = kernel.calls - kernel.timed
    return f"{kernel.calls}" if not missing else f"{kernel.calls} ({missing} untimed)"
