"""The grid, hints, and what programs print and assert."""

from __future__ import annotations

from typing import Any

from gridlane.frontends.triton.arithmetic import compared
from gridlane.frontends.triton.casting import converted, to_bool
from gridlane.frontends.triton.constants import unwrapped
from gridlane.frontends.triton.context import builder, builtin, unit
from gridlane.frontends.triton.errors import CompileTimeAssertionFailure
from gridlane.frontends.triton.numbers import to_tensor
from gridlane.frontends.triton.types import float32, int32
from gridlane.frontends.triton.values import tensor
from gridlane.ir.bits_shown import bits_shown
from gridlane.ir.op import Op
from gridlane.ir.ops import control, grid, tile_memory
from gridlane.ir.ops.grid import Axis, BlockIdx, GridDim
from gridlane.ir.values import ErrorSite, Value


def _of_grid(op: Any, axis: Any, name: str) -> tensor:
    number = unwrapped(axis)
    if number not in (0, 1, 2):
        raise ValueError(f"{name} axis must be 0, 1, or 2 but got {number}")
    made: Op = op(Axis(number))
    return tensor(builder().value(made), int32)


@builtin
def program_id(axis: Any) -> tensor:
    """The program's index in the grid."""
    return _of_grid(BlockIdx, axis, "program_id")


@builtin
def num_programs(axis: Any) -> tensor:
    """The extent of the grid."""
    return _of_grid(GridDim, axis, "num_programs")


# ---- hints, which change no answer


def _checked_hint(values: Any) -> None:
    plain = unwrapped(values)
    for number, each in enumerate(plain if isinstance(plain, (tuple, list)) else (plain,)):
        if type(unwrapped(each)) is not int:
            raise TypeError(f"values element {number} must have type `constexpr[int]`")


@builtin
def multiple_of(input: Any, values: Any) -> Any:
    """The values, of which the program says that they are multiples of a number."""
    _checked_hint(values)
    return input


@builtin
def max_contiguous(input: Any, values: Any) -> Any:
    """The values, of which the program says that so many are contiguous."""
    _checked_hint(values)
    return input


@builtin
def max_constancy(input: Any, values: Any) -> Any:
    """The values, of which the program says that so many are equal."""
    _checked_hint(values)
    return input


@builtin
def assume(cond: Any) -> None:
    """Nothing: what the program says that holds."""
    to_tensor(cond)


@builtin
def expect_zero(x: Any, mask: Any) -> Any:
    """The values, of which the program says that they are 0 where the mask holds; checked in
    programs that are compiled for debugging."""
    value = to_tensor(x)
    if unit().options.debug:
        device_assert(
            compared("eq", value, 0), "expect_zero expected x == 0 where mask is true", mask
        )
    return x


@builtin
def debug_barrier() -> None:
    """Wait for all threads of the program."""
    builder().emit(grid.Barrier())


# ---- at compile time


@builtin
def static_assert(cond: Any, msg: Any = "") -> None:
    """Refuse to compile unless a condition holds."""
    truth = unwrapped(cond)
    if not isinstance(truth, bool):
        raise NotImplementedError(
            "Assertion condition could not be determined at compile-time. Make sure that it "
            "depends only on `constexpr` values"
        )
    if not truth:
        raise CompileTimeAssertionFailure(str(unwrapped(msg)), builder().loc)


@builtin
def static_print(*values: Any, sep: str = " ", end: str = "\n", **options: Any) -> None:
    """Print values when the program is compiled."""
    print(*[unwrapped(each) for each in values], sep=sep, end=end)


# ---- at run time


@builtin
def device_print(prefix: Any, *args: Any, hex: Any = False) -> None:
    """Print values when the program runs."""
    text = unwrapped(prefix)
    if not isinstance(text, str):
        raise TypeError(f"{text} is not string: a text comes first, then what is printed")
    if not text.isascii():
        raise ValueError(f"{text} is not an ascii string")
    if args and not text.endswith(" "):
        text += " "
    if args and not text.endswith(": "):
        text = text[:-1] + ": "
    if len(text) > 2 and not text.startswith(" "):
        text = " " + text
    b, as_bits = builder(), bool(unwrapped(hex))
    if not args:
        _print_line(f"){text}", (), ())
    for place, each in enumerate(args):
        value = to_tensor(each)
        if value.dtype.is_fp8():
            value = converted(value, float32)
        operand = f"{text}(operand {place}) " if len(args) > 1 else text
        shows_bits = as_bits or value.dtype.is_ptr()
        if value.shape:
            b.emit(tile_memory.TilePrint(operand, value.handle, shows_bits))
            continue
        shown = bits_shown(b, value.handle) if shows_bits else (value.handle, "")
        _print_line(f") idx (){operand}", shown[:1], shown[1:])


def _print_line(text: str, values: tuple[Value, ...], formats: tuple[str, ...]) -> None:
    """Print a line that begins with the program's indices."""
    b = builder()
    ids = [b.value(BlockIdx(axis)) for axis in Axis]
    parts = "pid (", "", ", ", "", ", ", "", text, *("" for _ in values)
    b.emit(control.Print(parts, (*ids, *values), ("", "", "", *formats)))


@builtin
def device_assert(cond: Any, msg: Any = "", mask: Any = None) -> None:
    """End the launch with an error unless a condition holds for all elements, where the mask does;
    only in programs that are compiled for debugging."""
    u = unit()
    truth = to_bool(to_tensor(cond))
    if not u.options.debug:
        return
    failed: Any = ~truth  # type: ignore[operator]  # arithmetic.py defines the operators
    if unwrapped(mask) is not None:
        failed = failed & to_bool(to_tensor(mask))
    code = u.error(ErrorSite("AssertionError", str(unwrapped(msg)), u.b.loc))
    if failed.shape:
        u.b.emit(tile_memory.TileStopIf(failed.handle, code))
    else:
        with u.b.if_(failed.handle):
            u.b.emit(control.Raise(code))
