"""Products of warpgroups: wgmma, for sm_90a alone; elsewhere they are expanded before."""

from __future__ import annotations

from collections.abc import Sequence

from gridlane.codegen.llvm.gpu.emission import Emission
from gridlane.codegen.llvm.gpu.nvptx.overlay import emits
from gridlane.codegen.llvm.text import scalar_name
from gridlane.ir.builder import constant
from gridlane.ir.op import Op
from gridlane.ir.ops import memory, warpgroups
from gridlane.ir.ops.shared_matrix import OFFSET_BITS
from gridlane.ir.types import PointerType
from gridlane.ir.values import Value

_LETTERS = {"float": "f", "i32": "r", "i64": "l"}
_BEGIN = "wgmma.fence.sync.aligned; "
_END = " wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"


def assembly(
    state: Emission,
    text: str,
    results: Sequence[Value],
    arguments: Sequence[tuple[str, str]] = (),
    tied: Sequence[Value] = (),
) -> None:
    """Emit an instruction that accesses memory and is convergent.

    Args:
        results: the values that it makes, in the registers of ``tied`` if there are such.
        arguments: the type and the name of each other operand; their numbers follow the results'.
    """
    state.version = max(state.version, 80)
    body = state.body
    types = [scalar_name(value.type) for value in results]
    constraints = [f"={_LETTERS[each]}" for each in types]
    constraints += [_LETTERS[type_] for type_, _ in arguments]
    constraints += [str(n) for n in range(len(tied))]
    operands = [f"{type_} {name}" for type_, name in arguments]
    operands += [f"{scalar_name(value.type)} {state.name(value)}" for value in tied]
    result = "void"
    if types:
        result = types[0] if len(types) == 1 else "{ " + ", ".join(types) + " }"
    call = (
        f'call {result} asm sideeffect "{text}", "{",".join([*constraints, "~{memory}"])}"'
        f"({', '.join(operands)}) convergent nounwind"
    )
    if not types:
        body.do(call)
        return
    made = body.op(call)
    for n, value in enumerate(results):
        one = made if len(types) == 1 else body.op(f"extractvalue {result} {made}, {n}")
        state.set(value, one)


def shared_address(state: Emission, pointer: Value) -> str:
    """An address of shared memory, as an i32."""
    return state.body.op(f"ptrtoint {state.typed(pointer)} to i32")


def _descriptor(state: Emission, start: Value, layout: Value) -> tuple[str, str]:
    """A matrix descriptor: the one of the place that known distances are from, plus these in its
    lower word. Shared memory is smaller than what the field of the place holds."""
    body, mask = state.body, (1 << OFFSET_BITS) - 1
    start, distance = _apart(start)
    units = body.op(f"lshr i32 {shared_address(state, start)}, 4")
    place = body.op(f"and i32 {units}, {mask}")
    fields, known = state.name(layout), constant(layout)
    if known is None:
        low = body.op(f"trunc i64 {fields} to i32")
        high = body.op(f"and i64 {fields}, {-1 << 32}")
    else:
        low, high = str(int(known) & 0xFFFFFFFF & ~mask), str(int(known) & -1 << 32)
    low = body.op(f"or i32 {low}, {place}")
    if distance:
        low = body.op(f"add i32 {low}, {distance >> 4}")
    wide = body.op(f"zext i32 {low} to i64")
    return "i64", body.op(f"or i64 {high}, {wide}")


def _apart(start: Value) -> tuple[Value, int]:
    """A place in shared memory that an address is a known distance behind, which 16 divides, and
    the distance."""
    best, distance, place = (start, 0), 0, start
    while isinstance(place.op, memory.Offset | memory.Recast):
        if isinstance(place.op, memory.Offset):
            index, type_ = constant(place.op.index), place.type
            if index is None or not isinstance(type_, PointerType):
                break
            distance += int(index) * type_.element.size
        elif memory.space_of(place.op.pointer) is not memory.space_of(place):
            break
        place = place.op.pointer
        if distance >= 0 and distance % 16 == 0:
            best = place, distance
    return best


def _numbered(start: int, count: int) -> str:
    return "{" + ", ".join(f"${start + n}" for n in range(count)) + "}"


@emits(warpgroups.WarpgroupMma)
def mma(state: Emission, op: warpgroups.WarpgroupMma) -> None:
    """Emit wgmma.mma_async, with a wait for it if its results are used before another one."""
    if op.left.is_integer and op.left is not op.right:
        state.version = max(state.version, 84)
    sums = "s32" if op.left.is_integer else "f16" if op.has_halves else "f32"
    count = len(op.c)
    if op.in_memory:
        start, layout = op.a
        factors = [_descriptor(state, start, layout)]
        left = f"${count}"
    else:
        factors = [("i32", state.name(value)) for value in op.a]
        left = _numbered(count, len(factors))
    scale = state.body.op(f"zext i1 {state.name(op.scale)} to i32")
    arguments = [*factors, _descriptor(state, op.b, op.layout), ("i32", scale)]
    right, last = count + len(factors), count + len(arguments) - 1
    numbers: list[int] = []
    if not op.left.is_integer:
        numbers = [-1 if op.negated else 1, 1]
    if op.left.bits == 16:
        numbers += [int(op.left_across)] * op.in_memory + [int(op.right_across)]
    kinds = f"{sums}.{op.left.value}.{op.right.value}"
    text = (
        f"wgmma.mma_async.sync.aligned.m64n{op.columns}k{op.depth}{'.satfinite' * op.limited}."
        f"{kinds} {_numbered(0, count)}, {left}, ${right}, p"
        + "".join(f", {number}" for number in numbers)
        + ";"
    )
    if op.waits:
        text = _BEGIN + text + _END
    text = f"{{ .reg .pred p; setp.ne.b32 p, ${last}, 0; {text} }}"
    assembly(state, text, op.results, arguments, op.c)


@emits(warpgroups.WarpgroupFence)
def fence(state: Emission, op: Op) -> None:
    """Emit wgmma.fence."""
    assembly(state, "wgmma.fence.sync.aligned;", ())


@emits(warpgroups.WarpgroupCommit)
def commit(state: Emission, op: Op) -> None:
    """Emit wgmma.commit_group."""
    assembly(state, "wgmma.commit_group.sync.aligned;", ())


@emits(warpgroups.WarpgroupWait)
def wait(state: Emission, op: warpgroups.WarpgroupWait) -> None:
    """Emit wgmma.wait_group, through which the values pass: the registers of products in flight
    are not accessed before."""
    text = f"wgmma.wait_group.sync.aligned {op.pending};"
    assembly(state, text, op.results, (), op.values)


@emits(warpgroups.RegisterLimit)
def registers(state: Emission, op: warpgroups.RegisterLimit) -> None:
    """Emit setmaxnreg."""
    kind = "inc" if op.increases else "dec"
    assembly(state, f"setmaxnreg.{kind}.sync.aligned.u32 {op.count};", ())
