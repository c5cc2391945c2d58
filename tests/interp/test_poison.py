"""Undefined values: what depends on them, bit by bit, and where they are an error."""

from __future__ import annotations

import numpy as np
import pytest

from gridlane import interp
from gridlane.conformance.cases import choices
from gridlane.core.dtypes import ALL, INTEGERS, b1, i32, u8, u16, u32, u64
from gridlane.core.errors import KernelError, VerifyError
from gridlane.interp import Memory
from gridlane.interp.bits import RULES, raw
from gridlane.interp.machine import COMPUTE, COMPUTE_WITH_OP
from gridlane.ir.builder import Builder, constant
from gridlane.ir.op import Op
from gridlane.ir.ops import arith
from gridlane.ir.parser import parse_module
from gridlane.ir.printer import print_module
from gridlane.ir.types import vector
from gridlane.ir.values import Function, Module, Value
from gridlane.ir.verifier import verify

# --- the rules, against changes of the bits


def made(op: Op, operands: list[np.ndarray]):
    """What the interpreter gives for an op."""
    kind = type(op)
    with np.errstate(all="ignore"):
        if kind in COMPUTE:
            return raw(COMPUTE[kind](*operands))
        return raw(COMPUTE_WITH_OP[kind](op, *operands))


def ops() -> list[Op]:
    """An op of each rule for scalars, over its types and attributes."""
    values = {dtype: [Value(dtype) for _ in range(3)] for dtype in ALL}
    found: list[Op] = [arith.Select(values[b1][0], *values[dtype][:2]) for dtype in (b1, u32)]
    found += [arith.Cast(values[a][0], b) for a in (b1, u8, i32, u64) for b in (u16, i32, u64)]
    found += [arith.Bitcast(values[u32][0], vector(u16, 2))]
    found += [cls(*values[b1][:2]) for cls in (arith.And, arith.Or, arith.Xor)]
    for cls in RULES:
        if cls.signatures:
            for types in cls.signatures:
                operands = [Value(each) for each in types]
                found += [cls(*operands, **each) for each in choices(cls)]
        elif issubclass(cls, arith.Binary | arith.Unary):
            found += [cls(*values[dtype][: len(cls.OPERAND_FIELDS)]) for dtype in INTEGERS]
        elif issubclass(cls, arith.Shift):
            found += [cls(values[dtype][0], values[u32][1]) for dtype in INTEGERS]
    return found


@pytest.mark.parametrize("op", ops(), ids=lambda op: f"{op.name}-{op.results[0].type}")
def test_no_other_bit_changes(op):
    """Where undefined bits of the operands change, only bits that depend on them do."""
    lanes, rng = 512, np.random.default_rng(5)

    def numbers(dtype):
        if dtype is b1:
            return rng.integers(0, 2, lanes).astype(np.bool_)
        found = rng.integers(0, 256, (lanes, dtype.size), np.uint8).view(dtype.numpy)[:, 0]
        return np.where(rng.random(lanes) < 0.5, found, found & dtype.numpy.type(35))

    types = [value.type for value in op.operands()]
    operands = [numbers(each) for each in types]
    masks = []
    for each in types:
        some = raw(numbers(each)) & raw(numbers(each))
        masks.append(np.where(rng.random(lanes) < 0.5, some, np.zeros_like(some)))
    bits = RULES[type(op)](op, operands, masks)
    first = made(op, operands)
    parts = bits if isinstance(bits, tuple) else (bits,)
    before = first if isinstance(first, tuple) else (first,)
    changed = [np.zeros_like(each) for each in parts]
    for _ in range(24):
        moved = [
            (raw(x) ^ (raw(numbers(t)) & mask)).view(x.dtype)
            for x, t, mask in zip(operands, types, masks, strict=True)
        ]
        again = made(op, moved)
        after = again if isinstance(again, tuple) else (again,)
        for total, a, b in zip(changed, before, after, strict=True):
            total |= a ^ b
    assert any(each.any() for each in changed)
    for may, did in zip(parts, changed, strict=True):
        assert not (did & ~may).any()


# --- kernels

HEAD = """
kernel @k(%p: ptr<u32, global>) {
  var $x: u32
  %r5: u32 = const 0 [undefined=true]
  write $x, %r5
  %t: i32 = thread_idx x
  %own: u32 = cast %t
  %a: ptr<u32, global> = offset %p, %t
  %c: i32 = const 40
  %low: b1 = lt %t, %c
  %one: u32 = const 1
  %half: u32 = const 65535
  %full: u32 = const 4294967295
  %width: i32 = const 32
"""


def run(body: str, before: str = "", threads: int = 64) -> list[int]:
    """What the threads of a block store."""
    module = parse_module(before + HEAD + body + "}")
    verify(module)
    memory, array = Memory(), np.full(64, 9, np.uint32)
    interp.run(module, 1, threads, [memory.map(array)], memory)
    return array.tolist()


OWN = list(range(64))


def test_what_the_text_says():
    text = "kernel @k() {\n  %r: u32 = const 0 [undefined=true]\n}\n"
    assert print_module(parse_module(text)) == text
    with pytest.raises(VerifyError, match="an undefined value is 0, not 3"):
        verify(parse_module(text.replace("const 0", "const 3")))


def test_it_is_no_known_number():
    b = Builder(Module(), Function("f"))
    assert constant(b.undefined(u32)) is None
    assert isinstance(b.add(b.undefined(u32), b.const(1, u32)).op, arith.Add)


