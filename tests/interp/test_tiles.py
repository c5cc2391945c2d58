"""Tiles in the interpreter, against numpy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from gridlane.core.errors import KernelError, ParseError, VerifyError
from gridlane.interp.machine import RunResult, run
from gridlane.interp.memory import Memory
from gridlane.ir.parser import parse_module
from gridlane.ir.printer import print_module
from gridlane.ir.stages import KERNEL, TILE
from gridlane.ir.verifier import verify

NAMES = {"f4": "f32", "f8": "f64", "f2": "f16", "i4": "i32", "u1": "u8", "i1": "i8", "b1": "b1"}

FUNCTIONS = """
device @add(%a: f32, %b: f32) -> (f32) { %c: f32 = add %a, %b return (%c) }
device @sub(%a: f32, %b: f32) -> (f32) { %c: f32 = sub %a, %b return (%c) }
device @second(%a: f32, %b: f32) -> (f32) { return (%b) }
device @both(%a: f32, %i: i32, %b: f32, %j: i32) -> (f32, i32) {
  %less: b1 = lt %b, %a
  %x: f32 = select %less, %b, %a
  %n: i32 = select %less, %j, %i
  return (%x, %n)
}
device @at(%p: ptr<f32, global>, %i: i32) -> (ptr<f32, global>) {
  %q: ptr<f32, global> = offset %p, %i
  return (%q)
}
device @ints(%p: ptr<i32, global>, %i: i32) -> (ptr<i32, global>) {
  %q: ptr<i32, global> = offset %p, %i
  return (%q)
}
device @less(%i: i32, %n: i32) -> (b1) { %q: b1 = lt %i, %n return (%q) }
"""


def name_of(array: np.ndarray) -> str:
    if array.dtype == ml_dtypes.bfloat16:
        return "bf16"
    return NAMES[array.dtype.str[1:]]


def program(
    *lines: str,
    given: dict[str, np.ndarray],
    out: dict[str, np.ndarray] | None = None,
    before: str = "",
    grid: tuple[int, int, int] = (1, 1, 1),
) -> RunResult:
    """Run a program in which tiles with the names of ``given`` are loaded whole, and tiles with
    those of ``out`` are stored whole."""
    out = out or {}
    params: list[str] = []
    head: list[str] = []
    tail: list[str] = []
    for number, (name, array) in enumerate({**given, **out}.items()):
        element, shape = name_of(array), ", ".join(map(str, array.shape))
        ones = ", ".join(["%one"] * array.ndim)
        steps = ", ".join([f"%s{n // array.itemsize}" for n in array.strides])
        zeros = ", ".join(["%zero"] * array.ndim)
        params.append(f'%p{name}: ptr<{element}, global> [argument={number}, path=("data")]')
        block = f"%p{name}, ({ones}), ({steps}), ({zeros})"
        head += [
            f"%s{n // array.itemsize}: i64 = const {n // array.itemsize}" for n in array.strides
        ]
        if name in given:
            tail[:0] = [f"%{name}: tile<{shape}, {element}> = tile_load_block {block}"]
    stores: list[str] = []
    for name, array in out.items():
        ones = ", ".join(["%one"] * array.ndim)
        steps = ", ".join([f"%s{n // array.itemsize}" for n in array.strides])
        zeros = ", ".join(["%zero"] * array.ndim)
        stores.append(f"tile_store_block %p{name}, ({ones}), ({steps}), ({zeros}), %{name}")
    constants = ["%zero: i32 = const 0", "%one: i64 = const 1", *dict.fromkeys(head)]
    body = "\n".join([*constants, *tail, *lines, *stores])
    text = f"{before}{FUNCTIONS}kernel @k({', '.join(params)}) {{\n{body}\n}}\n"
    module = parse_module(text)
    verify(module, TILE)
    again = print_module(module)
    assert print_module(parse_module(again)) == again
    memory = Memory()
    addresses = [memory.map(array, name) for name, array in {**given, **out}.items()]
    return run(module, grid, 1, [*addresses], memory)


def floats(*shape: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def test_maps_take_scalars():
    x, y = floats(3, 5), np.zeros((3, 5), np.float32)
    program(
        "%two: f32 = const 0x1p+1",
        "%y: tile<3, 5, f32> = tile_map @sub, (%x, %two)",
        given={"x": x},
        out={"y": y},
    )
    assert (y == x - 2).all()


def test_shapes():
    x, y = floats(4, 6), floats(4, 6, seed=2)
    out = {
        "t": np.zeros((6, 4), np.float32),
        "r": np.zeros((3, 8), np.float32),
        "j": np.zeros((4, 6, 2), np.float32),
        "c": np.zeros((4, 12), np.float32),
        "b": np.zeros((3, 4, 6), np.float32),
        "e": np.zeros((4, 6), np.float32),
        "o": np.zeros((4, 6), np.float32),
    }
    program(
        "%t: tile<6, 4, f32> = tile_transpose %x, (1, 0)",
        "%r: tile<3, 8, f32> = tile_reshape %x",
        "%j: tile<4, 6, 2, f32> = tile_join %x, %y",
        "%c: tile<4, 12, f32> = tile_cat %x, %y, 1",
        "%x3: tile<1, 4, 6, f32> = tile_reshape %x",
        "%b: tile<3, 4, 6, f32> = tile_broadcast %x3",
        "%e: tile<4, 6, f32>, %o: tile<4, 6, f32> = tile_split %j",
        given={"x": x, "y": y},
        out=out,
    )
    assert (out["t"] == x.T).all()
    assert (out["r"] == x.reshape(3, 8)).all()
    assert (out["j"] == np.stack([x, y], -1)).all()
    assert (out["c"] == np.concatenate([x, y], 1)).all()
    assert (out["b"] == x).all()
    assert (out["e"] == x).all() and (out["o"] == y).all()


def test_gathers():
    x = floats(4, 6)
    index = np.random.default_rng(3).integers(0, 4, (2, 6)).astype(np.int32)
    y = np.zeros((2, 6), np.float32)
    program(
        "%y: tile<2, 6, f32> = tile_gather %x, %index, 0",
        given={"x": x, "index": index},
        out={"y": y},
    )
    assert (y == np.take_along_axis(x, index, 0)).all()


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(1, 7), (7, 1), (5, 6), (8, 4)])
def test_reductions_and_scans(shape, axis):
    x = floats(*shape)
    index = np.broadcast_to(np.indices(shape)[axis], shape).astype(np.int32)
    rest = shape[1 - axis]
    least, where = np.zeros(rest, np.float32), np.zeros(rest, np.int32)
    up, down = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    whole = f"tile<{shape[0]}, {shape[1]}, f32>"
    program(
        f"%least: tile<{rest}, f32>, %where: tile<{rest}, i32>"
        f" = tile_reduce @both, (%x, %index), {axis}",
        f"%up: {whole} = tile_scan @add, (%x), {axis}",
        f"%down: {whole} = tile_scan @add, (%x), {axis} [reverse=true]",
        given={"x": x, "index": index},
        out={"least": least, "where": where, "up": up, "down": down},
    )
    assert (least == x.min(axis)).all() and (where == x.argmin(axis)).all()
    np.testing.assert_allclose(up, x.cumsum(axis), rtol=1e-5, atol=1e-5)
    reverse = np.flip(np.flip(x, axis).cumsum(axis), axis)
    np.testing.assert_allclose(down, reverse, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("count", [1, 2, 3, 8, 13])
def test_the_order_of_operands_is_kept(count):
    """The last of the elements, by a function that does not commute."""
    x, y = floats(count), np.zeros(count, np.float32)
    program(
        "%last: f32 = tile_reduce @second, (%x), 0",
        f"%y: tile<{count}, f32> = tile_splat %last",
        given={"x": x},
        out={"y": y},
    )
    assert (y == x[-1]).all()


@pytest.mark.parametrize("kind", [np.float32, np.float16, ml_dtypes.bfloat16, np.int8])
def test_sorts(kind):
    x = np.random.default_rng(5).integers(-99, 99, (3, 8)).astype(kind)
    up, top = np.zeros((3, 8), kind), np.zeros((3, 2), kind)
    name = name_of(x)
    program(
        f"%up: tile<3, 8, {name}> = tile_sort %x, 1",
        f"%top: tile<3, 2, {name}> = tile_sort %x, 1 [descending=true, count=2]",
        given={"x": x},
        out={"up": up, "top": top},
    )
    wanted = np.sort(x.astype(np.float32), 1).astype(kind)
    assert (up == wanted).all() and (top == wanted[:, ::-1][:, :2]).all()


def test_sorts_have_nans_last():
    x = np.array([2, np.nan, -np.inf, np.inf, -1], np.float32)
    y = np.zeros(5, np.float32)
    program("%y: tile<5, f32> = tile_sort %x, 0", given={"x": x}, out={"y": y})
    np.testing.assert_array_equal(y, np.sort(x))


def test_histograms():
    x = np.random.default_rng(6).integers(-3, 9, 64).astype(np.int32)
    counts, some = np.zeros(5, np.int32), np.zeros(5, np.int32)
    program(
        "%counts: tile<5, i32> = tile_histogram %x, (), 5",
        "%three: i32 = const 3",
        "%m: tile<64, b1> = tile_map @less, (%x, %three)",
        "%some: tile<5, i32> = tile_histogram %x, (%m), 5",
        given={"x": x},
        out={"counts": counts, "some": some},
    )
    assert counts.tolist() == [(x == n).sum() for n in range(5)]
    assert some.tolist() == [*counts[:3], 0, 0]


@pytest.mark.parametrize(
    ("factor", "acc"),
    [
        (np.float32, np.float32),
        (np.float16, np.float32),
        (np.float16, np.float16),
        (ml_dtypes.bfloat16, np.float32),
        (np.float64, np.float64),
        (np.int8, np.int32),
        (np.uint8, np.int32),
    ],
)
@pytest.mark.parametrize("batch", [(), (3,)])
def test_products(factor, acc, batch):
    rng = np.random.default_rng(7)
    a = rng.integers(0, 9, (*batch, 4, 6)).astype(factor)
    b = rng.integers(0, 9, (*batch, 6, 5)).astype(factor)
    c = rng.integers(0, 9, (*batch, 4, 5)).astype(acc)
    d = np.zeros_like(c)
    shape = ", ".join(map(str, c.shape))
    program(
        f"%d: tile<{shape}, {name_of(c)}> = tile_dot %a, %b, %c",
        given={"a": a, "b": b, "c": c},
        out={"d": d},
    )
    assert (d == a.astype(np.float64) @ b.astype(np.float64) + c.astype(np.float64)).all()


def test_masked_accesses():
    x = np.arange(6, dtype=np.float32)
    y = np.full(8, 7, np.float32)
    z = np.arange(100, 108, dtype=np.float32)
    program(
        "%i: tile<8, i32> = tile_iota 0",
        "%n: i32 = const 6",
        "%m: tile<8, b1> = tile_map @less, (%i, %n)",
        "%p: tile<8, ptr<f32, global>> = tile_map @at, (%px, %i)",
        "%v: tile<8, f32> = tile_load %p, (%m), (%z)",
        "%q: tile<8, ptr<f32, global>> = tile_map @at, (%py, %i)",
        "%four: i32 = const 4",
        "%k: tile<8, b1> = tile_map @less, (%i, %four)",
        "tile_store %q, %v, (%k)",
        given={"z": z, "x": x, "y": y},
    )
    assert y.tolist() == [0, 1, 2, 3, 7, 7, 7, 7]


def test_blocks_of_arrays():
    """Rows 2 to 5 and columns -1 to 2 of a 4 by 3 array."""
    x, y = floats(4, 3), np.zeros((4, 4), np.float32)
    z = np.zeros((4, 3), np.float32)
    program(
        "%h: i64 = const 4",
        "%w: i64 = const 3",
        "%two: i32 = const 2",
        "%back: i32 = const -1",
        "%b: tile<4, 4, f32> = tile_load_block %px, (%h, %w), (%s3, %s1), (%two, %back)"
        " [checked=(0, 1), padding=nans]",
        "%y: tile<4, 4, f32> = tile_map @add, (%b, %b)",
        "tile_store_block %pz, (%h, %w), (%s3, %s1), (%two, %back), %b [checked=(0, 1)]",
        given={"x": x, "z": z},
        out={"y": y},
    )
    wanted = np.full((4, 4), np.nan, np.float32)
    wanted[:2, 1:] = x[2:] * 2
    np.testing.assert_array_equal(y, wanted)
    assert (z[2:] == x[2:]).all() and not z[:2].any()


def test_atomics():
    slots = np.array([0, 1, 0, 2, 0, 1, 3, 9], np.int32)
    counts, old = np.zeros(4, np.int32), np.zeros(8, np.int32)
    swapped = np.zeros(8, np.int32)
    program(
        "%n: i32 = const 4",
        "%m: tile<8, b1> = tile_map @less, (%slots, %n)",
        "%p: tile<8, ptr<i32, global>> = tile_map @ints, (%pcounts, %slots)",
        "%i: tile<8, i32> = tile_iota 1",
        "%old: tile<8, i32> = tile_atomic add, %p, %i, (%m)",
        "%low: i32 = const 0",
        "%zeros: tile<8, i32> = tile_splat %low",
        "%q: tile<8, ptr<i32, global>> = tile_map @ints, (%pmore, %i)",
        "%swapped: tile<8, i32> = tile_atomic_cas %q, %zeros, %i",
        given={"slots": slots, "counts": counts, "more": np.zeros(9, np.int32)},
        out={"old": old, "swapped": swapped},
    )
    assert counts.tolist() == [1 + 3 + 5, 2 + 6, 4, 7]
    assert old.tolist() == [0, 0, 1, 0, 4, 2, 0, 0]
    assert not swapped.any()


def test_variables_in_loops():
    x, y = floats(4), np.zeros(4, np.float32)
    text = """
