"""``gridlane compile``: kernels of a file, as one of the compiler's stages or as code for a GPU."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from gridlane.backends import backend, backends
from gridlane.backends.formats import FORMATS, IR, PTX, Format
from gridlane.backends.record import Backend
from gridlane.cli.failure import check_settings, fail, one_of
from gridlane.cli.inputs import (
    CPP,
    LLVM,
    NO_OPTIONS,
    CppOptions,
    Input,
    Place,
    block_shape,
    linked_of,
    of_ir,
    of_module,
    of_ptx,
    of_python,
    optimised,
    ptx_of,
    text_of,
)
from gridlane.cli.inputs import IR as IR_FILE
from gridlane.cli.inputs import PTX as PTX_FILE
from gridlane.cli.listing import listed
from gridlane.cli.python_kernels import programs_block
from gridlane.cli.temporaries import Temporaries, file_name, make_folder, of_llvm, write
from gridlane.cli.wording import counted
from gridlane.core.compact import ANY, Variant
from gridlane.core.errors import CompileError, GridlaneError, TargetError
from gridlane.core.frozen import frozen
from gridlane.core.options import Target
from gridlane.ir.values import Module

VARIANTS: dict[str, Variant] = {
    "any": ANY,
    "compact": Variant(compact=True),
    "coarse": Variant(compact=True, coarse=True),
}


def stages() -> dict[str, tuple[Format, list[Backend]]]:
    """The stages that a kernel compiles to, with the backends whose code each is."""
    stages_by_name: dict[str, tuple[Format, list[Backend]]] = {
        format.name: (format, []) for format in FORMATS
    }
    for record in backends():
        for format in record.formats:
            if format.suffix:
                stages_by_name.setdefault(format.name, (format, []))[1].append(record)
    return stages_by_name


@frozen
class Request:
    """The command line. None: the option was not given.

    Attributes:
        more: further units of the program of ``place``.
    """

    place: str
    signature: str | None = None
    stage: str = "ir"
    arch: str | None = None
    block: str | None = None
    variant: str | None = None
    output: str | None = None
    explain: bool = False
    entry: str | None = None
    cpp: CppOptions = NO_OPTIONS
    level: int | None = None
    saves: bool = False
    lists: bool = False
    more: tuple[str, ...] = ()


@frozen
class Made:
    """The result for one kernel and its types."""

    input: Input
    code: str | bytes


def compile_file(request: Request) -> None:
    """Compile the file; report errors in words."""
    check_settings()
    place, *units = _places(request)
    _check_options(request, place, units)
    if request.explain:
        _explain(request, place)
        return
    known = stages()
    one_of("target", request.stage, known)
    stage, records = known[request.stage]
    target = _target(request, stage, records)
    if not stage.comment and request.output is None and not request.lists:
        fail(f"compile: a {request.stage} is no text: -o FILE or -o DIR says where to write it")
    try:
        if request.lists:
            print("\n\n".join(listed(_inputs(request, place, units, None))))
            return
        if place.suffix == LLVM:
            _write_or_print(of_llvm(place, stage, target, request.level), request.output)
            return
        temporaries = Temporaries(_folder(request.output)) if request.saves else None
        inputs = _inputs(request, place, units, temporaries)
        products = [Made(each, _code(each, stage, target, request, temporaries)) for each in inputs]
    except CompileError as error:
        fail(error, 1)
    except GridlaneError as error:
        fail(f"compile: {place.file}: {error}", 1)
    _hand_over(products, stage, request.output)


def _places(request: Request) -> list[Place]:
    """The file, with the requested kernel, and the further units."""
    if not request.more:
        return [Place.of(request.place, request.entry)]
    written_units = request.place, *request.more
    units = [Place.of(each, None) for each in written_units]
    kernels = [each.kernel for each in units if each.kernel]
    if request.entry is not None:
        kernels.append(request.entry)
    if len(kernels) > 1:
        fail(f"compile: several kernels are named, {', '.join(kernels)}: name one, or none for all")
    for each in units:
        if each.suffix not in (PTX_FILE, CPP):
            fail(f"compile: {each.file} is no unit of a program of several: these are .cu and .ptx")
    first, *others = units
    return [replace(first, kernel="".join(kernels)), *others]


def _check_options(request: Request, place: Place, units: list[Place]) -> None:
    """Fail for options that have no part in a file of this kind."""
    is_cpp = any(each.suffix == CPP for each in (place, *units))
    if not is_cpp and (given := request.cpp.given()):
        fail(f"compile: {given} is for CUDA C++, and {place.file} is none: its name ends in .cu")
    output = Path(request.output or "")
    for file in (Path(each.file) for each in (place, *units)):
        if output.is_file() and file.is_file() and output.samefile(file):
            fail(f"compile: -o {request.output!r} is the file that is compiled")
    if place.suffix != ".py" and request.signature is not None:
        fail("compile: --sig is for Python; other files state the types of parameters")
    if place.suffix != ".py" and request.explain:
        fail("compile: --explain is for Python; other files state their types")
    if request.lists and (request.explain or request.output is not None or request.saves):
        fail(
            "compile: --list shows kernels and writes nothing; -o, --save-temps and --explain have "
            "no part in it"
        )
    if request.lists and place.suffix == LLVM:
        fail("compile: --list is for kernels, and LLVM IR does not say which these are")


def _explain(request: Request, place: Place) -> None:
    """Print what became float64 instead."""
    from gridlane.cli.explaining import of_float64

    unused = ("stage", "target"), ("arch", "arch"), ("block", "block"), ("variant", "variant")
    for field, option in (*unused, ("output", "output"), ("level", "O"), ("saves", "save-temps")):
        if getattr(request, field) != getattr(Request(request.place), field):
            dashes = "-" if len(option) == 1 else "--"
            fail(
                "compile: --explain tells of the kernel's types; "
                f"{dashes}{option} has no part in them"
            )
    try:
        print("\n\n".join(of_float64(of_python(place, request.signature))))
    except CompileError as error:
        fail(error, 1)


def _inputs(
    request: Request, place: Place, units: list[Place], temporaries: Temporaries | None
) -> list[Input]:
    """The requested kernels."""
    if units:
        linked, kernel = linked_of([place, *units], request.cpp, request.arch)
        if temporaries:
            temporaries.keep(f"{Path(place.file).stem}.linked.ptx", linked.text.text)
        where = ", ".join(each.file for each in (place, *units))
        return optimised(of_module(linked, where, kernel), request.level)
    if place.suffix == ".py":
        return optimised(of_python(place, request.signature), request.level)
    if place.suffix == IR_FILE:
        return optimised(of_ir(place), request.level)
    if place.suffix == CPP:
        text, kernel = ptx_of(place, request.cpp, request.arch)
        if temporaries:
            temporaries.keep(f"{Path(place.file).name}.ptx", text)
        return optimised(of_ptx(text, place, kernel), request.level)
    return optimised(of_ptx(text_of(place), place, place.kernel), request.level)


def _code(
    input: Input, stage: Format, target: Target, request: Request, temporaries: Temporaries | None
) -> str | bytes:
    from gridlane import compiler
    from gridlane.compiler.generation import generator

    options = input.options
    if target.block and request.block is None and input.block is not None:
        target = replace(target, block=input.block)
    if target.variant != ANY and (options.debug or not options.opt):
        _note(
            f"{input.name} has the same code for all launches, as it is for debugging or "
            "unoptimised"
        )
    module = compiler.translate(input.source, input.types, options)
    target = _with_programs_block(input, module, target, request)
    if temporaries:
        temporaries.stages(file_name(input), module, stage, target, options)
    if stage.to_read:
        return compiler.text(module, target, stage.name, options)
    artifact = compiler.generate(module, target, options)
    for note in artifact.notes:
        _note(note)
    if artifact.coarse > 1:
        _note(
            f"{input.name}: a block does the work of {artifact.coarse}, so a grid has 1/"
            f"{artifact.coarse} of the blocks along x"
        )
    if artifact.format != stage.name:
        if temporaries and artifact.format == PTX.name:
            temporaries.keep(f"{file_name(input)}{PTX.suffix}", artifact.code)
        artifact = generator(backend(target.name)).assemble(artifact, target, options)
    return artifact.code.decode() if stage.comment else artifact.code


def _with_programs_block(input: Input, module: Module, target: Target, request: Request) -> Target:
    """The target with the block of a tile program."""
    block = programs_block(module, backend(target.name))
    if block is None or target.block is None:
        return target
    if request.block is not None:
        fail(f"compile: --block: the block of {input.name}, a tile program, follows from num_warps")
    return replace(target, block=block)


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


def _joined(items: list[str]) -> str:
    return f"{', '.join(items[:-1])} and {items[-1]}"


def _processor(record: Backend, name: str | None) -> str:
    from gridlane.compiler.generation import generator

    code_generator = generator(record)
    if name is None:
        return code_generator.DEFAULT
    if not name:
        fail(f"compile: --arch: name a processor, as in {code_generator.DEFAULT}")
    try:
        known = code_generator.machine_of(Target(record.name, processor=name)).processor
    except TargetError as error:
        fail(f"compile: --arch: {error}")
    if known != name:
        fail(f"compile: --arch: {name} is not known here; PTX for {known}, the newest, runs on it")
    return name


# --- output ---


def _hand_over(products: list[Made], stage: Format, output: str | None) -> None:
    """Print, or write to a file, or to a folder with one file per kernel."""
    if output is None:
        for each in products:
            if len(products) > 1:
                print(f"{stage.comment} {each.input.title}")
            _print(each.code)
        return
    path = Path(output)
    folder = path.is_dir() or output.endswith("/")
    if len(products) == 1 and not folder:
        write(path, products[0].code)
        return
    if path.is_file() or (path.suffix and not folder):
        titles = ", ".join(each.input.title for each in products)
        several = f"{counted(len(products), 'result')}, {titles}"
        fail(f"compile: {output!r} is one file, and there are {several}: -o DIR")
    make_folder(path)
    for each in products:
        file = path / f"{file_name(each.input)}{stage.suffix}"
        write(file, each.code)
        print(f"{file}: {each.input.title}")


def _write_or_print(code: str | bytes, output: str | None) -> None:
    if output is None:
        _print(code)
    else:
        write(Path(output), code)


def _print(code: str | bytes) -> None:
    assert isinstance(code, str)
    print(code, end="" if code.endswith("\n") else "\n")


def _folder(output: str | None) -> Path:
    """Where intermediate files go: beside the result."""
    path = Path(output or ".")
    return path if path.is_dir() or (output or "").endswith("/") else path.parent
