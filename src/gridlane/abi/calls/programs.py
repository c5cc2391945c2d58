"""Programs of CUDA C++ that are compiled at run time: NVRTC's interface on gridlane's compilers.

The numbers of failures are NVRTC's. What a program is compiled to is PTX; code for one GPU is
assembled where ptxas is installed, and has the PTX beside it (``cubins.py``). There is no code for
the link or for OptiX.
"""

from __future__ import annotations

import ctypes
import functools
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from gridlane.abi import cubins, raw
from gridlane.abi.calls import program_options
from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import Failure, fail
from gridlane.abi.state import devices
from gridlane.abi.state.handles import Handles
from gridlane.abi.struct import Struct
from gridlane.core.artifact import Artifact
from gridlane.core.cuda_table import enums
from gridlane.core.errors import CompileError, GridlaneError
from gridlane.core.options import KernelOptions, Target
from gridlane.frontends.cuda_cpp import CppSource, choose

_NUMBERS = {
    name.removeprefix("NVRTC_ERROR_"): number
    for name, number in enums()["nvrtcResult"].values.items()
}
_INPUT, _PROGRAM = (_NUMBERS[name] for name in ("INVALID_INPUT", "INVALID_PROGRAM"))
_DEEP = "/".join("headers" for _ in range(8))
"""Where a program's headers are in their folder, as names may begin with ``../``."""
_PRECOMPILED = 256 << 20
"""Bytes of NVRTC's heap for precompiled headers, which gridlane does not make."""

F = TypeVar("F", bound=Callable[..., Any])
_LIBDEVICE = "__nv_"
_flow = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


class Program:
    """A program.

    Attributes:
        expressions: names of C++ that are requested; ``names``: the mangled ones.
        ptx, log: of the last compilation; "" before it.
        target: the architecture of the code for one GPU; "" if none is requested.
        cubin: that code, once it is assembled.
        flow: the address of a function that may cancel a compilation, and its argument.
    """

    def __init__(self, code: str, name: str, headers: dict[str, bytes]) -> None:
        self._code, self._name = code, name
        self._folder = _folder_of(headers) if headers else None
        self.expressions: list[str] = []
        self.names: dict[str, str] | None = None
        self.ptx = self.log = self.target = ""
        self.cubin = b""
        self.compiled = False
        self.flow: tuple[int, int] = (0, 0)

    def compile(self, options: list[str]) -> None:
        """Compile it.

        Raises:
            Failure: with the messages in ``log``.
        """
        self.compiled, self.names = True, None
        self.ptx = self.log = self.target = ""
        self.cubin = b""
        try:
            self._compile(program_options.read(options))
        except Failure as failure:
            self.log = failure.what
            raise

    def _compile(self, options: program_options.Options) -> None:
        from gridlane.compiler.cpp import compile_cpp  # not needed before

        try:
            compiler = choose()
        except CompileError as error:
            fail(_NUMBERS["BUILTIN_OPERATION_FAILURE"], str(error))
        words_of_options = options.words
        if self._folder is not None:
            words_of_options = (f"-I{self._folder.name}/{_DEEP}", *words_of_options)
        if compiler.name == "clang":
            words_of_options = ("-D__CUDACC_RTC__", *words_of_options)
        source = CppSource(self._code, words_of_options, self._name, tuple(self.expressions))
        self._go_on()
        try:
            cpp = compile_cpp(source)
        except CompileError as error:
            fail(_NUMBERS["COMPILATION"], str(error))
        self._go_on()
        self.ptx, self.log, self.names = cpp.ptx, cpp.log, cpp.names
        self.target = f"sm_{options.arch}" if options.is_real else ""

    def _go_on(self) -> None:
        """Raise CANCELLED if the program's function returns that."""
        function, data = self.flow
        if function and _flow(function)(data, None):
            fail(_NUMBERS["CANCELLED"], "the program's function cancelled the compilation")

    def assembled(self) -> bytes:
        """The code for one GPU, if it was requested. It has the PTX alone where there is no ptxas,
        or the PTX calls functions of libdevice, which gridlane has and ptxas has not.

        Raises:
            Failure: INVALID_INPUT, ptxas refuses the PTX.
        """
        if self.target and not self.cubin:
            from gridlane.compiler.cuda import assemble, find_ptxas  # not needed before

            ptx = self.ptx.encode()
            if find_ptxas() is None or _LIBDEVICE in self.ptx:
                self.cubin = cubins.of_text(ptx)
                return self.cubin
            text = Artifact("cuda", "ptx", ptx, self._name, (), 0)
            try:
                artifact = assemble(text, Target("cuda", processor=self.target), KernelOptions())
            except GridlaneError as error:
                fail(
                    _INPUT,
                    f"{error}: compile with --gpu-architecture=compute_{self.target[3:]}, and take "
                    "the PTX, which runs on every device",
                )
            self.cubin = cubins.with_text(artifact.code, ptx)
        return self.cubin

    def end(self) -> None:
        """Remove its headers."""
        if self._folder is not None:
            self._folder.cleanup()


