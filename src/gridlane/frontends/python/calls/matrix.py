"""``cuda.wmma``: matrices that a warp holds in registers, for tensor cores."""

from __future__ import annotations

from gridlane.core import argtypes
from gridlane.core.dtypes import DType, i64, u64
from gridlane.core.errors import ConstantError, TypingError
from gridlane.frontends.python import stubs
from gridlane.frontends.python.calls.casts import as_type, constant_shape
from gridlane.frontends.python.calls.registry import handles, register
from gridlane.frontends.python.conversion import cast_scalar, integer, scalar
from gridlane.frontends.python.element_addresses import address
from gridlane.frontends.python.indexing import checked
from gridlane.frontends.python.operands import (
    NONE,
    ArrayView,
    Fragment,
    Operand,
    Scalar,
    Static,
    TupleOperand,
)
from gridlane.frontends.python.raising import guard
from gridlane.frontends.python.translator import Translator
from gridlane.ir.ops import arith, matrix, memory
from gridlane.ir.types import FragmentType, Role, Space
from gridlane.ir.values import Value

_ORDERS = {"row": "C", "col": "F"}
"""The order of an array whose rows, or columns, are lines of consecutive elements."""


def _type(t: Translator, role: Role, shape: Operand, element: DType) -> FragmentType:
    """The type of a fragment of a constant shape."""
    extents = constant_shape(t, shape)
    if len(extents) != 2:
        raise t.fail(ConstantError, f"a fragment has two extents, not {len(extents)}")
    fragment_type = FragmentType(role, *extents, element)
    reason = matrix.wrong(fragment_type)
    if reason:
        raise t.fail(ConstantError, f"{_named(fragment_type)}: {reason}")
    return fragment_type


def _named(type_: FragmentType) -> str:
    return f"{type_.rows}x{type_.cols} of {argtypes.scalar_of(type_.element)}"


def _fragment(t: Translator, operand: Operand, what: str) -> Value:
    if isinstance(operand, Fragment):
        return operand.value
    raise t.fail(TypingError, f"{what} is a fragment, not {operand.type_name}")


def _text(t: Translator, operand: Operand | None, what: str, known: tuple[str, ...]) -> str:
    """A constant text, one of a few; "" where omitted."""
    if operand is None or operand is NONE:
        return ""
    text = operand.object if isinstance(operand, Static) else None
    if text not in known:
        alternatives = " or ".join(map(repr, known))
        raise t.fail(ConstantError, f"{what} is {alternatives}, not {operand.type_name}")
    return text


# ---- memory


def _array(t: Translator, array: Operand, layout: Operand | None, name: str) -> ArrayView:
    """The matrix in memory, whose order is that of the layout.

    Raises:
        TypingError: it is no such array.
    """
    what = f"the array of cuda.wmma.{name}"
    if not isinstance(array, ArrayView) or array.type.ndim != 2:
        raise t.fail(TypingError, f"{what} has two dimensions; this is {array.type_name}")
    if array.space not in (Space.GLOBAL, Space.SHARED, Space.GENERIC):
        where = array.space.name.lower()
        raise t.fail(TypingError, f"{what} is in global or shared memory, not in {where} memory")
    if not isinstance(array.type.element, argtypes.ScalarType):
        raise t.fail(TypingError, f"{what} has numbers as elements; this is {array.type}")
    if array.type.layout == "A":
        raise t.fail(
            TypingError,
            f"{what} is contiguous along its rows or columns, and its type says so, as float16[:, "
            f"::1] does; this is {array.type}",
        )
    wanted = _text(t, layout, "a layout", ("row", "col"))
    if wanted and _ORDERS[wanted] != array.type.layout:
        raise t.fail(
            TypingError,
            f'layout "{wanted}" is of an array in {_ORDERS[wanted]} order, and this is '
            f"{array.type}; array.T is the transposed matrix in the other order",
        )
    return array


