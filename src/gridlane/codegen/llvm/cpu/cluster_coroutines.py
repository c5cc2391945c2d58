"""Clusters: the chunks of all blocks of one are coroutines, which one worker resumes in turns.

Each block has an arena of its own, at equal distances, so that a place in the shared memory of a
peer is a multiple of the distance away. A chunk runs until it waits: at ``run_others`` for its next
turn, at a barrier until all chunks of its block that have not ended wait at one, at a
``cluster_wait`` until all chunks of the cluster that have not ended have arrived as often as it has
waited. If none can go on, the launch reports an error.
"""

from __future__ import annotations

import math

from gridlane.codegen.llvm.cpu import leaving
from gridlane.codegen.llvm.cpu.dispatch import emits
from gridlane.codegen.llvm.cpu.gridops import first_thread, report
from gridlane.codegen.llvm.cpu.lanes import Emission, Linear, Uniform, Varying
from gridlane.codegen.llvm.cpu.warp_coroutines import frames, starts, suspend
from gridlane.codegen.llvm.text import widen
from gridlane.core import cpu_abi as abi
from gridlane.ir.op import Op
from gridlane.ir.ops import clusters
from gridlane.ir.values import ErrorSite

ARRIVED, AWAITED, THREAD, BLOCK, RECORD = 4, 8, 12, 16, 24
"""A record of a chunk: a byte that says at what it waits, at 0; u32, how often it has arrived at
the cluster's barrier and waited there; i32, i64, its first thread and its block."""

_STUCK = (
    "threads wait at a barrier for others of the cluster that neither end nor arrive at its barrier"
)
_APART = (
    "threads of a warp arrive at the barrier of the cluster apart; on this device they arrive "
    "together"
)


@emits(clusters.ClusterRank)
def rank(state: Emission, op: clusters.ClusterRank) -> None:
    """Emit the rank that the coroutine has."""
    state.set(op.results[0], Uniform("%rank" if "apart" in state.known else "0"))


@emits(clusters.ClusterSize)
def size(state: Emission, op: clusters.ClusterSize) -> None:
    """Emit the blocks of a cluster."""
    state.set(op.results[0], Uniform(str(math.prod(state.module.cluster))))


@emits(clusters.ClusterArrive)
def arrive(state: Emission, op: clusters.ClusterArrive) -> None:
    """Count the chunk, whose running lanes are all that have not ended."""
    _require_together(state, op)
    _count(state, ARRIVED)


@emits(clusters.ClusterWait)
def wait(state: Emission, op: clusters.ClusterWait) -> None:
    """Wait for the other chunks of the cluster."""
    body = state.body
    if "stuck" not in state.known:
        state.known["stuck"] = str(_error(state, op, _STUCK) + 1)
    _count(state, AWAITED)
    for name, offset, value in (
        ("i32", THREAD, first_thread(state)),
        ("i64", BLOCK, state.known["block"]),
    ):
        body.do(f"store {name} {value}, ptr {_field(state, offset)}")
    body.do("store i8 2, ptr %waits")
    suspend(state)


@emits(clusters.PeerAddress)
def peer_address(state: Emission, op: clusters.PeerAddress) -> None:
    """Emit the address of the own place, some arenas further."""
    body, place, rank = state.body, state.rep(op.pointer), state.rep(op.rank)
    if "apart" not in state.known:  # a cluster of one block
        rank = Uniform("0")
    if isinstance(rank, Uniform):
        distance = _distance(state, rank.name)
        if isinstance(place, Varying):
            moved = _sum(state, place.name, state.broadcast(distance, "i64"))
            state.set(op.results[0], Varying(moved))
            return
        assert isinstance(place, Uniform | Linear), place
        start = place.name if isinstance(place, Uniform) else place.base
        number = body.op(f"ptrtoint ptr {start} to i64")
        moved = body.op(f"add i64 {number}, {distance}")
        is_one = isinstance(place, Uniform)
        state.set(op.results[0], Uniform(moved) if is_one else Linear(moved, place.stride))
        return
    ranks = state.vector(op.rank)
    wide, narrow = widen("i64", state.lanes), widen("i32", state.lanes)
    own = state.broadcast("%rank", "i32")
    steps = body.op(f"sext {narrow} {body.op(f'sub {narrow} {ranks}, {own}')} to {wide}")
    distances = body.op(f"mul {wide} {steps}, {state.broadcast(state.known['apart'], 'i64')}")
    state.set(op.results[0], Varying(_sum(state, state.vector(op.pointer), distances)))


