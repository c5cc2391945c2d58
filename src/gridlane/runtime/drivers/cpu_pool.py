"""The native thread pool of the CPU device, as LLVM IR that llvmlite compiles at first use.

It needs no C compiler on the user's machine and holds no Python lock. A launch is one call:

    i32 gridlane_launch(ptr plan, ptr params, i32 gx, i32 gy, i32 gz, i32 shared, ptr report)

A plan (one per loaded kernel, 64 bytes): 0 ptr entry, 8 ptr pool, 16 i64 scratch and static shared
bytes, 24 i64 work of a block (rough operations), 32 ptr the Python function that prints, 40 ptr the
code, 48 ptr its end, 0 if they are not known, 56 i64 the blocks of a cluster, or 0. A cluster is
what a worker takes as one block, and has the dynamic shared memory of each of its blocks.

The launch returns the kernel's error code, 0 for none, STOPPED, NO_MEMORY, FAULTED or TIMED_OUT for
a launch that was stopped (see cpu_stop.py, cpu_faults.py and cpu_timeout.py). The report (120
bytes): 0 i32 thread, 8 i64 block, 16 the Python exception that stopped the launch, as three
pointers, or the fault or the place, 40 the numbers of the kernel's error.

The pool (512 bytes, then a range for each thread; see cpu_shares.py): 0 i64 state, 64 i64 ranges,
72 i64 blocks, 80 i64 least units to take at once, 88 ptr plan, 96 ptr params, 104 ptr context, 112
i64 arena bytes, 120 i64 blocks of a unit, 128 i32 parked workers, 132 i32 launch lock, 136 i32
workers, 140 i32 launches beside the job, 144 i64 workers that have started, 192 mutex, 320
condition.

The state word is bit 0: a job is open; bits 1 to 31: workers in it, times 2; bits 32 up: number of
the job. A worker joins by a compare-and-swap that adds 2 while the job is open; the launcher closes
the job when no block is left and waits until nobody is in it. The job's fields are written only
while it is closed and empty, so a worker that has joined may read them.

A thread has neighbouring blocks, whose lines of memory no other one writes, and takes a share of
those that are left at once, so that the last ones are few. A second launch at the same time, from
another thread, finds the lock taken and runs its grid itself; a worker less joins the job for each
of those, so that there are no more threads than cores. Workers spin a while for the next job, then
park.
"""

from __future__ import annotations

from gridlane.core import cpu_abi as abi
from gridlane.runtime.drivers import (
    cpu_checks,
    cpu_faults,
    cpu_leaving,
    cpu_shares,
    cpu_stop,
    cpu_timeout,
)

_PAUSE = {
    "x86_64": ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"),
    "aarch64": ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)"),
}

SPINS = 50_000
"""Pauses before a worker parks: about a millisecond. Waking a parked thread was seen to take
milliseconds where the system had put its core to sleep, so launches in a row must not park."""

SMALL_WORK = 40_000
"""A grid of less work than this runs on the caller: waking a worker costs more."""

TAKE_WORK = 60_000
"""The least work to take at once."""

POOL_BYTES = 512

MOST_STACK = 256 << 10
"""The largest arena on the thread's stack, in bytes; larger ones are allocated."""

