"""The command line of ``gridlane cc``, whose options are nvcc's."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gridlane.abi.toolchain.option_names import (
    IGNORED,
    IGNORED_LIBRARIES,
    IGNORED_WITH_VALUE,
    LONG,
    REFUSED,
)
from gridlane.core.errors import ArgumentError

LINK, OBJECT, PREPROCESS, PTX, FATBIN, DEPENDENCIES = "link", "c", "E", "ptx", "fatbin", "M"
HOST_CPP = "cuda"
SOURCES = {".cu": "cu", ".c": "c", ".cpp": "c++", ".cc": "c++", ".cxx": "c++", ".C": "c++"}
_LINKED = (".o", ".obj", ".a", ".so")
_LANGUAGES = {"cu": "cu", "c": "c", "c++": "c++", "cuda": "cu"}


@dataclass(slots=True)
class Command:
    """A parsed command line.

    Attributes:
        inputs: the files in order, each with its language; "" for one that is linked.
        what: the kind of output.
        output: the path of the output; "" for the usual name.
        folder: the folder of outputs with the usual name; "" for the current one.
        device: options of the device's compilation, in nvcc's spelling.
        archs: the architectures that there is PTX for; empty for the usual one.
        both: options of both sides' compilation: macros, folders, the standard.
        host: options of the host's compilation, as its compiler spells them.
        linker: options and libraries of the link, in order.
        runtime: ``static``, ``shared`` or ``none``.
        compiler: the host: ``g++``, ``zig``, a path of a g++, or "" for the first that is here.
        is_relocatable: whether kernels refer to what other files define.
        is_shared: whether a shared library is linked.
        per_thread: whether the default stream is the thread's.
        is_checked: whether the program's kernels check their accesses.
        is_dry: whether commands are shown and not executed; ``is_verbose``: shown.
        dependencies: options of the rule for make, ``-MD`` and its like.
        forwards: whether an option that is not known is the host compiler's.
        is_parallel: whether files of the host are compiled with OpenMP.
    """

    inputs: list[tuple[Path, str]] = field(default_factory=list)
    what: str = LINK
    output: str = ""
    folder: str = ""
    device: list[str] = field(default_factory=list)
    archs: list[str] = field(default_factory=list)
    both: list[str] = field(default_factory=list)
    host: list[str] = field(default_factory=list)
    linker: list[str] = field(default_factory=list)
    runtime: str = "static"
    compiler: str = ""
    is_relocatable: bool = False
    is_shared: bool = False
    per_thread: bool = False
    is_checked: bool = False
    is_dry: bool = False
    is_verbose: bool = False
    dependencies: list[str] = field(default_factory=list)
    forwards: bool = False
    is_parallel: bool = False
    language: str = ""


_WITH_VALUE = frozenset(
    (
        "-o",
        "-I",
        "-isystem",
        "-include",
        "-D",
        "-U",
        "-L",
        "-l",
        "-O",
        "-std",
        "-arch",
        "-gencode",
        "-x",
        "-Xcompiler",
        "-Xlinker",
        "-rdc",
        "-cudart",
        "-default-stream",
        "-ccbin",
        "-fmad",
        "-ftz",
        "-prec-div",
        "-prec-sqrt",
        "-MF",
        "-MT",
        "-m",
        "-odir",
        "-ftemplate-depth",
        "-ftemplate-backtrace-limit",
        "-optf",
        *IGNORED_WITH_VALUE,
    )
)
_JOINED = ("-isystem", "-I", "-D", "-U", "-L", "-l", "-O")
"""Options whose value may follow at once."""
_OF_BOTH = "-ftemplate-depth", "-ftemplate-backtrace-limit", "-Wno-deprecated-declarations"
_FORWARD = "-forward-unknown-to-host-compiler"
_MODES = {
    "-c": OBJECT,
    "-E": PREPROCESS,
    "-ptx": PTX,
    "-fatbin": FATBIN,
    "-cuda": HOST_CPP,
    "-M": DEPENDENCIES,
    "-MM": DEPENDENCIES,
}


def parse(arguments: Sequence[str]) -> Command:
    """Read a command line.

    Raises:
        ArgumentError: an option is unknown or lacks its value, or there is no input.

    >>> parse(["-arch=sm_80", "-c", "a.cu", "-o", "a.o"]).output
    'a.o'
    """
    arguments = list(_with_files(arguments))
    command = Command(forwards=any(LONG.get(word, word) == _FORWARD for word in arguments))
    for name, value in _options(arguments):
        if not name:
            command.inputs.append((Path(value), _language(value, command.language)))
        else:
            _take(command, name, value)
    if not command.inputs:
        raise ArgumentError("no input file: gridlane cc [options] app.cu")
    if command.output and command.what != LINK and len(command.inputs) > 1:
        raise ArgumentError(f"-o {command.output} with several inputs, each of which makes a file")
    return command


def _language(name: str, given: str) -> str:
    suffix = Path(name).suffix
    if given:
        return given
    if suffix in SOURCES:
        return SOURCES[suffix]
    if suffix in _LINKED or ".so." in Path(name).name:
        return ""
    raise ArgumentError(
        f"{name}: no file that is compiled ({', '.join(SOURCES)}) or linked "
        f"({', '.join(_LINKED)}); -x cu says that it is CUDA C++"
    )


def _with_files(arguments: Sequence[str]) -> Iterator[str]:
    """The words, with those of the files that ``-optf`` names in its place.

    Raises:
        ArgumentError: a file cannot be read.
    """
    rest = iter(arguments)
    for word in rest:
        name, equals, value = word.partition("=")
        if LONG.get(name, name) != "-optf" and word[:1] != "@":
            yield word
            continue
        files = [word[1:]] if word[:1] == "@" else (value if equals else next(rest, "")).split(",")
        for file in files:
            try:
                text = Path(file).read_text()
            except OSError as error:
                raise ArgumentError(f"the file of options {file}: {error.strerror}") from None
            yield from _with_files(shlex.split(text))


def _options(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each option by its short name with its value; inputs by none."""
    rest = iter(arguments)
    for word in rest:
        if not word.startswith("-") or word == "-":
            yield "", word
            continue
        name, equals, value = word.partition("=")
        name = LONG.get(name, name)
        word = word if equals else name
        if name in _WITH_VALUE:
            if not equals:
                value = next(rest, "")
                if not value:
                    raise ArgumentError(f"the option {word} lacks its value")
            yield name, value
            continue
        joined = next((each for each in _JOINED if word.startswith(each)), "")
        if joined and word not in _FLAGS and name not in REFUSED:
            yield joined, word[len(joined) :]
        else:
            yield (name if not equals else word), ""


