"""CUDA C++ to PTX by clang, of PyPI's ``ziglang`` or of the system, with the headers in include/.

No CUDA toolkit and no header of clang's own CUDA support is used. Of ``ziglang`` the C and C++
headers are named one by one, for one host (Linux on x86-64), so that every machine compiles alike.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

from gridlane.core.cuda_table import written
from gridlane.core.errors import CompileError
from gridlane.frontends.cuda_cpp.compiled import Compiled, CppSource
from gridlane.frontends.cuda_cpp.options import ClangOptions, for_clang
from gridlane.frontends.cuda_cpp.overlay import headers, overlay
from gridlane.frontends.cuda_cpp.precompiled import compile_behind
from gridlane.frontends.cuda_cpp.process import encoded, run_compiler
from gridlane.frontends.cuda_cpp.source_and_ptx import (
    made_ptx,
    prerequisites,
    read_table,
    settled,
    with_statics,
    with_table,
    with_users_lines,
)
from gridlane.frontends.cuda_cpp.statics import (
    has_clusters,
    is_ir,
    marked,
    may_define,
    with_plain_names,
)

INCLUDE = Path(__file__).parent / "include"
OLDEST = 18
"""The oldest clang of the system that is used: the first with atomics of a scope."""

GLIBC = "2.31"
"""The oldest glibc on which programs run that are made with the package's."""

_ALWAYS = (
    "-x",
    "cuda",
    "--cuda-device-only",
    "-nocudainc",
    "-nocudalib",
    "-Wno-unknown-cuda-version",
    "-O2",
    "-S",
    "-std=c++17",
    "-fno-color-diagnostics",
    # Clang takes it that memory which nothing uses can be had, and programs ask where it ends.
    "-fno-builtin-malloc",
    # Lanes without a value pass one to a shuffle, as in warp-aggregated atomics; clang would take
    # it that such lanes do not exist.
    "-Xclang",
    "-no-enable-noundef-analysis",
    # nvcc takes these; programs have them.
    "-Wno-c++11-narrowing",
    "-Wno-register",
    "-Wno-reserved-user-defined-literal",
)
_IR_FIRST = "-emit-llvm", "-Xclang", "-disable-llvm-passes"
_OF_IR = "-O2", "-S", "-nogpulib", "-Wno-unknown-cuda-version", "-Qunused-arguments"
_PROGRAM = "-DGRIDLANE_PROGRAM"
_LIBCXX = (
    "ABI_VERSION=1",
    "ABI_NAMESPACE=__1",
    "HAS_THREADS=1",
    "HAS_THREAD_API_PTHREAD=1",
    "HAS_THREAD_API_EXTERNAL=0",
    "HAS_THREAD_API_WIN32=0",
    "HAS_THREAD_API_C11=0",
    "HAS_MONOTONIC_CLOCK=1",
    "HAS_TERMINAL=1",
    "HAS_VENDOR_AVAILABILITY_ANNOTATIONS=0",
    "HAS_FILESYSTEM=1",
    "HAS_RANDOM_DEVICE=1",
    "HAS_LOCALIZATION=1",
    "HAS_UNICODE=1",
    "HAS_WIDE_CHARACTERS=1",
    "HAS_TIME_ZONE_DATABASE=0",
    "HAS_LIBRARY_ALIGNED_ALLOCATION=1",
    "PSTL_BACKEND_SERIAL",
    "HARDENING_MODE=_LIBCPP_HARDENING_MODE_NONE",
    # What other libraries keep of older C++.
    "ENABLE_CXX17_REMOVED_AUTO_PTR",
    "ENABLE_CXX17_REMOVED_BINDERS",
    "ENABLE_CXX17_REMOVED_RANDOM_SHUFFLE",
    "ENABLE_CXX17_REMOVED_UNARY_BINARY_FUNCTION",
    "ASSERTION_SEMANTIC_DEFAULT=_LIBCPP_ASSERTION_SEMANTIC_IGNORE",
)
"""The configuration that libc++ expects from its builder."""


_MARK = "-cuid="
"""What the names of a unit's static kernels and variables end in, which no header knows: the host's
part of a program says its own."""
_OWN_HEADER = re.compile(r"#\s*include\s*[^<\s]")
_READS = re.compile(r"tex|surf")
_REFERS = re.compile(r"\b(?:texture|surface)\s*<")
_OWN_TEMPLATE = re.compile(r"\b(?:struct|class|using)\s+(?:texture|surface)\b")


