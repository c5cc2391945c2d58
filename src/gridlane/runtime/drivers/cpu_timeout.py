"""The time limit of launches on the CPU device: LLVM IR that is linked with the pool's.

It exists if GRIDLANE_TIMEOUT sets a limit. A launch writes its beginning and its context into its
thread's record (see cpu_stop.py). A thread of its own checks the records: it stops a launch that
has lasted longer as Ctrl-C does, and signals all threads that are in it. The first of these that is
in the kernel's code writes the place of its instruction into the context.

A beginning is 0 where no launch is timed, and -1 while the checking thread stops the launch, for
whose end the launch waits: its context ends with it. Kernels of programs in C are stopped as well,
so the signal's handler is installed in these too.
"""

from __future__ import annotations

import sys

from gridlane.runtime.drivers import cpu_faults

LONGEST_TICK_US = 50_000
SHORTEST_TICK_US = 1_000
_SHARE = 8
"""Checks in the time of the limit."""
_DARWIN = sys.platform == "darwin"

_TEXT = r"""
declare i32 @clock_gettime(i32, ptr)

define internal i64 @now() {
  %time = alloca [16 x i8], align 8
  %c = call i32 @clock_gettime(i32 $CLOCK, ptr %time)
  %nanoseconds.p = getelementptr i8, ptr %time, i64 8
  %seconds = load i64, ptr %time
  %nanoseconds = load i64, ptr %nanoseconds.p
  %whole = mul i64 %seconds, 1000000000
  %sum = add i64 %whole, %nanoseconds
  ret i64 %sum
}

; End the timing of a record; its beginning.
define internal i64 @hold(ptr %record) {
entry:
  %start.p = getelementptr i8, ptr %record, i64 56
  br label %take
take:
  %start = load atomic i64, ptr %start.p acquire, align 8
  %claimed = icmp eq i64 %start, -1
  br i1 %claimed, label %wait, label %try
wait:
  %y = call i32 @sched_yield()
  br label %take
try:
  %pair = cmpxchg ptr %start.p, i64 %start, i64 0 acq_rel acquire
  %won = extractvalue { i64, i1 } %pair, 1
  br i1 %won, label %out, label %take
out:
  ret i64 %start
}

; A launch begins; one that it is in, whose kernel called Python, is kept.
define internal void @begin_timed(ptr %record, ptr %context, ptr %kept) {
  %start.p = getelementptr i8, ptr %record, i64 56
  %context.p = getelementptr i8, ptr %record, i64 64
  %kept.p = getelementptr i8, ptr %kept, i64 8
  %outer = call i64 @hold(ptr %record)
  %before = load ptr, ptr %context.p
  store i64 %outer, ptr %kept
  store ptr %before, ptr %kept.p
  store ptr %context, ptr %context.p
  %now = call i64 @now()
  store atomic i64 %now, ptr %start.p release, align 8
  ret void
}

define internal void @end_timed(ptr %record, ptr %kept) {
  %start.p = getelementptr i8, ptr %record, i64 56
  %context.p = getelementptr i8, ptr %record, i64 64
  %kept.p = getelementptr i8, ptr %kept, i64 8
  %own = call i64 @hold(ptr %record)
  %outer = load i64, ptr %kept
  %before = load ptr, ptr %kept.p
  store ptr %before, ptr %context.p
  store atomic i64 %outer, ptr %start.p release, align 8
  ret void
}

define internal ptr @watch(ptr %unused) {
entry:
  br label %tick
tick:
  %s = call i32 @usleep(i32 $WATCH_US)
  %may = call i1 @handler_is_ours()
  br i1 %may, label %begin, label %tick
begin:
  %now = call i64 @now()
  %head = load atomic ptr, ptr @records acquire, align 8
  br label %next
next:
  %record = phi ptr [ %head, %begin ], [ %following, %skip ]
  %end = icmp eq ptr %record, null
  br i1 %end, label %tick, label %look
look:
  %start.p = getelementptr i8, ptr %record, i64 56
  %start = load atomic i64, ptr %start.p acquire, align 8
  %idle = icmp sle i64 %start, 0
  br i1 %idle, label %skip, label %measure
measure:
  %age = sub i64 %now, %start
  %late = icmp sgt i64 %age, $LIMIT_NS
  br i1 %late, label %claim, label %skip
claim:
  %pair = cmpxchg ptr %start.p, i64 %start, i64 -1 acq_rel monotonic
  %won = extractvalue { i64, i1 } %pair, 1
  br i1 %won, label %stop, label %skip
stop:
  %context.p = getelementptr i8, ptr %record, i64 64
  %context = load ptr, ptr %context.p
  %ends = call i1 @end_launch(ptr %context, i32 $TIMED_OUT)
  call void @signal_all(ptr %context)
  store atomic i64 0, ptr %start.p release, align 8
  br label %skip
skip:
  %next.p = getelementptr i8, ptr %record, i64 16
  %following = load ptr, ptr %next.p
  br label %next
}

define internal void @start_watch() {
entry:
  %thread = alloca ptr
  %failed = call i32 @pthread_create(ptr %thread, ptr null, ptr @watch, ptr null)
  %ok = icmp eq i32 %failed, 0
  br i1 %ok, label %detach, label %out
detach:
  %t = load ptr, ptr %thread
  %d = call i32 @pthread_detach(ptr %t)
  br label %out
out:
  ret void
}
"""

