"""``gridlane compile --explain``: which lines of kernels became float64, and why."""

from __future__ import annotations

from collections.abc import Iterator

from gridlane.cli.kernels_of_file import FileKernels
from gridlane.cli.wording import counted
from gridlane.core.argtypes import ArgType
from gridlane.core.source import Loc, describe
from gridlane.cuda.kernels.dispatcher import Dispatcher


def told(found: FileKernels, given: tuple[ArgType, ...] | None) -> Iterator[str]:
    """What is told of each kernel for the given types, or for each of its own.

    Raises:
        CompileError: a kernel is outside the dialect or its types do not fit; located.
    """
    for name, kernel in found.chosen.items():
        for types in found.types_of(name) if given is None else [given]:
            title = f"{name}({', '.join(map(str, types))})"
            yield "\n".join(_told(title, kernel, types))


def _told(title: str, kernel: Dispatcher, types: tuple[ArgType, ...]) -> list[str]:
    from gridlane.frontends.python.explain import explain

    found = explain(kernel.py_func, types, kernel.options)
    if not found.causes and not found.others:
        return [f"{title}: nothing became float64"]
    lines = [f"{title}: {counted(len(found.causes), 'cause')} of float64"]
    for cause in found.causes:
        lines += [describe(cause.place), f"    {cause.reason}; {cause.instead}"]
    if found.others:
        lines.append(_others(found.others))
    return lines


def _others(places: tuple[Loc, ...]) -> str:
    """The lines that follow, by the functions that they are in."""
    by_function: dict[tuple[str, str], list[int]] = {}
    for place in places:
        by_function.setdefault((place.file, place.function), []).append(place.line)
    shown = [
        f"{'line' if len(lines) == 1 else 'lines'} {_joined(lines)} of {function}"
        for (_, function), lines in by_function.items()
    ]
    return f"  so these compute in float64, too: {'; '.join(shown)}"


def _joined(lines: list[int]) -> str:
    *first, last = map(str, lines)
    return f"{', '.join(first)} and {last}" if first else last
