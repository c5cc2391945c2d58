"""The error and print tables of artifacts, from the ops that refer to them."""

from __future__ import annotations

from collections.abc import Iterable

from gridlane.core.artifact import KernelErrorSite, PrintSite
from gridlane.core.dtypes import DType
from gridlane.ir.op import Op
from gridlane.ir.ops.control import Print
from gridlane.ir.values import ErrorSite, Module


def error_sites(module: Module, own: int | None = None) -> tuple[KernelErrorSite, ...]:
    """The module's error table. The first ``own`` errors, by default all, are the program's, and so
    are those that inlining has made of them for other places."""
    errors = module.errors
    known = {_told(each) for each in errors[:own]}
    return tuple(
        KernelErrorSite(e.exception, e.message, e.loc, _told(e) not in known, e.detail)
        for e in errors
    )


def _told(error: ErrorSite) -> tuple[str, str, str]:
    return error.exception, error.message, error.detail


def print_sites(ops: Iterable[Op]) -> tuple[PrintSite, ...]:
    """The print table of a kernel's print ops, in the order of their numbers."""
    sites: list[PrintSite] = []
    for op in ops:
        assert isinstance(op, Print)
        types = tuple(v.type for v in op.arguments if isinstance(v.type, DType))
        parts = tuple(part or None for part in op.parts)
        sites.append(PrintSite(parts, types, op.formats, op.end))
    return tuple(sites)
