"""The verifier accepts what is right and names what is wrong."""

from __future__ import annotations

import pytest

from gridlane.core.dtypes import f32, i32
from gridlane.core.errors import VerifyError
from gridlane.core.source import Loc
from gridlane.ir.op import REGISTRY
from gridlane.ir.ops.arith import Add
from gridlane.ir.parser import parse_module
from gridlane.ir.stages import CFG, COMMON, KERNEL, TILE
from gridlane.ir.types import ArrayType
from gridlane.ir.values import Region, Value, Var
from gridlane.ir.verifier import verify

PARAMS = "%n: i32, %u: u32, %c: b1, %f: f32, %p: ptr<f32, global>, %q: ptr<i32, constant>, %x: u64"


def kernel(*lines: str, before: str = "") -> str:
    return f"{before}\nkernel @k({PARAMS}) {{\nvar $v: f32\n" + "\n".join(lines) + "\n}\n"


A = "%a: frag<a, 16, 16, f16> = fragment_load %h, %s"
B = "%b: frag<b, 16, 16, f16> = fragment_load %h, %s"
C = "%c: frag<acc, 16, 16, f32> = fragment_fill %f"
PRODUCT = "%d: frag<acc, 16, 16, f32> = fragment_mma %a, %b, %c"
PRODUCT_OF_WHOLE = PRODUCT.replace("f32", "i32")
HALVES = "%h: ptr<f16, global>, %t: ptr<f16, shared>, %s: i64, %n: i32, %f: f32, %x: f16"


def fragments(*lines: str) -> str:
    """A kernel with halves."""
    return f"kernel @k({HALVES}) {{\n" + "\n".join(lines) + "\n}\n"


copies = fragments

F = "device @f(%a: i32) -> (i32) { return (%a) }"
RECORD = "struct<r, {a: f32 @0}, 4, 4>"