def _folder_of(headers: dict[str, bytes]) -> tempfile.TemporaryDirectory[str]:
    """A folder with headers by the names that programs include.

    Raises:
        Failure: INVALID_INPUT, no file can have such a name there.
    """
    result = tempfile.TemporaryDirectory(prefix="gridlane-")
    base = os.path.join(result.name, _DEEP)
    os.makedirs(base)
    for name, text in headers.items():
        path = os.path.normpath(os.path.join(base, name))
        if not name or not path.startswith(os.path.join(result.name, "")):
            result.cleanup()
            fail(_INPUT, f"a header of the name {name!r}: a relative one, of its folder")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        Path(path).write_bytes(text)
    return result


programs = Handles[Program]("program")


def _of_nvrtc(*names: str) -> Callable[[F], F]:
    """Declare functions whose failures have NVRTC's numbers."""

    def declare(function: F) -> F:
        @functools.wraps(function)
        def called(*values: Any) -> Any:
            try:
                return function(*values)
            except MemoryError:
                fail(_NUMBERS["OUT_OF_MEMORY"], "memory")
            except (GridlaneError, OSError) as error:
                fail(_NUMBERS["INTERNAL_ERROR"], str(error))

        implements(*names)(called)
        return function

    return declare


def _program(handle: int) -> Program:
    program = programs.find(handle)
    return program if program is not None else fail(_PROGRAM, f"{handle:#x} is no program")


