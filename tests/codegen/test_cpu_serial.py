"""Loops that lanes run one after the other: which ones, and with what results."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.codegen.test_cpu_shapes import INDEX, emitted

import gridlane
from gridlane import cuda
from gridlane.analysis.walks import walks
from gridlane.codegen.llvm.cpu import control as control_module
from gridlane.codegen.llvm.cpu.serial import run_serially
from gridlane.ir.ops import control
from gridlane.ir.parser import parse_module

VARIABLES = """
  var $at: i64
  var $total: f32
"""
ROW = """
  %first: ptr<i64, global> = recast %p
  %own: ptr<i64, global> = offset %first, %i
  %start_: i64 = load %own
  %one: i64 = const 1
  %four: i64 = const 4
  %behind: ptr<i64, global> = offset %own, %one
  %end: i64 = load %behind
  %zero: f32 = const 0x0.0p+0
  write $at, %start_
  write $total, %zero
  loop {
    %k: i64 = read $at
    %over: b1 = ge %k, %end
    if %over {
      break
    }
BODY
    %sum: f32 = read $total
    %more: f32 = add %sum, %v
    write $total, %more
  } step {
    %before: i64 = read $at
    %after: i64 = add %before, %one
    write $at, %after
  }
  %o: ptr<f32, global> = offset %q, %i
  %made: f32 = read $total
  store %o, %made
"""
ALONG = """
    %a: ptr<f32, global> = offset %p, %k
    %x: f32 = load %a
    %w: i64 = cast %x
    %far: ptr<f32, global> = offset %q, %w
    %y: f32 = load %far
    %farther: ptr<f32, global> = offset %far, %k
    %z: f32 = load %farther
    %yz: f32 = add %y, %z
    %v: f32 = add %x, %yz
"""
DIAGONAL = ALONG.replace("%p, %k", "%p, %diagonal").replace(
    "\n", "\n    %diagonal: i64 = mul %k, %n\n", 1
)
MORE = "".join(
    f"    %f{n}: ptr<f32, global> = offset %farther, %w\n    %g{n}: f32 = load %f{n}\n"
    for n in range(3)
)
CHAIN = (
    ALONG
    + MORE
    + "    %t0: f32 = read $total\n"
    + "".join(
        f"    %t{n}: f32 = {op} %t{n - 1}, %g0\n" for n, op in enumerate(("mul", "add") * 3, 1)
    )
    + "    write $total, %t6\n"
)
ADDED = "    %old: f32 = atomic add, %far, %x\n"
BODIES = {
    "sums that wait": (CHAIN, False),
    "sums that do not": (CHAIN.replace("read $total", "mul %y, %z"), True),
    "along rows": (ALONG, True),
    "across rows": (DIAGONAL, False),
    "few loads": ("    %a: ptr<f32, global> = offset %p, %k\n    %v: f32 = load %a\n", False),
    "volatile": (ALONG.replace("load %far\n", "load %far [volatile=true]\n"), False),
    "an atomic": (ALONG + ADDED, True),
    "atomics of all": (
        ALONG + "".join(ADDED.replace("%far", "%q").replace("old", f"old{n}") for n in range(8)),
        False,
    ),
    "an atomic's old value": (ALONG + ADDED + "    write $total, %old\n", False),
    "an ordered atomic": (ALONG + ADDED.replace("%x\n", "%x [order=release]\n"), False),
    "a compare and swap": (ALONG + "    %old: f32 = atomic_cas %far, %x, %y\n", False),
    "a fence": (ALONG + "    fence block\n", False),
    "a library": (ALONG.replace("add %x, %yz", "sin %yz"), False),
    "a vote": (
        ALONG + "    %all: u32 = const 4294967295\n    %lanes: u32 = vote ballot, %all, %over\n",
        False,
    ),
    "a store that another lane loads": (ALONG + "    store %farther, %v\n", False),
    "a store": (
        ALONG.replace("%q, %w", "%p, %w")
        + "    %to: ptr<f32, global> = offset %q, %w\n    store %to, %v\n",
        True,
    ),
    "a thread's number": (
        ALONG.replace("offset %p, %k", "offset %p, %t2").replace(
            "\n", "\n    %t2: i32 = thread_idx x\n", 1
        )
        + "    %next: ptr<f32, global> = offset %p, %k\n    %c: f32 = load %next\n",
        False,
    ),
    "a local array": (
        ALONG + "    %array: ptr<f32, local> = local_array f32, 4\n    store %array, %v\n",
        False,
    ),
    "a return": (ALONG + "    %r: b1 = gt %v, %x\n    if %r {\n      return\n    }\n", False),
}


def serial_loops(body: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, int]:
    """The code of a kernel with variables, and the loops that lanes run one after the other."""
    found: list[Any] = []

    def run(state: Any, serial: Any, emit: Any) -> None:
        found.append(serial)
        run_serially(state, serial, emit)

    monkeypatch.setattr(control_module, "run_serially", run)
    return emitted(VARIABLES + INDEX + body), len(found)


@pytest.mark.parametrize("name", BODIES)
def test_which_loops(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body, is_serial = BODIES[name]
    _, count = serial_loops(ROW.replace("BODY", body), monkeypatch)
    assert count == is_serial


def test_one_trip_count_of_all_is_for_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    text = ROW.replace("BODY", ALONG).replace("ge %k, %end", "ge %k, %n")
    text = text.replace("write $at, %start_", "write $at, %one")
    _, count = serial_loops(text, monkeypatch)
    assert count == 0


def spaced(stride: int) -> str:
    """Each lane compares its own elements, so many behind those of the lane before."""
    loads = "".join(
        f"    %p{n}: ptr<f32, global> = offset %p{n - 1}, %one\n    %x{n}: f32 = load %p{n}\n"
        for n in range(1, 7)
    )
    return f"""
  %stride: i64 = const {stride}
  %zero: i64 = const 0
  %one: i64 = const 1
  %far: i64 = mul %i, %stride
  %row: ptr<f32, global> = offset %p, %far
  write $at, %zero
  loop {{
    %k: i64 = read $at
    %p0: ptr<f32, global> = offset %row, %k
{loads}
    %over: b1 = gt %x1, %x6
    if %over {{
      break
    }}
    %next: i64 = add %k, %one
    write $at, %next
  }}