class Clang:
    """A clang that is installed.

    Attributes:
        words: the command.
        host: its options for the headers of C and C++.
    """

    name = "clang"

    def __init__(
        self, words: tuple[str, ...], release: int, label: str, host: tuple[str, ...]
    ) -> None:
        self.words, self.release, self.label, self.host = words, release, label, host

    def identity(self) -> str:
        """Its version, and the file's time, which changes when another one is installed."""
        info = os.stat(self.words[0])
        return f"{self.label} {self.words} {info.st_size} {info.st_mtime_ns}"

    def searched(self, source: CppSource) -> tuple[str, ...]:
        """The folders of the user's headers, then ours, then those of C and C++."""
        beside = str(Path(source.name).parent)
        given = for_clang(source.options).folders
        return (beside, *given, *own_folders(), *_folders(self.host))

    def compile(self, source: CppSource) -> Compiled:
        """The PTX of a source.

        Raises:
            CompileError: the compiler's own messages.
        """
        given = for_clang(source.options)
        with tempfile.TemporaryDirectory(prefix="gridlane-") as folder:
            path, read = Path(folder, "made.ptx"), Path(folder, "made.d")
            # In a file of its own: of a text by a pipe clang takes the current folder for its own,
            # and searches that first.
            text = Path(folder, "made.cu")
            text.write_bytes(encoded(with_table(source)))
            through = Path(folder, "made.ll") if self._has_statics(source, given) else None
            dependencies = ["-MD", "-MT", "made", "-MF", str(read)]
            output = [*(_IR_FIRST if through else ()), "-o", str(through or path), str(text)]
            status, messages = compile_behind(
                (*self.words, *_ALWAYS, f"--cuda-gpu-arch=sm_{given.arch}", _feature(given.arch)),
                [word for word in given.words if not word.startswith(_MARK)],
                (*searched(own_folders()), *self.host, *textures(source)),
                (*_own_options(source, given, Path(folder)), *dependencies, *output),
            )
            if not status and through is not None:
                status, more = self._from_ir(through, path, given)
                messages += more
            if status:
                raise CompileError(
                    f"clang does not compile {source.name}:\n{messages.strip()}{_advice(messages)}"
                )
            ptx, names = read_table(self._read_ptx(path, given), source.expressions)
            headers = None
            if read.is_file():
                named = prerequisites(read.read_text())
                headers = tuple(each for each in named if each != str(text))
        if headers is not None:
            headers = settled(source, headers, (*own_folders(), *_folders(self.host)))
        return Compiled(ptx, messages, names, headers)

    def _has_statics(self, source: CppSource, given: ClangOptions) -> bool:
        """Whether the source or a header of the user's may have static variables of the device."""
        if any(word.startswith("-i") for word in given.words):
            return True
        own = headers(source.code, Path(source.name).parent, given.folders)
        return may_define((source.code, *given.words, *(text for _, text in own)))

    def _from_ir(self, ir: Path, path: Path, given: ClangOptions) -> tuple[int, str]:
        """Compile a source's IR, with its static variables marked; the status and the messages."""
        text = ir.read_text("utf-8", "surrogateescape") if ir.is_file() else ""
        if not is_ir(text):
            return 0, ""  # an option asks for something else
        if has_clusters(text) and int(re.findall(r"\d+", given.arch)[0]) < 90:
            return 1, f"__cluster_dims__ is for -arch=sm_90 and later, not for sm_{given.arch}"
        ir.write_text(marked(text), "utf-8", "surrogateescape")
        target = ("--target=nvptx64-nvidia-cuda", f"-march=sm_{given.arch}", _feature(given.arch))
        return run_compiler(
            (
                *self.words,
                *target,
                *_OF_IR,
                *_of_backend(given.words),
                "-x",
                "ir",
                "-o",
                str(path),
                str(ir),
            )
        )

    def _read_ptx(self, path: Path, given: ClangOptions) -> str:
        """The PTX, by the user's lines and with the names that nvcc has."""
        whole = made_ptx(path, "clang")
        whole = with_statics(with_users_lines(whole, (*own_folders(), *_folders(self.host))))
        # The host's part of a program has registered clang's own names.
        has_host = given.is_relocatable or _PROGRAM in given.words
        return whole if has_host else with_plain_names(whole)


def own_folders() -> tuple[str, ...]:
    """The folders of gridlane's headers: those made from the table of CUDA's interface, and those
    written for CUDA C++.

    Raises:
        CompileError: the former cannot be written.
    """
    try:
        return str(written.folder()), str(INCLUDE)
    except OSError as error:
        raise CompileError(f"no folder for headers can be written: {error}") from error


def searched(folders: Sequence[str]) -> list[str]:
    """The options for folders of the system's headers."""
    return [word for folder in folders for word in ("-isystem", folder)]


def _feature(arch: str) -> str:
    return f"--cuda-feature=+ptx{_isa(arch)}"


def _own_options(source: CppSource, given: ClangOptions, room: Path) -> list[str]:
    """The options of one source alone: its mark, and the folders that are searched first."""
    beside = str(Path(source.name).parent)
    translated = overlay(source.code, Path(beside), given.folders, room)
    own_mark = [_MARK + digest(source)] if given.is_relocatable else []
    marks = [word for word in given.words if word.startswith(_MARK)]
    return [*own_mark, *marks, "-iquote", beside, *translated]


