"""CUDA C++ to PTX by nvcc, where a CUDA toolkit is installed."""

from __future__ import annotations

import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

from gridlane.core.config import config
from gridlane.core.errors import CompileError
from gridlane.frontends.cuda_cpp.compiled import Compiled, CppSource
from gridlane.frontends.cuda_cpp.options import ARCH, for_clang
from gridlane.frontends.cuda_cpp.process import run_compiler
from gridlane.frontends.cuda_cpp.source_and_ptx import prerequisites, read_table, with_table


class Nvcc:
    """An nvcc that is installed."""

    name = "nvcc"

    def __init__(self, path: str, label: str) -> None:
        self.path, self.label = path, label

    def identity(self) -> str:
        """The text in which it reports its version."""
        return f"{self.path} {self.label}"

    def searched(self, source: CppSource) -> tuple[str, ...]:
        """The folders of the user's headers."""
        return (str(Path(source.name).parent), *for_clang(source.options).folders)

    def compile(self, source: CppSource) -> Compiled:
        """The PTX of a source.

        Raises:
            CompileError: the compiler's own messages.
        """
        text = with_table(source)
        beside = Path(source.name).resolve().parent
        with tempfile.TemporaryDirectory(prefix="gridlane-") as folder:
            path, given = Path(folder, "made.ptx"), Path(folder, "given.cu")
            read = Path(folder, "made.d")
            given.write_text(text)
            command = [self.path, "-ptx", *source.options, f"-I{beside}", str(given)]
            if not any("arch" in each for each in source.options):
                command.append(f"-arch=compute_{ARCH}")
            status, messages = run_compiler(
                (*command, "-MD", "-MT", "made", "-MF", str(read), "-o", str(path))
            )
            if status:
                raise CompileError(f"nvcc does not compile {source.name}:\n{messages.strip()}")
            ptx, names = read_table(path.read_text(), source.expressions)
            headers = [each for each in prerequisites(read.read_text()) if each != str(given)]
        return Compiled(ptx, messages, names, tuple(headers))


@cache
def find_nvcc() -> Nvcc | None:
    """The first nvcc of the toolkits that are named, of PATH, and of the usual folder."""
    name = "nvcc.exe" if os.name == "nt" else "nvcc"
    for home in (*config().toolkits, None, Path("/usr/local/cuda")):
        path = shutil.which("nvcc") if home is None else str(home / "bin" / name)
        if path and os.access(path, os.X_OK):
            status, version = run_compiler((path, "--version"))
            if not status:
                return Nvcc(path, version.strip())
    return None