def _sum(state: Emission, pointers: str, distances: str) -> str:
    wide = widen("i64", state.lanes)
    numbers = state.body.op(f"ptrtoint {widen('ptr', state.lanes)} {pointers} to {wide}")
    return state.body.op(f"add {wide} {numbers}, {distances}")


def _distance(state: Emission, rank: str) -> str:
    """Bytes from the own arena to that of a rank, an i64."""
    if "apart" not in state.known:
        return "0"
    steps = state.body.op(f"sext i32 {state.body.op(f'sub i32 {rank}, %rank')} to i64")
    return state.body.op(f"mul i64 {steps}, {state.known['apart']}")


def _field(state: Emission, offset: int) -> str:
    return state.body.op(f"getelementptr i8, ptr %waits, i64 {offset}")


def _count(state: Emission, offset: int) -> None:
    field = _field(state, offset)
    more = state.body.op(f"add i32 {state.body.op(f'load i32, ptr {field}')}, 1")
    state.body.do(f"store i32 {more}, ptr {field}")


def _error(state: Emission, op: Op, message: str) -> int:
    """The number of an error in the module's table."""
    state.module.errors.append(ErrorSite("RuntimeError", message, op.loc))
    return len(state.module.errors) - 1


def _require_together(state: Emission, op: Op) -> None:
    """Report an error where lanes that have not ended are off."""
    if state.mask is None:
        return
    way = None, "breaks"
    alive = state.started
    if way in state.holders:
        alive = leaving.kept(state, way, state.started)
    body = state.body
    others = body.op(f"xor {state.mask_type} {state.all_lanes()}, splat (i1 true)")
    if alive is not None:
        others = body.op(f"and {state.mask_type} {others}, {alive}")
    apart, together = body.label("apart"), body.label("together")
    body.branch_if(state.any(others), apart, together)
    body.start(apart)
    report(state, _error(state, op, _APART), first_thread(state))
    body.branch(together)
    body.start(together)


def scheduler(name: str, chunks: int, blocks: int, fixed: int, align: int, stuck: str) -> list[str]:
    """The work of the entry: for each cluster, run the chunks in turns until all have ended.

    Args:
        chunks, blocks: of a block, of a cluster.
        fixed: bytes of a block's scratch and static shared memory; ``align``: what the distance of
            arenas is a multiple of.
        stuck: 1 more than the number of the error where no chunk can go on; 0 if none waits.
    """
    count = chunks * blocks
    place = "ptr %new.arena, i64 %number, i32 %new.chunk"
    place_of = f"""
  %new.rank = udiv i32 %new, {chunks}
  %new.chunk = urem i32 %new, {chunks}
  %new.rank.wide = zext i32 %new.rank to i64
  %new.distance = mul i64 %new.rank.wide, %apart
  %new.arena = getelementptr i8, ptr %rest, i64 %new.distance"""
    started = starts(
        name, count, "cluster", f"[{RECORD} x i8]", place, place_of, ", i32 %new.rank, i64 %apart"
    )
    return f"""
  %handles = alloca [{count} x ptr]
  %records = alloca [{count * RECORD} x i8], align 8
  %nothing = call ptr @"{name}"(ptr null, ptr null, ptr null, i64 0, i32 0, ptr null, ptr null, \
i32 0, i64 0)
{frames(name, count)}
  %dynamic.of = getelementptr i8, ptr %context, i64 {abi.DYNAMIC_OFFSET}
  %dynamic32 = load i32, ptr %dynamic.of
  %dynamic = zext i32 %dynamic32 to i64
  %block.bytes = add i64 %dynamic, {fixed + align - 1}
  %apart = and i64 %block.bytes, -{align}
  %error.of = getelementptr i8, ptr %context, i64 {abi.ERROR_OFFSET}
  br label %cluster
cluster:
  %number = phi i64 [ %first, %entry ], [ %following, %ended ]
{started}
{_asked(count)}
{_resumed(count)}
{_released(chunks, blocks)}
{_reported(count, stuck)}
ended:
  %following = add i64 %number, 1
  %clusters.more = icmp ult i64 %following, %last
  br i1 %clusters.more, label %cluster, label %return
return:
  ret void""".strip("\n").split("\n")


