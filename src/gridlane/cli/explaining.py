"""``gridlane compile --explain``: which lines of kernels became float64, and why."""

from __future__ import annotations

from collections.abc import Iterator

from gridlane.cli.inputs import Input
from gridlane.cli.wording import counted
from gridlane.core.source import Loc, describe
from gridlane.frontends.python.kernel_source import PythonSource


def told(inputs: list[Input]) -> Iterator[str]:
    """What is told of each kernel in Python.

    Raises:
        CompileError: a kernel is outside the dialect or its types do not fit; located.
    """
    for each in inputs:
        yield "\n".join(_told(each))


def _told(input: Input) -> list[str]:
    from gridlane.frontends.python.explain import explain

    assert isinstance(input.source, PythonSource)
    title = input.title
    found = explain(input.source.function, input.types, input.options)
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
