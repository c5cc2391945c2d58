"""What shaders need: uniformity, indices of one word, pointers whose memory is known."""

from __future__ import annotations

import pytest

from gridlane.analysis.uniformity import BlockUniformity
from gridlane.backends import backend
from gridlane.compiler import pipeline
from gridlane.core.errors import TargetError
from gridlane.ir.ops.grid import Barrier
from gridlane.ir.parser import parse_module
from gridlane.ir.printer import print_module
from gridlane.ir.values import Module
from gridlane.ir.verifier import verify
from gridlane.passes.legalise.settle_spaces import settle_spaces
from gridlane.passes.optimise.index_words import index_words
from gridlane.passes.optimise.promote import promote_variables

KERNEL = """
kernel @k(%p: ptr<i32, global>, %n: i32) {{
  var $i: i32
  %x: i32 = thread_idx x
  %b: i32 = block_idx x
  %one: i32 = const 1
  %here: b1 = lt %x, %n
  %all: b1 = lt %b, %n
  {body}
}}
"""
# A body with a barrier, and whether some threads may come to it without the others.
BARRIERS = [
    ("barrier", False),
    ("if %all { barrier }", False),
    ("if %here { barrier }", True),
    ("if %here { return }\n barrier", True),
    ("if %all { return }\n barrier", False),
    ("loop { if %here { break }\n barrier }", True),
    ("loop { if %here { break } }\n barrier", False),
    ("loop { if %all { break }\n barrier }", False),
    ("loop { barrier\n if %here { return } }", True),
    ("scope { if %here { leave }\n barrier }", True),
    ("scope { if %here { leave } }\n barrier", False),
    ("write $i, %x\n %v: i32 = read $i\n %c: b1 = lt %v, %n\n if %c { barrier }", True),
    ("write $i, %b\n %v: i32 = read $i\n %c: b1 = lt %v, %n\n if %c { barrier }", False),
    (
        "if %here { write $i, %b }\n %v: i32 = read $i\n %c: b1 = lt %v, %n\n if %c { barrier }",
        True,
    ),
    ("loop { if %here { continue }\n barrier\n break }", True),
    ("loop { barrier\n if %here { continue }\n break }", True),
    ("loop { loop { if %here { continue }\n break }\n barrier\n break }", False),
    ("loop { scope { if %here { break } }\n barrier\n break }", True),
    ("scope { loop { if %here { leave }\n break } }\n barrier", False),
    ("scope { loop { if %here { leave }\n break }\n barrier }", True),
    ("scope { loop { if %here { return }\n break } }\n barrier", True),
    ("%r: i32 = barrier_reduce any, %here\n %c: b1 = lt %r, %n\n if %c { barrier }", False),
    ("%v: i32 = load %p\n %c: b1 = lt %v, %n\n if %c { barrier }", True),
]


@pytest.mark.parametrize(("body", "divergent"), BARRIERS)
def test_uniformity(body: str, divergent: bool) -> None:
    kernel = parse_module(KERNEL.format(body=body)).kernel
    (barrier,) = [op for op in kernel.body.walk() if isinstance(op, Barrier)]
    assert BlockUniformity(kernel).divergent(barrier) is divergent


def test_indices_of_one_word() -> None:
    """Sums and products of casts are made of words; what else has 64 bits is cut."""
    module = parse_module("""
kernel @k(%p: ptr<i32, global>, %n: i64, %small: u8) {
  %x: i32 = thread_idx x
  %wide: i64 = cast %x
  %s: i64 = cast %small
  %row: i64 = mul %wide, %n
  %at: i64 = add %row, %s
  %q: ptr<i32, global> = offset %p, %at
  store %q, %x
}
""")
    index_words(module)
    text = print_module(module)
    assert "i64 =" not in text
    assert [line.split("= ")[1] for line in text.splitlines() if "i32 =" in line] == [
        "cast %n",
        "cast %small",
        "thread_idx x",
        "mul %x, %0",
        "add %2, %1",
    ]


GENERIC = """
kernel @k(%p: ptr<i32, global>, %n: i32) {{
  var $at: ptr<i32, generic>
  %x: i32 = thread_idx x
  %here: b1 = lt %x, %n
  %none: ptr<i32, generic> = const 0
  %own: ptr<i32, local> = local_array i32, 4
  %a: ptr<i32, generic> = recast %p
  %b: ptr<i32, generic> = recast %own
  {body}
}}
"""


def settled(body: str) -> Module:
    module = parse_module(GENERIC.format(body=body))
    settle_spaces(module)
    promote_variables(module)
    verify(module)
    return module


def test_pointers_get_the_memory_that_they_go_to() -> None:
    text = print_module(
        settled("""
  %c: ptr<i32, generic> = select %here, %b, %none
  write $at, %c
  %d: ptr<i32, generic> = read $at
  %e: ptr<i32, generic> = offset %d, %x
  store %e, %x
  store %a, %x
""")
    )
    assert "generic" not in text
    assert "%e: ptr<i32, local> = offset" in text and "%a: ptr<i32, global> = recast" in text


def test_a_generic_pointer_in_memory_is_a_number() -> None:
    module = settled("""
  %q: ptr<ptr<i32, generic>, global> = recast %p
  %r: ptr<i32, generic> = load %q
  store %r, %x
""")
    assert "%r: ptr<i32, global> = from_address" in print_module(module)


REFUSED_POINTERS = {
    "%c: ptr<i32, generic> = select %here, %a, %b": "in global and in local memory",
    "write $at, %a\n write $at, %b\n %c: ptr<i32, generic> = read $at": "write one branch for each",
    "%c: u64 = address %b": "local memory has no addresses that are numbers",
    "%z: u64 = cast %x\n %c: ptr<i32, local> = from_address %z": "local memory has",
}


@pytest.mark.parametrize("body", REFUSED_POINTERS)
def test_pointers_that_are_refused(body: str) -> None:
    module = parse_module(GENERIC.format(body=body))
    with pytest.raises(TargetError, match=REFUSED_POINTERS[body]):
        settle_spaces(module)


@pytest.mark.parametrize("target", ["opengl", "webgpu", "metal"])
def test_what_a_pass_refuses_names_the_target(target):
    module = parse_module("""
kernel @k(%p: ptr<f64, global>) {
  %x: f64 = load %p
  store %x, %p
}
""")
    with pytest.raises(
        TargetError,
        match=f"^load of float64 in memory: the {target} target has no float64, and fp64=",
    ):
        pipeline.run(module, backend(target))
