"""Runs kernels of the CPU target on AArch64: many linked into one program, which qemu runs.

A file of launches has for each: ten i64 (which entry, the grid's three sizes, bytes of dynamic
shared memory, bytes of other working memory, work of a cluster, its blocks, bytes of parameters,
pointers among them), the parameter block, and for each pointer its offset in the block, the array's
size in bytes and the array. The file of results has for each launch an i64, the error's code, and
the arrays.
"""

from __future__ import annotations

import math
import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gridlane.compiler import generate
from gridlane.compiler.generation import copied
from gridlane.conformance.cases import Case
from gridlane.conformance.module_runner import Outcome, octets_of
from gridlane.core.artifact import Artifact
from gridlane.core.options import KernelOptions, Target
from gridlane.native import text

COMPILER, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64"
ROOT = "/usr/aarch64-linux-gnu"
MAIN = Path(__file__).with_name("program.c")
WORKERS = 1


def missing() -> str:
    """What this system lacks, or ""."""
    return ", ".join(name for name in (COMPILER, EMULATOR) if shutil.which(name) is None)


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel's code and what it is called with."""

    case: Case
    artifact: Artifact


def compiled(case: Case, number: int, processor: str) -> Launch:
    """A case, its kernel under a name that no other in a program has."""
    module = copied(case.module)
    function = module.kernel
    del module.functions[function.name]
    function.name = f"kernel_{number}"
    module.functions[function.name] = function
    target = Target("cpu", block=case.block, processor=processor)
    return Launch(case, generate(module, target, KernelOptions()))


def run(launches: list[Launch], processor: str, folder: Path) -> list[Outcome]:
    """What a program of these kernels leaves in their arrays, on a processor of qemu's.

    Raises:
        AssertionError: the program crashed, with whose kernel it was.
    """
    program = _linked(launches, processor, folder)
    data, results = folder / "launches", folder / "results"
    data.write_bytes(b"".join(_described(launch, n) for n, launch in enumerate(launches)))
    command = [EMULATOR, "-L", ROOT, "-cpu", QEMU[processor], program, data, results]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    octets, outcomes = results.read_bytes(), []
    for launch in launches:
        size = 8 + sum(array.nbytes for array in launch.case.arrays)
        if len(octets) < size:
            raise AssertionError(f"{launch.case}: exit {done.returncode}: {done.stderr[:500]}")
        outcomes.append(_outcome(launch, octets[:size]))
        octets = octets[size:]
    assert done.returncode == 0 and not octets, done.stderr
    return outcomes


QEMU = {"generic": "cortex-a53", "neoverse-n1": "neoverse-n1", "neoverse-v1": "max"}
"""qemu's name of a processor with the features, and as few others as it has, by LLVM's."""


def _linked(launches: list[Launch], processor: str, folder: Path) -> Path:
    """The program."""
    objects: list[Path] = []
    for n, launch in enumerate(launches):
        objects.append(folder / f"{n}.o")
        objects[-1].write_bytes(launch.artifact.code)
    names = [launch.artifact.entry for launch in launches]
    table = folder / "table.c"
    # The names of entries are none of C's.
    declared = "".join(f'extern void e{n}(void) asm("{name}");\n' for n, name in enumerate(names))
    entries = ", ".join(f"e{n}" for n in range(len(names)))
    table.write_text(f"{declared}void *entries[] = {{{entries}}};\n")
    program, listed = folder / "program", folder / "objects"
    listed.write_text("\n".join(map(str, objects)))
    sources = [MAIN, table, *text.SOURCES, f"@{listed}"]
    options = ["-O1", "-std=gnu11", f"-DWORKERS={WORKERS}", f"-I{text.ROOM}"]
    command = [COMPILER, *options, *sources, "-lm", "-lpthread", "-o", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[:4000]
    return program


def _described(launch: Launch, entry: int) -> bytes:
    """A launch, as the program reads it."""
    case, code = launch.case, launch.artifact
    fixed = code.scratch + code.static_shared
    blocks = math.prod(code.cluster)
    sizes = (entry, *case.grid, case.shared, fixed, code.work * blocks, blocks)
    sizes += (code.param_bytes, len(case.arrays))
    parts = [struct.pack("<10q", *sizes), bytes(code.param_bytes)]
    for slot, array in zip(code.params, case.arrays, strict=True):
        parts += [struct.pack("<2q", slot.offset, array.nbytes), bytes(octets_of(np.array(array)))]
    return b"".join(parts)


def _outcome(launch: Launch, octets: bytes) -> Outcome:
    """The arrays of a launch."""
    arrays, at = [], 8
    for array in launch.case.arrays:
        made = np.frombuffer(octets, np.uint8, array.nbytes, at)
        arrays.append(made.view(array.dtype).reshape(array.shape))
        at += array.nbytes
    return Outcome(arrays, raised=octets[:8] != bytes(8))
