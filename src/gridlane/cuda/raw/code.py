"""The text of raw kernels: PTX, or CUDA C++ that a compiler makes PTX of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gridlane.compiler.units import PTX, check_lists, is_cpp
from gridlane.core.errors import ArgumentError
from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.cuda.texture.references import Reference
from gridlane.frontends.ptx import PtxModule, parse_ptx
from gridlane.launch import current
from gridlane.modules import Code

if TYPE_CHECKING:
    from gridlane.frontends.cuda_cpp import Compiled


class RawCode(Code):
    """A module, with its variables as device arrays and its references to textures.

    Attributes:
        is_shown: whether the host has memory of its variables.
        via: as for ``RawModule``.
    """

    def __init__(self, module: PtxModule, via: str) -> None:
        super().__init__(module, via)
        self.via, self.is_shown = via, False
        self._references: dict[str, Reference] = {}

    def array(self, name: str) -> DeviceNDArray:
        """The bytes of a variable on the current device.

        Raises:
            ArgumentError: the module has no such variable; the message lists those it has.
        """
        buffer = self.variable(name, current.device())
        self.is_shown = True
        return DeviceNDArray(buffer.size, None, "u1", 0, buffer)

    def reference(self, name: str) -> Reference:
        """A reference to a texture or surface; the same object at each call.

        Raises:
            ArgumentError: the module has no such reference; the message lists those it has.
        """
        known = [each.name for each in self.module.variables.values() if each.is_reference]
        if name not in known:
            listed = ", ".join(known) or "none"
            raise ArgumentError(f"there is no reference {name} here; the references are: {listed}")
        self.is_shown = True
        if name not in self._references:
            self._references[name] = Reference(name, lambda: self._of_ir(name))
        return self._references[name]

    def _of_ir(self, name: str) -> DeviceNDArray:
        if self.goes_to_driver(current.device()):
            raise ArgumentError(
                f"{name}: the module goes to the driver, which knows no texture of gridlane: make "
                'it with via="ir"'
            )
        return self.array(name)


def decoded(code: str | bytes, what: str = "the code") -> str:
    """The text of a code; ``what`` it is, for errors."""
    if isinstance(code, bytes):
        try:
            return code.rstrip(b"\0").decode()
        except UnicodeDecodeError as error:
            raise ArgumentError(
                f"{what} is no text ({error}); a cubin or fatbin is not read: pass the PTX"
            ) from error
    if not isinstance(code, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"{what} is text, not an object of type {type(code).__name__}")
    return code


def compile_cpp(
    code: str | bytes,
    *,
    options: Sequence[str] = (),
    name: str = "",
    name_expressions: Sequence[str] = (),
    backend: str = "",
) -> str:
    """The PTX of CUDA C++, compiled or of the disk cache.

    Args:
        options: of the compiler: ``-I``, ``-D``, ``--std=c++17``, ``-arch=compute_90``, ...
        name: of the file, for the compiler's messages; quoted includes are searched beside it.
        name_expressions: templates to instantiate, such as ``scale<float>``.
        backend: ``clang``, ``nvcc`` or ``nvrtc``; "" is the first of these that is installed.

    Raises:
        CompileError: the compiler's own messages, or that there is none.
    """
    return _by_compiler(decoded(code), name, options, name_expressions, backend).ptx


def _by_compiler(
    text: str, name: str, options: Sequence[str], expressions: Sequence[str], backend: str
) -> Compiled:
    from gridlane.compiler import cpp  # few programs need it

    check_lists(options, expressions)
    given = tuple(options), name or "kernel.cu", tuple(expressions)
    return cpp.compile_cpp(cpp.CppSource(text, *given), backend)


def compiled(
    text: str, name: str, options: Sequence[str], expressions: Sequence[str], backend: str
) -> tuple[PtxModule, dict[str, str]]:
    """The module, and the name in it of each name expression."""
    if is_cpp(text, name):
        product = _by_compiler(text, name, options, expressions, backend)
        return parse_ptx(product.ptx), product.names
    if expressions and PTX.match(text):
        raise ArgumentError("name_expressions are of CUDA C++, and the code is PTX")
    return parse_ptx(text, name), {}
