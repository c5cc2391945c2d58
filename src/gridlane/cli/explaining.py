"""``gridlane explain``: what the compiler makes of each line of a kernel, and what to write instead
of what is slow; ``gridlane compile --explain``: which lines became float64, and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gridlane.backends import backend
from gridlane.cli.failure import fail
from gridlane.cli.inputs import USUAL_BLOCK, Input, Place, block_shape, of_python
from gridlane.cli.replacing import choose
from gridlane.cli.wording import counted
from gridlane.core.compact import Variant
from gridlane.core.config import config
from gridlane.core.decisions import Decision
from gridlane.core.errors import CompileError, GridlaneError
from gridlane.core.frozen import frozen
from gridlane.core.options import Target
from gridlane.core.source import Loc, describe
from gridlane.frontends.python.kernel_source import PythonSource

if TYPE_CHECKING:
    from gridlane.frontends.python.explain import Explanation


@frozen
class Request:
    """The command line; None: the option was not given."""

    place: str
    signature: str | None = None
    block: str | None = None
    device: str | None = None


def explain(request: Request) -> None:
    """Print a part for each kernel and its types; report errors in words."""
    choose(request.device)
    place = Place.of(request.place, None)
    if place.suffix != ".py":
        fail(f"explain: {place.file} is no Python file; its lines are not the compiler's input")
    block = block_shape(str(USUAL_BLOCK) if request.block is None else request.block, "explain")
    target = _target(block)
    try:
        print(
            "\n\n".join(
                _told(each, target) for each in of_python(place, request.signature, "explain")
            )
        )
    except CompileError as error:
        fail(error, 1)
    except GridlaneError as error:
        fail(f"explain: {place.file}: {error}", 1)


def _target(block: tuple[int, int, int]) -> Target:
    """The device in use, which need not be here; the CPU for the interpreter, which compiles
    nothing."""
    from gridlane.compiler.generation import generator

    kind = config().device.partition(":")[0]
    record = backend(backend(kind).reads_as or kind)
    processor = generator(record).DEFAULT if record.named_processors else ""
    variant = Variant(compact=True, coarse=True)
    return Target(record.name, block=block, processor=processor, variant=variant)


def _told(input: Input, target: Target) -> str:
    from gridlane import compiler
    from gridlane.compiler.advice import explanation
    from gridlane.cuda.kernels.explaining import told

    module = compiler.translate(input.source, input.types, input.options)
    decisions = [*explanation(module, target, input.options), *_doubles(input)]
    files = {each.loc.file for each in module.functions.values() if not each.is_library}
    assert target.block is not None
    x, y, z = target.block
    return told(f"{input.title} on {target.name}, blocks of {x}x{y}x{z}:", decisions, files)


def _doubles(input: Input) -> Iterator[Decision]:
    """What became float64, and why."""
    for cause in _float64(input).causes:
        yield Decision(cause.place, "float64", f"{cause.reason}; {cause.instead}")


# --- compile --explain ---


def of_float64(inputs: list[Input]) -> Iterator[str]:
    """Which lines of each kernel in Python became float64, and why.

    Raises:
        CompileError: a kernel is outside the dialect or its types do not fit; located.
    """
    for each in inputs:
        yield "\n".join(_of_float64(each))


def _float64(input: Input) -> Explanation:
    from gridlane.frontends.python.explain import explain

    assert isinstance(input.source, PythonSource)
    return explain(input.source.function, input.types, input.options)


def _of_float64(input: Input) -> list[str]:
    title, doubles = input.title, _float64(input)
    if not doubles.causes and not doubles.others:
        return [f"{title}: nothing became float64"]
    lines = [f"{title}: {counted(len(doubles.causes), 'cause')} of float64"]
    for cause in doubles.causes:
        lines += [describe(cause.place), f"    {cause.reason}; {cause.instead}"]
    if doubles.others:
        lines.append(_others(doubles.others))
    return lines


def _others(locations: tuple[Loc, ...]) -> str:
    """The lines that follow, by the functions that they are in."""
    by_function: dict[tuple[str, str], list[int]] = {}
    for place in locations:
        by_function.setdefault((place.file, place.function), []).append(place.line)
    shown = [
        f"{'line' if len(lines) == 1 else 'lines'} {_joined(lines)} of {function}"
        for (_, function), lines in by_function.items()
    ]
    return f"  so these compute in float64, too: {'; '.join(shown)}"


def _joined(lines: list[int]) -> str:
    *first, last = map(str, lines)
    return f"{', '.join(first)} and {last}" if first else last
