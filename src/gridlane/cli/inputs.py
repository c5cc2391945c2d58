"""The kernels that ``gridlane compile`` is given: of Python, PTX, CUDA C++ or IR."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gridlane.cli.failure import fail, likely
from gridlane.cli.kernels_of_file import FileKernels
from gridlane.cli.python_kernels import Input
from gridlane.core.errors import LaunchError
from gridlane.core.frozen import frozen
from gridlane.core.options import KernelOptions
from gridlane.ir.source import ModuleSource
from gridlane.launch.dimensions import check_shape
from gridlane.runtime.protocol import Limits

if TYPE_CHECKING:
    from gridlane.frontends.ptx import PtxModule
    from gridlane.frontends.ptx.declarations import Declared
from gridlane.frontends.ptx.module import PtxFunction

PTX, CPP, IR, LLVM = ".ptx", ".cu", ".ir", ".ll"
_PLACE = re.compile(rf"(.+?(\{PTX}|\{CPP}|\{IR}|\{LLVM}))(?::(.*))?", re.DOTALL)
USUAL_BLOCK = 256
_NAME = re.compile(r"[A-Za-z_$%][\w$]*")


@frozen
class Place:
    """A file, the requested kernel (or ""), and the file's kind: its suffix."""

    file: str
    kernel: str
    suffix: str

    @classmethod
    def of(cls, text: str, entry: str | None) -> Place:
        """``FILE`` or ``FILE:KERNEL``, with the kernel of --entry. Reports errors in words."""
        if match := _PLACE.fullmatch(text):
            file, suffix, kernel = match[1], match[2], match[3] or ""
        else:
            file, kernel, suffix = text, text.rpartition(".py:")[2] if ".py:" in text else "", ".py"
        if entry is not None and kernel:
            fail(f"compile: the kernel is named twice, as {kernel!r} and by --entry {entry!r}")
        return cls(file, kernel or entry or "", suffix)

    @property
    def written(self) -> str:
        """As users write it."""
        has = not self.kernel or self.file.endswith(f":{self.kernel}")
        return self.file if has else f"{self.file}:{self.kernel}"


@frozen
class CppOptions:
    """Options for the compiler of CUDA C++."""

    includes: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    standard: str | None = None

    def words(self, file: Path, arch: str | None) -> list[str]:
        """As the compiler takes them."""
        arguments = [f"-I{folder}" for folder in self.includes]
        arguments += [f"-D{each}" for each in self.defines]
        if self.standard is not None:
            arguments.append(f"--std={self.standard}")
        if arch is not None:
            arguments.append(f"-arch={arch.replace('sm_', 'compute_')}")
        return arguments

    def given(self) -> str:
        """The first option that is given, or ""."""
        named = {"-I": self.includes, "-D": self.defines, "--std": self.standard}
        return next((name for name, value in named.items() if value), "")


NO_OPTIONS = CppOptions()


def optimised(inputs: list[Input], level: int | None) -> list[Input]:
    """The kernels with the optimisation that -O selects."""
    if level is None:
        return inputs
    return [replace(each, options=replace(each.options, opt=level > 0)) for each in inputs]


# --- Python


def of_python(place: Place, signature: str | None, command: str = "compile") -> list[Input]:
    """The kernels of a Python file, for the given types or for each of its own."""
    kernels = FileKernels.of(place.written, named=signature is not None, command=command)
    if signature is not None:
        ((_, kernel),) = kernels.chosen.items()
        return [kernel.of(signature, command)]
    return [each for kernel in kernels.chosen.values() for each in kernel.known()]


# --- text


def text_of(place: Place, command: str = "compile") -> str:
    """The text of a file; reports errors in words."""
    path = Path(place.file)
    if not path.is_file():
        fail(f"{command}: there is no file {place.file!r}")
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        fail(f"{command}: {place.file} is no text: {error}", 1)
    except OSError as error:
        fail(f"{command}: cannot read {place.file!r}: {error.strerror}")


def ptx_of(place: Place, options: CppOptions, arch: str | None) -> tuple[str, str]:
    """The PTX of CUDA C++, and the requested kernel's name there.

    Raises:
        CompileError: the compiler's own messages, or that there is none.
    """
    from gridlane.compiler.cpp import CppSource, compile_cpp

    expressions = _expressions(place)
    arguments = tuple(options.words(Path(place.file), arch))
    compiled = compile_cpp(CppSource(text_of(place), arguments, place.file, expressions))
    return compiled.ptx, compiled.names.get(place.kernel, place.kernel)


