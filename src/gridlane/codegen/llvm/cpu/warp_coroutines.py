"""Warps that take turns: each is a coroutine of LLVM, which a loop resumes until all have ended.

A chunk of the block runs until it waits: at ``run_others`` for its next turn, at a barrier until
all chunks that have not ended wait at one. What lives across a wait is in the coroutine's frame,
which LLVM lays out. Frames are in front of the rest of the worker's arena, as a kernel that a
signal ends must own nothing; ``frame_bytes`` reads from optimised code how many bytes they take.
"""

from __future__ import annotations

import re

from gridlane.codegen.llvm.cpu.dispatch import emits
from gridlane.codegen.llvm.cpu.lanes import Emission, Uniform
from gridlane.core.config import config
from gridlane.core.errors import GridlaneError
from gridlane.ir.ops import grid

ALIGN = 512
"""Of frames: as that of the widest vector, 32 numbers of 64 bits, and more."""

TAKEN = (
    "ptr noalias readonly %params, ptr %context, ptr %arena, i64 %block, i32 %chunk, ptr %waits, "
    "ptr %memory"
)
"""Parameters of the coroutine: ``waits`` is a byte that says whether the chunk waits at a barrier,
``memory`` that of the frame; where it is null the size of a frame is stored, and nothing done. The
arena is not noalias, as other chunks write to it meanwhile."""

OF_CLUSTER = f"{TAKEN}, i32 %rank, i64 %apart"
"""Those in clusters: ``waits`` is a record, ``block`` the cluster, ``rank`` that of the block in
it, and ``apart`` are the bytes between the arenas of two blocks; see cluster_coroutines.py."""


@emits(grid.Barrier)
def barrier(state: Emission, op: grid.Barrier) -> None:
    """Wait for the other chunks."""
    state.body.do("store i8 1, ptr %waits")
    suspend(state)


@emits(grid.RunOthers)
def run_others(state: Emission, op: grid.RunOthers) -> None:
    """Wait for the next turn."""
    suspend(state)
    state.set(op.results[0], Uniform(str(config().spin_milliseconds)))


def suspend(state: Emission) -> None:
    """Return to the loop that resumes chunks."""
    body = state.body
    resumed = body.label("resumed")
    resume_kind = body.op("call i8 @llvm.coro.suspend(token none, i1 false)")
    body.do(f"switch i8 {resume_kind}, label %suspended [i8 0, label %{resumed}]")
    body.start(resumed)


def coroutine_of(entry: str) -> str:
    """The name of a kernel's coroutine."""
    return f"{entry}.turn"


def coroutine(name: str, allocas: list[str], lines: list[str], taken: str = TAKEN) -> list[str]:
    """The coroutine of a chunk, whose work the lines are; they end by a jump to ``finished``.

    Args:
        taken: its parameters.
    """
    return [
        "declare token @llvm.coro.id(i32, ptr, ptr, ptr)",
        "declare i64 @llvm.coro.size.i64()",
        "declare ptr @llvm.coro.begin(token, ptr)",
        "declare i8 @llvm.coro.suspend(token, i1)",
        "declare void @llvm.coro.end(ptr, i1, token)",
        "declare void @llvm.coro.resume(ptr)",
        "declare i1 @llvm.coro.done(ptr)",
        f'@"{name}.size" = internal global i64 0',
        f'define internal ptr @"{name}"({taken}) #0 presplitcoroutine {{',
        "entry:",
        *allocas,
        f"  %id = call token @llvm.coro.id(i32 {ALIGN}, ptr null, ptr null, ptr null)",
        "  %size = call i64 @llvm.coro.size.i64()",
        "  %asks = icmp eq ptr %memory, null",
        "  br i1 %asks, label %tell, label %begin",
        "tell:",
        f'  store volatile i64 %size, ptr @"{name}.size"',
        "  ret ptr null",
        "begin:",
        "  %handle = call noalias ptr @llvm.coro.begin(token %id, ptr %memory)",
        *lines,
        "finished:",
        "  %last = call i8 @llvm.coro.suspend(token none, i1 true)",
        "  switch i8 %last, label %suspended [i8 0, label %never]",
        "never:",
        "  unreachable",
        "suspended:",
        "  call void @llvm.coro.end(ptr %handle, i1 false, token none)",
        "  ret ptr %handle",
        "}",
    ]


def frames(name: str, chunks: int) -> str:
    """Code that finds the memory of the frames of so many chunks, and the arena behind it."""
    return f"""
  %size = load volatile i64, ptr @"{name}.size"
  %more.size = add i64 %size, {ALIGN - 1}
  %pitch = and i64 %more.size, -{ALIGN}
  %start.of = ptrtoint ptr %arena to i64
  %past = add i64 %start.of, {ALIGN - 1}
  %whole = and i64 %past, -{ALIGN}
  %skipped = sub i64 %whole, %start.of
  %frames = getelementptr i8, ptr %arena, i64 %skipped
  %all.frames = mul i64 %pitch, {chunks}
  %taken = add i64 %all.frames, {ALIGN}
  %rest = getelementptr i8, ptr %arena, i64 %taken""".strip("\n")