_TEXT = r"""
declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(ptr)
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @sched_yield()
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.umax.i64(i64, i64)
$PAUSE_DECLARE

; Run blocks with an arena: on the stack, or in memory of its own where it is large.
define internal void @with_arena(ptr %plan, ptr %params, ptr %context, ptr %pool, i64 %total,
                                 i64 %bytes, i1 %alone, ptr %record, i64 %slot) {
entry:
  %heap = icmp ugt i64 %bytes, $MOST_STACK
  br i1 %heap, label %large, label %small
large:
  %rounded0 = add i64 %bytes, 63
  %rounded = and i64 %rounded0, -64
  %got = call ptr @aligned_alloc(i64 64, i64 %rounded)
  %none = icmp eq ptr %got, null
  br i1 %none, label %poor, label %rich
poor:
  %ends = call i1 @end_launch(ptr %context, i32 $NO_MEMORY)
  ret void
rich:
  call void @run_blocks(ptr %plan, ptr %params, ptr %context, ptr %pool, i64 %total, i1 %alone,
                        ptr %record, i64 %slot, ptr %got)
  call void @free(ptr %got)
  ret void
small:
  %stack = alloca i8, i64 %bytes, align 64
  call void @run_blocks(ptr %plan, ptr %params, ptr %context, ptr %pool, i64 %total, i1 %alone,
                        ptr %record, i64 %slot, ptr %stack)
  ret void
}

define internal ptr @worker(ptr %pool) {
entry:
  %parked = getelementptr i8, ptr %pool, i64 128
  %mutex = getelementptr i8, ptr %pool, i64 192
  %cond = getelementptr i8, ptr %pool, i64 320
  %plan.p = getelementptr i8, ptr %pool, i64 88
  %params.p = getelementptr i8, ptr %pool, i64 96
  %context.p = getelementptr i8, ptr %pool, i64 104
  %bytes.p = getelementptr i8, ptr %pool, i64 112
  %total.p = getelementptr i8, ptr %pool, i64 72
  %workers.p = getelementptr i8, ptr %pool, i64 136
  %beside.p = getelementptr i8, ptr %pool, i64 140
  %started.p = getelementptr i8, ptr %pool, i64 144
  %earlier = atomicrmw add ptr %started.p, i64 1 monotonic
  %slot = add i64 %earlier, 1
  %record = call ptr @own_record()
  br label %idle
idle:
  %seen = phi i64 [ 0, %entry ], [ %number, %leave ], [ %number, %room ]
  %count0 = phi i64 [ 0, %entry ], [ 0, %leave ], [ $PARKED, %room ]
  br label %spin
spin:
  %count = phi i64 [ %count0, %idle ], [ %count1, %pause ], [ 0, %woken ]
  %state = load atomic i64, ptr %pool acquire, align 8
  %number = lshr i64 %state, 32
  %open = trunc i64 %state to i1
  %new = icmp ne i64 %number, %seen
  %join = and i1 %open, %new
  br i1 %join, label %room, label %wait
room:
  %inside2 = and i64 %state, 4294967294
  %joined = lshr i64 %inside2, 1
  %beside32 = load atomic i32, ptr %beside.p monotonic, align 4
  %beside = zext i32 %beside32 to i64
  %taken = add i64 %joined, %beside
  %workers32 = load i32, ptr %workers.p
  %workers = zext i32 %workers32 to i64
  %fits = icmp ult i64 %taken, %workers
  br i1 %fits, label %try, label %idle
try:
  %inside = add i64 %state, 2
  %pair = cmpxchg ptr %pool, i64 %state, i64 %inside acq_rel monotonic
  %won = extractvalue { i64, i1 } %pair, 1
  br i1 %won, label %work, label %pause
work:
  %plan = load ptr, ptr %plan.p
  %params = load ptr, ptr %params.p
  %context = load ptr, ptr %context.p
  %bytes = load i64, ptr %bytes.p
  %total = load i64, ptr %total.p
  call void @with_arena(ptr %plan, ptr %params, ptr %context, ptr %pool, i64 %total, i64 %bytes,
                        i1 false, ptr %record, i64 %slot)
  br label %leave
leave:
  %before = atomicrmw sub ptr %pool, i64 2 acq_rel
  br label %idle
wait:
  %long = icmp ugt i64 %count, $SPINS
  br i1 %long, label %park, label %pause
pause:
  $PAUSE
  %count1 = add i64 %count, 1
  br label %spin
park:
  %l = call i32 @pthread_mutex_lock(ptr %mutex)
  %p = atomicrmw add ptr %parked, i32 1 seq_cst
  br label %check
check:
  %now = load atomic i64, ptr %pool seq_cst, align 8
  %now.number = lshr i64 %now, 32
  %same = icmp eq i64 %now.number, %seen
  %closed0 = trunc i64 %now to i1
  %closed = xor i1 %closed0, true
  %stay = or i1 %same, %closed
  br i1 %stay, label %sleep, label %wake
sleep:
  %w = call i32 @pthread_cond_wait(ptr %cond, ptr %mutex)
  br label %check
wake:
  %q = atomicrmw sub ptr %parked, i32 1 seq_cst
  %u = call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %woken
woken:
  br label %spin
}

define i32 @gridlane_start(ptr %pool, i32 %workers, i64 %main) {
entry:
  %thread = alloca ptr
  call void @start_stopping(i64 %main)
  call void @llvm.memset.p0.i64(ptr %pool, i8 0, i64 512, i1 false)
  %mutex = getelementptr i8, ptr %pool, i64 192
  %cond = getelementptr i8, ptr %pool, i64 320
  %workers.p = getelementptr i8, ptr %pool, i64 136
  %m = call i32 @pthread_mutex_init(ptr %mutex, ptr null)
  %c = call i32 @pthread_cond_init(ptr %cond, ptr null)
  br label %more
more:
  %i = phi i32 [ 0, %entry ], [ %i1, %made ]
  %enough = icmp uge i32 %i, %workers
  br i1 %enough, label %done, label %make
make:
  %failed = call i32 @pthread_create(ptr %thread, ptr null, ptr @worker, ptr %pool)
  %ok = icmp eq i32 %failed, 0
  br i1 %ok, label %made, label %done
made:
  %t = load ptr, ptr %thread
  %d = call i32 @pthread_detach(ptr %t)
  %i1 = add i32 %i, 1
  br label %more
done:
  store i32 %i, ptr %workers.p
  ret i32 %i
}

define internal void @open_job(ptr %pool, ptr %plan, ptr %params, ptr %context, i64 %total,
                               i64 %bytes, i64 %work, i64 %workers) {
entry:
  %total.p = getelementptr i8, ptr %pool, i64 72
  %least.p = getelementptr i8, ptr %pool, i64 80
  %plan.p = getelementptr i8, ptr %pool, i64 88
  %params.p = getelementptr i8, ptr %pool, i64 96
  %context.p = getelementptr i8, ptr %pool, i64 104
  %bytes.p = getelementptr i8, ptr %pool, i64 112
  %parked.p = getelementptr i8, ptr %pool, i64 128
  %mutex = getelementptr i8, ptr %pool, i64 192
  %cond = getelementptr i8, ptr %pool, i64 320
  %threads = add i64 %workers, 1
  %work1 = add i64 %work, 1
  %worth = udiv i64 $TAKE_WORK, %work1
  %parts = mul i64 %threads, $OWN_SHARES
  %fair = udiv i64 %total, %parts
  %least0 = call i64 @llvm.umin.i64(i64 %fair, i64 %worth)
  %least = call i64 @llvm.umax.i64(i64 %least0, i64 1)
  call void @divide(ptr %pool, i64 %total, i64 %threads)
  store i64 %total, ptr %total.p
  store i64 %least, ptr %least.p
  store ptr %plan, ptr %plan.p
  store ptr %params, ptr %params.p
  store ptr %context, ptr %context.p
  store i64 %bytes, ptr %bytes.p
  %old = load atomic i64, ptr %pool monotonic, align 8
  %number = lshr i64 %old, 32
  %following = add i64 %number, 1
  %shifted = shl i64 %following, 32
  %new = or i64 %shifted, 1
  store atomic i64 %new, ptr %pool seq_cst, align 8
  %parked = load atomic i32, ptr %parked.p seq_cst, align 4
  %none = icmp eq i32 %parked, 0
  br i1 %none, label %out, label %wake
wake:
  %l = call i32 @pthread_mutex_lock(ptr %mutex)
  %b = call i32 @pthread_cond_broadcast(ptr %cond)
  %u = call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %out
out:
  ret void
}

; Wait until all workers have left. Those that entered a stopped launch too late to be told so
; are told here.
define internal void @close_job(ptr %pool, ptr %context) {
entry:
  %stop.p = getelementptr i8, ptr %context, i64 40
  %closed = atomicrmw and ptr %pool, i64 -2 acq_rel
  br label %spin
spin:
  %count = phi i64 [ 0, %entry ], [ %count1, %again ]
  %state = load atomic i64, ptr %pool acquire, align 8
  %inside = and i64 %state, 4294967294
  %empty = icmp eq i64 %inside, 0
  br i1 %empty, label %out, label %wait
wait:
  $PAUSE
  %count1 = add i64 %count, 1
  %late = and i64 %count1, 1023
  %yield = icmp eq i64 %late, 0
  br i1 %yield, label %give, label %again
give:
  %y = call i32 @sched_yield()
  %stop = load atomic i32, ptr %stop.p acquire, align 4
  %stopped = icmp ne i32 %stop, 0
  br i1 %stopped, label %tell, label %again
tell:
  call void @signal_all(ptr %context)
  br label %again
again:
  br label %spin
out:
  ret void
}

define i32 @gridlane_launch(ptr %plan, ptr %params, i32 %gx, i32 %gy, i32 %gz, i32 %shared,
                            ptr %report) {
entry:
  %context = alloca [$CONTEXT_BYTES x i8], align 64
  $KEEP_TIMED
  call void @llvm.memset.p0.i64(ptr %context, i8 0, i64 $CONTEXT_BYTES, i1 false)
  %gy.p = getelementptr i8, ptr %context, i64 4
  %gz.p = getelementptr i8, ptr %context, i64 8
  %shared.p = getelementptr i8, ptr %context, i64 12
  %error.p = getelementptr i8, ptr %context, i64 16
  %print.p = getelementptr i8, ptr %context, i64 32
  %stop.p = getelementptr i8, ptr %context, i64 40
  %function.p = getelementptr i8, ptr %context, i64 48
  %fail.p = getelementptr i8, ptr %context, i64 $FAIL
  %find.p = getelementptr i8, ptr %context, i64 $FIND
  store ptr @fail, ptr %fail.p
  store ptr @find, ptr %find.p
  store i32 %gx, ptr %context
  store i32 %gy, ptr %gy.p
  store i32 %gz, ptr %gz.p
  store i32 %shared, ptr %shared.p
  %pool.f = getelementptr i8, ptr %plan, i64 8
  %bytes.f = getelementptr i8, ptr %plan, i64 16
  %work.f = getelementptr i8, ptr %plan, i64 24
  %print.f = getelementptr i8, ptr %plan, i64 32
  %pool = load ptr, ptr %pool.f
  %fixed = load i64, ptr %bytes.f
  %work = load i64, ptr %work.f
  %function = load ptr, ptr %print.f
  store ptr @print, ptr %print.p
  store ptr %function, ptr %function.p
  %record = call ptr @own_record()
  call void @count_launch(ptr %record)
  $BEGIN_TIMED
  %cluster.f = getelementptr i8, ptr %plan, i64 56
  %cluster0 = load i64, ptr %cluster.f
  %cluster = call i64 @llvm.umax.i64(i64 %cluster0, i64 1)
  %dynamic0 = zext i32 %shared to i64
  %dynamic = mul i64 %dynamic0, %cluster
  %bytes0 = add i64 %fixed, %dynamic
  %bytes = add i64 %bytes0, 64
  %x = zext i32 %gx to i64
  %y = zext i32 %gy to i64
  %z = zext i32 %gz to i64
  %xy = mul i64 %x, %y
  %grid = mul i64 %xy, %z
  %total = udiv i64 %grid, %cluster
  %workers.p = getelementptr i8, ptr %pool, i64 136
  %workers32 = load i32, ptr %workers.p
  %workers = zext i32 %workers32 to i64
  %lock = getelementptr i8, ptr %pool, i64 132
  %beside.p = getelementptr i8, ptr %pool, i64 140
  %all = mul i64 %total, %work
  %big = icmp ugt i64 %all, $SMALL_WORK
  %many = icmp ugt i64 %total, 1
  %helped = icmp ne i64 %workers, 0
  %c0 = and i1 %big, %many
  %c1 = and i1 %c0, %helped
  br i1 %c1, label %try, label %alone
try:
  %held = atomicrmw xchg ptr %lock, i32 1 acquire
  %free = icmp eq i32 %held, 0
  br i1 %free, label %together, label %beside
beside:
  %one.more = atomicrmw add ptr %beside.p, i32 1 monotonic
  call void @with_arena(ptr %plan, ptr %params, ptr %context, ptr %pool, i64 %total, i64 %bytes,
                        i1 true, ptr %record, i64 0)
  %one.less = atomicrmw sub ptr %beside.p, i32 1 monotonic
  br label %finish
together:
  call void @open_job(ptr %pool, ptr %plan, ptr %params, ptr %context, i64 %total,
                      i64 %bytes, i64 %work, i64 %workers)
  call void @with_arena(ptr %plan, ptr %params, ptr %context, ptr %pool, i64 %total, i64 %bytes,
                        i1 false, ptr %record, i64 0)
  call void @close_job(ptr %pool, ptr %context)
  store atomic i32 0, ptr %lock release, align 4
  br label %finish
alone:
  call void @with_arena(ptr %plan, ptr %params, ptr %context, ptr %pool, i64 %total, i64 %bytes,
                        i1 true, ptr %record, i64 0)
  br label %finish
finish:
  $END_TIMED
  %reported = load i32, ptr %error.p
  %stop = load atomic i32, ptr %stop.p acquire, align 4
  %ended = icmp ne i32 %stop, 0
  %other = icmp ne i32 %stop, 5
  %stopped = and i1 %ended, %other
  %early = sub i32 0, %stop
  %code = select i1 %stopped, i32 %early, i32 %reported
  %fine = icmp eq i32 %code, 0
  br i1 %fine, label %out, label %tell
tell:
  %thread.p = getelementptr i8, ptr %context, i64 20
  %block.p = getelementptr i8, ptr %context, i64 24
  %exception = getelementptr i8, ptr %context, i64 64
  %thread = load i32, ptr %thread.p
  %block = load i64, ptr %block.p
  store i32 %thread, ptr %report
  %rb = getelementptr i8, ptr %report, i64 8
  store i64 %block, ptr %rb
  %re = getelementptr i8, ptr %report, i64 16
  call void @llvm.memcpy.p0.p0.i64(ptr %re, ptr %exception, i64 $REPORTED, i1 false)
  br label %out
out:
  ret i32 %code
}
; Make launches one after the other: plan, parameters, grid and shared memory, in 32 bytes each. The
; error code of the first one that fails, whose number is behind its report.
define i32 @gridlane_launch_all(ptr %launches, i32 %count, ptr %report) {
entry:
  br label %next
next:
  %number = phi i32 [ 0, %entry ], [ %following, %fine ]
  %wide = zext i32 %number to i64
  %offset = mul i64 %wide, 32
  %launch = getelementptr i8, ptr %launches, i64 %offset
  %params.p = getelementptr i8, ptr %launch, i64 8
  %gx.p = getelementptr i8, ptr %launch, i64 16
  %gy.p = getelementptr i8, ptr %launch, i64 20
  %gz.p = getelementptr i8, ptr %launch, i64 24
  %shared.p = getelementptr i8, ptr %launch, i64 28
  %plan = load ptr, ptr %launch
  %params = load ptr, ptr %params.p
  %gx = load i32, ptr %gx.p
  %gy = load i32, ptr %gy.p
  %gz = load i32, ptr %gz.p
  %shared = load i32, ptr %shared.p
  %code = call i32 @gridlane_launch(ptr %plan, ptr %params, i32 %gx, i32 %gy, i32 %gz, i32 %shared,
                                    ptr %report)
  %good = icmp eq i32 %code, 0
  br i1 %good, label %fine, label %bad
bad:
  %number.p = getelementptr i8, ptr %report, i64 $REPORT_BYTES
  store i64 %wide, ptr %number.p
  ret i32 %code
fine:
  %following = add i32 %number, 1
  %more = icmp ult i32 %following, %count
  br i1 %more, label %next, label %out
out:
  ret i32 0
}
"""


