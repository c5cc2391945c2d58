"""Reductions and scans along an axis."""

from __future__ import annotations

from typing import Any, cast

from gridlane.frontends.triton.arithmetic import BUILDS, wide
from gridlane.frontends.triton.casting import converted
from gridlane.frontends.triton.constants import unwrapped
from gridlane.frontends.triton.context import Build, builtin, unit
from gridlane.frontends.triton.elementwise import map_function
from gridlane.frontends.triton.numbers import to_tensor
from gridlane.frontends.triton.packs import check_pack, joined, lanes_of
from gridlane.frontends.triton.shapes import (
    axis_of,
    broadcast_shape,
    expanded,
    index_along,
    matched,
    reshaped,
)
from gridlane.frontends.triton.types import (
    dtype,
    dtype_of,
    float32,
    int32,
    require_arithmetic,
    scalar_ir,
    uint32,
)
from gridlane.frontends.triton.values import member, tensor, tensors_in, wrap
from gridlane.ir.builder import Builder
from gridlane.ir.ops import arith
from gridlane.ir.ops.tiles import TileReduce, TileScan, element_type
from gridlane.ir.values import Function, Value


def _called(function: Any, kinds: tuple[dtype, ...]) -> Build:
    """A function of the program on scalars of types."""

    def build(b: Builder, *values: Value) -> tuple[Value, ...]:
        caller = unit().caller
        assert caller is not None
        args = tuple([tensor(value, kind) for value, kind in zip(values, kinds, strict=True)])
        result = caller.call(function, args, {})
        if not isinstance(result, tuple):
            result = (result,)
        items = cast("tuple[Any, ...]", result)
        return tuple([to_tensor(each).handle for each in items])

    return build


def program_function(function: Any, kinds: tuple[dtype, ...]) -> Function:
    """The device function of a function of the program, for scalars of types."""
    name = getattr(function, "__name__", "combine")
    types = tuple([scalar_ir(kind) for kind in kinds])
    build = _called(function, kinds)
    return unit().device_function(
        ("call", id(function), tuple(map(str, kinds))), name, types, build
    )


def _combine(name: str, function: Any, inputs: tuple[tensor, ...]) -> Function:
    """The function that combines elements: of the program, or ``function`` writes it."""
    for each in inputs:
        require_arithmetic(each.dtype, name)
    types = tuple([element_type(value.handle.type) for value in inputs]) * 2
    if getattr(function, "is_build", False):
        return unit().device_function((name, ()), name, types, function)
    kinds = tuple([value.dtype for value in inputs]) * 2
    made = program_function(function, kinds)
    wanted = types[: len(inputs)]
    if made.results != wanted:
        raise TypeError(
            f"the function {name}() that combines elements returns {made.results}, and takes "
            f"{wanted}: return values of the types of its arguments"
        )
    return made


class _Written:
    """A combining function that ``build`` writes."""

    is_build = True

    def __init__(self, build: Build) -> None:
        self.build = build

    def __call__(self, b: Builder, *values: Value) -> Any:
        return self.build(b, *values)


def reduced(
    name: str, inputs: tuple[tensor, ...], axis: Any, function: Any, keeps: bool
) -> tuple[tensor, ...]:
    """Tiles of one shape reduced along an axis, or along all."""
    rank = len(inputs[0].shape)
    number = unwrapped(axis)
    if not rank:
        raise ValueError("a reduction is of a tensor with an axis or more, not of a scalar")
    if any(each.shape != inputs[0].shape for each in inputs):
        raise ValueError("all reduction inputs must have the same shape")
    if number is None:
        inputs = tuple([reshaped(each, (each.numel,)) for each in inputs])
    place = 0 if number is None else axis_of(number, rank)
    callee = _combine(name, function, inputs)
    op = TileReduce(callee.name, tuple([each.handle for each in inputs]), place)
    results = unit().b.emit(op).results
    made = [wrap(value, each.dtype) for value, each in zip(results, inputs, strict=True)]
    if keeps and number is None:
        return tuple([reshaped(each, (1,) * rank) for each in made])
    return tuple([expanded(each, place) for each in made]) if keeps else tuple(made)