def _expressions(place: Place) -> tuple[str, ...]:
    """The requested kernel, if it has a name of C++."""
    is_expression = bool(place.kernel) and not _NAME.fullmatch(place.kernel)
    return (place.kernel,) if is_expression else ()


def linked_of(
    units_of_program: list[Place], options: CppOptions, arch: str | None
) -> tuple[PtxModule, str]:
    """The module of several units, and the name there of the kernel that is requested of the first
    one.

    Raises:
        PtxError: the units are incompatible; located.
        CompileError: the compiler's own messages, or that there is none.
    """
    from gridlane.compiler.units import linked

    kernel = units_of_program[0].kernel
    arguments = options.words(Path(units_of_program[0].file), arch)
    units = [(text_of(each), each.file) for each in units_of_program]
    module, names = linked(units, arguments, _expressions(units_of_program[0]), "")
    return module, names.get(kernel, kernel)


def of_ptx(text: str, place: Place, kernel: str) -> list[Input]:
    """The kernels of PTX.

    Raises:
        PtxError: the text is no PTX module; located.
    """
    from gridlane.frontends.ptx import parse_ptx

    module = parse_ptx(text, place.file if place.suffix == PTX else "")
    return of_module(module, place.file, kernel)


def of_module(module: PtxModule, where: str, kernel: str) -> list[Input]:
    """The kernels of a module, or the one that is named.

    Args:
        where: the file or files, for errors.
    """
    from gridlane.frontends.ptx import PtxSource

    if kernel and kernel not in module.entries:
        known = ", ".join(module.entries) or "none"
        fail(
            f"compile: {where} has no kernel {kernel!r}{likely(kernel, module.entries)}. It "
            f"has: {known}"
        )
    names = [kernel] if kernel else list(module.entries)
    if not names:
        fail(f"compile: {where} has no kernel: there is no .entry in it")
    # Where PTX says f64 it means binary64, also on devices without it.
    options = KernelOptions(fp64="exact")
    return [
        Input(name, PtxSource(module, name), options, (), _parameters(entry), 0, _block(entry))
        for name, entry in _entries(module, names)
    ]


def _entries(module: PtxModule, names: list[str]) -> Iterator[tuple[str, PtxFunction]]:
    return ((name, module.functions[name]) for name in names)


def _parameters(entry: PtxFunction) -> tuple[str, ...]:
    return tuple(f"{_short(param.name, entry.name)}: {_type(param)}" for param in entry.params)


def _short(name: str, entry: str) -> str:
    """The name of a parameter without its kernel's, which nvcc repeats in it."""
    return name.removeprefix(f"{entry}_")


def _type(param: Declared) -> str:
    return f"{param.type}[{param.count}]" if param.is_array else param.type


def _block(entry: PtxFunction) -> tuple[int, int, int] | None:
    """The block shape that the PTX requires, or the largest one that it allows if that is small;
    None for any."""
    shape = entry.tuning.get("reqntid") or entry.tuning.get("maxntid")
    if not shape:
        return None
    x, y, z = (*shape, 1, 1)[:3]
    return (x, y, z) if "reqntid" in entry.tuning or x * y * z < USUAL_BLOCK else None


def of_ir(place: Place) -> list[Input]:
    """The kernel of IR in text, at stage ``kernel`` or ``cfg``.

    Raises:
        GridlaneError: the text is no valid IR.
    """
    from gridlane.ir.reading import read_module
    from gridlane.ir.stages import FIRST
    from gridlane.passes.structure.structurize import structurize

    module = read_module(text_of(place), place.file, FIRST)
    structurize(module)
    name = module.kernel.name
    if place.kernel and place.kernel != name:
        fail(f"compile: {place.file} has the kernel {name}, and no {place.kernel!r}")
    parameters = tuple(f"{p.value.name}: {p.value.type}" for p in module.kernel.params)
    options = KernelOptions(fp64="exact")  # f64 in IR means binary64
    return [Input(name, ModuleSource(module), options, (), parameters)]


def block_shape(text: str, command: str) -> tuple[int, int, int]:
    """The block shape of --block; report errors in words."""
    numbers = text.split(",")
    if len(numbers) > 3 or not all(word.strip().isdecimal() for word in numbers):
        fail(f"{command}: --block {text!r}: one to three numbers, as in 256 or 16,16")
    x, y, z = (*map(int, numbers), 1, 1)[:3]
    try:
        check_shape(f"--block {text}", (1, 1, 1), (x, y, z), Limits())
    except LaunchError as error:
        fail(f"{command}: {error}")
    return x, y, z
