"""The common spec of two, by which joins, calls and returns unify."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gridlane.core import argtypes, enums
from gridlane.core.dtypes import DType, f32, f64
from gridlane.frontends.python import promotion
from gridlane.frontends.python.operands import TupleOperand
from gridlane.frontends.python.specs import (
    ArraySpec,
    CharsSpec,
    ComplexSpec,
    FragmentSpec,
    FunctionSpec,
    MemberSpec,
    OptionalSpec,
    PartsSpec,
    PointerSpec,
    RecordSpec,
    ScalarSpec,
    Spec,
    StaticSpec,
    TupleSpec,
    UserSpec,
    VectorSpec,
)
from gridlane.ir.types import PointerType, Space, pointer

Promoted = Callable[..., DType]
"""The type that a rule of promotion gives for the types behind it, in a function."""


def unify(lhs: Spec, rhs: Spec, promoted: Promoted) -> Spec | None:
    """The spec that both sides convert to; None when there is none."""
    if lhs == rhs:
        return lhs
    if _may_be_none(lhs) or _may_be_none(rhs):
        return _unify_optionals(lhs, rhs, promoted)
    if isinstance(lhs, ScalarSpec) and isinstance(rhs, ScalarSpec):
        dtype = promoted(promotion.unify, lhs.dtype, rhs.dtype)
        cls = lhs.cls if lhs.cls is rhs.cls else None
        return ScalarSpec(dtype, min(lhs.lo, rhs.lo), max(lhs.hi, rhs.hi), cls)
    if isinstance(lhs, ScalarSpec | ComplexSpec) and isinstance(rhs, ScalarSpec | ComplexSpec):
        return ComplexSpec(complex_part(promoted, lhs, rhs))
    if isinstance(lhs, TupleSpec) and isinstance(rhs, TupleSpec):
        return _unify_tuples(lhs, rhs, promoted)
    if isinstance(lhs, UserSpec) and isinstance(rhs, UserSpec) and lhs.type == rhs.type:
        pairs = zip(lhs.items, rhs.items, strict=True)
        items = tuple([unify(a, b, promoted) for a, b in pairs])
        return None if None in items else UserSpec(lhs.type, items)  # type: ignore[arg-type]
    if isinstance(lhs, FunctionSpec) and isinstance(rhs, FunctionSpec):
        return _unify_functions(lhs, rhs, promoted)
    if isinstance(lhs, PartsSpec) and isinstance(rhs, PartsSpec):
        return _unify_parts(lhs, rhs, promoted)
    if isinstance(lhs, VectorSpec) and isinstance(rhs, VectorSpec):
        return _unify_vectors(lhs, rhs, promoted)
    if isinstance(lhs, ArraySpec) and isinstance(rhs, ArraySpec):
        return _unify_arrays(lhs, rhs)
    if isinstance(lhs, PointerSpec) and isinstance(rhs, PointerSpec) and lhs.type == rhs.type:
        return PointerSpec(lhs.type, _common_pointer(lhs, rhs))
    if isinstance(lhs, RecordSpec) and isinstance(rhs, RecordSpec) and lhs.type == rhs.type:
        return RecordSpec(lhs.type, _common_pointer(lhs, rhs), lhs.readonly or rhs.readonly)
    if isinstance(lhs, CharsSpec | StaticSpec) and isinstance(rhs, CharsSpec | StaticSpec):
        spec = _unify_chars(lhs, rhs)
        if spec is not None:
            return spec
    cls = _enum_of(lhs)
    return MemberSpec(cls) if cls is not None and cls is _enum_of(rhs) else None


def _may_be_none(spec: Spec) -> bool:
    return isinstance(spec, OptionalSpec) or (isinstance(spec, StaticSpec) and spec.object is None)


def _unify_optionals(lhs: Spec, rhs: Spec, promoted: Promoted) -> Spec | None:
    """A value, on another path None, may be None; a matrix of a warp cannot."""
    inner = [_inner(spec) for spec in (lhs, rhs)]
    unified = inner[0] or inner[1]
    if inner[0] is not None and inner[1] is not None:
        unified = unify(inner[0], inner[1], promoted)
    if unified is None or isinstance(unified, FragmentSpec):
        return None
    return OptionalSpec((unified,))


def _inner(spec: Spec) -> Spec | None:
    """The spec of what is not None."""
    if isinstance(spec, OptionalSpec):
        return spec.items[0]
    return None if _may_be_none(spec) else spec


def _enum_of(spec: Spec) -> type[enum.Enum] | None:
    """The class of a member of an Enum, known now or at run time."""
    if isinstance(spec, MemberSpec):
        return spec.cls
    known: Any = spec.object if isinstance(spec, StaticSpec) else None
    return type(known) if enums.is_plain(known) and enums.index_of(known) is not None else None


def complex_part(
    promoted: Promoted,
    *sides: ScalarSpec | ComplexSpec,
    part_for: Callable[[DType], DType] = promotion.complex_part,
) -> DType:
    """The type of the parts of a complex result: float32 only when every side fits in it, by the
    rule for numbers that are not complex."""
    parts = [
        side.part if isinstance(side, ComplexSpec) else promoted(part_for, side.dtype)
        for side in sides
    ]
    return f64 if f64 in parts else f32


def _unify_tuples(lhs: TupleSpec, rhs: TupleSpec, promoted: Promoted) -> Spec | None:
    if len(lhs.items) != len(rhs.items) or lhs.cls is not rhs.cls:
        return None
    items = tuple([unify(a, b, promoted) for a, b in zip(lhs.items, rhs.items, strict=True)])
    if any(item is None for item in items):
        return None
    return TupleSpec(items, lhs.fields, lhs.cls)  # type: ignore[arg-type]  # no None


def _unify_functions(lhs: FunctionSpec, rhs: FunctionSpec, promoted: Promoted) -> Spec | None:
    """Functions of one definition unify as their values do."""
    if lhs.node is not rhs.node or lhs.around is not rhs.around or lhs.captured != rhs.captured:
        return None
    items = tuple([unify(a, b, promoted) for a, b in zip(lhs.items, rhs.items, strict=True)])
    return None if None in items else replace(lhs, items=items)  # type: ignore[arg-type]  # no None


def _unify_parts(lhs: PartsSpec, rhs: PartsSpec, promoted: Promoted) -> Spec | None:
    """Ranges of one type and the like unify as their parts do."""
    own, others = ([getattr(item, "dtype", None) for item in spec.items] for spec in (lhs, rhs))
    if lhs.shape != rhs.shape or (lhs.shape[0] is not TupleOperand and own != others):
        return None
    items = [unify(a, b, promoted) for a, b in zip(lhs.items, rhs.items, strict=True)]
    return None if None in items else replace(lhs, items=tuple(items))  # type: ignore[arg-type]


def _unify_vectors(lhs: VectorSpec, rhs: VectorSpec, promoted: Promoted) -> Spec | None:
    """Vectors of as many components unify as the components do."""
    a, b = lhs.type, rhs.type
    if a.count != b.count or a.extents != b.extents:
        return None
    dtype = promoted(promotion.unify, a.element.dtype, b.element.dtype)
    return VectorSpec(argtypes.VectorType(argtypes.scalar_of(dtype), a.count, a.extents))


def _unify_chars(lhs: CharsSpec | StaticSpec, rhs: CharsSpec | StaticSpec) -> Spec | None:
    """Strings of two widths, constant ones among them, unify to the wider one."""
    a, b = _chars_type(lhs), _chars_type(rhs)
    if a is None or b is None or a.is_bytes is not b.is_bytes:
        return None
    return CharsSpec(a if a.count >= b.count else b)


def _chars_type(spec: CharsSpec | StaticSpec) -> argtypes.CharsType | None:
    """The type of a string; None for a constant with NULs at its end, which no width preserves, and
    for a member of an Enum, which has an identity."""
    if isinstance(spec, CharsSpec):
        return spec.type
    known = spec.object
    if isinstance(known, enum.Enum):
        return None
    if isinstance(known, str):
        return None if known.endswith("\0") else argtypes.CharsType(max(1, len(known)), False)
    if isinstance(known, bytes):
        return None if known.endswith(b"\0") else argtypes.CharsType(max(1, len(known)), True)
    return None


def _unify_arrays(lhs: ArraySpec, rhs: ArraySpec) -> Spec | None:
    a, b = lhs.type, rhs.type
    if a.element != b.element or a.ndim != b.ndim:
        return None
    layout = a.layout if a.layout == b.layout else "A"
    kind = argtypes.ArrayType(a.element, a.ndim, layout, a.readonly or b.readonly)
    return ArraySpec(kind, _common_pointer(lhs, rhs))


def _common_pointer(
    lhs: ArraySpec | PointerSpec | RecordSpec, rhs: ArraySpec | PointerSpec | RecordSpec
) -> PointerType:
    """A pointer type that both convert to: generic for two spaces, the looser of two alignments."""
    a, b = lhs.pointer, rhs.pointer
    space = a.space if a.space is b.space else Space.GENERIC
    return pointer(a.element if a.element.align <= b.element.align else b.element, space)