INVALID = [
    # arithmetic
    (kernel("%0: i32 = add %n, %f"), "add: operands have types i32 and f32"),
    (kernel("%0: b1 = add %c, %c"), "add: takes integers and floats, not b1"),
    (kernel("%0: f32 = and %f, %f"), "and: takes integers and bool, not f32"),
    (kernel("%0: f32 = mulhi %f, %f"), "mulhi: takes integers, not f32"),
    (kernel("%0: f32 = shl %f, %n"), "shl: takes integers, not f32"),
    (kernel("%0: i32 = shl %n, %f"), "shl: takes integers, not f32"),
    (kernel("%0: b1 = neg %c"), "neg: takes integers and floats, not b1"),
    (kernel("%0: b1 = lt %c, %c"), "lt: takes integers and floats, not b1"),
    (kernel("%0: b1 = eq %n, %u"), "eq: operands have types i32 and u32"),
    (kernel("%0: i32 = sqrt %n"), "sqrt: takes floats, not i32"),
    (kernel("%0: i32 = pow %n, %n"), "pow: takes floats, not i32"),
    (kernel("%0: i32 = fma %n, %n, %n"), "fma: takes floats, not i32"),
    (kernel("%0: f32 = fma %f, %f, %n"), "fma: operand types differ"),
    (kernel("%0: i32 = select %n, %n, %n"), "select: the condition is a b1"),
    (kernel("%0: i32 = select %c, %n, %f"), "select: sides have types i32 and f32"),
    (kernel("%0: i32 = cast %p"), "cast: ptr<f32, global> is not a scalar"),
    (kernel("%0: u64 = bitcast %n"), "bitcast: sizes differ"),
    (kernel("%0: b1 = bitcast %n"), "bitcast: b1 has no bits"),
    (kernel("%0: f32 = ldexp %f, %u"), "ldexp: the exponent is an i32"),
    (kernel("%0: i32 = const 0x1p+0"), "const: 1.0 is not an int"),
    (kernel("%0: f32 = const 1"), "const: 1 is not a float"),
    (kernel("%0: b1 = const 1"), "const: 1 is not a bool"),
    (kernel("%0: u32 = const -1"), "const: -1 does not fit in u32"),
    (kernel("%0: ptr<f32, global> = const 8"), "const: a constant pointer is 0"),
    (kernel(f"%0: {RECORD} = const 0"), "const: .* has no constants"),
    (kernel("%0: i32 = add %n, %n [fast=ftz]"), "add: only f32 is flushed"),
    (kernel("%0: f32 = neg %f [fast=ftz]"), "neg: does not flush"),
    (kernel("%0: i32 = flush %n"), "flush: takes operands"),
    # memory
    (kernel("store %p, %n"), "store: i32 stored to ptr<f32, global>"),
    (kernel("store %q, %n"), "store: constant memory is not written"),
    (kernel("%0: ptr<f32, global> = offset %p, %f"), "offset: f32 is no index"),
    (kernel("%0: f32 = recast %p"), "recast: f32 is not a pointer"),
    (kernel("%0: ptr<f32, shared> = recast %p"), "recast: .* changes the address space"),
    (kernel("%0: ptr<f32, global> = from_address %n"), "from_address: an address is a u64"),
    (kernel("%0: ptr<f32, shared> = global @g"), "global: no global @g"),
    (
        kernel("%0: ptr<i32, shared> = global @g", before="global @g: f32 * 4 [space=shared]"),
        "global: @g is a ptr<f32, shared>",
    ),
    (kernel("%0: ptr<f32, global> = dynamic_shared"), "dynamic_shared: .* not a shared pointer"),
    (kernel("%0: ptr<f32, local> = local_array f32, 0"), "local_array: .* at least one element"),
    (kernel("write $v, %n"), "write: i32 written to var %v: f32"),
    (kernel("%0: vec<f32, 2> = pack (%f)"), "pack: vec<f32, 2> packed from"),
    # atomics
    (kernel("%0: i32 = atomic add, %p, %n"), "atomic: i32 against ptr<f32, global>"),
    (kernel("%0: f32 = atomic and, %p, %f"), "atomic: and takes integers, not f32"),
    (kernel("%0: i32 = atomic add, %q, %n"), "atomic: constant memory is not written"),
    (
        kernel("%0: ptr<i32, global> = recast %p", "%1: i32 = atomic inc, %0, %n"),
        "atomic: inc takes unsigned, not i32",
    ),
    (
        kernel("%0: ptr<b1, global> = recast %p", "%1: b1 = atomic add, %0, %c"),
        "atomic: no atomics on b1",
    ),
    (kernel("%0: f32 = atomic_cas %p, %n, %f"), "atomic_cas: operand types differ"),
    # grid and warps
    (kernel("%0: i32 = barrier_reduce count, %n"), "barrier_reduce: the predicate is a b1"),
    (kernel("sync_warp %n"), "sync_warp: the mask is a u32"),
    (kernel("%0: f32, %1: b1 = shuffle idx, %n, %f, %n, %n"), "shuffle: the mask is a u32"),
    (kernel("%0: f32, %1: b1 = shuffle idx, %u, %f, %u, %n"), "shuffle: lane and width are i32"),
    (kernel("%0: b1 = vote all, %u, %n"), "vote: the predicate is a b1"),
    (kernel("%0: u32 = match_any %n, %n"), "match_any: the mask is a u32"),
    (kernel("%0: f32 = warp_reduce add, %u, %f"), "warp_reduce: f32 is not an integer"),
    # control flow
    (kernel("if %n { }"), "if: the condition is a b1"),
    (kernel("break"), "break: stands outside a loop"),
    (kernel("loop { scope { continue } }"), "continue: stands outside a loop"),
    (kernel("leave"), "leave: stands outside a scope"),
    (kernel("loop { break } step { break }"), "loop: the step region only computes"),
    (kernel("return (%n)"), "return: returns"),
    (kernel("raise 0"), "raise: no error 0"),
    (kernel('print (""), ()'), "print: one argument for each empty part"),
    (kernel("return", "barrier"), "return: .*a terminator is last in its region"),
    (kernel("if %c { return barrier }"), "a terminator is last in its region"),
    # calls
    (kernel("call @f, ()"), "call: no function @f"),
    (kernel("call @k, ()"), "call: @k is a kernel"),
    (kernel("%0: i32 = call @f, (%f)", before=F), "call: @f takes"),
    (kernel("call @f, (%n)", before=F), "call: @f returns"),
    (
        kernel(before="device @f() { call @g, () } device @g() { call @f, () }"),
        "recursion: @f calls @g calls @f",
    ),
    (
        kernel(before="device @f(%c: b1) -> (b1) { if %c { return (%c) } }"),
        "@f: has results .* can run off its end",
    ),
    (
        kernel(before="device @f(%c: b1) -> (b1) { loop { if %c { break } } }"),
        "@f: has results .* can run off its end",
    ),
    (
        kernel(before="device @f(%c: b1) -> (b1) { scope { if %c { leave } return (%c) } }"),
        "@f: has results .* can run off its end",
    ),
    # fragments
    (fragments("%a: frag<a, 16, 8, f16> = fragment_load %h, %s"), "multiple of 16 rows and 16 col"),
    (fragments("%a: frag<b, 8, 16, i8> = fragment_load %h, %s"), "multiple of 32 rows and 16 col"),
    (fragments("%a: frag<a, 16, 16, f64> = fragment_load %h, %s"), "has elements f16, bf16, f32"),
    (fragments("%a: frag<a, 16, 16, bf16> = fragment_load %h, %s"), "is not made of f16"),
    (fragments(A, "fragment_store %h, %s, %a"), "accumulators are stored only"),
    (fragments(A, "%b: frag<a, 16, 16, f16> = fragment_scale %a, %x"), "cannot be scaled"),
    (fragments(A, B, C, "%d: frag<acc, 16, 16, f32> = fragment_mma %b, %a, %c"), "takes a, b and"),
    (fragments(A, B, "%d: frag<b, 16, 16, f16> = fragment_mma %a, %b, %b"), "takes a, b and acc"),
    (
        fragments(A, "%b: frag<b, 32, 16, f16> = fragment_load %h, %s", C, PRODUCT),
        "frag<a, 16, 16, f16> times frag<b, 32, 16, f16> does not fit",
    ),
    (
        fragments(A, B, "%c: frag<acc, 16, 16, i32> = fragment_fill %n", PRODUCT_OF_WHOLE),
        "into frag<acc, 16, 16, i32>",
    ),
    (fragments(C, "%d: frag<acc, 16, 32, f16> = fragment_convert %c"), "fragment_convert: frag"),
    (fragments("%c: frag<acc, 16, 16, f32> = fragment_fill %x"), "f16 in a frag<acc, 16, 16, f32>"),
    (fragments("%0: i32 = fragment_fill %n"), "fragment_fill: i32 is not a fragment"),
    (
        fragments("%0: ptr<frag<a, 16, 16, f16>, local> = local_array frag<a, 16, 16, f16>, 2"),
        "a fragment is a value only",
    ),
    ("kernel @k(%v: ptr<frag<a, 16, 16, f16>, global>) { }", "a fragment is a value only"),
    (
        kernel(before="global @g: frag<a, 16, 16, f16> * 4 [space=shared]"),
        "@g holds a fragment, which is a value only",
    ),
    # copies
    (copies("async_copy %t, %h, 12"), "async_copy: copies 4, 8 or 16 bytes, not 12"),
    (copies("async_copy %h, %h, 8"), "async_copy: ptr<f16, global> is not shared memory"),
    (copies("async_copy %t, %t, 8"), "async_copy: ptr<f16, shared> is not global memory"),
    (copies("async_wait -1"), "async_wait: cannot leave -1 groups"),
    # modules
    ("device @f() { }", "a module has one kernel, not 0"),
    ("kernel @a() { } kernel @b() { }", "a module has one kernel, not 2"),
    ("kernel @k() -> (i32) { loop { } }", "a kernel has no results"),
    ("kernel @k(%v: vec<f32, 2>) { }", "a kernel takes scalars and pointers"),
    (kernel(before="global @g: f32 * 4 [space=global]"), "@g is in global memory"),
    (kernel(before='global @g: i8 * 2 [space=constant, data="00"]'), "takes 2 bytes and has 1"),
    (kernel(before='global @g: i8 * 1 [space=shared, data="00"]'), "starts without data"),
    (kernel(before="global @g: i8 * 1 [space=shared, align=3]"), "@g aligns to 3"),
]