kernel @k(%px: ptr<f32, global> [path=("data")], %py: ptr<f32, global> [argument=1, path=("data")])
{
  var $sum: tile<4, f32>
  var $n: i32
  %i: tile<4, i32> = tile_iota 0
  %p: tile<4, ptr<f32, global>> = tile_map @at, (%px, %i)
  %x: tile<4, f32> = tile_load %p, (), ()
  loop {
    %n: i32 = read $n
    %five: i32 = const 5
    %more: b1 = lt %n, %five
    if %more { } orelse { break }
    %s: tile<4, f32> = read $sum
    %t: tile<4, f32> = tile_map @add, (%s, %x)
    write $sum, %t
  } step {
    %m: i32 = read $n
    %one: i32 = const 1
    %next: i32 = add %m, %one
    write $n, %next
  }
  %q: tile<4, ptr<f32, global>> = tile_map @at, (%py, %i)
  %r: tile<4, f32> = read $sum
  tile_store %q, %r
}
"""
    module = parse_module(FUNCTIONS + text)
    verify(module, TILE)
    memory = Memory()
    run(module, 1, 1, [memory.map(x), memory.map(y)], memory)
    np.testing.assert_allclose(y, 5 * x, rtol=1e-6)


def test_prints():
    x = np.array([[1, 2]], np.int32)
    result = program('tile_print @" x: ", %x', given={"x": x}, grid=(1, 2, 1))
    assert result.prints == [
        "pid (0, 0, 0) idx (0, 0) x: 1\n",
        "pid (0, 0, 0) idx (0, 1) x: 2\n",
        "pid (0, 1, 0) idx (0, 0) x: 1\n",
        "pid (0, 1, 0) idx (0, 1) x: 2\n",
    ]
    x = np.array([-1, 1.5], np.float32)
    result = program('tile_print @": ", %x [hexadecimal=true]', given={"x": x})
    assert [line.split()[-1] for line in result.prints] == ["0xbf800000", "0x3fc00000"]


def test_stops():
    x, y = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    lines = [
        "%n: i32 = const {}",
        "%m: tile<4, b1> = tile_map @less, (%x, %n)",
        "tile_stop_if %m, 0",
        "%y: tile<4, i32> = tile_iota 5",
    ]
    for limit, error in ((1, (0, (0, 0, 0), (0, 0, 0))), (0, None)):
        given = [lines[0].format(limit), *lines[1:]]
        result = program(
            *given, given={"x": x}, out={"y": y}, before='error 0 "AssertionError" "x"\n'
        )
        assert result.error == error
        assert y.tolist() == ([0] * 4 if error else [5, 6, 7, 8])


def test_a_bad_access_names_the_element():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)[:, :3].copy()
    with pytest.raises(KernelError, match=r"the array is px \(at .*program \(0, 0, 0\), element"):
        program(
            "%i: tile<4, i32> = tile_iota 7",
            "%p: tile<4, ptr<f32, global>> = tile_map @at, (%px, %i)",
            "%y: tile<4, f32> = tile_load %p, (), ()",
            given={"x": x},
            out={"y": np.zeros(4, np.float32)},
        )


X = "%x: tile<4, 2, f32> = tile_splat %f"

BAD = [
    ("%y: tile<4, f32> = tile_map @add, (%x, %x)", r"@add makes"),
    ("%y: tile<4, 2, f32> = tile_map @add, (%f, %f)", "the tiles among its arguments"),
    ("%y: tile<4, 2, f32> = tile_map @no, (%x, %x)", "no function @no"),
    ("%y: tile<4, 2, f32> = tile_map @add, (%x, %n)", r"@add takes"),
    ("%y: tile<4, 2, f32> = tile_map @stores, (%x, %p)", "@stores, for elements, has a store"),
    ("%y: tile<4, f32> = tile_reduce @less, (%x), 1", r"@less takes"),
    ("%y: tile<8, f32> = tile_reshape %x\n%z: tile<7, f32> = tile_reshape %x", "counts differ"),
    ("%y: tile<4, 3, f32> = tile_broadcast %x", "does not broadcast"),
    ("%y: tile<4, 2, i32> = tile_splat %f", "is not an element"),
    ("%y: tile<8, i32> = tile_iota 2147483641", "fit in i32"),
    ("%y: tile<8, f32> = tile_iota 0", "one axis of i32"),
    ("%y: tile<4, 2, f32> = tile_dot %x, %x, %x", r"tile<4, 2, f32> by"),
    ("tile_store %x, %x", "is not of pointers"),
    ("%y: tile<4, 2, f32> = tile_load %x, (), ()", "is not of pointers"),
    ("%y: tile<2, i32> = tile_histogram %x, (), 2", "not one axis of integers"),
    ("tile_stop_if %x, 0", "is not of b1"),
]


@pytest.mark.parametrize(("line", "message"), BAD, ids=[line for line, _ in BAD])
def test_bad_tiles(line, message):
    before = """
