"""Fragments of 16 by 16 as matrices that a simdgroup of Metal multiplies, of which each is four of
8 by 8. All lanes run these ops together."""

from __future__ import annotations

from gridlane.codegen.clike.emission import Emission, emits
from gridlane.core.dtypes import bf16, f16, f32
from gridlane.ir.op import Op
from gridlane.ir.ops import matrix
from gridlane.ir.ops.memory import space_of
from gridlane.ir.types import FragmentType, Space
from gridlane.ir.values import Value

ELEMENTS = {f16: "half", bf16: "bfloat", f32: "float"}
"""The language's own types, of which bfloat is held as its bits elsewhere."""

_SPACES = {Space.SHARED: "threadgroup"}

FUNCTIONS = """\
template <typename T> struct Matrix { simdgroup_matrix<T, 8, 8> a, b, c, d; };
template <typename T> Matrix<T> matrix_of(T value) {
    simdgroup_matrix<T, 8, 8> part = make_filled_simdgroup_matrix<T, 8, 8>(value);
    return Matrix<T>{part, part, part, part};
}
template <typename T, typename P> Matrix<T> matrix_at(P at, ulong stride, bool turned) {
    Matrix<T> m;
    ulong down = turned ? 8 : 8 * stride, across = turned ? 8 * stride : 8;
    simdgroup_load(m.a, at, stride, ulong2(0), turned);
    simdgroup_load(m.b, at + across, stride, ulong2(0), turned);
    simdgroup_load(m.c, at + down, stride, ulong2(0), turned);
    simdgroup_load(m.d, at + down + across, stride, ulong2(0), turned);
    return m;
}
template <typename T, typename P> void matrix_to(P at, Matrix<T> m, ulong stride, bool turned) {
    ulong down = turned ? 8 : 8 * stride, across = turned ? 8 * stride : 8;
    simdgroup_store(m.a, at, stride, ulong2(0), turned);
    simdgroup_store(m.b, at + across, stride, ulong2(0), turned);
    simdgroup_store(m.c, at + down, stride, ulong2(0), turned);
    simdgroup_store(m.d, at + down + across, stride, ulong2(0), turned);
}
template <typename F, typename T> Matrix<T> matrix_sum(Matrix<F> l, Matrix<F> r, Matrix<T> m) {
    simdgroup_multiply_accumulate(m.a, l.a, r.a, m.a);
    simdgroup_multiply_accumulate(m.a, l.b, r.c, m.a);
    simdgroup_multiply_accumulate(m.b, l.a, r.b, m.b);
    simdgroup_multiply_accumulate(m.b, l.b, r.d, m.b);
    simdgroup_multiply_accumulate(m.c, l.c, r.a, m.c);
    simdgroup_multiply_accumulate(m.c, l.d, r.c, m.c);
    simdgroup_multiply_accumulate(m.d, l.c, r.b, m.d);
    simdgroup_multiply_accumulate(m.d, l.d, r.d, m.d);
    return m;
}"""
"""The parts are in the order of rows."""


def matrix_name(state: Emission, type_: FragmentType) -> str:
    """The name of the type of a fragment, which is declared at its first use."""
    state.declarations["Matrix"] = FUNCTIONS
    return f"Matrix<{ELEMENTS[type_.element]}>"


def _pointer(pointer: Value, state: Emission, type_: FragmentType) -> str:
    space = _SPACES.get(space_of(pointer), "device")
    return f"({space} {ELEMENTS[type_.element]}*)({state.name(pointer)})"


def _lines(state: Emission, op: matrix.FragmentLoad | matrix.FragmentStore) -> str:
    return f"ulong({state.name(op.stride)}), {'true' if op.by_columns else 'false'}"


def _matrix(value: Value) -> FragmentType:
    assert isinstance(value.type, FragmentType)
    return value.type


@emits(matrix.FragmentLoad)
def load(state: Emission, op: matrix.FragmentLoad) -> None:
    """Emit a load of a matrix."""
    element, at = ELEMENTS[op.type.element], _pointer(op.pointer, state, op.type)
    state.give(op.results[0], f"matrix_at<{element}>({at}, {_lines(state, op)})")


@emits(matrix.FragmentStore)
def store(state: Emission, op: matrix.FragmentStore) -> None:
    """Emit a store of a matrix."""
    at = _pointer(op.pointer, state, _matrix(op.fragment))
    state.line(f"matrix_to({at}, {state.name(op.fragment)}, {_lines(state, op)});")


@emits(matrix.FragmentMma)
def multiply(state: Emission, op: matrix.FragmentMma) -> None:
    """Emit a product."""
    operands = ", ".join(state.name(value) for value in (op.a, op.b, op.c))
    state.give(op.results[0], f"matrix_sum({operands})")


@emits(matrix.FragmentFill)
def fill(state: Emission, op: matrix.FragmentFill) -> None:
    """Emit a matrix of one number."""
    state.give(op.results[0], filled(state, op.type, state.name(op.value)))


def filled(state: Emission, type_: FragmentType, text: str) -> str:
    """A matrix of a number that is given as text."""
    if type_.element is bf16:
        text = f"as_type<bfloat>({text})"
    name = matrix_name(state, type_).removeprefix("Matrix")
    return f"matrix_of{name}({text})"


OPS: frozenset[type[Op]] = frozenset((
    matrix.FragmentLoad, matrix.FragmentStore, matrix.FragmentMma, matrix.FragmentFill,
))  # fmt: skip
"""Those of languages whose simdgroups multiply matrices."""
