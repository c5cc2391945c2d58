"""Targets of assignments."""

from __future__ import annotations

import ast
from typing import Any, cast

from gridlane.frontends.triton.numbers import decayed
from gridlane.frontends.triton.translator import Translator
from gridlane.frontends.triton.values import shown


def kept(t: Translator, target: ast.expr, value: Any) -> Any:
    """A value as names have it that an assignment binds: numbers are tensors, but where a bare
    annotation in front said ``tl.constexpr``."""
    if isinstance(target, ast.Name) and target.id in t.frame.pending:
        t.frame.pending.discard(target.id)
        return value
    if isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, tuple):
        values = cast("tuple[Any, ...]", value)
        if len(values) == len(target.elts):
            pairs = zip(target.elts, values, strict=True)
            return tuple([kept(t, each, part) for each, part in pairs])
    return decayed(value)


def bind(t: Translator, target: ast.expr, value: Any) -> None:
    """Bind a target."""
    if isinstance(target, ast.Name):
        t.frame.scope[target.id] = value
        return
    if isinstance(target, (ast.Tuple, ast.List)):
        if not isinstance(value, tuple):
            raise TypeError(f"cannot unpack {shown(value)}: a tuple is required")
        values = cast("tuple[Any, ...]", value)
        if len(values) != len(target.elts):
            raise ValueError(f"{len(target.elts)} names for {len(values)} values")
        for each, part in zip(target.elts, values, strict=True):
            bind(t, each, part)
        return
    if isinstance(target, ast.Subscript):
        raise NotImplementedError(
            "__setitem__ is not supported in triton: tensors do not change; use tl.where, or store "
            "to memory"
        )
    raise NotImplementedError("Attribute assignment is not supported in triton")
