"""``gridlane compile``: kernels of a file, as one of the compiler's stages or as code for a GPU."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gridlane.backends import backend, backends
from gridlane.backends.formats import FORMATS, IR, Format
from gridlane.backends.record import Backend
from gridlane.cli.failure import check_settings, fail, one_of
from gridlane.cli.kernels_of_file import FileKernels, parameters_of
from gridlane.cli.signature_text import argument_types
from gridlane.cli.wording import counted
from gridlane.core.argtypes import ArgType
from gridlane.core.compact import ANY, Variant
from gridlane.core.errors import CompileError, LaunchError, TargetError
from gridlane.core.options import Target
from gridlane.cuda.kernels.dispatcher import Dispatcher
from gridlane.launch.dimensions import check_shape
from gridlane.runtime.protocol import Limits

VARIANTS: dict[str, Variant] = {
    "any": ANY,
    "compact": Variant(compact=True),
    "coarse": Variant(compact=True, coarse=True),
}


def stages() -> dict[str, tuple[Format, list[Backend]]]:
    """The stages that a kernel compiles to, with the backends whose code each is."""
    found: dict[str, tuple[Format, list[Backend]]] = {
        format.name: (format, []) for format in FORMATS
    }
    for record in backends():
        for format in record.formats:
            if format.suffix:
                found.setdefault(format.name, (format, []))[1].append(record)
    return found


@dataclass(frozen=True, slots=True)
class Request:
    """The command line. None: the option was not given."""

    place: str
    signature: str | None = None
    stage: str = "ir"
    arch: str | None = None
    block: str | None = None
    variant: str | None = None
    output: str | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """The result for one kernel and its types. ``number`` counts the types of a kernel with
    several, from 1; 0 for a single one."""

    kernel: str
    types: tuple[ArgType, ...]
    number: int
    code: str | bytes

    @property
    def title(self) -> str:
        """The kernel with its types."""
        return f"{self.kernel}({', '.join(map(str, self.types))})"


def compile_file(request: Request) -> None:
    """Compile the file; report errors in words."""
    check_settings()
    known = stages()
    one_of("target", request.stage, known)
    stage, records = known[request.stage]
    target = _target(request, stage, records)
    types = None if request.signature is None else argument_types(request.signature)
    if not stage.comment and request.output is None:
        fail(f"compile: a {request.stage} is no text: -o FILE or -o DIR says where to write it")
    found = FileKernels.of(request.place, named=types is not None)
    if types is not None:
        ((name, kernel),) = found.chosen.items()
        check_count(name, kernel, types, "compile")
    try:
        made = list(_made(found, types, stage, target))
    except CompileError as error:
        fail(error, 1)
    _hand_over(made, stage, request.output)


def _made(
    found: FileKernels, given: tuple[ArgType, ...] | None, stage: Format, target: Target
) -> Iterator[Made]:
    """Each kernel for the given types, or for each of its own."""
    for name, kernel in found.chosen.items():
        several = found.types_of(name) if given is None else [given]
        for n, types in enumerate(several, 1):
            code = _code(name, kernel, types, stage, target)
            yield Made(name, types, n if len(several) > 1 else 0, code)


def check_count(name: str, kernel: Dispatcher, types: tuple[ArgType, ...], command: str) -> None:
    """Fail if the number of types is not that of a kernel's parameters."""
    parameters = parameters_of(kernel)
    if len(parameters) != len(types):
        fail(
            f"{command}: {name}({', '.join(parameters)}) has "
            f"{counted(len(parameters), 'parameter')}, and --sig has {counted(len(types), 'type')}"
        )


def _code(
    name: str, kernel: Dispatcher, types: tuple[ArgType, ...], stage: Format, target: Target
) -> str | bytes:
    from gridlane import compiler
    from gridlane.compiler.generation import generator

    options = kernel.options
    if target.variant != ANY and (options.debug or not options.opt):
        _note(f"{name} has the same code for all launches, as it is for debugging or unoptimised")
    module = compiler.translate(kernel.py_func, types, options)
    if stage.to_read:
        return compiler.text(module, target, stage.name, options)
    artifact = compiler.generate(module, target, options)
    for note in artifact.notes:
        _note(note)
    if artifact.coarse > 1:
        _note(
            f"{name}: a block does the work of {artifact.coarse}, so a grid has 1/"
            f"{artifact.coarse} of the blocks along x"
        )
    if artifact.format != stage.name:
        artifact = generator(backend(target.name)).assemble(artifact, target, options)
    return artifact.code.decode() if stage.comment else artifact.code


def _note(text: str) -> None:
    print(f"gridlane: note: {text}", file=sys.stderr)


