"""The targets whose code is a text in a C-like language, which a driver's compiler reads."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from gridlane.codegen.clike import KernelText, emit_kernel, kept_functions
from gridlane.codegen.clike.base import Dialect
from gridlane.codegen.clike.glsl import Glsl, GlslEs
from gridlane.codegen.clike.msl import Metal
from gridlane.codegen.clike.wgsl import Wgsl
from gridlane.compiler.layout import lay_out
from gridlane.compiler.nesting import check_nesting
from gridlane.compiler.sites import error_sites, print_sites
from gridlane.core.artifact import Artifact
from gridlane.core.config import config
from gridlane.core.errors import TargetError
from gridlane.core.options import KernelOptions, Target
from gridlane.ir.values import Module
from gridlane.passes import pipelines


@dataclass(frozen=True, slots=True)
class Language:
    """What a target's code is written in.

    Attributes:
        shaped: the text has the block shape in it.
        rough: quotients and square roots may be some ulp off, unless the device's feature
            ``rounds`` says that they are not.
        branches: scopes become branches; see passes/branch_out_of_scopes.py.
    """

    format: str
    dialect: type[Dialect]
    shaped: bool = False
    rough: bool = False
    branches: bool = False


LANGUAGES: dict[str, Language] = {
    "metal": Language("msl", Metal),
    "opengl": Language("glsl", Glsl, shaped=True, rough=True, branches=True),
    "opengl es": Language("glsl", GlslEs, shaped=True, rough=True, branches=True),
    "webgpu": Language("wgsl", Wgsl, shaped=True, rough=True),
}


def generate(module: Module, target: Target, options: KernelOptions) -> Artifact:
    """The program text of a kernel. Changes the module.

    Raises:
        TargetError: the target cannot do what the kernel asks; located.
    """
    slots, size = lay_out(module.kernel)
    own = len(module.errors)
    code, notes = _emit(module, target, options)
    # Passes add arrays of their own.
    static_shared = sum(-(-item.size // 16) * 16 for item in module.static_shared())
    if "asm" in config().dump:
        print(code.text, file=sys.stderr)
    language = language_of(target)
    return Artifact(
        target=target.name,
        format=language.format,
        code=code.text.encode(),
        entry=code.entry,
        params=slots,
        param_bytes=size,
        static_shared=static_shared + code.extra_shared,
        block=target.block if language.shaped else None,
        errors=error_sites(module, own),
        prints=print_sites(code.prints),
        notes=notes,
        uses_dynamic_shared=code.uses_dynamic_shared,
    )


def text(module: Module, target: Target, options: KernelOptions, stage: str) -> str:
    """The program text, which is the only stage behind the IR. Changes the module.

    Raises:
        TargetError: there is no such stage.
    """
    if stage != "asm":
        raise TargetError(f"target {target.name} has no stage {stage!r}; it has ir and asm")
    return _emit(module, target, options)[0].text


def language_of(target: Target) -> Language:
    """The language of a target; the feature ``es`` of opengl asks for OpenGL ES."""
    is_es = target.name == "opengl" and "es" in target.features.split()
    return LANGUAGES["opengl es" if is_es else target.name]


def _emit(
    module: Module, target: Target, options: KernelOptions
) -> tuple[KernelText, tuple[str, ...]]:
    """The text, and notes for the user."""
    language = language_of(target)
    if language.shaped and target.block is None:
        raise TargetError(
            f"the {target.name} target has the block shape in its code: name one, as "
            f'Target("{target.name}", block=(128, 1, 1))'
        )
    features = target.features.split()
    module.gathers_loops = "short_loops" in features
    module.hides_bit_selects = "swaps_selects" in features
    known = module.known = kept_functions(language.dialect, options, module)
    rough = " rough" if language.rough and "rounds" not in features else ""
    notes = pipelines.run(module, f"{target.name}{rough}", options)
    if module.gathers_loops:
        pipelines.run(module, "short loops")
    if language.branches:
        pipelines.run(module, "plain branches")
    if module.gathers_loops:
        check_nesting(module)
    offsets = tuple(slot.offset for slot in lay_out(module.kernel)[0])
    code = emit_kernel(module, language.dialect(), options, offsets, target.block, known)
    return code, notes
