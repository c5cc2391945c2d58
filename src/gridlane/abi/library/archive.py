"""The static runtime: an archive whose functions call those of the installed libcudart.

``-lcudart_gridlane`` makes a program that needs no library path. The program contains CUDA's
interface only, so a later gridlane serves it as well.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from gridlane.abi.library.build import archiver, compiler, numbered
from gridlane.abi.library.stubs import c_type, result_of, structs
from gridlane.core.cuda_table import ctype
from gridlane.core.cuda_table.functions import Function, exported
from gridlane.core.errors import CompileError

_ROOM = Path(__file__).parent
ARCHIVE = "libcudart_gridlane.a"
RUNTIME = "libcudart.so.13"
"""The library that it opens."""


def text() -> str:
    """The C text of its functions: those of the runtime."""
    runtime_rows = exported("runtime", 13)
    lines = ['#include "forwards.h"', "", *structs(runtime_rows), ""]
    for row in runtime_rows:
        lines += _forward(row, "")
        if row.per_thread:
            lines += _forward(row, f"_{row.per_thread}")
    return "\n".join(lines) + "\n"


def _forward(row: Function, suffix: str) -> Iterator[str]:
    kinds = [ctype(each.type) for each in row.parameters]
    given = ", ".join(f"{c_type(kind)} a{n}" for n, kind in enumerate(kinds)) or "void"
    passed = ", ".join(f"a{n}" for n in range(len(kinds)))
    result = result_of(row)
    without = (
        "GL_NO_DRIVER" if result == "int" else _NOTHING.get(result, f"({result}){{ {{ 0 }} }}")
    )
    yield f"GL_FORWARD({result}, {row.name}{suffix}, ({given}), ({passed}), {without})"


_NOTHING = {"const char *": '"there is no libcudart of gridlane"', "void *": "NULL"}
"""The results, without a library, of functions that return no error code."""


def sources() -> tuple[bytes, ...]:
    """The inputs of the archive."""
    own = [(_ROOM / name).read_bytes() for name in ("forwards.c", "forwards.h")]
    return (text().encode(), *own)


def build_archive(folder: Path, installed: Path) -> Path:
    """Compile the archive into a folder; return its path.

    Args:
        installed: the folder of the libraries that it opens.

    Raises:
        CompileError: the compiler's own messages, or that there is none.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / ARCHIVE
    with TemporaryDirectory(dir=folder) as name:
        room = Path(name)
        (room / "functions.c").write_text(text())
        objects: list[str] = []
        for source in (room / "functions.c", _ROOM / "forwards.c"):
            objects.append(str(room / f"{source.stem}.o"))
            _run(
                *compiler(),
                "-std=gnu11",
                "-O2",
                "-fPIC",
                "-Wall",
                "-Wextra",
                f"-I{_ROOM}",
                *numbered(),
                f'-DGL_RUNTIME="{installed / RUNTIME}"',
                f'-DGL_RUNTIME_NAME="{RUNTIME}"',
                "-c",
                str(source),
                "-o",
                objects[-1],
            )
        _run(*archiver(), "rcsD", str(room / ARCHIVE), *objects)
        (room / ARCHIVE).replace(path)
    return path


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise CompileError(f"{ARCHIVE} is not made:\n{done.stderr}")