def _take(command: Command, name: str, value: str) -> None:
    """Write an option into the command."""
    if name in REFUSED:
        raise ArgumentError(f"gridlane cc: {name} is not supported: {REFUSED[name]}")
    if name in _TAKEN:
        _TAKEN[name](command, value)
    elif name in _VALUES:
        setattr(command, _VALUES[name], value)
    elif name in _SWITCHES:
        setattr(command, _SWITCHES[name], True)
    elif name in _ADDED:
        target, spelling = _ADDED[name]
        getattr(command, target).append(spelling + value)
    elif name in _MODES:
        command.what = _MODES[name]
        if command.what == DEPENDENCIES:
            command.dependencies.append(name)
    elif name in ("-D", "-U", "-I"):
        command.both.append(name + value)
    elif name in ("-isystem", "-include"):
        command.both += [name, value]
    elif name == "-L" or (name == "-l" and value not in IGNORED_LIBRARIES):
        command.linker.append(name + value)
    elif name in ("-fmad", "-ftz", "-prec-div", "-prec-sqrt"):
        command.device.append(f"{name}={value}")
    elif name in ("-MD", "-MMD", "-MP"):
        command.dependencies.append(name)
    elif name in ("-MF", "-MT"):
        command.dependencies += [name, value]
    elif name in _OF_BOTH:
        command.both.append(f"{name}={value}" if value else name)
    elif name == "-l" or name in IGNORED or name in IGNORED_WITH_VALUE:
        pass
    elif command.forwards:
        _of_host(command, name + value)
    else:
        raise ArgumentError(
            f"gridlane cc does not know the option {name}; -Xcompiler and -Xlinker pass options to "
            "the host's compiler and linker"
        )


