"""The command: compile the kernels, write them and the page's files to a folder."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from gridlane.backends.webgpu import BACKEND
from gridlane.cli.failure import check_settings, fail, likely, one_of
from gridlane.cli.inputs import block_shape
from gridlane.cli.kernels_of_file import FileKernels
from gridlane.cli.python_kernels import Input, PythonKernel, programs_block
from gridlane.cli.web import manifest
from gridlane.cli.web.manifest import FORMAT, Json, NotForPagesError
from gridlane.cli.wording import counted
from gridlane.core.artifact import Artifact
from gridlane.core.compact import Variant
from gridlane.core.errors import CompileError
from gridlane.core.frozen import frozen
from gridlane.core.options import FP64, Target
from gridlane.ir.ops import grid
from gridlane.ir.values import Module

EVERYWHERE_THREADS, EVERYWHERE_SHARED = 256, 16384
"""Threads of a block, and bytes of its shared memory, that every device of WebGPU supports."""
_NAMED = re.compile(r"\s*(\w+)\s*=(.*)", re.S)


@frozen
class Request:
    """The command line. ``signatures`` and ``blocks`` are texts, optionally prefixed by a kernel's
    name and =; None: the option was not given."""

    places: tuple[str, ...]
    output: str
    signatures: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()
    fp64: str | None = None
    page: str | None = None


def export(request: Request) -> None:
    """Export the kernels; report errors in words."""
    check_settings()
    if request.fp64 is not None:
        one_of("way to compute float64", request.fp64, FP64)
    signatures, blocks = _by_name("--sig", request.signatures), _by_name("--block", request.blocks)
    chosen = _kernels(request.places, signatures)
    for option, options in (("--sig", signatures), ("--block", blocks)):
        for name in options.keys() - chosen.keys() - {""}:
            there = f"{likely(name, chosen)}; there are: {', '.join(chosen)}"
            fail(f"export: {option} {name}=...: no kernel {name!r} is exported{there}")
    page = None if request.page is None else _read(request.page)
    entries: list[tuple[Json, dict[str, str]]] = []
    for name, input in chosen.items():
        block = block_shape(blocks.get(name, blocks.get("", "256")), "export")
        try:
            entries.append(_entry(name, input, block, name in blocks, request.fp64))
        except CompileError as error:
            fail(error, 1)
    _write_all(Path(request.output), entries, page)
    print(f"{request.output}: {', '.join(chosen)}")
    print(f"to see it: python -m http.server -d {request.output}, http://localhost:8000")


def _by_name(option: str, assignments: tuple[str, ...]) -> dict[str, str]:
    """Texts by their kernel; "" is all others."""
    by_kernel: dict[str, str] = {}
    for text in assignments:
        named = _NAMED.fullmatch(text)
        name, rest = (named[1], named[2]) if named else ("", text)
        if name in by_kernel:
            whom = name or "all kernels"
            fail(f"export: {option} is given twice for {whom}; name one, as in {option} KERNEL=...")
        by_kernel[name] = rest
    return by_kernel


def _kernels(files: tuple[str, ...], signatures: dict[str, str]) -> dict[str, Input]:
    """Each kernel with its types, by name."""
    alone = "" in signatures
    if alone and (len(files) > 1 or len(signatures) > 1):
        fail("export: --sig is for one kernel; say for which, as in --sig KERNEL=f32[:],i32")
    chosen: dict[str, Input] = {}
    for place in files:
        kernels = FileKernels.of(place, named=alone, command="export", given=signatures.keys())
        for name, kernel in kernels.chosen.items():
            if name in chosen:
                fail(f"export: two kernels are called {name}")
            text = signatures.get(name, signatures.get(""))
            chosen[name] = _typed(kernel, text)
    return chosen


def _typed(kernel: PythonKernel, text: str | None) -> Input:
    """The kernel with the given types, or its own."""
    if text is not None:
        return kernel.of(text, "export")
    several = kernel.known()
    if len(several) > 1:
        shown = "".join(f"\n  {', '.join(each.parameters)}" for each in several)
        name = kernel.name
        fail(f"export: {name} has several types; choose with --sig {name}=...:{shown}")
    return several[0]


def _entry(
    name: str,
    input: Input,
    block: tuple[int, int, int],
    has_block: bool,
    fp64: str | None,
) -> tuple[Json, dict[str, str]]:
    """A kernel's entry in the manifest, and its WGSL by the names of files: for any launch, and for
    compact ones where that is another."""
    from gridlane import compiler

    options = input.options if fp64 is None else replace(input.options, fp64=fp64)
    module = compiler.translate(input.source, input.types, options)
    own = programs_block(module, BACKEND)
    if own is not None and has_block:
        fail(f"export: --block {name}=...: the block of a tile program follows from num_warps")
    target = Target(BACKEND.name, block=own or block)
    artifact = compiler.generate(module, target, options)
    compact = compiler.generate(module, replace(target, variant=Variant(compact=True)), options)
    for note in (*artifact.notes, *_limits_noted(name, artifact)):
        print(f"gridlane: note: {note}", file=sys.stderr)
    parameters = input.source.parameters
    try:
        source = module.kernel.loc.file
        entry = manifest.kernel(name, parameters, input.types, artifact, source, _axes(module))
    except NotForPagesError as refused:
        shown = f"{name}({', '.join(parameters)})"
        fail(f"export: {shown}: {refused}", 1)
    code_by_file = {entry["wgsl"]: artifact.code.decode()}
    # A page has one table of slots, errors and prints for both.
    if compact != artifact and replace(compact, code=artifact.code) == artifact:
        entry["compact"] = f"{name}.compact.wgsl"
        code_by_file[entry["compact"]] = compact.code.decode()
    return entry, code_by_file


def _axes(module: Module) -> int:
    """How many axes of the grid a kernel reads: 1 to 3."""
    read = [
        op.axis.value
        for function in module.functions.values()
        for op in function.body.walk()
        if isinstance(op, grid.GridQuery)
    ]
    return max(read, default=0) + 1


def _limits_noted(name: str, artifact: Artifact) -> Iterator[str]:
    """A note of limits that not every GPU has."""
    x, y, z = artifact.block or (1, 1, 1)
    if x * y * z > EVERYWHERE_THREADS:
        yield (
            f"{name} has blocks of {x * y * z} threads; a browser on any GPU has "
            f"{EVERYWHERE_THREADS}, some have more"
        )
    if artifact.static_shared > EVERYWHERE_SHARED:
        yield (
            f"{name} has {artifact.static_shared} bytes of shared memory; a browser on any GPU has "
            f"{EVERYWHERE_SHARED}, some have more"
        )


# --- output ---


def _read(page: str) -> bytes:
    try:
        return Path(page).read_bytes()
    except OSError as error:
        fail(f"export: cannot read {page!r}: {error.strerror}")


def _write_all(
    folder: Path, entries: list[tuple[Json, dict[str, str]]], page: bytes | None
) -> None:
    """Write the manifest, the texts and the page's files. Other files in the folder stay."""
    written: dict[str, bytes] = {
        each.name: each.read_bytes()
        for each in files("gridlane.cli.web").joinpath("page").iterdir()
        if each.name.endswith((".js", ".html"))
    }
    if page is not None:
        written["index.html"] = page
    whole = {"format": FORMAT, "kernels": [entry for entry, _ in entries]}
    written["manifest.json"] = (json.dumps(whole, indent=1) + "\n").encode()
    for _, code_by_file in entries:
        written.update({name: text.encode() for name, text in code_by_file.items()})
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, octets in written.items():
            (folder / name).write_bytes(octets)
    except OSError as error:
        what = counted(len(written), "file")
        fail(f"export: cannot write {what} to {str(folder)!r}: {error.strerror}")
