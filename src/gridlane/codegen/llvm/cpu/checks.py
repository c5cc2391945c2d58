"""Checks that end the launch: tests of conditions, and of addresses against the allocations.

A check that passes costs a comparison and a branch. An address is compared with the range of the
allocation that it is likely in: that of the parameter that it derives from, which the runtime finds
when the kernel starts, or the one that the last address of the same access was in. What is outside
of the range is looked up lane by lane, as an address may be in any allocation.
"""

from __future__ import annotations

from gridlane.analysis.uniformity import Kind
from gridlane.codegen.llvm.cpu.dispatch import emits
from gridlane.codegen.llvm.cpu.gridops import first_thread, of_lane
from gridlane.codegen.llvm.cpu.lanes import Emission, Linear, Uniform, Varying
from gridlane.codegen.llvm.cpu.likely import tested
from gridlane.codegen.llvm.cpu.wholes import all_lanes_pass, is_testable
from gridlane.codegen.llvm.text import splat, widen
from gridlane.core import cpu_abi as abi
from gridlane.ir.op import Op
from gridlane.ir.ops import control, memory
from gridlane.ir.types import Space
from gridlane.ir.values import Value

_LANES = 64
"""The lanes of one call of ``check_lanes``; a chunk may have more."""

_FUNCTION = "gridlane.check_lanes"
_TEXT = f"""
define internal void @{_FUNCTION}(ptr %context, ptr %addresses, i64 %lanes, i64 %bytes, i32 %code,
                                  i32 %first, i64 %block, ptr %range, i64 %ranges) noinline cold {{
entry:
  %near.p = alloca [2 x i64]
  %several = icmp ugt i64 %ranges, 1
  br label %loop
loop:
  %left = phi i64 [ %lanes, %entry ], [ %rest, %fine ]
  %none = icmp eq i64 %left, 0
  br i1 %none, label %out, label %look
look:
  %lane = call i64 @llvm.cttz.i64(i64 %left, i1 false)
  %less = sub i64 %left, 1
  %rest = and i64 %left, %less
  %address.p = getelementptr i64, ptr %addresses, i64 %lane
  %address = load i64, ptr %address.p
  %own = select i1 %several, i64 %lane, i64 0
  %start.p = getelementptr i64, ptr %range, i64 %own
  %size.p = getelementptr i64, ptr %start.p, i64 %ranges
  %start = load i64, ptr %start.p
  %size = load i64, ptr %size.p
  %offset = sub i64 %address, %start
  %fits = icmp uge i64 %size, %bytes
  %room = sub i64 %size, %bytes
  %near = icmp ule i64 %offset, %room
  %in = and i1 %fits, %near
  br i1 %in, label %fine, label %search
search:
  %find.p = getelementptr i8, ptr %context, i64 {abi.FIND_OFFSET}
  %find = load ptr, ptr %find.p
  %found = call i1 %find(ptr %context, i64 %address, i64 %bytes, ptr %near.p)
  br i1 %found, label %keep, label %fail
keep:
  %near.size.p = getelementptr i64, ptr %near.p, i64 1
  %near.start = load i64, ptr %near.p
  %near.size = load i64, ptr %near.size.p
  store i64 %near.start, ptr %start.p
  store i64 %near.size, ptr %size.p
  br label %fine
fail:
  %numbers = alloca [{abi.NUMBERS} x i64]
  %numbers.start = getelementptr i64, ptr %numbers, i64 1
  %numbers.size = getelementptr i64, ptr %numbers, i64 2
  store i64 %address, ptr %numbers
  store i64 %start, ptr %numbers.start
  store i64 %size, ptr %numbers.size
  %lane32 = trunc i64 %lane to i32
  %thread = add i32 %first, %lane32
  %fail.p = getelementptr i8, ptr %context, i64 {abi.FAIL_OFFSET}
  %stop = load ptr, ptr %fail.p
  call void %stop(ptr %context, i32 %code, i32 %thread, i64 %block, ptr %numbers)
  unreachable
fine:
  br label %loop
out:
  ret void
}}
"""


def find_ranges(state: Emission, ops: list[Op]) -> None:
    """Make memory for the ranges that accesses are likely in, and find those of the parameters that
    addresses derive from, as the kernel starts."""
    body, context = state.body, state.known["context"]
    find = ""
    for op in ops:
        if not isinstance(op, control.CheckAccess) or _key(op) in state.ranges:
            continue
        if not find:
            where = body.op(f"getelementptr i8, ptr {context}, i64 {abi.FIND_OFFSET}")
            find = body.op(f"load ptr, ptr {where}")
            state.functions[_FUNCTION] = _TEXT
            body.declared["llvm.cttz.i64"] = "declare i64 @llvm.cttz.i64(i64, i1)"
        count = _ranges(state, op)
        cells = f"[{2 * count} x i64]"
        range_cells = body.alloca(cells, align=64)
        state.ranges[_key(op)] = range_cells, count
        if memory.space_of(op.pointer) is Space.SHARED:
            _store_shared(state, range_cells)
            continue
        body.do(f"store {cells} zeroinitializer, ptr {range_cells}")
        if op.base is not op.pointer:
            address = body.op(f"ptrtoint ptr {state.uniform(op.base)} to i64")
            body.op(f"call i1 {find}(ptr {context}, i64 {address}, i64 1, ptr {range_cells})")


