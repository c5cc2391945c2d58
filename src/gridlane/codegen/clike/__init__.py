"""Structured IR to C-like text: one emitter, and an overlay of attributes for each language."""

from gridlane.codegen.clike.base import Dialect
from gridlane.codegen.clike.emission import EMITTERS
from gridlane.codegen.clike.functions import kept_functions
from gridlane.codegen.clike.glsl import Glsl
from gridlane.codegen.clike.kernel import KernelText, emit_kernel
from gridlane.codegen.clike.msl import Metal
from gridlane.codegen.clike.scalars import lacking
from gridlane.codegen.clike.wgsl import Wgsl
from gridlane.ir.op import Op

DIALECTS: dict[str, type[Dialect]] = {"metal": Metal, "opengl": Glsl, "webgpu": Wgsl}
"""The language of each target, as far as ops go: OpenGL ES has those of OpenGL."""

__all__ = ["KernelText", "emit_kernel", "emitted", "kept_functions"]


def emitted(target: str) -> frozenset[type[Op]]:
    """The ops that are emitted for a target, by its own functions or in operators."""
    return EMITTERS.ops() - lacking(DIALECTS[target])