def text(machine: str, limit: float) -> str:
    """The pool's LLVM IR for a processor family (``x86_64``, ``aarch64``, other). ``limit``: the
    seconds that a launch may take, 0 for any time."""
    declare, pause = _PAUSE.get(machine, ("", ""))
    replaced = _TEXT.replace("$PAUSE_DECLARE", declare).replace("$PAUSE", pause)
    for name, number in (
        ("$SPINS", SPINS),
        ("$PARKED", SPINS + 1),
        ("$SMALL_WORK", SMALL_WORK),
        ("$TAKE_WORK", TAKE_WORK),
        ("$OWN_SHARES", cpu_shares.OWN_SHARES),
        ("$MOST_STACK", MOST_STACK),
        ("$CONTEXT_BYTES", abi.CONTEXT_BYTES),
        ("$FAIL", abi.FAIL_OFFSET),
        ("$FIND", abi.FIND_OFFSET),
        ("$REPORT_BYTES", 8 * abi.REPORT),
        ("$REPORTED", 24 + 8 * abi.NUMBERS),
    ):
        replaced = replaced.replace(name, str(number))
    replaced += cpu_stop.text(machine) + cpu_leaving.text(cpu_stop.SIGNAL, cpu_stop.UNBLOCK)
    replaced += cpu_faults.text(machine) + cpu_checks.text() + cpu_shares.text(POOL_BYTES)
    replaced += cpu_timeout.text(machine, cpu_stop.SIGNAL, limit)
    for name, hook in (cpu_timeout.HOOKS if limit else cpu_timeout.NO_HOOKS).items():
        replaced = replaced.replace(name, hook)
    for name, number in cpu_leaving.REASONS.items():
        replaced = replaced.replace(name, str(number))
    return replaced
