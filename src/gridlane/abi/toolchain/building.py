"""What ``gridlane cc`` does: each source becomes an object, and the objects a program."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from gridlane.abi.library import installing
from gridlane.abi.toolchain import device, host, hosts, link
from gridlane.abi.toolchain.hosts import Host
from gridlane.abi.toolchain.options import (
    DEPENDENCIES,
    FATBIN,
    HOST_CPP,
    LINK,
    OBJECT,
    PREPROCESS,
    PTX,
    Command,
)
from gridlane.core.errors import ArgumentError, CompileError
from gridlane.frontends.cuda_cpp.process import run_compiler


@dataclass(frozen=True, slots=True)
class Build:
    """A command under way.

    Attributes:
        room: a folder for what is not kept.
        include, lib: the folders of the installed headers and libraries.
    """

    command: Command
    host: Host
    room: Path
    include: Path
    lib: Path

    def run(self, command: Sequence[str], text: str = "", patience: float = 1) -> str:
        """Run a command of a compiler and return its messages; the caller prints them to stderr.

        Raises:
            CompileError: the compiler's own messages.
        """
        if self.command.is_dry or self.command.is_verbose:
            print(shlex.join(command), file=sys.stderr)
        if self.command.is_dry:
            return ""
        status, output = run_compiler(command, text, patience)
        if status:
            raise CompileError(output.strip() or f"{command[0]} ended with status {status}")
        return output

    def kept(self, path: Path, suffix: str) -> Path:
        """The path of the output of an input."""
        folder = Path(self.command.folder)
        return Path(self.command.output or Path.cwd() / folder / f"{path.stem}{suffix}")


def build(command: Command, prefix: Path | None = None) -> None:
    """Execute a command line.

    Args:
        prefix: where gridlane's libraries are installed, or will be; this Python's own place.

    Raises:
        ArgumentError: an input is missing, or the options are incompatible.
        CompileError: the compiler's own messages, or what to install.
    """
    chosen = hosts.choose(command.compiler)
    prefix = prefix or installing.default_prefix()
    installing.ensure(prefix)
    with TemporaryDirectory(prefix="gridlane-") as room:
        new_build = Build(command, chosen, Path(room), prefix / "include", prefix / "lib")
        if command.what == LINK:
            _program(new_build)
        else:
            _each(new_build)


def _each(build: Build) -> None:
    for path, language in build.command.inputs:
        if not language:
            raise ArgumentError(f"{path} is linked, and no program is asked for")
        if build.command.what == OBJECT:
            _object(build, path, language, build.kept(path, ".o"))
        else:
            _PRODUCTS[build.command.what](build, path, language)


def _program(build: Build) -> None:
    objects: list[Path] = []
    for number, (path, language) in enumerate(build.command.inputs):
        if language:
            objects.append(build.room / f"{number}-{path.stem}.o")
            _object(build, path, language, objects[-1])
        else:
            objects.append(path)
    parts = {} if build.command.is_dry else _parts(objects)
    if not build.command.is_dry:
        of_libraries = _parts(list(link.archives(build.command.linker)))
        objects += of_libraries
        parts |= of_libraries
    sources: dict[str, str] = {}
    if parts:
        sources["registered"] = link.registration(n for names in parts.values() for n in names)
    if build.command.is_checked:
        sources["checked"] = _CHECKED
    for name, text in sources.items():
        objects.append(build.room / f"{name}.o")
        command_line = [*build.host.c, "-O2", "-fPIC", "-c", "-", "-o", str(objects[-1])]
        build.run(command_line, text)
    output = Path(build.command.output or "a.out")
    command_line = link.words(build.command, build.host, objects, parts, output, build.lib)
    try:
        _say(build.run(command_line, patience=build.host.patience))
    except CompileError as error:
        raise CompileError(f"{error}{link.advice(str(error))}") from None


_CHECKED = """
#include <stdlib.h>
__attribute__((constructor(101))) static void check(void) { setenv("GRIDLANE_CHECK", "1", 0); }
"""
"""Sets the variable for the program, and what it starts, unless the user has."""


def _parts(objects: Sequence[Path]) -> dict[Path, tuple[str, ...]]:
    try:
        return link.asked(objects)
    except OSError as error:
        raise ArgumentError(f"{error.filename}: {error.strerror}") from None


def _object(build: Build, path: Path, language: str, output: Path) -> None:
    command = build.command
    if language != "cu":
        if not path.is_file():
            raise ArgumentError(f"{path}: no such file")
        command_line = host.plain(path, language, command, build.host, build.include)
        rule = _rule(command, path, output)
        _say(build.run([*command_line, *rule, "-c", "-o", str(output)]))
        return
    command_line = _host_part(build, path)
    rule = _rule(command, path, output)
    _say(build.run([*command_line, *rule, "-c", "-o", str(output)]))
    if "-MF" in rule and not command.is_dry:
        written = Path(rule[rule.index("-MF") + 1])
        written.write_text(_named(written.read_text(), command_line[-1], path))


def _host_part(build: Build, path: Path) -> list[str]:
    """The command that compiles the host's part of CUDA C++, with the device's part inside."""
    command = build.command
    given = device.unit(path, command, build.include)
    file = build.room / "device.fatbin"
    has_managed = device.has_managed(given, build.include)
    if not command.is_dry:
        products = device.compiled(given, command, build.host)
        file.write_bytes(device.fatbin(products))
        headers = {path for each in products.values() for path in each.headers or ()}
        has_managed = device.has_managed(given, build.include, headers)
    return host.cuda(given, command, build.host, build.room, file, has_managed)


def _rule(command: Command, path: Path, output: Path) -> list[str]:
    """The options that write a rule for make beside an object."""
    if not command.dependencies:
        return []
    said = command.dependencies
    new_path = Path(command.output or Path(command.folder, f"{path.stem}.o"))
    file = [] if "-MF" in said else ["-MF", str(new_path.with_suffix(".d"))]
    target = [] if "-MT" in said else ["-MT", str(new_path)]
    return [*said, *file, *target]


def _named(text: str, read: str, path: Path) -> str:
    """A rule with the source's name for that of the file that clang has read."""
    return text.replace(f" {read}", f" {path}")