def _inputs(value: Any) -> tuple[tuple[tensor, ...], bool]:
    """Tensors, given alone or as a tuple."""
    if isinstance(value, tensor):
        return (value,), True
    return tuple(tensors_in(value)), False


@member
@builtin
def reduce(input: Any, axis: Any, combine_fn: Any, keep_dims: Any = False) -> Any:
    """The elements along an axis combined by a function of the program."""
    inputs, alone = _inputs(input)
    name = getattr(combine_fn, "__name__", "combine")
    results = reduced(name, inputs, axis, combine_fn, bool(unwrapped(keep_dims)))
    return results[0] if alone else results


@member
@builtin
def associative_scan(input: Any, axis: Any, combine_fn: Any, reverse: Any = False) -> Any:
    """For each position along an axis the elements up to it combined."""
    inputs, alone = _inputs(input)
    name = getattr(combine_fn, "__name__", "combine")
    results = _scanned(name, inputs, axis, combine_fn, reverse)
    return results[0] if alone else results


def _scanned(
    name: str, inputs: tuple[tensor, ...], axis: Any, function: Any, reverse: Any
) -> tuple[tensor, ...]:
    if any(each.shape != inputs[0].shape for each in inputs):
        raise ValueError("all scan inputs must have the same shape")
    place = axis_of(axis, len(inputs[0].shape))
    callee = _combine(name, function, inputs)
    values = tuple([each.handle for each in inputs])
    results = unit().b.emit(TileScan(callee.name, values, place, bool(unwrapped(reverse)))).results
    return tuple([wrap(value, each.dtype) for value, each in zip(results, inputs, strict=True)])


@builtin
def map_elementwise(scalar_fn: Any, *args: Any, pack: Any = 1) -> Any:
    """A function of scalars for each element."""
    values = matched(*[to_tensor(each) for each in args])
    for each in values:
        require_arithmetic(each.dtype, "map_elementwise")
    if unwrapped(pack) != 1:
        return _mapped_packs(scalar_fn, values, unwrapped(pack))
    function = program_function(scalar_fn, tuple([each.dtype for each in values]))
    if not any(each.shape for each in values):
        results = unit().b.call(function, tuple([each.handle for each in values]))
    else:
        results = map_function(function, [each.handle for each in values])
    made = tuple([wrap(each) for each in results])
    return made[0] if len(made) == 1 else made


def _mapped_packs(scalar_fn: Any, values: list[tensor], pack: int) -> Any:
    """A function of several neighbours along the last axis at a time. It takes those of the first
    tensor, then those of the next, and returns results in the same order."""
    shape = next(each.shape for each in values if each.shape)
    check_pack(pack, shape)
    lanes = [lane for each in values for lane in lanes_of(broadcast_shape(each, shape), pack)]
    made = map_elementwise(scalar_fn, *lanes)
    results = made if isinstance(made, tuple) else (made,)
    whole = tuple(
        [
            reshaped(joined(list(results[first : first + pack])), shape)
            for first in range(0, len(results), pack)
        ]
    )
    return whole[0] if len(whole) == 1 else whole


# ---- sums


def _sum_type(kind: dtype, wanted: Any) -> dtype:
    """Integers below 32 bits are summed in 32 of their sign."""
    if unwrapped(wanted) is not None:
        return dtype_of(wanted)
    if kind.is_int() and kind.int_bitwidth < 32:
        return int32 if kind.is_int_signed() else uint32
    return kind


_ADD, _MUL, _XOR, _OR = [_Written(BUILDS[name]) for name in ("add", "mul", "xor", "or")]


def _one(name: str, input: tensor, axis: Any, function: _Written, keep_dims: Any) -> tensor:
    return reduced(name, (input,), axis, function, bool(unwrapped(keep_dims)))[0]


@member
@builtin
def sum(input: tensor, axis: Any = None, keep_dims: Any = False, dtype: Any = None) -> tensor:
    """The sum along an axis, or of all elements."""
    return _one("add", converted(input, _sum_type(input.dtype, dtype)), axis, _ADD, keep_dims)


