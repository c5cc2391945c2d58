"""Cases of programs over tiles."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gridlane.conformance.cases import Case
from gridlane.ir.parser import parse_module

_FUNCTIONS = """
device @moved(%p: ptr<i32, global>, %n: i32) -> (ptr<i32, global>) {
  %q: ptr<i32, global> = offset %p, %n
  return (%q)
}
device @sum(%x: i32, %y: i32) -> (i32) {
  %z: i32 = add %x, %y
  return (%z)
}
device @later(%x: i32, %y: i32) -> (i32) {
  return (%y)
}
device @positive(%x: i32) -> (b1) {
  %zero: i32 = const 0
  %z: b1 = lt %zero, %x
  return (%z)
}
device @low(%x: i32) -> (i32) {
  %most: i32 = const 15
  %z: i32 = and %x, %most
  return (%z)
}
device @wide(%x: i32) -> (f32) {
  %z: f32 = cast %x
  return (%z)
}
device @whole(%x: f32) -> (i32) {
  %z: i32 = cast %x
  return (%z)
}
"""
_HEAD = """
  %at: tile<64, i32> = tile_iota 0
  %px: tile<64, ptr<i32, global>> = tile_map @moved, (%p0, %at)
  %x: tile<64, i32> = tile_load %px, (), ()
  %some: tile<64, b1> = tile_map @positive, (%x)
  %small: tile<64, i32> = tile_map @low, (%x)
  %square: tile<8, 8, i32> = tile_reshape %x
  %pairs: tile<32, 2, i32> = tile_reshape %x
  %zero: i32 = const 0
  %one: i64 = const 1
  %eight: i64 = const 8
"""

_BODIES: tuple[tuple[str, str, str], ...] = (
    ("tile_iota", "", "%r: tile<64, i32> = tile_iota -5"),
    ("tile_splat", "", "%n: i32 = block_idx x\n%r: tile<64, i32> = tile_splat %n"),
    ("tile_map", "", "%r: tile<64, i32> = tile_map @sum, (%x, %at)"),
    (
        "tile_broadcast",
        "",
        "%c: tile<64, 1, i32> = tile_reshape %x\n%r: tile<64, 4, i32> = tile_broadcast %c",
    ),
    ("tile_reshape", "", "%r: tile<4, 16, i32> = tile_reshape %x"),
    ("tile_transpose", "", "%r: tile<2, 32, i32> = tile_transpose %pairs, (1, 0)"),
    ("tile_join", "", "%r: tile<64, 2, i32> = tile_join %x, %at"),
    ("tile_split", "", "%l: tile<32, i32>, %r: tile<32, i32> = tile_split %pairs"),
    ("tile_cat", "", "%r: tile<128, i32> = tile_cat %x, %at, 0"),
    ("tile_gather", "", "%r: tile<64, i32> = tile_gather %x, %small, 0"),
    (
        "tile_item",
        "",
        "%s: i32 = tile_reduce @sum, (%x), 0\n%t: tile<1, i32> = tile_splat %s\n"
        "%i: i32 = tile_item %t\n%r: tile<4, i32> = tile_splat %i",
    ),
    ("tile_reduce", "rows", "%r: tile<8, i32> = tile_reduce @sum, (%square), 1"),
    ("tile_reduce", "columns", "%r: tile<8, i32> = tile_reduce @later, (%square), 0"),
    ("tile_scan", "", "%r: tile<64, i32> = tile_scan @sum, (%x), 0"),
    ("tile_scan", "reverse", "%r: tile<8, 8, i32> = tile_scan @sum, (%square), 0 [reverse=true]"),
    ("tile_sort", "", "%r: tile<64, i32> = tile_sort %x, 0"),
    (
        "tile_sort",
        "descending",
        "%r: tile<8, 3, i32> = tile_sort %square, 1 [descending=true, count=3]",
    ),
    ("tile_histogram", "", "%r: tile<10, i32> = tile_histogram %small, (%some), 10"),
    (
        "tile_dot",
        "",
        "%f: tile<8, 8, f32> = tile_map @wide, (%square)\n"
        "%g: tile<8, 8, f32> = tile_dot %f, %f, %f\n"
        "%r: tile<8, 8, i32> = tile_map @whole, (%g)",
    ),
    ("tile_load", "masked", "%r: tile<64, i32> = tile_load %px, (%some), (%at)"),
    ("tile_store", "masked", "tile_store %px, %at, (%some)\n%r: tile<64, i32> = tile_splat %zero"),
    (
        "tile_load_block",
        "",
        "%from: i32 = const 5\n%r: tile<4, 8, i32> = tile_load_block %p0, (%eight, %eight), "
        "(%eight, %one), (%from, %from) [checked=(0, 1)]",
    ),
    (
        "tile_store_block",
        "",
        "%r: tile<8, 8, i32> = tile_map @sum, (%square, %square)\n%from: i32 = const 5\n"
        "tile_store_block %p0, (%eight, %eight), (%eight, %one), (%from, %zero), %r "
        "[checked=(0, 1)]",
    ),
    (
        "tile_atomic",
        "",
        "%cells: tile<64, ptr<i32, global>> = tile_map @moved, (%p0, %small)\n"
        "%old: tile<64, i32> = tile_atomic add, %cells, %at, (%some)\n"
        "%r: tile<64, i32> = tile_load %px, (), ()",
    ),
    ("tile_atomic_cas", "", "%r: tile<64, i32> = tile_atomic_cas %px, %small, %at"),
    (
        "tile_print",
        "",
        "%t: tile<1, i32> = tile_splat %zero\ntile_print @value, %t\n"
        "%r: tile<1, i32> = tile_splat %zero",
    ),
    (
        "tile_stop_if",
        "",
        "tile_stop_if %some, 0\n%r: tile<64, i32> = tile_splat %zero",
    ),
)


def tiles() -> Iterator[Case]:
    """Each op on tiles, in programs of one block."""
    for op, label, body in _BODIES:
        result = body.rindex("%r: tile<") + len("%r: tile<")
        shape = tuple(map(int, body[result : body.index(", i32>", result)].split(", ")))
        count = int(np.prod(shape))
        tail = f"""
  %flat: tile<{count}, i32> = tile_reshape %r
  %out: tile<{count}, i32> = tile_iota 0
  %py: tile<{count}, ptr<i32, global>> = tile_map @moved, (%p1, %out)
  tile_store %py, %flat, ()
"""
        params = "%p0: ptr<i32, global>, %p1: ptr<i32, global> [argument=1]"
        error = 'error 0 "ValueError" "some elements are positive"\n'
        text = f"{error}kernel @kernel({params}) {{{_HEAD}{body}{tail}}}{_FUNCTIONS}"
        module = parse_module(text)
        module.program_warps = 1
        values = (np.arange(64, dtype=np.int32) * 37 % 23) - 7
        arrays = [values, np.zeros(count, np.int32)]
        labels = ["array", "result"]
        yield Case(op, module, arrays, (1, 1, 1), (32, 1, 1), label, labels=labels)
