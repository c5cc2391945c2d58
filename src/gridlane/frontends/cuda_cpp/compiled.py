"""The input and the output of a compiler of CUDA C++."""

from __future__ import annotations

from typing import Protocol

from gridlane.core.frozen import frozen


@frozen
class CppSource:
    """A source text with all that decides its PTX.

    Attributes:
        options: of the compiler; the spellings of nvcc and NVRTC are understood by each.
        name: of the file, for the compiler's messages; quoted includes are searched beside it.
        expressions: kernels and variables by their C++ names, such as ``scale<float>``.
    """

    code: str
    options: tuple[str, ...] = ()
    name: str = "kernel.cu"
    expressions: tuple[str, ...] = ()


@frozen
class Compiled:
    """The PTX of a source.

    Attributes:
        log: the compiler's warnings.
        names: the mangled name of each name expression.
        headers: the files that it read; None if the compiler does not report them, or if the PTX
            depends on more than their content.
    """

    ptx: str
    log: str
    names: dict[str, str]
    headers: tuple[str, ...] | None = None


class CppCompiler(Protocol):
    """A compiler that is installed.

    Attributes:
        name: as ``backend=`` spells it.
    """

    name: str

    def identity(self) -> str:
        """The identity of this compiler's version, for cache keys."""
        ...

    def searched(self, source: CppSource) -> tuple[str, ...]:
        """The folders in which it searches a source's headers, in order."""
        ...

    def compile(self, source: CppSource) -> Compiled:
        """The PTX of a source.

        Raises:
            CompileError: the compiler's own messages.
        """
        ...