@pytest.mark.parametrize(("text", "message"), INVALID)
def test_invalid(text, message):
    with pytest.raises(VerifyError, match=message):
        verify(parse_module(text))


VALID = [
    fragments(A, B, C, PRODUCT),
    copies("async_copy %t, %h, 16", "async_commit", "async_wait 0"),
    kernel(),
    kernel("return"),
    kernel("%0: i32 = call @f, (%n)", before=F),
    kernel("loop { if %c { break } orelse { continue } } step { write $v, %f }"),
    kernel("scope { loop { if %c { leave } } }"),
    kernel("%0: ptr<f32, generic> = recast %p", "%1: f32 = load %0"),
    kernel(before="device @f(%c: b1) -> (b1) { if %c { return (%c) } orelse { return (%c) } }"),
    kernel(before="device @f(%c: b1) -> (b1) { loop { if %c { return (%c) } } }"),
    kernel(before="device @f(%c: b1) -> (b1) { loop { loop { break } } }"),
    kernel("if %c { %a: i32 = add %n, %n } orelse { %b: i32 = add %n, %n }"),
]


@pytest.mark.parametrize("text", VALID)
def test_valid(text):
    verify(parse_module(text))


def test_message_names_function_op_and_location():
    module = parse_module(kernel("%0: i32 = add %n, %f"))
    module.kernel.body.ops[0].loc = Loc("k.py", 12, 3)
    with pytest.raises(VerifyError) as caught:
        verify(module)
    assert str(caught.value) == (
        "add: operands have types i32 and f32 (at k.py:12:3)\n  in @k: %0: i32 = add %n, %f"
    )


