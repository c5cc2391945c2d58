"""The cpu target: passes, the vectoriser, LLVM."""

from __future__ import annotations

import sys
from functools import partial

from gridlane.backends import backend
from gridlane.backends.record import Fact
from gridlane.codegen.llvm import apart, machine
from gridlane.codegen.llvm.cpu import KernelCode, emit_kernel
from gridlane.codegen.llvm.cpu.flushing import has_mode
from gridlane.codegen.llvm.cpu.warp_coroutines import frame_bytes
from gridlane.codegen.llvm.machine import Machine
from gridlane.codegen.llvm.vector_library import has_vector_library
from gridlane.compiler import pipeline, recording
from gridlane.compiler.layout import lay_out
from gridlane.compiler.programs import block_of
from gridlane.compiler.sites import error_sites, print_sites
from gridlane.core.artifact import Artifact
from gridlane.core.config import config
from gridlane.core.errors import LaunchError
from gridlane.core.options import KernelOptions, Target
from gridlane.ir.values import Module
from gridlane.passes.tiles import has_tiles

MOST_WORK = 1 << 31
"""Nested loops multiply the estimate of a block's work; the estimate saturates here."""


def generate(module: Module, target: Target, options: KernelOptions) -> Artifact:
    """An object file for one block shape. Changes the module."""
    host_machine = machine.machine_for(target)
    code, artifact = _emit(module, target, host_machine, options)
    level = 2 if options.opt else 0
    if "asm" in config().dump:
        print(machine.assembly(code.text, host_machine, level), file=sys.stderr)
    text = _recorded(code)
    if not code.turns:
        return artifact(
            apart.object_code(code.placed if text is None else text, host_machine, level), 0
        )
    object_code, optimised = machine.object_and_text(text or code.text, host_machine, level)
    return artifact(object_code, frame_bytes(optimised, code.turn, code.turns))


def text(module: Module, target: Target, options: KernelOptions, stage: str) -> str:
    """Optimised LLVM IR or assembly. Changes the module."""
    host_machine = machine.machine_for(target)
    code, _ = _emit(module, target, host_machine, options)
    make = {"llvm": machine.optimised_text, "asm": machine.assembly}[stage]
    return make(_recorded(code) or code.text, host_machine, 2 if options.opt else 0)


def _recorded(code: KernelCode) -> str | None:
    """The LLVM IR that replaces a kernel's."""
    if "llvm" in config().dump:
        print(code.text, file=sys.stderr)
    if not recording.active():
        return None
    placed = code.placed
    check = partial(machine.check_text, original=placed)
    text = recording.record_text("llvm", ".ll", placed, check, "")
    return None if text is placed else text


def _emit(module: Module, target: Target, host_machine: Machine, options: KernelOptions):
    """The vectorised kernel, and a function that makes its artifact from object code."""
    record, block = backend(target.name), target.block or (256, 1, 1)
    over_tiles = has_tiles(module)
    if over_tiles:
        block = block_of(record, module.program_warps)
    threads = block[0] * block[1] * block[2]
    if not 0 < threads <= record.max_threads or min(block) < 1:
        raise LaunchError(
            f"a block of {block} has {threads} threads; 1 to {record.max_threads} are possible"
        )
    slots, size = lay_out(module.kernel)
    own = len(module.errors)
    given = pipeline.conditions(
        target,
        options,
        *([Fact.FUSES] if host_machine.fuses else []),
        *([Fact.FLUSHES] if has_mode(host_machine) else []),
        *([Fact.VECTOR_LIBRARY] if has_vector_library(host_machine) else []),
        *([Fact.TILES] if over_tiles else []),
    )
    pipeline.run(module, record, given, options)
    code = emit_kernel(module, slots, block, host_machine)

    def artifact(object_code: bytes, frames: int) -> Artifact:
        return Artifact(
            target=target.name,
            format="object",
            code=object_code,
            entry=code.entry,
            kernel=module.kernel.name,
            params=slots,
            param_bytes=size,
            # Memory of tiles is the worker's own, and has no device's limit.
            static_shared=0 if module.program_warps else code.static_shared,
            block=block,
            scratch=_scratch(code, frames, 0 if module.program_warps else code.static_shared),
            errors=error_sites(module, own),
            prints=print_sites(code.prints),
            work=min(code.work, MOST_WORK),
            symbols=code.symbols,
            uses_dynamic_shared=code.uses_dynamic_shared,
            needs=host_machine.needs,
            places=(*code.places, *code.loops),
            accesses=len(code.places),
            asks_host=code.asks_host,
            tensor_maps=module.tensor_maps,
            cluster=module.cluster,
            requires_cluster=code.blocks > 1,
        )

    return code, artifact


def _scratch(code: KernelCode, frames: int, counted: int) -> int:
    """Bytes of an arena besides ``counted`` ones of static shared memory, and dynamic memory."""
    if code.blocks == 1:
        return code.scratch + frames + code.static_shared - counted
    return frames + code.blocks * (code.scratch + code.static_shared + code.align) - counted