def starts(
    name: str, count: int, before: str, record: str, place: str, lines: str = "", more: str = ""
) -> str:
    """Code that starts so many coroutines, ``%new`` each, and jumps to ``round``.

    Args:
        before: the label in front.
        record: the type of what ``waits`` points to; ``%records`` are those of all.
        place: the arena, the block and the chunk of one, which ``lines`` calculate.
        more: its arguments behind ``memory``.
    """
    return f"""
  br label %start
start:
  %new = phi i32 [ 0, %{before} ], [ %new.next, %start ]
  %new.wide = zext i32 %new to i64
  %new.record = getelementptr {record}, ptr %records, i64 %new.wide
  %new.place = getelementptr ptr, ptr %handles, i64 %new.wide
  %new.at = mul i64 %new.wide, %pitch
  %new.frame = getelementptr i8, ptr %frames, i64 %new.at{lines.rstrip()}
  store {record} zeroinitializer, ptr %new.record
  %new.handle = call ptr @"{name}"(ptr %params, ptr %context, {place}, ptr %new.record, \
ptr %new.frame{more})
  store ptr %new.handle, ptr %new.place
  %new.next = add i32 %new, 1
  %new.more = icmp ult i32 %new.next, {count}
  br i1 %new.more, label %start, label %round""".strip("\n")


def scheduler(name: str, chunks: int) -> list[str]:
    """The work of the entry: for each block, run the chunks in turns until all have ended."""
    return f"""
  %handles = alloca [{chunks} x ptr]
  %records = alloca [{chunks} x i8]
  %nothing = call ptr @"{name}"(ptr null, ptr null, ptr null, i64 0, i32 0, ptr null, ptr null)
{frames(name, chunks)}
  br label %block
block:
  %number = phi i64 [ %first, %entry ], [ %following, %ended ]
{starts(name, chunks, "block", "i8", "ptr %rest, i64 %number, i32 %new")}
round:
  br label %look
{_resumed(chunks)}
looked.all:
  br i1 %ran.next, label %round, label %all.wait
all.wait:
  br i1 %met.next, label %release, label %ended
release:
  %open = phi i32 [ 0, %all.wait ], [ %open.next, %release ]
  %open.wait = getelementptr i8, ptr %records, i32 %open
  store i8 0, ptr %open.wait
  %open.next = add i32 %open, 1
  %open.more = icmp ult i32 %open.next, {chunks}
  br i1 %open.more, label %release, label %round
ended:
  %following = add i64 %number, 1
  %blocks.more = icmp ult i64 %following, %last
  br i1 %blocks.more, label %block, label %return
return:
  ret void""".strip("\n").split("\n")


def _resumed(chunks: int) -> str:
    """Code that resumes each chunk that does not wait; ``%ran.next`` and ``%met.next`` are whether
    one ran, and whether one waits."""
    return f"""\
look:
  %chunk = phi i32 [ 0, %round ], [ %chunk.next, %looked ]
  %ran = phi i1 [ false, %round ], [ %ran.next, %looked ]
  %met = phi i1 [ false, %round ], [ %met.next, %looked ]
  %place = getelementptr ptr, ptr %handles, i32 %chunk
  %handle = load ptr, ptr %place
  %done = call i1 @llvm.coro.done(ptr %handle)
  br i1 %done, label %looked, label %alive
alive:
  %wait = getelementptr i8, ptr %records, i32 %chunk
  %waits = load i8, ptr %wait
  %at.barrier = icmp ne i8 %waits, 0
  br i1 %at.barrier, label %looked, label %turn
turn:
  call void @llvm.coro.resume(ptr %handle)
  br label %looked
looked:
  %ran.next = phi i1 [ %ran, %look ], [ %ran, %alive ], [ true, %turn ]
  %met.next = phi i1 [ %met, %look ], [ true, %alive ], [ %met, %turn ]
  %chunk.next = add i32 %chunk, 1
  %more = icmp ult i32 %chunk.next, {chunks}
  br i1 %more, label %look, label %looked.all"""


def frame_bytes(optimised: str, name: str, chunks: int) -> int:
    """Bytes of the arena that the frames of a kernel take, from its optimised LLVM IR.

    Raises:
        GridlaneError: LLVM has not made the size a constant: a defect in code generation.
    """
    match = re.search(rf'store volatile i64 (\d+), ptr @"?{re.escape(name)}\.size"?', optimised)
    if match is None:
        raise GridlaneError(f"the frame of {name} has no known size")
    return ALIGN + -(-int(match[1]) // ALIGN) * ALIGN * chunks