def _asked(count: int) -> str:
    """Code that finds ``%phase.next``, how often all chunks that have not ended have arrived."""
    return f"""\
round:
  br label %ask
ask:
  %asked = phi i64 [ 0, %round ], [ %asked.next, %known ]
  %phase = phi i32 [ -1, %round ], [ %phase.next, %known ]
  %alive = phi i1 [ false, %round ], [ %alive.next, %known ]
  %asked.place = getelementptr ptr, ptr %handles, i64 %asked
  %asked.handle = load ptr, ptr %asked.place
  %asked.done = call i1 @llvm.coro.done(ptr %asked.handle)
  br i1 %asked.done, label %known, label %living
living:
  %asked.record = getelementptr [{RECORD} x i8], ptr %records, i64 %asked
  %asked.field = getelementptr i8, ptr %asked.record, i64 {ARRIVED}
  %arrived = load i32, ptr %asked.field
  %fewer = icmp ult i32 %arrived, %phase
  %least = select i1 %fewer, i32 %arrived, i32 %phase
  br label %known
known:
  %phase.next = phi i32 [ %phase, %ask ], [ %least, %living ]
  %alive.next = phi i1 [ %alive, %ask ], [ true, %living ]
  %asked.next = add i64 %asked, 1
  %asked.more = icmp ult i64 %asked.next, {count}
  br i1 %asked.more, label %ask, label %asked.all
asked.all:
  br i1 %alive.next, label %look, label %ended"""


def _resumed(count: int) -> str:
    """Code that resumes each chunk that need not wait; ``%ran.next`` is whether one ran."""
    return f"""\
look:
  %each = phi i64 [ 0, %asked.all ], [ %each.next, %looked ]
  %ran = phi i1 [ false, %asked.all ], [ %ran.next, %looked ]
  %place = getelementptr ptr, ptr %handles, i64 %each
  %handle = load ptr, ptr %place
  %done = call i1 @llvm.coro.done(ptr %handle)
  br i1 %done, label %looked, label %runs
runs:
  %record = getelementptr [{RECORD} x i8], ptr %records, i64 %each
  %waits = load i8, ptr %record
  switch i8 %waits, label %looked [ i8 0, label %turn i8 2, label %waiting ]
waiting:
  %awaited.of = getelementptr i8, ptr %record, i64 {AWAITED}
  %awaited = load i32, ptr %awaited.of
  %free = icmp ule i32 %awaited, %phase.next
  br i1 %free, label %freed, label %looked
freed:
  store i8 0, ptr %record
  br label %turn
turn:
  call void @llvm.coro.resume(ptr %handle)
  br label %looked
looked:
  %ran.next = phi i1 [ %ran, %look ], [ %ran, %runs ], [ %ran, %waiting ], [ true, %turn ]
  %each.next = add i64 %each, 1
  %more = icmp ult i64 %each.next, {count}
  br i1 %more, label %look, label %gather"""


