"""Structured IR to C-like text: one emitter, and an overlay of attributes for each language."""

from gridlane.codegen.clike.functions import kept_functions
from gridlane.codegen.clike.kernel import KernelText, emit_kernel

__all__ = ["KernelText", "emit_kernel", "kept_functions"]