def _start(t: Translator, array: ArrayView, position: Operand, type_: FragmentType) -> Value:
    """The address of the fragment's first element; in debug mode the last is checked too."""
    items = position.items if isinstance(position, TupleOperand) else (position,)
    if len(items) != 2:
        raise t.fail(TypingError, f"a position is (row, column), not {position.type_name}")
    numbers = [integer(t, item, "an integer index") for item in items]
    pairs = list(zip(numbers, array.shape, strict=True))
    axes = enumerate(pairs)
    places = [checked(t, number, extent, array, axis) for axis, (number, extent) in axes]
    if t.unit.options.bounds:
        for axis, size in enumerate((type_.rows, type_.cols)):
            last = t.b.add(places[axis], t.b.const(size - 1, i64))
            checked(t, Scalar(last, 0, i64.max), array.shape[axis], array, axis)
    return address(t, array, places)


def _stride(array: ArrayView) -> Value:
    """Elements from one line to the next."""
    return array.shape[1 if array.type.layout == "C" else 0]


def _require_aligned(t: Translator, start: Value, stride: Value, element: DType) -> None:
    """In debug mode, raise for a line that does not start at a multiple of 16 bytes."""
    if not t.unit.options.debug:
        return
    b = t.b
    distance = b.cast(b.mul(stride, b.const(element.size, i64)), u64)
    both = b.or_(b.value(memory.Address(start)), distance)
    low = b.and_(both, b.const(matrix.LINE_ALIGN - 1, u64))
    crooked = b.binary(arith.Ne, low, b.const(0, u64))
    guard(t, crooked, "ValueError", "wmma: a line does not start at a multiple of 16 bytes")


def _load(
    t: Translator,
    role: Role,
    name: str,
    array: Operand,
    position: Operand,
    shape: Operand,
    layout: Operand | None,
) -> Operand:
    view = _array(t, array, layout, name)
    element = view.type.element
    assert isinstance(element, argtypes.ScalarType)
    type_ = _type(t, role, shape, element.dtype)
    start, stride = _start(t, view, position, type_), _stride(view)
    _require_aligned(t, start, stride, type_.element)
    op = matrix.FragmentLoad(start, stride, type_, view.type.layout == "F")
    return Fragment(t.b.value(op))


def _register_loads() -> None:
    for role, stub in ((Role.A, stubs.wmma.load_a), (Role.B, stubs.wmma.load_b)):

        def emit(t: Translator, array, position, shape, layout, precision, role=role, stub=stub):  # type: ignore[no-untyped-def]
            _require_precision(t, array, precision)
            return _load(t, role, stub.__name__, array, position, shape, layout)

        register((stub,), stub.name, emit, stub.params)


def _require_precision(t: Translator, array: Operand, precision: Operand | None) -> None:
    """Require ``precision`` for float32, which is rounded to tf32."""
    asked = bool(_text(t, precision, "a precision", ("tf32",)))
    is_single = isinstance(array, ArrayView) and array.type.element == argtypes.float32
    if is_single and not asked:
        raise t.fail(
            TypingError,
            'tensor cores take float32 rounded to 10 bits of fraction; say precision="tf32" to '
            "allow that",
        )
    if asked and not is_single:
        raise t.fail(TypingError, f'precision="tf32" is of float32, not of {array.type_name}')


_register_loads()


@handles(stubs.wmma.load_c)
def _load_c(
    t: Translator, array: Operand, position: Operand, shape: Operand, layout: Operand | None
) -> Operand:
    return _load(t, Role.ACC, "load_c", array, position, shape, layout)


@handles(stubs.wmma.store)
def _store(
    t: Translator, array: Operand, position: Operand, fragment: Operand, layout: Operand | None
) -> Operand:
    value = _fragment(t, fragment, "what cuda.wmma.store stores")
    type_ = value.type
    assert isinstance(type_, FragmentType)
    if type_.role is not Role.ACC:
        raise t.fail(TypingError, f"accumulators are stored, not {fragment.type_name}")
    view = _array(t, array, layout, "store")
    if view.type.readonly:
        raise t.fail(TypingError, "the array of cuda.wmma.store is read-only")
    element = argtypes.scalar_of(type_.element)
    if view.type.element != element:
        raise t.fail(
            TypingError,
            f"{fragment.type_name} is stored to an array of {element}, not of {view.type.element}; "
            "cuda.wmma.convert converts some",
        )
    start, stride = _start(t, view, position, type_), _stride(view)
    _require_aligned(t, start, stride, type_.element)
    t.b.emit(matrix.FragmentStore(start, stride, value, view.type.layout == "F"))
    return NONE


