"""The cuda target: passes, LLVM, PTX; and cubins, by ptxas."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from gridlane.backends import backend
from gridlane.backends.record import Fact
from gridlane.codegen.llvm.gpu.nvptx import KernelCode, emit_kernel, ptx
from gridlane.compiler import pipeline, recording
from gridlane.compiler.layout import lay_out
from gridlane.compiler.libdevice import find_libdevice
from gridlane.compiler.sites import error_sites, print_sites
from gridlane.core.artifact import Artifact
from gridlane.core.errors import TargetError
from gridlane.core.frozen import frozen
from gridlane.core.options import KernelOptions, Target
from gridlane.ir.values import Module
from gridlane.passes.tiles import has_tiles

DEFAULT = "sm_75"
"""The default processor: the lowest that today's toolkits and drivers support."""
OLDEST = 70
COPIES = 80
"""The lowest compute capability with asynchronous copies."""
PRODUCTS = 80
"""The lowest compute capability with ``mma`` of all factors that tiles have."""
MEDIUM = 80, 87
"""The compute capabilities whose blocks may have 163 KiB of shared memory."""
LARGE = 90, 120
"""The compute capabilities, without the last, whose blocks may have 227 KiB of shared memory; from
8.0 on all others have 99 KiB at least."""
MBARRIERS = 90
"""The lowest compute capability with mbarriers that count bytes."""
WARPGROUPS = "sm_90a"
"""The processor with products of warpgroups."""
PROCESSORS = tuple(ptx.VERSIONS)
"""The processors that LLVM generates code for."""
_DRIVER = re.compile(r"driver (\d+)")
"""The identity of a device's target."""
_PROCESSOR = re.compile(r"sm_(\d{2,3})([af]?)")
_NEWEST = max(int(name[3:]) for name in PROCESSORS if name[-1].isdigit())
_CHOICES = f"There are {', '.join(name for name in PROCESSORS if name[-1].isdigit())}"


@frozen
class Machine:
    """A processor with the PTX version that is emitted for it."""

    processor: str
    capability: int
    features: str


@cache
def machine_of(target: Target) -> Machine:
    """The machine that a target names; for one newer than any here, the newest of these, whose PTX
    it accepts.

    Raises:
        TargetError: there is no such processor, or it is too old.
    """
    name = target.processor or DEFAULT
    match = _PROCESSOR.fullmatch(name)
    if match is None:
        raise TargetError(f"{name!r} is no NVIDIA processor; they are named like sm_90. {_CHOICES}")
    capability = int(match[1])
    if capability < OLDEST:
        raise TargetError(
            f"{name}: code is made for compute capability {OLDEST // 10}.{OLDEST % 10} and later, "
            f"whose threads of a warp may diverge and wait for each other. {_CHOICES}"
        )
    if name not in PROCESSORS:
        if capability < _NEWEST or match[2]:
            raise TargetError(f"there is no NVIDIA processor {name}. {_CHOICES}")
        name, capability = f"sm_{_NEWEST}", _NEWEST
    return Machine(name, capability, target.attributes or ptx.default_features(name))


def generate(module: Module, target: Target, options: KernelOptions) -> Artifact:
    """PTX for any block shape. Changes the module."""
    machine = machine_of(_of_device(module, target))
    code = _emit(module, target, options, machine)
    slots, size = lay_out(module.kernel)  # with the parameters that passes have added
    errors = error_sites(module)  # inlining adds some
    text = _ptx(code, machine, options)
    return Artifact(
        target=target.name,
        format="ptx",
        code=text.encode(),
        entry=code.entry,
        kernel=module.kernel.name,
        params=slots,
        param_bytes=size,
        static_shared=code.static_shared,
        errors=errors,
        prints=print_sites(code.prints),
        uses_dynamic_shared=code.uses_dynamic_shared,
        own_dynamic=module.own_dynamic,
        extra_threads=module.extra_threads,
        cooperative=code.cooperative,
        cluster=module.cluster,
        requires_cluster=module.cluster != (1, 1, 1),
        coarse=module.coarse,
        tensor_maps=module.tensor_maps,
    )


def _of_device(module: Module, target: Target) -> Target:
    """The target with the processor's own instructions, for a program over tiles that the driver of
    one device compiles: code for these runs on no later processor. CUDA 12 is the first to know
    them."""
    driver = _DRIVER.fullmatch(target.identity)
    if not has_tiles(module) or target.processor != WARPGROUPS[:-1] or target.attributes:
        return target
    is_new = driver is not None and int(driver[1]) >= 12000
    return replace(target, processor=WARPGROUPS) if is_new else target


def text(module: Module, target: Target, options: KernelOptions, stage: str) -> str:
    """Optimised LLVM IR, or PTX. Changes the module."""
    machine = machine_of(target)
    code = _emit(module, target, options, machine)
    if stage == "llvm":
        return ptx.optimised_text(*_how(code, machine, options))
    return _ptx(code, machine, options)