def test_values_of_a_region_end_with_it():
    module = parse_module(kernel("if %c { %0: i32 = add %n, %n }", "%1: i32 = add %n, %n"))
    branch, add = module.kernel.body.ops
    add.lhs = branch.then.ops[0].result
    with pytest.raises(VerifyError, match="is not visible here"):
        verify(module)


def test_a_value_is_not_visible_before_its_op():
    module = parse_module(kernel("%0: i32 = add %n, %n", "%1: i32 = add %n, %n"))
    first, second = module.kernel.body.ops
    first.lhs = second.result
    with pytest.raises(VerifyError, match="is not visible here"):
        verify(module)


def test_values_of_another_function_are_not_visible():
    module = parse_module(kernel("%0: i32 = add %n, %n", before=F))
    module.kernel.body.ops[0].lhs = module.functions["f"].params[0].value
    with pytest.raises(VerifyError, match="is not visible here"):
        verify(module)


def test_variables_are_declared():
    module = parse_module(kernel("%0: f32 = read $v"))
    module.kernel.body.ops[0].var = Var("w", f32)
    with pytest.raises(VerifyError, match="var %w: f32 is not declared here"):
        verify(module)


def test_names_of_variables_are_unique():
    module = parse_module(kernel())
    module.kernel.variables.append(Var("v", f32))
    with pytest.raises(VerifyError, match="the name v is used twice"):
        verify(module)


def test_an_op_stands_in_one_place():
    module = parse_module(kernel("%0: i32 = add %n, %n"))
    module.kernel.body.ops *= 2
    with pytest.raises(VerifyError, match="the same op stands in two places"):
        verify(module)


def test_a_region_stands_in_one_place():
    module = parse_module(kernel("if %c { }"))
    op = module.kernel.body.ops[0]
    op.orelse = op.then
    with pytest.raises(VerifyError, match="a region of if stands in two places"):
        verify(module)


def test_result_types_follow_the_operands():
    module = parse_module(kernel("%0: i32 = add %n, %n"))
    add = module.kernel.body.ops[0]
    add.lhs = add.rhs = next(p.value for p in module.kernel.params if p.value.type is f32)
    with pytest.raises(VerifyError, match=r"results have types \(i32,\), not \(f32,\)"):
        verify(module)


def test_a_result_belongs_to_its_op():
    module = parse_module(kernel("%0: i32 = add %n, %n"))
    module.kernel.body.ops[0].results = (Value(i32),)
    with pytest.raises(VerifyError, match="is another op's result"):
        verify(module)


def test_arrays_are_not_values():
    module = parse_module(kernel())
    module.kernel.variables.append(Var("a", ArrayType(f32, 4)))
    with pytest.raises(VerifyError, match="exists in memory only"):
        verify(module)


def test_registered_under_its_name():
    module = parse_module(kernel(before=F))
    module.functions["other"] = module.functions.pop("f")
    with pytest.raises(VerifyError, match="function @f is registered as @other"):
        verify(module)


def test_recursion_when_allowed():
    text = kernel(before="device @f() { call @f, () }")
    verify(parse_module(text), recursion=True)
    with pytest.raises(VerifyError, match="recursion: @f calls @f"):
        verify(parse_module(text))


def test_stages():
    assert CFG | TILE == set(REGISTRY)
    assert COMMON < KERNEL == CFG & TILE
    module = parse_module(kernel("%0: i32 = call @f, (%n)", before=F))
    with pytest.raises(VerifyError, match="call: is not legal at this stage"):
        verify(module, COMMON)


def test_depth_has_no_limit():
    depth = 3000
    verify(parse_module(kernel("if %c {\n" * depth + "}\n" * depth)))


def test_region_is_not_shared_with_a_copy():
    assert Region().ops is not Region().ops
    assert Add(Value(i32), Value(i32)).result.type is i32