def _ranges(state: Emission, op: control.CheckAccess) -> int:
    """How many ranges an access has: one for each lane, where each may be in memory of its own."""
    alone = op.base is not op.pointer or memory.space_of(op.pointer) is Space.SHARED
    return 1 if alone or state.shapes.of(op.pointer).kind is not Kind.VARYING else state.lanes


def _store_shared(state: Emission, span: str) -> None:
    """Emit the range of the block's shared memory: static arrays, and the launch's dynamic
    bytes."""
    body = state.body
    start = body.op(f"ptrtoint ptr {state.known['shared']} to i64")
    where = body.op(f"getelementptr i8, ptr {state.known['context']}, i64 {abi.DYNAMIC_OFFSET}")
    given = body.op(f"zext i32 {body.op(f'load i32, ptr {where}')} to i64")
    size = body.op(f"add i64 {given}, {state.shared_bytes}")
    body.do(f"store i64 {start}, ptr {span}")
    body.do(f"store i64 {size}, ptr {body.op(f'getelementptr i64, ptr {span}, i64 1')}")


def _key(op: control.CheckAccess) -> Value | Op:
    return op if op.base is op.pointer else op.base


@emits(control.StopIf)
def stop_if(state: Emission, op: control.StopIf) -> None:
    """Emit a test of the lanes; where all hold by the worst one, a scalar comparison."""
    body, condition = state.body, op.condition
    done = body.label("passed")
    if isinstance(rep := state.rep(condition), Uniform):
        if rep.name == "false":
            return
        _rarely(state, rep.name, done)
        bits = state.bits(state.mask)
        if state.mask is not None:
            _rarely(state, state.any(state.mask), done)
    else:
        if is_testable(state, condition, negate=True):
            fine = all_lanes_pass(state, condition, negate=True)
            _rarely(state, body.op(f"xor i1 {fine}, true"), done)
        failed = state.both(state.mask, state.vector(condition))
        assert failed is not None
        bits = state.bits(failed)
        _rarely(state, state.any(failed), done)
    _fail(state, op, bits)
    body.branch(done)
    body.start(done)


def _fail(state: Emission, op: control.StopIf, bits: str) -> None:
    """Emit the end of the launch, by the first of the lanes in a mask."""
    body, context = state.body, state.known["context"]
    lane = state.first_lane(bits)
    numbers = _memory(state, abi.NUMBERS)
    for number, value in enumerate(op.numbers):
        where = body.op(f"getelementptr i64, ptr {numbers}, i64 {number}")
        body.do(f"store i64 {of_lane(state, value, lane)}, ptr {where}")
    thread = body.op(f"add i32 {_first_thread(state)}, {lane}")
    where = body.op(f"getelementptr i8, ptr {context}, i64 {abi.FAIL_OFFSET}")
    function = body.op(f"load ptr, ptr {where}")
    body.do(
        f"call void {function}(ptr {context}, i32 {op.code + 1}, i32 {thread}, "
        f"i64 {state.known['block']}, ptr {numbers})"
    )


def _first_thread(state: Emission) -> str:
    """The number of the thread of lane 0, or of the only lane."""
    first = first_thread(state)
    return state.body.op(f"add i32 {first}, {state.alone_lane}") if state.alone else first


@emits(control.CheckAccess)
def check_access(state: Emission, op: control.CheckAccess) -> None:
    """Emit a comparison with the range of the likely allocation, for all lanes of a row at once."""
    body, rep = state.body, state.rep(op.pointer)
    done = body.label("passed")
    if isinstance(rep, Uniform | Linear):
        _rarely(state, _row_is_outside(state, op, rep), done)
    else:
        assert isinstance(rep, Varying)
        likely = state.likely.get(op.pointer)
        likely_range = likely and tested(state, op.pointer, (likely.stride,))
        if likely_range is not None:
            outside = _row_is_outside(state, op, Linear(likely_range.base, likely_range.stride))
            other = body.op(f"xor i1 {likely_range.holds[0]}, true")
            _rarely(state, body.op(f"or i1 {outside}, {other}"), done)
        outside = state.both(state.mask, _lanes_are_outside(state, op, rep.name))
        assert outside is not None
        _rarely(state, state.any(outside), done)
    _look_up(state, op)
    body.branch(done)
    body.start(done)


