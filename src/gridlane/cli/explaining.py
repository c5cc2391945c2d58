"""``gridlane explain``: what the compiler makes of each line of a kernel, and what to write instead
of what is slow; ``gridlane compile --explain``: which lines became float64, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from gridlane.backends import backend
from gridlane.cli.failure import fail
from gridlane.cli.inputs import USUAL_BLOCK, Input, Place, block_shape, of_python
from gridlane.cli.python_kernels import programs_block
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
    arch: str | None = None


def explain(request: Request) -> None:
    """Print a part for each kernel and its types; report errors in words."""
    choose(request.device)
    place = Place.of(request.place, None)
    if place.suffix != ".py":
        fail(f"explain: {place.file} is no Python file; its lines are not the compiler's input")
    block = block_shape(str(USUAL_BLOCK) if request.block is None else request.block, "explain")
    target = _target(block, request.arch)
    try:
        inputs = of_python(place, request.signature, "explain")
        print("\n\n".join([_told(each, target, request.block is not None) for each in inputs]))
    except CompileError as error:
        fail(error, 1)
    except GridlaneError as error:
        fail(f"explain: {place.file}: {error}", 1)


def _target(block: tuple[int, int, int], arch: str | None) -> Target:
    """The device in use, which need not be here; the CPU for the interpreter, which compiles
    nothing."""
    from gridlane.compiler.generation import generator

    kind = config().device.partition(":")[0]
    record = backend(backend(kind).reads_as or kind)
    if arch is not None and not record.named_processors:
        fail(f"explain: --arch is for NVIDIA GPUs, and the device is {record.name}")
    processor = (arch or generator(record).DEFAULT) if record.named_processors else ""
    variant = Variant(compact=True, coarse=True)
    return Target(record.name, block=block, processor=processor, variant=variant)


def _told(input: Input, target: Target, has_block: bool) -> str:
    from gridlane import compiler
    from gridlane.cuda.kernels.explaining import explained

    module = compiler.translate(input.source, input.types, input.options)
    own = programs_block(module, backend(target.name))
    if own is not None and has_block:
        fail(f"explain: --block: the block of {input.name}, a tile program, follows from num_warps")
    target = replace(target, block=own or target.block)
    assert target.block is not None
    return explained(
        input.title, target.block, module, target, input.options, list(_doubles(input))
    )


def _doubles(input: Input) -> Iterator[Decision]:
    """What became float64, and why; nothing does in tile programs, whose floats are float32."""
    if not isinstance(input.source, PythonSource):
        return
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

    if not isinstance(input.source, PythonSource):
        fail(
            f"compile: --explain: {input.name} is a tile program, in which nothing becomes float64 "
            "that is not declared so; `gridlane explain` shows what became of its lines"
        )
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
