"""mbarriers, and copies of boxes of tensors that they count; from compute capability 9.0 on. Before
it, mbarriers are expanded."""

from __future__ import annotations

from gridlane.codegen.llvm.gpu.emission import Emission
from gridlane.codegen.llvm.gpu.nvptx.overlay import capability_of, emits, require
from gridlane.codegen.llvm.gpu.nvptx.warpgroups import assembly, shared_address
from gridlane.core.errors import TargetError
from gridlane.ir.op import Op
from gridlane.ir.ops import clusters, mbarriers, tensors
from gridlane.ir.ops.memory import space_of
from gridlane.ir.types import Space
from gridlane.ir.values import Value

Argument = tuple[str, str]


def _bar(state: Emission, pointer: Value) -> Argument:
    return "i32", shared_address(state, pointer)


def _word(state: Emission, value: Value) -> Argument:
    return "i32", state.name(value)


@emits(mbarriers.MbarrierInit)
def init(state: Emission, op: mbarriers.MbarrierInit) -> None:
    """Emit mbarrier.init."""
    arguments = [_bar(state, op.pointer), _word(state, op.count)]
    assembly(state, "mbarrier.init.shared::cta.b64 [$0], $1;", (), arguments)


@emits(mbarriers.MbarrierArrive)
def arrive(state: Emission, op: mbarriers.MbarrierArrive) -> None:
    """Emit mbarrier.arrive or arrive_drop; behind an mbarrier.expect_tx if both are counted."""
    name = "arrive_drop" if op.drops else "arrive"
    arguments = [_bar(state, op.pointer), _word(state, op.count)]
    text = f"mbarrier.{name}.shared::cta.b64 $0, [$1], $2;"
    if op.expects:
        arguments.append(_word(state, op.bytes))
        text = f"mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [$1], $3; {text}"
    assembly(state, text, op.results, arguments)


@emits(mbarriers.MbarrierExpect, mbarriers.MbarrierComplete)
def expect(state: Emission, op: mbarriers.MbarrierExpect | mbarriers.MbarrierComplete) -> None:
    """Emit mbarrier.expect_tx or complete_tx."""
    name = "expect_tx" if isinstance(op, mbarriers.MbarrierExpect) else "complete_tx"
    arguments = [_bar(state, op.pointer), _word(state, op.bytes)]
    text = f"mbarrier.{name}.relaxed.cta.shared::cta.b64 [$0], $1;"
    assembly(state, text, (), arguments)


@emits(mbarriers.MbarrierPassed)
def passed(state: Emission, op: mbarriers.MbarrierPassed) -> None:
    """Emit mbarrier.try_wait or test_wait."""
    state.version = max(state.version, 80)
    name = "try_wait" if op.waits else "test_wait"
    parity = ".parity" if op.by_parity else ""
    state_type = "i32" if op.by_parity else "i64"
    arguments = [f"i32 {shared_address(state, op.pointer)}", f"{state_type} {state.name(op.state)}"]
    letter = "r" if op.by_parity else "l"
    text = (
        f"{{ .reg .pred p; mbarrier.{name}{parity}.shared::cta.b64 p, [$1], $2; "
        "selp.b32 $0, 1, 0, p; }"
    )
    word = state.body.op(
        f'call i32 asm sideeffect "{text}", "=r,r,{letter},~{{memory}}"({", ".join(arguments)}) '
        "nounwind"
    )
    state.set(op.result, state.body.op(f"trunc i32 {word} to i1"))


@emits(mbarriers.MbarrierPending)
def pending(state: Emission, op: mbarriers.MbarrierPending) -> None:
    """Emit mbarrier.pending_count."""
    arguments = [("i64", state.name(op.state))]
    assembly(state, "mbarrier.pending_count.b64 $0, $1;", op.results, arguments)


# --- copies


def place_in_tensor(
    state: Emission,
    op: tensors.TensorLoad | tensors.TensorStore | tensors.TensorReduce | clusters.TensorMulticast,
    first: int,
) -> tuple[str, list[Argument]]:
    """The operand of a tensor and the arguments in it, whose numbers begin with ``first``.

    Raises:
        TargetError: the description is neither a parameter nor in global memory, or the GPU is too
            old.
    """
    require(state, 90, op, op.name)
    params = (each.value for each in state.module.kernel.params if each.by_value)
    if space_of(op.map) not in (Space.GLOBAL, Space.CONSTANT) and op.map not in params:
        space = space_of(op.map).name.lower()
        raise TargetError(
            f"{op.name}: the description of a tensor is in global memory on NVIDIA devices, not in "
            f"{space} memory: have the driver compile the PTX, or copy the description to an array",
            op.loc,
        )
    pointer = state.name(op.map)
    if space_of(op.map) is not Space.GENERIC:
        pointer = state.body.op(f"addrspacecast {state.typed(op.map)} to ptr")
    arguments = [("i64", state.body.op(f"ptrtoint ptr {pointer} to i64"))]
    arguments += [_word(state, value) for value in op.coordinates]
    numbers = ", ".join(f"${first + 1 + n}" for n in range(len(op.coordinates)))
    return f"[${first}, {{{numbers}}}]", arguments


@emits(tensors.TensorLoad)
def load(state: Emission, op: tensors.TensorLoad) -> None:
    """Emit cp.async.bulk.tensor to shared memory."""
    operand, arguments = place_in_tensor(state, op, 2)
    ends = [("i32", shared_address(state, op.box)), _bar(state, op.bar)]
    text = (
        f"cp.async.bulk.tensor.{len(op.coordinates)}d.shared::cluster.global.tile"
        f".mbarrier::complete_tx::bytes [$0], {operand}, [$1];"
    )
    assembly(state, text, (), [*ends, *arguments])


@emits(tensors.TensorStore)
def store(state: Emission, op: tensors.TensorStore) -> None:
    """Emit cp.async.bulk.tensor to global memory."""
    _out(state, op, "cp.async.bulk.tensor", "")


@emits(tensors.TensorReduce)
def reduce(state: Emission, op: tensors.TensorReduce) -> None:
    """Emit cp.reduce.async.bulk.tensor."""
    _out(state, op, "cp.reduce.async.bulk.tensor", f".{op.kind.value}")


def _out(
    state: Emission, op: tensors.TensorStore | tensors.TensorReduce, name: str, kind: str
) -> None:
    operand, arguments = place_in_tensor(state, op, 1)
    text = (
        f"{name}.{len(op.coordinates)}d.global.shared::cta{kind}.tile.bulk_group {operand}, [$0];"
    )
    assembly(state, text, (), [("i32", shared_address(state, op.box)), *arguments])


@emits(tensors.BulkCommit)
def commit(state: Emission, op: Op) -> None:
    """Emit cp.async.bulk.commit_group."""
    _ordered(state, "cp.async.bulk.commit_group;")


@emits(tensors.BulkWait)
def wait(state: Emission, op: tensors.BulkWait) -> None:
    """Emit cp.async.bulk.wait_group."""
    reads = ".read" if op.only_reads else ""
    _ordered(state, f"cp.async.bulk.wait_group{reads} {op.pending};")


@emits(tensors.ProxyFence)
def fence(state: Emission, op: tensors.ProxyFence) -> None:
    """Emit fence.proxy.async."""
    _ordered(state, f"fence.proxy.async{'.shared::cta' * op.shared};")


def _ordered(state: Emission, text: str) -> None:
    """Emit what orders copies; nothing for GPUs that have none."""
    if capability_of(state) >= 90:
        assembly(state, text, ())