"""


@pytest.mark.parametrize(("stride", "expected"), [(1, 0), (16, 1)])
def test_lanes_far_apart_gather(
    stride: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, count = serial_loops(spaced(stride), monkeypatch)
    assert count == expected


def test_scalar_code_has_no_masks(monkeypatch: pytest.MonkeyPatch) -> None:
    text, count = serial_loops(ROW.replace("BODY", ALONG), monkeypatch)
    assert count == 1
    loop = text[text.index("\nlane") : text.index("\nlanes")]
    assert len(re.findall(r"load float, ptr %\w+, align 4", loop)) == 3
    assert not re.search(r"gather|masked|<16 x i1>", loop)


WALK = """kernel @k(%p: ptr<f32, global>, %n: i64) {
  var $at: i64
  var $place: ptr<f32, global>
  %zero: i64 = const 0
  %two: i64 = const 2
  %far: i64 = const 32
  %minus: i64 = const -1
  write $at, %zero
  write $place, %p
  loop {
    %k: i64 = read $at
    %here: ptr<f32, global> = read $place
    %stop: b1 = ge %k, %n
    if %stop {
      break
    }
LOADS
    %next: ptr<f32, global> = offset %here, %minus
    write $place, %next
  } step {
    %before: i64 = read $at
    %after: i64 = sub %before, %minus
    write $at, %after
  }
}"""
OFFSET = "    %a: ptr<f32, global> = offset %p, "
LOAD = "    %v: f32 = load %a\n"
STEPS = {
    "an index": (OFFSET + "%k\n" + LOAD, True),
    "a pointer": (LOAD.replace("%a", "%here"), True),
    "pairs": ("    %i: i64 = shl %k, %two\n" + OFFSET + "%i\n" + LOAD, True),
    "a narrow index": ("    %i: i32 = cast %k\n" + OFFSET + "%i\n" + LOAD, True),
    "lines": ("    %i: i64 = mul %k, %far\n" + OFFSET + "%i\n" + LOAD, False),
    "unknown steps": ("    %i: i64 = mul %k, %n\n" + OFFSET + "%i\n" + LOAD, False),
    "one place": (OFFSET + "%n\n" + LOAD, False),
    "no step": ("    %i: i64 = sub %k, %k\n" + OFFSET + "%i\n" + LOAD, False),
    "what was loaded": (
        OFFSET + "%n\n" + LOAD + "    %w: i64 = cast %v\n" + OFFSET.replace("%a", "%a2")
        + "%w\n    %u: f32 = load %a2\n", False,
    ),
    "a store": (OFFSET + "%k\n    %one: f32 = const 0x1.0p+0\n    store %a, %one\n", False),
    "an inner loop": (
        "    loop {\n" + OFFSET + "%k\n" + LOAD + "      break\n    }\n", True,
    ),
    "a selected index": (
        "    %b: b1 = lt %k, %n\n    %i: i64 = select %b, %k, %n\n" + OFFSET + "%i\n" + LOAD, True,
    ),
    "a second choice": (
        "    %b: b1 = lt %k, %n\n    %i: i64 = select %b, %n, %k\n" + OFFSET + "%i\n" + LOAD, False,
    ),
    "a sign": (
        "    %least: i64 = const -9223372036854775808\n    %sign: i64 = and %k, %least\n"
        "    %i: i64 = add %sign, %k\n" + OFFSET + "%i\n" + LOAD, True,
    ),
    "a mask": (
        "    %i: i64 = and %k, %far\n" + OFFSET + "%i\n" + LOAD, False,
    ),
    "a selected step": (
        "    %b: b1 = lt %k, %n\n    %c: i64 = select %b, %two, %zero\n"
        "    %d: i64 = add %k, %c\n    write $at, %d\n" + OFFSET + "%k\n" + LOAD, True,
    ),
    "a step that varies": ("    write $at, %n\n" + OFFSET + "%k\n" + LOAD, False),
}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
def test_walks(name: str) -> None:
    loads, expected = STEPS[name]
    module = parse_module(WALK.replace("LOADS", loads.rstrip("\n")))
    loop = next(op for op in module.kernel.body.walk() if isinstance(op, control.Loop))
    assert walks(loop) == expected


@cuda.jit
def rows(first, columns, values, x, out):
    """Rows of a sparse matrix, some in a branch, some behind others."""
    i = cuda.grid(1)
    total, count, has = 0.0, 0, False
    if i + 1 < first.size and i % 7 != 3:
        for k in range(first[i], first[i + 1]):
            if columns[k] == i:
                has = True
                continue
            if values[k] < -90:
                break
            total += values[k] * x[columns[k]]
            count += columns[k] & 3
        out[i] = total + count + has * 1000
    elif i < out.size:
        out[i] = -count


@cuda.jit
def neighbours(first, columns, values, x, out):
    """Stores of a lane to places of its own, by 8 bits and more."""
    i = cuda.grid(1)
    if i + 1 < first.size:
        for k in range(first[i], first[i + 1]):
            near = columns[k]
            if x[near] > 0:
                for m in range(k, first[i + 1]):
                    values[k] += x[columns[m]]
            out[i] += values[k] - near


@cuda.jit
def degrees(first, columns, values, x, out):
    """Atomics on places that lanes share, on one of all, on those of a lane's own."""
    i = cuda.grid(1)
    if i + 1 < first.size:
        for k in range(first[i], first[i + 1]):
            near = columns[k]
            cuda.atomic.add(out, near, values[k])
            if x[near] > 0:
                cuda.atomic.add(out, 155, 1)
                cuda.atomic.max(columns, k, near + 200)
            elif values[k] < -50:
                break
        cuda.atomic.add(out, 156, first[i])