def _ptx(code: KernelCode, machine: Machine, options: KernelOptions) -> str:
    text = ptx.assembly(*_how(code, machine, options))
    return recording.record_text("code", ".ptx", text, partial(_check_ptx, entry=code.entry))


def _check_llvm(text: str, original: str) -> None:
    from gridlane.codegen.llvm.machine import check_text

    check_text(text, original)


def _check_ptx(text: str, entry: str) -> None:
    from gridlane.frontends.ptx import parse_ptx

    parse_ptx(text)
    recording.names_entry(entry)(text)


def _bounded(module: Module, options: KernelOptions) -> KernelOptions:
    """The options of a program over tiles: its block is known, so that ptxas shares the registers
    out among its threads. With a limit of the caller's they stay as that shares them out:
    warpgroups would wait for registers that none has."""
    if not module.program_warps:
        return options
    from gridlane.compiler.programs import block_of  # for programs over tiles alone
    from gridlane.ir.ops.warpgroups import RegisterLimit
    from gridlane.ir.rewriting import erase

    if options.max_registers:
        body = module.kernel.body
        erase(body, {op for op in body.walk() if isinstance(op, RegisterLimit)})

    x, y, z = block_of(backend("cuda"), module.program_warps)
    return replace(options, launch_bounds=(x * y * z + module.extra_threads,))


def _emit(module: Module, target: Target, options: KernelOptions, machine: Machine) -> KernelCode:
    """The kernel with calls of libdevice, or of gridlane's own functions where there is none."""
    given = pipeline.conditions(
        target,
        options,
        *([] if find_libdevice() is None else [Fact.LIBDEVICE]),
        *([Fact.ASYNC_COPIES] if machine.capability >= COPIES else []),
        *([Fact.MBARRIERS] if machine.capability >= MBARRIERS else []),
        *([Fact.WARPGROUPS] if machine.processor == WARPGROUPS else []),
        *([Fact.MATRIX_PRODUCTS] if machine.capability >= PRODUCTS else []),
        *([Fact.MEDIUM_SHARED] if machine.capability in MEDIUM else []),
        *([Fact.LARGE_SHARED] if LARGE[0] <= machine.capability < LARGE[1] else []),
    )
    pipeline.run(module, backend(target.name), given, options)
    code = emit_kernel(module, _bounded(module, options), machine.capability)
    check = partial(_check_llvm, original=code.text)
    text = recording.record_text("llvm", ".ll", code.text, check, "llvm")
    return code if text is code.text else replace(code, text=text)


PtxInput = tuple[str, str, str, int, Path | None, frozenset[str]]
"""Arguments of ptx.py's functions: text, processor, features, level, libdevice, its functions."""


def _how(code: KernelCode, machine: Machine, options: KernelOptions) -> PtxInput:
    """Arguments for ptx.py, with libdevice for a kernel that calls it."""
    level = 3 if options.opt else 0
    library = find_libdevice() if code.library else None
    features = machine.features
    version = re.search(r"\+ptx(\d+)", features)
    if version is not None and code.version > int(version[1]):
        features = features.replace(version[0], f"+ptx{code.version}")
    return code.text, machine.processor, features, level, library, code.library


# ---- cubins


def find_ptxas() -> str | None:
    """NVIDIA's assembler: on the PATH, in a toolkit, or in the wheel nvidia-cuda-nvcc."""
    import shutil

    on_path = shutil.which("ptxas")
    if on_path:
        return on_path
    candidates = [Path("/usr/local/cuda/bin/ptxas")]
    candidates += (Path(folder) / "nvidia" for folder in sys.path)
    for place in candidates:
        if place.is_file():
            return str(place)
        for inside in (*place.glob("*/bin/ptxas"), *place.glob("cuda_nvcc/bin/ptxas")):
            return str(inside)
    return None


def assemble(artifact: Artifact, target: Target, options: KernelOptions) -> Artifact:
    """The cubin of an artifact with PTX.

    Raises:
        TargetError: there is no ptxas, or it refuses the PTX; with ptxas's message.
    """
    import subprocess  # with a dozen modules, for cubins alone
    import tempfile

    ptxas = find_ptxas()
    if ptxas is None:
        raise TargetError(
            "a cubin is made by ptxas, which was not found: install a CUDA toolkit and put its bin "
            "on the PATH, or pip install nvidia-cuda-nvcc; PTX needs nothing"
        )
    with tempfile.TemporaryDirectory() as folder:
        source, result = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_bytes(artifact.code)
        command = [ptxas, f"-arch={target.processor or DEFAULT}", source, "-o", result]
        command += ["-lineinfo"] if options.lineinfo else []
        command += [] if options.opt else ["-O0"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise TargetError(f"ptxas refuses the PTX of {artifact.name}: {done.stderr.strip()}")
        return replace(artifact, format="cubin", code=result.read_bytes())