DEFINED = {
    "selected": "%v: u32 = read $x %s: u32 = select %low, %own, %v if %low { store %a, %s }",
    "written": "write $x, %own %v: u32 = read $x store %a, %v",
    "unused": "%v: u32 = read $x %s: u32 = add %v, %own store %a, %own",
    "masked": "%v: u32 = read $x %z: u32 = sub %one, %one %s: u32 = and %v, %z store %a, %s",
    "halves": """%v: u32 = read $x %n: u32 = const 16 %up: u32 = shl %v, %n
        %s: u32 = or %up, %own %low16: u32 = and %s, %half store %a, %low16""",
    "shuffled": """if %low { write $x, %own } %v: u32 = read $x %lane: i32 = const 3
        %s: u32, %in: b1 = shuffle idx, %full, %v, %lane, %width if %low { store %a, %s }""",
    "balloted": """if %low { write $x, %own } %v: u32 = read $x %big: b1 = gt %v, %one
        %s: u32 = vote ballot, %full, %big %b: u32 = and %s, %one store %a, %b""",
    "counted": """if %low { write $x, %own } %v: u32 = read $x %b: b1 = gt %v, %one
        if %low { %n: i32 = barrier_reduce count, %b %s: u32 = cast %n store %a, %s }""",
    "called": "%v: u32 = read $x %s: u32 = call @second, (%v, %own) store %a, %s",
    "local": """%l: ptr<u32, local> = local_array u32, 2 %v: u32 = read $x store %l, %v
        store %l, %own %s: u32 = load %l store %a, %s""",
    "looped": """%z: u32 = sub %one, %one %k: u32 = add %z, %z
        loop { %v: u32 = read $x write $x, %own %d: b1 = ne %k, %one if %d { break } }
        %s: u32 = read $x store %a, %s""",
}
SECOND = "device @second(%a: u32, %b: u32) -> (u32) { return (%b) }\n"


@pytest.mark.parametrize("name", DEFINED)
def test_what_is_defined(name):
    low = [n if n < 40 else 9 for n in OWN]
    wanted = {
        "selected": low,
        "masked": [0] * 64,
        "shuffled": [3] * 32 + [35] * 8 + [9] * 24,
        "counted": [38] * 40 + [9] * 24,
        "balloted": [0] * 32 + [1] * 32,
    }
    assert run(DEFINED[name], SECOND) == wanted.get(name, OWN)


PLUS = "device @plus(%a: u32, %b: u32) -> (u32) { %c: u32 = add %a, %b return (%c) }\n"
UNDEFINED = {
    "store: the value stored": "%v: u32 = read $x %s: u32 = mul %v, %own store %a, %s",
    "store: the address": "%v: u32 = read $x %b: ptr<u32, global> = offset %a, %v store %b, %own",
    "load: the address": "%v: u32 = read $x %b: ptr<u32, global> = offset %a, %v %l: u32 = load %b",
    "if: the condition of the branch": "%v: u32 = read $x %b: b1 = eq %v, %own if %b { }",
    "atomic: an operand": "%v: u32 = read $x %o: u32 = atomic add, %a, %v",
    "barrier_part: the barrier's count": """%v: u32 = read $x
        %o: i32 = barrier_part count, %one, %v, %low""",
    "print: what is printed": '%v: u32 = read $x print ("", ""), (%own, %v)',
    "vote: the mask of lanes": "%v: u32 = read $x %o: b1 = vote any, %v, %low",
}


@pytest.mark.parametrize("told", UNDEFINED)
def test_what_is_an_error(told):
    body = "if %low { write $x, %own } " + UNDEFINED[told]
    with pytest.raises(KernelError) as caught:
        run(body)
    message = str(caught.value)
    assert message.startswith(told)
    assert "%r5, which is read before it is written" in message
    assert "thread (40, 0, 0)" in message


@pytest.mark.parametrize(
    "body",
    [
        "%v: u32 = read $x %s: u32 = call @plus, (%v, %own) store %a, %s",
        "%v: u32 = read $x %l: ptr<u32, local> = local_array u32, 2 store %l, %v"
        " %s: u32 = load %l store %a, %s",
        "%v: u32 = read $x %f: f32 = bitcast %v %g: f32 = sqrt %f %s: u32 = bitcast %g"
        " store %a, %s",
        "if %low { write $x, %own } %v: u32 = read $x %lane: i32 = const 1"
        " %s: u32, %in: b1 = shuffle down, %full, %v, %lane, %width if %low { store %a, %s }",
        "if %low { write $x, %own } %v: u32 = read $x %s: u32 = warp_reduce add, %full, %v"
        " if %low { store %a, %s }",
        "if %low { write $x, %own } %v: u32 = read $x %b: b1 = eq %v, %one"
        " %n: i32 = barrier_reduce count, %b %s: u32 = cast %n if %low { store %a, %s }",
    ],
)
def test_what_comes_through(body):
    with pytest.raises(KernelError, match="the value stored depends on %r5"):
        run(body, PLUS)


def test_a_lane_that_does_not_run_keeps_it():
    """Lanes leave the loop one after the other; only those write that stay longest."""
    body = """
    %z: u32 = sub %one, %one
    loop {
      %v: u32 = read $x
      %early: b1 = lt %own, %one
      if %early { break }
      write $x, %own
      break
    }
    %s: u32 = read $x
    %first: b1 = lt %own, %one
    %not: b1 = not %first
    if %not { store %a, %s }
    """
    assert run(body) == [9, *OWN[1:]]
    with pytest.raises(KernelError, match=r"the value stored.*thread \(0, 0, 0\)"):
        run(body.replace("if %not", "if %first"))


def test_threads_that_there_are_not():
    """Lanes behind the last thread are no threads."""
    assert run("write $x, %own %v: u32 = read $x store %a, %v", threads=5)[:6] == [0, 1, 2, 3, 4, 9]
