"""Runs gridlane's MSL on this machine, to see what it computes.

The text is compiled as C++ against a stand-in for <metal_stdlib>, with traps where C++ would be
undefined. What Apple's compiler accepts, and what its hardware rounds, is not seen here.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import struct
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from tests.devices import Outcome, packed
from tests.devices import arguments as arguments_of

from gridlane.core.artifact import Artifact
from gridlane.core.gpu_abi import PRINT_CAPACITY_OFFSET, RECORDS_OFFSET
from gridlane.core.shader_abi import METAL_LAUNCH_BYTES

HERE = Path(__file__).parent
PRINT_BYTES = 4096
FLAGS = (
    *("-std=c++17", "-O1", "-fPIC", "-shared", "-w", "-fno-strict-aliasing", "-ffp-contract=off"),
    "-fsanitize=signed-integer-overflow,shift,integer-divide-by-zero,float-cast-overflow",
    "-fsanitize-undefined-trap-on-error",
)
_HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"
_SHARED = re.compile(r"^ +threadgroup (\w+) (\w+)\[(\d+)\];$", re.M)


def compiler() -> str | None:
    """A g++ with _Float16, or None."""
    probe = "_Float16 x; __float128 y;"
    try:
        command = ["g++", "-x", "c++", "-fsyntax-only", "-"]
        done = subprocess.run(command, input=probe, text=True, capture_output=True)
    except FileNotFoundError:
        return None
    return None if done.returncode else "g++"


@cache
def folder() -> Path:
    """Where compiled code goes, for this process."""
    return Path(tempfile.mkdtemp(prefix="msl-"))


def compiled(source: str, *flags: str) -> Path:
    """A shared library of C++."""
    name = hashlib.sha256(source.encode()).hexdigest()[:16]
    path, made = folder() / f"{name}.cpp", folder() / f"{name}.so"
    if made.exists():
        return made
    path.write_text(source)
    command = ["g++", *FLAGS, f"-I{HERE}", str(path), "-o", str(made), *flags]
    done = subprocess.run(command, capture_output=True, text=True)
    assert not done.returncode, done.stderr[:4000]
    return made


@cache
def runtime() -> ctypes.CDLL:
    """The fibers."""
    path = compiled((HERE / "runtime.cpp").read_text())
    library = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    library.run_grid.restype = ctypes.c_char_p
    return library


def as_cpp(artifact: Artifact, name: str) -> str:
    """A kernel in a namespace, with an entry function of C."""
    text = artifact.code.decode()
    assert text.startswith(_HEAD), text[:100]
    text = text[len(_HEAD) :].replace("[[threadgroup(0)]]", "")
    numbers = iter(range(1, 100))
    text = _SHARED.sub(
        lambda m: (
            f"    {m[1]} (&{m[2]})[{m[3]}] = *({m[1]}(*)[{m[3]}])"
            f"machine::shared_array({next(numbers)}, {16 * int(m[3])});"
        ),
        text,
    )
    arguments = [f"*(const {name}::Launch*)launch"]
    if "struct Params" in text:
        arguments.insert(0, f"*(const {name}::Params*)params")
    if artifact.uses_dynamic_shared:
        arguments.append("(uchar*)dynamic")
    for field in ("thread_index", "block_index", "block_shape"):
        arguments.append("uint3{" + ", ".join(f"lane.{field}[{n}]" for n in range(3)) + "}")
    arguments.append("lane.lane")
    return f"""
namespace {name} {{
{text}
}}
extern "C" void {name}_entry(
    const void* params, const void* launch, void* dynamic, const machine::Lane& lane) {{
    {name}::{artifact.entry}({", ".join(arguments)});
}}
"""


class Library:
    """Compiled kernels, by their artifacts."""

    def __init__(self, artifacts: list[Artifact]) -> None:
        runtime()
        self.names = {id(artifact): f"k{n}" for n, artifact in enumerate(artifacts)}
        texts = [as_cpp(artifact, self.names[id(artifact)]) for artifact in artifacts]
        self.library = ctypes.CDLL(str(compiled("\n".join((_HEAD, *texts)))))
        self.kept = artifacts

    def run(self, artifact, module, grid, block, arrays, scalars=(), shared=0, seed=1) -> Outcome:
        """Run a kernel on copies of arrays."""
        copies = [np.array(array) for array in arrays]
        numbers = arguments_of(module, [array.ctypes.data for array in copies], scalars)
        # Room behind the parameters: C's struct is as long as its alignment wants.
        params = packed(artifact, numbers) + bytes(8)
        report = np.zeros(RECORDS_OFFSET + PRINT_BYTES, np.uint8)
        report[PRINT_CAPACITY_OFFSET:].view(np.uint32)[0] = PRINT_BYTES
        launch = struct.pack("<6IQI4x", 0, 0, 0, *grid, report.ctypes.data, shared)
        assert len(launch) == METAL_LAUNCH_BYTES
        entry = self.library[f"{self.names[id(artifact)]}_entry"]
        three = ctypes.c_uint32 * 3
        went = runtime().run_grid(
            entry, params, launch, three(*grid), three(*block), shared, ctypes.c_uint32(seed)
        )
        assert not went, went.decode()
        outcome = Outcome(copies, bool(report[4:8].view(np.uint32)[0]))
        outcome.report = report  # type: ignore[attr-defined]  # for tests of printing
        return outcome


def in_ci() -> bool:
    """Whether a missing tool is a failure."""
    return bool(os.environ.get("CI"))