def _decoded(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        fail(_INPUT, f"no text in UTF-8: {error}")


@implements("nvrtcGetErrorString")
def error_string(error: int) -> bytes:
    """The name of an error."""
    names = {number: name for name, number in enums()["nvrtcResult"].values.items()}
    return names.get(error, "NVRTC_ERROR unknown").encode()


@implements("nvrtcVersion")
def version() -> tuple[int, int]:
    """The version of CUDA whose interface this is."""
    return devices.VERSION // 1000, devices.VERSION % 1000 // 10


@implements("nvrtcGetNumSupportedArchs")
def number_of_archs() -> int:
    """How many architectures PTX is made for."""
    return len(program_options.ARCHS)


@implements("nvrtcGetSupportedArchs")
def archs() -> list[int]:
    """The architectures that PTX is made for."""
    return list(program_options.ARCHS)


# --- programs ---


@_of_nvrtc("nvrtcCreateProgram")
def create(
    source: bytes | None, name: bytes | None, count: int, texts_address: int, names: int
) -> int:
    """Create a program with headers of its own."""
    if source is None or count < 0 or (count and not (texts_address and names)):
        fail(_INPUT, f"no source, or {count} headers without texts or names")
    headers: dict[str, bytes] = {}
    for text, called in zip(raw.words(texts_address, count), raw.words(names, count)):
        if not text or not called:
            fail(_INPUT, "a header without a text or a name")
        headers[_decoded(raw.text(called))] = raw.text(text)
    program = Program(_decoded(source), _decoded(name or b"") or "default_program", headers)
    return programs.add(program)


@_of_nvrtc("nvrtcDestroyProgram")
def destroy(place: int) -> None:
    """End a program, whose handle is at an address; the handle becomes 0."""
    handle = raw.words(place, 1)[0] if place else 0
    _program(handle).end()
    programs.discard(handle)
    raw.put_words(place, (0,))


@_of_nvrtc("nvrtcCompileProgram")
def compile_program(handle: int, count: int, options: int) -> None:
    """Compile a program."""
    program = _program(handle)
    if count < 0 or (count and not options):
        fail(_INPUT, f"{count} options without their texts")
    program.compile([_decoded(raw.text(each)) for each in raw.words(options, count)])


@_of_nvrtc("nvrtcAddNameExpression")
def add_expression(handle: int, expression: bytes | None) -> None:
    """Request the mangled name of a kernel or variable."""
    program = _program(handle)
    if not expression:
        fail(_INPUT, "no name expression")
    if program.compiled:
        message = "name expressions are added before a program is compiled"
        fail(_NUMBERS["NO_NAME_EXPRESSIONS_AFTER_COMPILATION"], message)
    program.expressions.append(_decoded(expression))


@_of_nvrtc("nvrtcGetLoweredName")
def lowered_name(handle: int, expression: bytes | None) -> bytes:
    """The mangled name of an expression."""
    program = _program(handle)
    if program.names is None:
        message = "the program is not compiled"
        fail(_NUMBERS["NO_LOWERED_NAMES_BEFORE_COMPILATION"], message)
    name = program.names.get(_decoded(expression or b""))
    if name is None:
        fail(_NUMBERS["NAME_EXPRESSION_NOT_VALID"], f"{expression!r} was not asked for")
    return name.encode()


@_of_nvrtc("nvrtcSetFlowCallback")
def set_flow(handle: int, function: int, data: int) -> None:
    """Set a function that is called during compilations, and may cancel them."""
    if not function:
        fail(_INPUT, "no function")
    _program(handle).flow = function, data


# --- what a program is compiled to ---


def _ptx(program: Program) -> bytes:
    return program.ptx.encode() + b"\0"


def _log(program: Program) -> bytes:
    return program.log.encode() + b"\0"


def _cubin(program: Program) -> bytes:
    return program.assembled()


def _nothing(program: Program) -> bytes:
    """An output that does not exist: options that request it are refused."""
    return b""


_PRODUCTS: dict[str, Callable[[Program], bytes]] = {
    "PTX": _ptx,
    "ProgramLog": _log,
    "CUBIN": _cubin,
    "LTOIR": _nothing,
    "OptiXIR": _nothing,
    "TileIR": _nothing,
}


def _declare(name: str, product: Callable[[Program], bytes]) -> None:
    def size(handle: int) -> int:
        return len(product(_program(handle)))

    def get(handle: int, place: int) -> None:
        data = product(_program(handle))
        if not place:
            fail(_INPUT, f"no memory for {len(data)} bytes")
        raw.put(place, data)

    size.__doc__ = f"The bytes of a program's {name}."
    get.__doc__ = f"Write a program's {name}."
    _of_nvrtc(f"nvrtcGet{name}Size")(size)
    _of_nvrtc(f"nvrtcGet{name}")(get)


for _name, _product in _PRODUCTS.items():
    _declare(_name, _product)


# --- precompiled headers, which gridlane does not make, and bundled ones, which need no folder ---


class _Heap:
    """The size of NVRTC's heap for precompiled headers, as the program sets it."""

    size = _PRECOMPILED


@_of_nvrtc("nvrtcGetPCHHeapSize")
def heap_size() -> int:
    """The size of the heap for precompiled headers."""
    return _Heap.size


@_of_nvrtc("nvrtcSetPCHHeapSize")
def set_heap_size(size: int) -> None:
    """Set the size of the heap for precompiled headers; nothing is kept there."""
    _Heap.size = size


@_of_nvrtc("nvrtcGetPCHCreateStatus")
def precompiled(handle: int) -> None:
    """Say that no header was precompiled."""
    _program(handle)
    fail(_NUMBERS["NO_PCH_CREATE_ATTEMPTED"], "gridlane precompiles no headers")


@_of_nvrtc("nvrtcGetPCHHeapSizeRequired")
def heap_required(handle: int) -> int:
    """The bytes for precompiled headers: none."""
    _program(handle)
    return 0


@_of_nvrtc("nvrtcGetBundledHeadersInfo")
def bundled_headers() -> tuple[Struct, bytes | None]:
    """Say that no headers are there to install: the compilers find their own."""
    return Struct("nvrtcBundledHeadersInfo"), None


@_of_nvrtc("nvrtcInstallBundledHeaders")
def install_headers(path: bytes | None, flags: int) -> None:
    """Refuse: there are no headers to install, as the compilers find their own."""
    fail(_NUMBERS["BUILTIN_OPERATION_FAILURE"], "headers are found without being installed")


@_of_nvrtc("nvrtcRemoveBundledHeaders")
def remove_headers(path: bytes | None) -> None:
    """Refuse: no headers were installed."""
    fail(_NUMBERS["BUILTIN_OPERATION_FAILURE"], f"no headers were installed in {path!r}")