# Where a signal tells the instruction that it interrupted.
_PLACES = r"""
; 4: the handler takes three arguments, 1 << 28: calls of the system go on.
define internal ptr @take_signal() {
  %action = alloca [256 x i8], align 16
  %old = alloca [256 x i8], align 16
  call void @llvm.memset.p0.i64(ptr %action, i8 0, i64 256, i1 false)
  %flags.p = getelementptr i8, ptr %action, i64 136
  store ptr @on_signal, ptr %action
  store i32 268435460, ptr %flags.p
  %s = call i32 @sigaction(i32 $SIGNAL, ptr %action, ptr %old)
  %handler = load ptr, ptr %old
  ret ptr %handler
}

; Write where a thread leaves a launch whose time is over, if it is the first that knows.
define internal void @note_place(ptr %frame, ptr %ucontext) {
entry:
  %context = load ptr, ptr %frame
  %stop.p = getelementptr i8, ptr %context, i64 40
  %stop = load atomic i32, ptr %stop.p acquire, align 4
  %timed = icmp eq i32 %stop, $TIMED_OUT
  br i1 %timed, label %look, label %out
look:
  %plan.p = getelementptr i8, ptr %frame, i64 8
  %plan = load ptr, ptr %plan.p
  %pc.p = getelementptr i8, ptr %ucontext, i64 $PC
  %pc = load i64, ptr %pc.p
  %sp.p = getelementptr i8, ptr %ucontext, i64 $SP
  %sp = load i64, ptr %sp.p
  %own = call i1 @is_in_code(ptr %plan, i64 %pc)
  br i1 %own, label %note, label %callee
callee:
  $RETURN
  %called = call i1 @is_in_code(ptr %plan, i64 %return)
  br i1 %called, label %note, label %scan
scan:
  ; Some function below the kernel's: its caller is the first address of the code on the stack.
  %top = ptrtoint ptr %frame to i64
  br label %next
next:
  %word = phi i64 [ %sp, %scan ], [ %above, %more ]
  %above = add i64 %word, 8
  %done = icmp uge i64 %above, %top
  br i1 %done, label %out, label %more
more:
  %word.p = inttoptr i64 %word to ptr
  %value = load i64, ptr %word.p
  %found = call i1 @is_in_code(ptr %plan, i64 %value)
  br i1 %found, label %note, label %next
note:
  %at = phi i64 [ %pc, %look ], [ %return, %callee ], [ %value, %more ]
  %start.p = getelementptr i8, ptr %plan, i64 40
  %start = load i64, ptr %start.p
  %offset = sub i64 %at, %start
  %one.more = add i64 %offset, 1
  %place.p = getelementptr i8, ptr %context, i64 64
  %first = cmpxchg ptr %place.p, i64 0, i64 %one.more acq_rel monotonic
  br label %out
out:
  ret void
}
"""

_NO_PLACES = r"""
define internal ptr @take_signal() {
  %old = call ptr @signal(i32 $SIGNAL, ptr @on_signal)
  ret ptr %old
}

define internal void @note_place(ptr %frame, ptr %ucontext) {
  ret void
}
"""

HOOKS = {
    "$TAKES_SIGNAL": "true",
    "$START_WATCH": "call void @start_watch()",
    "$KEEP_TIMED": "%kept = alloca [16 x i8], align 8",
    "$BEGIN_TIMED": "call void @begin_timed(ptr %record, ptr %context, ptr %kept)",
    "$END_TIMED": "call void @end_timed(ptr %record, ptr %kept)",
}
"""What the pool and stopping do where there is a limit."""
NO_HOOKS = dict.fromkeys(HOOKS, "") | {"$TAKES_SIGNAL": "%signals"}


def text(machine: str, signal: int, limit: float) -> str:
    """The LLVM IR for a processor family; it relies on that of the pool, of stopping and of faults.

    Args:
        signal: the number by which threads are stopped.
        limit: the seconds of a launch; 0 for any time, where only the signal is taken.
    """
    tick = round(limit * 1e6 / _SHARE)
    tick = min(max(tick, SHORTEST_TICK_US), LONGEST_TICK_US)
    known = cpu_faults.return_address(machine)
    llvm_text = _NO_PLACES if known is None else _PLACES.replace("$RETURN", known)
    llvm_text += _TEXT if limit else ""
    for name, number in (
        ("$CLOCK", 6 if _DARWIN else 1),
        ("$WATCH_US", tick),
        ("$LIMIT_NS", round(limit * 1e9)),
        ("$SIGNAL", signal),
    ):
        llvm_text = llvm_text.replace(name, str(number))
    return cpu_faults.placed(llvm_text, machine)