@pytest.mark.parametrize("threads", [64, 33, 1, 7])
@pytest.mark.parametrize("each", [0, 1, 3, 30])
@pytest.mark.parametrize("kernel", [rows, neighbours, degrees], ids=lambda kernel: kernel.__name__)
def test_lanes_compute_what_they_do_together(kernel: Any, each: int, threads: int) -> None:
    got = results(kernel, each, threads, "cpu")
    for one, wanted in zip(got, interpreted(kernel, each), strict=True):
        np.testing.assert_array_equal(one, wanted)


@cache
def interpreted(kernel: Any, each: int) -> tuple[np.ndarray, ...]:
    """The interpreter's answer, which is the same in blocks of any size: sums are exact. In those
    of one thread it takes 20 s."""
    return results(kernel, each, 64, "interp")


def results(kernel: Any, each: int, threads: int, device: str) -> tuple[np.ndarray, ...]:
    """The arrays after a launch with rows of ``each`` elements on average."""
    rng = np.random.default_rng(each)
    first = np.concatenate([[0], rng.integers(0, 2 * each + 1, 150).cumsum()])
    columns = rng.integers(0, 150, first[-1] + 1)
    values = rng.integers(-100, 100, len(columns)).astype(np.float64)
    x = rng.integers(-100, 100, 150).astype(np.float64)
    arrays = first, columns, values, x, np.zeros(160)
    with gridlane.device(device):
        kernel[-(-160 // threads), threads](*arrays)
    return arrays