def _released(chunks: int, blocks: int) -> str:
    """Code that opens the barrier of each block whose chunks all wait there."""
    return f"""\
gather:
  %rank = phi i64 [ 0, %looked ], [ %rank.next, %gathered ]
  %goes = phi i1 [ %ran.next, %looked ], [ %goes.next, %gathered ]
  %rank.first = mul i64 %rank, {chunks}
  %rank.end = add i64 %rank.first, {chunks}
  br label %meet
{_met()}
met.all:
  %opens = and i1 %all.next, %some.next
  br i1 %opens, label %release, label %gathered
release:
  %open = phi i64 [ %rank.first, %met.all ], [ %open.next, %release ]
  %open.record = getelementptr [{RECORD} x i8], ptr %records, i64 %open
  store i8 0, ptr %open.record
  %open.next = add i64 %open, 1
  %open.more = icmp ult i64 %open.next, %rank.end
  br i1 %open.more, label %release, label %gathered
gathered:
  %goes.next = phi i1 [ %goes, %met.all ], [ true, %release ]
  %rank.next = add i64 %rank, 1
  %rank.more = icmp ult i64 %rank.next, {blocks}
  br i1 %rank.more, label %gather, label %gathered.all
gathered.all:
  br i1 %goes.next, label %round, label %stuck"""


def _met() -> str:
    """Code that finds ``%all.next``, whether all chunks of a block that have not ended wait at its
    barrier, and ``%some.next``, whether there are any."""
    return f"""\
meet:
  %member = phi i64 [ %rank.first, %gather ], [ %member.next, %met ]
  %all = phi i1 [ true, %gather ], [ %all.next, %met ]
  %some = phi i1 [ false, %gather ], [ %some.next, %met ]
  %member.place = getelementptr ptr, ptr %handles, i64 %member
  %member.handle = load ptr, ptr %member.place
  %member.done = call i1 @llvm.coro.done(ptr %member.handle)
  br i1 %member.done, label %met, label %member.runs
member.runs:
  %member.record = getelementptr [{RECORD} x i8], ptr %records, i64 %member
  %member.waits = load i8, ptr %member.record
  %member.here = icmp eq i8 %member.waits, 1
  %member.all = and i1 %all, %member.here
  br label %met
met:
  %all.next = phi i1 [ %all, %meet ], [ %member.all, %member.runs ]
  %some.next = phi i1 [ %some, %meet ], [ true, %member.runs ]
  %member.next = add i64 %member, 1
  %member.more = icmp ult i64 %member.next, %rank.end
  br i1 %member.more, label %meet, label %met.all"""


def _reported(count: int, stuck: str) -> str:
    """Code that reports the error of a chunk that waits for ever."""
    return f"""\
stuck:
  %pair = cmpxchg ptr %error.of, i32 0, i32 {stuck} acq_rel monotonic
  %won = extractvalue {{i32, i1}} %pair, 1
  br i1 %won, label %search, label %ended
search:
  %one = phi i64 [ 0, %stuck ], [ %one.next, %passed ]
  %one.record = getelementptr [{RECORD} x i8], ptr %records, i64 %one
  %one.waits = load i8, ptr %one.record
  %one.here = icmp eq i8 %one.waits, 2
  br i1 %one.here, label %tell, label %passed
passed:
  %one.next = add i64 %one, 1
  %one.more = icmp ult i64 %one.next, {count}
  br i1 %one.more, label %search, label %ended
tell:
  %thread.of = getelementptr i8, ptr %one.record, i64 {THREAD}
  %block.of = getelementptr i8, ptr %one.record, i64 {BLOCK}
  %stuck.thread = load i32, ptr %thread.of
  %stuck.block = load i64, ptr %block.of
  %told.thread = getelementptr i8, ptr %context, i64 {abi.ERROR_THREAD_OFFSET}
  %told.block = getelementptr i8, ptr %context, i64 {abi.ERROR_BLOCK_OFFSET}
  store i32 %stuck.thread, ptr %told.thread
  store i64 %stuck.block, ptr %told.block
  br label %ended"""
