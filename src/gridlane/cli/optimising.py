"""``gridlane opt``: passes over IR in text."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

from gridlane.backends import backend, names, passes
from gridlane.backends.record import Backend, Pass, loaded
from gridlane.cli.failure import check_settings, fail, one_of
from gridlane.cli.inputs import Place, text_of
from gridlane.cli.temporaries import write
from gridlane.compiler import pipeline
from gridlane.compiler.depth import at_any_depth
from gridlane.compiler.generation import generator
from gridlane.core.config import config
from gridlane.core.errors import CompileError, GridlaneError, VerifyError
from gridlane.core.frozen import frozen
from gridlane.core.options import FP64, KernelOptions, Target
from gridlane.core.source import UNKNOWN
from gridlane.ir.printer import print_module
from gridlane.ir.reading import read_module
from gridlane.ir.stages import FIRST
from gridlane.ir.values import Module
from gridlane.ir.verifier import verify

STANDARD_INPUT = "-"


@frozen
class Request:
    """The command line.

    Attributes:
        passes: names with commas between.
        fp64: f64 in IR means binary64, so "exact" is the default.
    """

    place: str
    passes: str = ""
    target: str | None = None
    output: str | None = None
    fp64: str = "exact"


def show_passes() -> None:
    """Print a line for each pass."""
    known = passes.by_name()
    width = max(map(len, known))
    for name, each in known.items():
        print(f"{name:{width}}  {passes.stage_of(each):9}  {summary(each)}")


def summary(each: Pass) -> str:
    """The first sentence of a pass's docstring, and what it is given besides the module."""
    first = (loaded(each.path).__doc__ or "").strip().partition("\n\n")[0]
    sentence = " ".join(first.split()).partition(". ")[0].rstrip(".")
    paths = *each.arguments, *each.facts
    given = (*(path.rpartition(".")[2] for path in paths), *each.options)
    return f"{sentence} [{', '.join(given)}]" if given else sentence


def optimise(request: Request) -> None:
    """Run the passes over the file, print or write the result; report errors in words."""
    check_settings()
    chosen = chosen_passes(request)
    one_of("mode of --fp64", request.fp64, FP64)
    if request.target is not None:
        one_of("target", request.target, names())
    text = _text(request.place)
    try:
        result = at_any_depth("this IR", UNKNOWN, _optimised, text, request, chosen)
    except CompileError as error:
        fail(error, 1)
    except GridlaneError as error:
        fail(f"opt: {request.place}: {error}", 1)
    if request.output is None:
        print(result, end="")
    else:
        write(Path(request.output), result, "opt")


def _optimised(text: str, request: Request, chosen: list[tuple[str, Pass]]) -> str:
    """The text after passes."""
    file = "<stdin>" if request.place == STANDARD_INPUT else request.place
    module = read_module(text, file, FIRST, recursion=True)
    apply_passes(module, chosen, request.target, request.fp64)
    return print_module(module, locations="loc(" in text)


def apply_passes(
    module: Module, chosen: list[tuple[str, Pass]], target: str | None = None, fp64: str = "exact"
) -> None:
    """Run passes over a module, and verify the IR that each leaves.

    Args:
        target: the one whose facts the passes read.

    Raises:
        VerifyError: the IR after a pass is invalid; the message has the pass's name.
        CompileError: a pass refuses the module; located.
    """
    record = None if target is None else backend(target)
    options = KernelOptions(fp64=fp64, stack=config().stack)
    if record is not None:
        _prepare(module, record, options)
    recursion = _recursive(module)
    for name, each in chosen:
        for note in _notes(name, each, module, record, options):
            print(f"gridlane: note: {note}", file=sys.stderr)
        try:
            verify(module, FIRST, recursion)
        except VerifyError as error:
            raise VerifyError(f"after {name}: {error}") from None


def _recursive(module: Module) -> bool:
    """Whether functions of a valid module call themselves."""
    try:
        verify(module, FIRST)
    except VerifyError:
        return True
    return False


def _notes(
    name: str, each: Pass, module: Module, record: Backend | None, options: KernelOptions
) -> tuple[str, ...]:
    """Run a pass; its notes, and one on what the text cannot show.

    Raises:
        GridlaneError: the pass failed; with GRIDLANE_FULL_TRACEBACKS=1 its own error instead.
    """
    coarse = module.coarse
    try:
        notes = pipeline.apply(module, each, record, options)
    except (GridlaneError, RecursionError):
        raise
    except Exception as error:
        if config().full_tracebacks:
            raise
        *_, last = traceback.extract_tb(error.__traceback__)
        place = f"{last.filename}:{last.lineno}"
        raise GridlaneError(
            f"{name} cannot process this IR: {type(error).__name__}: {error} (at {place}); a pass "
            "may need those that pipelines run before it (GRIDLANE_FULL_TRACEBACKS=1 shows all)"
        ) from error
    if module.coarse != coarse:
        notes += (f"{name}: launches have 1/{module.coarse} of the blocks along x, rounded up",)
    return notes


def _prepare(module: Module, record: Backend, options: KernelOptions) -> None:
    """Set what the target's generator sets before its pipeline."""
    prepare = getattr(generator(record), "prepare", None)
    if prepare is not None:
        prepare(module, Target(record.name), options)


def chosen_passes(request: Request) -> list[tuple[str, Pass]]:
    """The requested passes, with their names; report errors in words."""
    known = passes.by_name()
    chosen = [
        (name, known[one_of("pass", name, known)])
        for name in map(str.strip, request.passes.split(","))
        if name
    ]
    if not chosen:
        fail(
            "opt: which passes? --passes names some, as in --passes inline,promote; --list has all"
        )
    for name, each in chosen:
        if each.facts and request.target is None:
            fail(f"opt: {name} depends on the target: --target names one of {', '.join(names())}")
    return chosen


def _text(place: str) -> str:
    if not place:
        fail("opt: which file? FILE.ir, or - for standard input")
    if place == STANDARD_INPUT:
        return sys.stdin.read()
    return text_of(Place(place, "", ""), "opt")