def _of_backend(options: Sequence[str]) -> Iterator[str]:
    """The options that affect the steps behind the IR."""
    for before, word in pairwise(("", *options)):
        if before == "-mllvm" or word == "-mllvm" or word.startswith(("-O", "-f")):
            yield word


def _advice(message: str) -> str:
    """What to say behind messages that are of what no compiler here can do."""
    if "identifier cudaLaunchDevice" in message or "kernel launch from __device__" in message:
        return "\nKernels that launch kernels (dynamic parallelism) want -rdc=true, as nvcc's do"
    return ""


def digest(source: CppSource) -> str:
    """What is in the names of static kernels and variables of relocatable code: clang's own
    digest is of its temporary files."""
    parts = source.name, source.code, *source.options
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()[:16]


def _folders(options: tuple[str, ...]) -> list[str]:
    """Those of options for headers of the system."""
    return [folder for word, folder in pairwise(options) if word == "-isystem"]


def textures(source: CppSource) -> tuple[str, ...]:
    """The options for the functions of textures and surfaces, unless nothing names them: neither
    the source nor an option, and there are no headers of the user's."""
    given = for_clang(source.options)
    may = any(word.startswith(("-I", "-i")) for word in given.words)
    named = any(_READS.search(text) for text in (source.code, *given.words))
    may = may or _OWN_HEADER.search(source.code) is not None
    options = ("-DGRIDLANE_TEXTURES",) if may or named else ()
    if not options:
        return options
    own = headers(source.code, Path(source.name).parent, given.folders) if may else ()
    sources = [source.code, *(text for _, text in own)]
    if any(map(_REFERS.search, sources)) and not any(map(_OWN_TEMPLATE.search, sources)):
        options += ("-DGRIDLANE_TEXTURE_REFERENCES",)
    return options


def _isa(arch: str) -> int:
    """The version of the PTX ISA that is written for a generation."""
    return 87 if int(arch.rstrip("af")) >= 100 else 83


def find_clang() -> Clang | None:
    """Clang of ``ziglang``, else of the system; None if there is none."""
    return _of_ziglang() or _of_system()


@cache
def _of_ziglang() -> Clang | None:
    package = ziglang()
    if package is None:
        return None
    label = f"ziglang {version('ziglang')}"
    return Clang((str(program_of(package)), "clang"), 20, label, headers_of(package, "musl"))


def ziglang() -> Path | None:
    """The folder of the package ``ziglang``, if it is installed."""
    spec = find_spec("ziglang")
    if spec is None or not spec.submodule_search_locations:
        return None
    package = Path(next(iter(spec.submodule_search_locations)))
    return package if program_of(package).is_file() else None


def program_of(package: Path) -> Path:
    """The program of the package ``ziglang``."""
    return package / ("zig.exe" if os.name == "nt" else "zig")


_HEADERS = {
    "musl": (
        "libcxx/include",
        "include",
        "libc/include/x86_64-linux-musl",
        "libc/include/x86-linux-musl",
        "libc/include/generic-musl",
        "libc/include/x86-linux-any",
        "libc/include/any-linux-any",
    ),
    "gnu": (
        "libcxx/include",
        "libcxxabi/include",
        "include",
        "libc/include/x86-linux-gnu",
        "libc/include/generic-glibc",
        "libc/include/x86-linux-any",
        "libc/include/any-linux-any",
    ),
}
"""The folders of headers in the package, for each C library."""


def headers_of(package: Path, library: str) -> tuple[str, ...]:
    """The options for the package's headers of C and C++: with the C library ``musl`` or ``gnu``,
    of the version GLIBC."""
    options = [f"--target=x86_64-linux-{library}", "-nostdinc", "-nostdinc++"]
    options += [f"-D_LIBCPP_{each}" for each in _LIBCXX]
    options.append(f"-D_LIBCPP_HAS_MUSL_LIBC={int(library == 'musl')}")
    if library == "gnu":
        options.append(f"-D__GLIBC_MINOR__={GLIBC.partition('.')[2]}")
    for each in _HEADERS[library]:
        options += ["-isystem", str(package / "lib" / each)]
    return tuple(options)


@cache
def _of_system() -> Clang | None:
    names = ("clang++", "clang", *(f"clang++-{n}" for n in range(40, OLDEST - 1, -1)))
    for name in names:
        path = shutil.which(name)
        if path is None:
            continue
        status, version = run_compiler((path, "--version"))
        match = re.search(r"clang version (\d+)\.(\S+)", version)
        if not status and match is not None and int(match[1]) >= OLDEST:
            return Clang((path,), int(match[1]), match[0], ())
    return None