def _architecture(command: Command, value: str) -> None:
    command.archs = [] if value.startswith(("native", "all")) else [value]


def _generated(command: Command, value: str) -> None:
    parts = dict(part.split("=", 1) for part in value.split(",") if "=" in part)
    if "arch" not in parts:
        raise ArgumentError(f"-gencode {value}: arch=compute_80,code=sm_80 or the like")
    command.archs = [*(each for each in command.archs if each != parts["arch"]), parts["arch"]]


def _forward(command: Command, value: str) -> None:
    """Do nothing: ``parse`` has searched for it before, since it holds for the options in front of
    it as well."""


def _kind(command: Command, value: str) -> None:
    if value not in _LANGUAGES:
        raise ArgumentError(f"-x {value}: one of {', '.join(_LANGUAGES)}")
    command.language = _LANGUAGES[value]


def _of_host(command: Command, value: str) -> None:
    options: list[str] = []
    for part in shlex.split(value):
        options += [part] if part.startswith("-Wl,") else filter(None, part.split(","))
    for word in options:
        command.is_parallel |= word.startswith("-fopenmp")
    options = [word for word in options if not word.startswith("-fopenmp")]
    of_both = [word for word in options if word[:2] in ("-D", "-U", "-I")]
    command.both += of_both
    command.host += [
        word for word in options if word not in of_both and not word.startswith("-Wl,")
    ]
    command.linker += [word for word in options if word.startswith("-Wl,") or word == "-pthread"]


def _relocatable(command: Command, value: str) -> None:
    if value not in ("true", "false"):
        raise ArgumentError(f"-rdc={value}: true or false")
    command.is_relocatable = value == "true"


def _device_object(command: Command, value: str) -> None:
    command.is_relocatable, command.what = True, OBJECT


def _runtime(command: Command, value: str) -> None:
    if value not in ("static", "shared", "none"):
        raise ArgumentError(f"-cudart {value}: static, shared or none")
    command.runtime = value


def _stream(command: Command, value: str) -> None:
    if value not in ("legacy", "null", "per-thread"):
        raise ArgumentError(f"--default-stream {value}: legacy or per-thread")
    command.per_thread = value == "per-thread"


def _machine(command: Command, value: str) -> None:
    if value != "64":
        raise ArgumentError(f"-m {value}: programs are of 64 bits")


_TAKEN = {
    "-arch": _architecture,
    "-gencode": _generated,
    _FORWARD: _forward,
    "-x": _kind,
    "-Xcompiler": _of_host,
    "-rdc": _relocatable,
    "-dc": _device_object,
    "-cudart": _runtime,
    "-default-stream": _stream,
    "-m": _machine,
}
_VALUES = {"-o": "output", "-odir": "folder", "-ccbin": "compiler"}
"""Options whose value is a field of the command."""
_SWITCHES = {
    "-shared": "is_shared",
    "-check": "is_checked",
    "-dryrun": "is_dry",
    "-v": "is_verbose",
    "-fopenmp": "is_parallel",
}
"""Options that set a field."""
_ADDED = {
    "-std": ("both", "-std="),
    "-O": ("host", "-O"),
    "-Xlinker": ("linker", "-Wl,"),
    "-g": ("host", "-g"),
    "-G": ("host", "-g"),
    "-lineinfo": ("device", "-lineinfo"),
    "-w": ("both", "-w"),
    "-use_fast_math": ("device", "-use_fast_math"),
    "-fPIC": ("host", "-fPIC"),
}
"""Options that a list of the command has, by their spelling there; a value follows at once."""
_FLAGS = frozenset((*_TAKEN, *_SWITCHES, *_ADDED, *_MODES, *IGNORED)) - _WITH_VALUE