# --- target ---


def _target(request: Request, stage: Format, records: list[Backend]) -> Target:
    """The target that the options name. An option that would change nothing is refused."""
    named = [each for each in records if each.named_processors]
    if request.arch is not None and (stage is IR or not named):
        fail(f"compile: --arch is for {_with_processors()}; --target {stage.name} has none")
    record = records[0] if request.arch is None else named[0]
    if request.variant is not None and (stage is IR or not record.has_compact_code):
        fail(f"compile: --variant is for GPUs: {_with(_has_compact_code)}")
    if request.block is not None and (stage is IR or not record.shaped):
        fail(f"compile: --block is for code that is made for one block shape: {_with(_is_shaped)}")
    block = "256" if request.block is None else request.block
    return Target(
        record.name,
        block=block_shape(block, "compile") if record.shaped else None,
        processor=_processor(record, request.arch) if record.named_processors else "",
        variant=_variant(request),
    )


def _variant(request: Request) -> Variant:
    return VARIANTS[one_of("variant", request.variant or "any", VARIANTS)]


def _has_compact_code(record: Backend) -> bool:
    return record.has_compact_code


def _is_shaped(record: Backend) -> bool:
    return record.shaped


def _with(has: Callable[[Backend], bool]) -> str:
    """The options for code of backends for which ``has`` holds. --arch selects the backend with
    named processors; without it, or such a backend, the first one is used."""
    options: list[str] = []
    for name, records in _codes():
        named = [has(each) for each in records if each.named_processors]
        usual = has(records[0])
        ways = usual, any(named) if named else usual
        if any(ways):
            options.append(f"--target {name}{_WAYS[ways]}")
    return _joined(options)


_WAYS = {(True, True): "", (True, False): " without --arch", (False, True): " with --arch"}
"""The words for an option, by whether it holds without --arch and with it."""


def _with_processors() -> str:
    return _joined(
        [
            f"--target {name}"
            for name, records in _codes()
            if any(each.named_processors for each in records)
        ]
    )


def _codes() -> Iterator[tuple[str, list[Backend]]]:
    """The stages that are code of some backends."""
    for name, (format, records) in stages().items():
        if format is not IR and records:
            yield name, records


def _joined(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}"


def _processor(record: Backend, name: str | None) -> str:
    from gridlane.compiler.generation import generator

    made = generator(record)
    if name is None:
        return made.DEFAULT
    if not name:
        fail(f"compile: --arch: name a processor, as in {made.DEFAULT}")
    try:
        known = made.machine_of(Target(record.name, processor=name)).processor
    except TargetError as error:
        fail(f"compile: --arch: {error}")
    if known != name:
        fail(f"compile: --arch: {name} is not known here; PTX for {known}, the newest, runs on it")
    return name


def block_shape(text: str, command: str) -> tuple[int, int, int]:
    """The block shape of --block; report errors in words."""
    words = text.split(",")
    if len(words) > 3 or not all(word.strip().isdecimal() for word in words):
        fail(f"{command}: --block {text!r}: one to three numbers, as in 256 or 16,16")
    x, y, z = (*map(int, words), 1, 1)[:3]
    try:
        check_shape(f"--block {text}", (1, 1, 1), (x, y, z), Limits())
    except LaunchError as error:
        fail(f"{command}: {error}")
    return x, y, z


# --- output ---


def _hand_over(made: list[Made], stage: Format, output: str | None) -> None:
    """Print, or write to a file, or to a folder with one file per kernel."""
    if output is None:
        for each in made:
            if len(made) > 1:
                print(f"{stage.comment} {each.title}")
            assert isinstance(each.code, str)
            print(each.code, end="" if each.code.endswith("\n") else "\n")
        return
    path = Path(output)
    folder = path.is_dir() or output.endswith("/")
    if len(made) == 1 and not folder:
        _write(path, made[0].code)
        return
    if path.is_file() or (path.suffix and not folder):
        several = f"{counted(len(made), 'result')}, {', '.join(each.title for each in made)}"
        fail(f"compile: {output!r} is one file, and there are {several}: -o DIR")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fail(f"compile: cannot make the folder {output!r}: {error.strerror}")
    for each in made:
        number = f".{each.number}" if each.number else ""
        file = path / f"{each.kernel}{number}{stage.suffix}"
        _write(file, each.code)
        print(f"{file}: {each.title}")


def _write(path: Path, code: str | bytes) -> None:
    try:
        path.write_bytes(code.encode() if isinstance(code, str) else code)
    except OSError as error:
        fail(f"compile: cannot write {str(path)!r}: {error.strerror}")
