"""The vulkan target: passes, SPIR-V."""

from __future__ import annotations

from gridlane.backends import backend
from gridlane.codegen.spirv import KernelCode, assembled, disassembled, emit_kernel
from gridlane.compiler import pipeline, recording
from gridlane.compiler.constant_tables import place_tables, read_as_global
from gridlane.compiler.layout import lay_out
from gridlane.compiler.nesting import check_nesting
from gridlane.compiler.sites import error_sites, print_sites
from gridlane.core.artifact import Artifact
from gridlane.core.config import config
from gridlane.core.errors import TargetError
from gridlane.core.features import Feature
from gridlane.core.options import KernelOptions, Target
from gridlane.ir.values import Module


def generate(module: Module, target: Target, options: KernelOptions) -> Artifact:
    """SPIR-V for any block shape. Changes the module."""
    slots, size = lay_out(module.kernel)
    own = len(module.errors)
    code, tables = _emit(module, target, options)
    code_bytes = _recorded(code.words)
    return Artifact(
        target=target.name,
        format="spirv",
        code=code_bytes,
        entry=code.entry,
        kernel=module.kernel.name,
        params=slots,
        param_bytes=size,
        static_shared=code.static_shared,
        errors=error_sites(module, own),
        prints=print_sites(code.prints),
        uses_dynamic_shared=code.uses_dynamic_shared,
        coarse=module.coarse,
        constants=tables,
    )


def text(module: Module, target: Target, options: KernelOptions, stage: str) -> str:
    """The instructions of the module. Changes the module.

    Raises:
        TargetError: the stage is not ``asm``.
    """
    if stage != "asm":
        raise TargetError(f"target {target.name} has no stage {stage!r}; it has ir and asm")
    return disassembled(_recorded(_emit(module, target, options)[0].words))


def _recorded(code_bytes: bytes) -> bytes:
    """The words, or those of the text that replaces theirs."""
    if not recording.active() and "asm" not in config().dump:
        return code_bytes
    before = disassembled(code_bytes)
    after = recording.record_text("code", ".spirv", before, _check)
    return code_bytes if after == before else assembled(after)


def _check(text: str) -> None:
    assembled(text)


def _emit(module: Module, target: Target, options: KernelOptions) -> tuple[KernelCode, bytes]:
    """The code, and the tables behind the parameters."""
    given = pipeline.conditions(target, options)
    slots, size = lay_out(module.kernel)
    pipeline.run(module, backend(target.name), given, options)
    if Feature.SHORT_LOOPS in given:
        check_nesting(module)
    tables = place_tables(module, size)
    read_as_global(module)
    return emit_kernel(module, slots, options, pipeline.features_of(target)), tables