def _preprocessed(build: Build, path: Path, language: str) -> None:
    if language == "cu":
        given = device.unit(path, build.command, build.include)
        command_line = host.cuda(given, build.command, build.host, build.room)
    else:
        command_line = host.plain(path, language, build.command, build.host, build.include)
    _give(build, build.run([*command_line, "-E"]))


def _dependencies(build: Build, path: Path, language: str) -> None:
    rule = [*build.command.dependencies, "-MT", f"{path.stem}.o"]
    if language == "cu":
        given = device.unit(path, build.command, build.include)
        command_line = host.cuda(given, build.command, build.host, build.room)
        _give(build, _named(build.run([*command_line, *rule]), command_line[-1], path))
    else:
        command_line = host.plain(path, language, build.command, build.host, build.include)
        _give(build, build.run([*command_line, *rule]))


def _code(build: Build, path: Path, language: str) -> None:
    command = build.command
    if language != "cu":
        raise ArgumentError(f"{path} has no device code: it is {language}")
    given = device.unit(path, command, build.include)
    products = device.compiled(given, command, build.host)
    if command.what == FATBIN:
        build.kept(path, ".fatbin").write_bytes(device.fatbin(products))
        return
    if len(products) != 1:
        raise ArgumentError(f"-ptx is of one architecture, and {len(products)} are asked for")
    text = next(iter(products.values())).ptx
    if command.output == "-":
        print(text, end="")
    else:
        build.kept(path, ".ptx").write_text(text)


def _host_cpp(build: Build, path: Path, language: str) -> None:
    """Write C++ that any compiler of the host makes the same object of: assembly in one statement,
    as no other compiler reads CUDA C++."""
    if language != "cu":
        raise ArgumentError(f"{path} has no device code: it is {language}")
    text = build.room / "host.s"
    _say(build.run([*_host_part(build, path), "-S", "-fno-addrsig", "-o", str(text)]))
    if not build.command.is_dry:
        cpp = f'asm(R"gridlane(\n{text.read_text()})gridlane");\n'
        build.kept(path, ".cu.cpp.ii").write_text(cpp)


_PRODUCTS = {
    PTX: _code,
    FATBIN: _code,
    HOST_CPP: _host_cpp,
    PREPROCESS: _preprocessed,
    DEPENDENCIES: _dependencies,
}


def _give(build: Build, text: str) -> None:
    if build.command.output:
        Path(build.command.output).write_text(text)
    else:
        print(text, end="")


def _say(message: str) -> None:
    print(message, end="", file=sys.stderr)