def _row_is_outside(state: Emission, op: control.CheckAccess, rep: Uniform | Linear) -> str:
    """Whether the addresses of all lanes together are not within the first range."""
    body, (span, count) = state.body, state.ranges[_key(op)]
    size = body.op(f"getelementptr i64, ptr {span}, i64 {count}")
    far = (state.lanes - 1) * rep.stride if isinstance(rep, Linear) else 0
    first = rep.base if isinstance(rep, Linear) else rep.name
    if far < 0:
        first = body.op(f"getelementptr i8, ptr {first}, i64 {far}")
    start = body.op(f"load i64, ptr {span}")
    offset = body.op(f"sub i64 {body.op(f'ptrtoint ptr {first} to i64')}, {start}")
    limit = _limit(state, body.op(f"load i64, ptr {size}"), op.bytes + abs(far), 0)
    return body.op(f"icmp uge i64 {offset}, {limit}")


def _lanes_are_outside(state: Emission, op: control.CheckAccess, addresses: str) -> str:
    """Which lanes' addresses are not within their ranges."""
    body, (span, count) = state.body, state.ranges[_key(op)]
    vector = widen("i64", state.lanes)
    sizes = body.op(f"getelementptr i64, ptr {span}, i64 {count}")
    if count > 1:
        start = body.op(f"load {vector}, ptr {span}, align 8")
        size = body.op(f"load {vector}, ptr {sizes}, align 8")
        limit = _limit(state, size, op.bytes, state.lanes)
    else:
        start = state.broadcast(body.op(f"load i64, ptr {span}"), "i64")
        one = _limit(state, body.op(f"load i64, ptr {sizes}"), op.bytes, 0)
        limit = state.broadcast(one, "i64")
    numbers = body.op(f"ptrtoint {widen('ptr', state.lanes)} {addresses} to {vector}")
    offsets = body.op(f"sub {vector} {numbers}, {start}")
    return body.op(f"icmp uge {vector} {offsets}, {limit}")


def _limit(state: Emission, size: str, bytes_: int, lanes: int) -> str:
    """The offset in an allocation at which so many bytes do not fit any more."""
    less = splat(str(bytes_ - 1), "i64", lanes)
    return state.body.intrinsic("usub.sat", "i64", lanes, [size, less])


def _look_up(state: Emission, op: control.CheckAccess) -> None:
    """Emit the search for the addresses of the running lanes; one lane represents all of a uniform
    address."""
    body, lanes = state.body, state.lanes
    alone = isinstance(state.rep(op.pointer), Uniform)
    mask = state.bits(state.mask)
    if alone:
        mask = str((1 << min(lanes, _LANES)) - 1) if mask == "-1" else mask
    cells = _memory(state, lanes)
    addresses = state.vector(op.pointer)
    body.do(f"store {widen('ptr', lanes)} {addresses}, ptr {cells}, align 64")
    for first in range(0, lanes, _LANES):
        bits = _bits(state, mask, first)
        if alone:
            bits = body.op(f"and i64 {bits}, {body.op(f'sub i64 0, {bits}')}")
        thread = body.op(f"add i32 {_first_thread(state)}, {first}")
        cell = body.op(f"getelementptr i64, ptr {cells}, i64 {first}")
        span, count = state.ranges[_key(op)]
        if count > 1:
            span = body.op(f"getelementptr i64, ptr {span}, i64 {first}")
        arguments = (
            f"ptr {state.known['context']}, ptr {cell}, i64 {bits}, i64 {op.bytes}, "
            f"i32 {op.code + 1}, i32 {thread}, i64 {state.known['block']}, ptr {span}, i64 {count}"
        )
        body.do(f"call void @{_FUNCTION}({arguments})")


def _bits(state: Emission, mask: str, first: int) -> str:
    """64 lanes of a mask, from a first one on, as i64."""
    body, lanes = state.body, state.lanes
    if mask[0] != "%":
        return str((1 << min(lanes, _LANES)) - 1)
    if lanes < _LANES:
        return body.op(f"zext i{lanes} {mask} to i64")
    if lanes == _LANES:
        return mask
    return body.op(f"trunc i{lanes} {body.op(f'lshr i{lanes} {mask}, {first}')} to i64")


def _memory(state: Emission, cells: int) -> str:
    """Memory of so many i64, which all checks share."""
    key = f"checks.{cells}"
    if key not in state.known:
        state.known[key] = state.body.alloca(f"[{cells} x i64]", align=64)
    return state.known[key]


def _rarely(state: Emission, condition: str, otherwise: str) -> None:
    """Go on in a block that is rarely reached, where a condition holds."""
    if "checks.weights" not in state.known:
        state.metadata.append('!{!"branch_weights", i32 1, i32 1048576}')
        state.known["checks.weights"] = str(len(state.metadata))
    label = state.body.label("check")
    weights = state.known["checks.weights"]
    state.body.do(f"br i1 {condition}, label %{label}, label %{otherwise}, !prof !{weights}")
    state.body.start(label)
