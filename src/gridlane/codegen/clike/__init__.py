"""Lowers structured IR to C-like text: one emitter, with an overlay of attributes per language."""

from importlib import import_module

from gridlane.codegen.clike.emission import EMITTERS
from gridlane.codegen.clike.functions import kept_functions
from gridlane.codegen.clike.kernel import KernelText, emit_kernel
from gridlane.codegen.clike.matrices import OPS
from gridlane.codegen.clike.scalars import lacking
from gridlane.ir.op import Op

__all__ = ["KernelText", "emit_kernel", "emitted", "kept_functions"]


def emitted(dialect: str) -> frozenset[type[Op]]:
    """The ops that a language emits, by functions or operators.

    Args:
        dialect: dotted name of its class.
    """
    module, _, name = dialect.rpartition(".")
    language = getattr(import_module(module), name)
    missing = lacking(language) | (frozenset() if language.has_matrices else OPS)
    return EMITTERS.ops() - missing