device @stores(%a: f32, %p: ptr<f32, global>) -> (f32) { store %p, %a return (%a) }
"""
    head = "kernel @k(%f: f32, %n: i32, %p: ptr<f32, global>)"
    text = f"{before}{FUNCTIONS}{head} {{\n{X}\n{line}\n}}\n"
    with pytest.raises((VerifyError, ParseError), match=message):
        verify(parse_module(text), TILE)


def test_a_function_for_elements_does_not_call_itself():
    text = """
device @f(%a: f32) -> (f32) {
  %b: f32 = call @g, (%a)
  return (%b)
}
device @g(%a: f32) -> (f32) {
  %b: f32 = call @f, (%a)
  return (%b)
}
kernel @k(%f: f32) {
  %x: tile<4, f32> = tile_splat %f
  %y: tile<4, f32> = tile_map @g, (%x)
}
"""
    with pytest.raises(VerifyError, match="recursion"):
        verify(parse_module(text), TILE)


def test_tiles_are_of_their_stage():
    module = parse_module(f"kernel @k(%f: f32) {{\n{X}\n}}\n")
    verify(module, TILE)
    with pytest.raises(VerifyError, match="tile_splat: is not legal at this stage"):
        verify(module, KERNEL)


@pytest.mark.parametrize("text", ["tile<f32>", "tile<0, f32>", "tile<4>", "tile<4, vec<f32, 2>>"])
def test_bad_types(text):
    with pytest.raises(ParseError):
        parse_module(f"kernel @k() {{\nvar $x: {text}\n}}\n")