def _require_integers(input: tensor, name: str) -> None:
    if not input.dtype.is_int():
        raise TypeError(f"{name} only supported for integers")


@member
@builtin
def xor_sum(input: tensor, axis: Any = None, keep_dims: Any = False) -> tensor:
    """The exclusive or along an axis, or of all elements."""
    _require_integers(input, "xor_sum")
    return _one("xor", input, axis, _XOR, keep_dims)


@member
@builtin
def reduce_or(input: tensor, axis: Any, keep_dims: Any = False) -> tensor:
    """The bitwise or along an axis."""
    _require_integers(input, "reduce_or")
    return _one("or", input, axis, _OR, keep_dims)


@member
@builtin
def cumsum(input: tensor, axis: Any = 0, reverse: Any = False, dtype: Any = None) -> tensor:
    """The sums of the elements up to each."""
    value = wide(input)
    value = converted(value, _sum_type(value.dtype, dtype))
    return _scanned("add", (value,), axis, _ADD, reverse)[0]


@member
@builtin
def cumprod(input: tensor, axis: Any = 0, reverse: Any = False) -> tensor:
    """The products of the elements up to each."""
    return _scanned("mul", (wide(input),), axis, _MUL, reverse)[0]


# ---- extrema


def _indexed(op: type[arith.Lt] | type[arith.Gt], ties_left: bool) -> Build:
    """Of two (value, index) pairs that which a comparison prefers; of two alike the left one, or
    the second."""

    def build(
        b: Builder, value1: Value, index1: Value, value2: Value, index2: Value
    ) -> tuple[Value, ...]:
        first = b.binary(op, value1, value2)
        if ties_left:
            tie = b.and_(b.eq(value1, value2), b.lt(index1, index2))
            first = b.or_(first, tie)
        return b.select(first, value1, value2), b.select(first, index1, index2)

    return build


_COMPARISONS = {"max": arith.Gt, "min": arith.Lt}
_EXTREMA = {name: _Written(BUILDS[name]) for name in _COMPARISONS}
_PAIRS = {
    (name, left): _Written(_indexed(op, left))
    for name, op in _COMPARISONS.items()
    for left in (True, False)
}


def _with_index(
    name: str, input: tensor, axis: Any, ties_left: Any, keep_dims: Any
) -> tuple[tensor, ...]:
    value = input
    if unwrapped(axis) is None:
        value, axis = reshaped(value, (value.numel,)), 0
    if value.dtype.is_bool():
        value = converted(value, int32)
    place = axis_of(axis, len(value.shape))
    left = bool(unwrapped(ties_left))
    inputs = value, index_along(value.shape, place)
    known = f"arg{name}" if left else f"arg{name}_fast"
    found = reduced(known, inputs, place, _PAIRS[name, left], bool(unwrapped(keep_dims)))
    return converted(found[0], input.dtype), found[1]


def _extremum(
    name: str, input: tensor, axis: Any, indices: Any, ties_left: Any, keep_dims: Any
) -> Any:
    value = wide(input)
    if unwrapped(indices):
        return _with_index(name, value, axis, ties_left, keep_dims)
    if value.dtype.primitive_bitwidth < 32:
        value = converted(value, float32 if value.dtype.is_floating() else int32)
    return _one(name, value, axis, _EXTREMA[name], keep_dims)


def _define(name: str) -> tuple[Any, Any]:
    def extremum(
        input: tensor,
        axis: Any = None,
        return_indices: Any = False,
        return_indices_tie_break_left: Any = True,
        keep_dims: Any = False,
    ) -> Any:
        return _extremum(
            name, input, axis, return_indices, return_indices_tie_break_left, keep_dims
        )

    def index(input: tensor, axis: Any, tie_break_left: Any = True, keep_dims: Any = False) -> Any:
        return _extremum(name, input, axis, True, tie_break_left, keep_dims)[1]

    extremum.__name__, index.__name__ = name, f"arg{name}"
    extremum.__doc__ = f"The {name}imum along an axis, and on request its index."
    index.__doc__ = f"The index of the {name}imum along an axis."
    return member(builtin(extremum)), member(builtin(index))


max, argmax = _define("max")
min, argmin = _define("min")