# ---- values


@handles(stubs.wmma.fill)
def _fill(t: Translator, shape: Operand, dtype: Operand, value: Operand) -> Operand:
    element = _element(t, dtype)
    type_ = _type(t, Role.ACC, shape, element)
    number = cast_scalar(t, scalar(t, value), element)
    return Fragment(t.b.value(matrix.FragmentFill(number.value, type_)))


def _element(t: Translator, dtype: Operand) -> DType:
    kind = as_type(t, dtype)
    if not isinstance(kind, argtypes.ScalarType):
        raise t.fail(TypingError, f"a fragment has numbers as elements, not {kind}")
    return kind.dtype


@handles(stubs.wmma.mma)
def _mma(t: Translator, a: Operand, b: Operand, c: Operand) -> Operand:
    values = [
        _fragment(t, operand, f"{name} of cuda.wmma.mma")
        for name, operand in zip("abc", (a, b, c), strict=True)
    ]
    left, right, sums = (value.type for value in values)
    assert isinstance(left, FragmentType) and isinstance(right, FragmentType)
    assert isinstance(sums, FragmentType)
    names = f"{a.type_name}, {b.type_name} and {c.type_name}"
    if (left.role, right.role, sums.role) != (Role.A, Role.B, Role.ACC):
        raise t.fail(TypingError, f"cuda.wmma.mma takes a, b and an accumulator, not {names}")
    if left.cols != right.rows or (left.rows, right.cols) != (sums.rows, sums.cols):
        raise t.fail(TypingError, f"the shapes do not fit: {names}")
    mixed = left.element.size == right.element.size == 1
    if not (left.element is right.element or mixed) or (
        sums.element not in matrix.PRODUCTS[left.element]
    ):
        known = " or ".join(str(argtypes.scalar_of(x)) for x in matrix.PRODUCTS[left.element])
        raise t.fail(
            TypingError,
            f"the elements do not fit: {names}; factors are alike, and their sum is {known}",
        )
    return Fragment(t.b.value(matrix.FragmentMma(*values)))


@handles(stubs.wmma.scale)
def _scale(t: Translator, fragment: Operand, factor: Operand) -> Operand:
    value = _accumulator(t, fragment, "scale")
    type_ = value.type
    assert isinstance(type_, FragmentType)
    if type_.element not in matrix.SCALED:
        raise t.fail(TypingError, f"{fragment.type_name} cannot be scaled; convert it to float32")
    number = cast_scalar(t, scalar(t, factor), type_.element)
    return Fragment(t.b.value(matrix.FragmentScale(value, number.value)))


@handles(stubs.wmma.convert)
def _convert(t: Translator, fragment: Operand, dtype: Operand) -> Operand:
    value = _accumulator(t, fragment, "convert")
    element, old = _element(t, dtype), value.type
    assert isinstance(old, FragmentType)
    if element is old.element:
        return fragment
    if (old.element, element) not in matrix.CONVERSIONS:
        kind = argtypes.scalar_of(element)
        raise t.fail(TypingError, f"{fragment.type_name} does not convert to {kind}")
    fragment_type = FragmentType(Role.ACC, old.rows, old.cols, element)
    return Fragment(t.b.value(matrix.FragmentConvert(value, fragment_type)))


def _accumulator(t: Translator, fragment: Operand, name: str) -> Value:
    value = _fragment(t, fragment, f"what cuda.wmma.{name} takes")
    if value.type.role is not Role.ACC:  # type: ignore[union-attr]  # a fragment
        raise t.fail(
            TypingError, f"cuda.wmma.{name} takes an accumulator, not {fragment.type_name}"
        )
    return value
