"""Stop a running launch of the CPU device: LLVM IR that is linked with the pool's.

Kernels poll nothing. A signal of its own, SIGURG, reaches a thread in a kernel; the system and
libraries ignore it by default. Its handler may do more than other handlers, because the thread is
in a kernel's code, which holds no lock and owns nothing: it calls Python, and leaves the kernel by
``longjmp``.

Each thread that runs kernels has a record (128 bytes, reused by a later thread when it ends):

    0 i64 thread, 8 ptr frame or null, 16 ptr next record, 24 i64 launches begun, 32 i32 whether
    a stop is requested, 36 i32 whether a thread has it, 40 ptr context of its launch, 48 ptr the
    stack of its handlers of faults or null, 56 i64 beginning and 64 ptr context of a launch that
    has a time limit (see cpu_timeout.py)

A frame lies on the stack of a running launch: 0 ptr context, 8 ptr plan, 64 jmp_buf. A record has
its frame while the thread is in a kernel, and none while a kernel calls Python.

A monitor thread checks every $TICK_US microseconds whether Python's main thread is still in the
launch of the previous check. If so, the monitor signals it, and the handler runs Python's own
signal handlers (PyErr_CheckSignals), as Python does between two lines. If one raises, as that of
Ctrl-C does, the launch stops: its context records the exception, and the pool's workers in it are
signalled (see cpu_leaving.py). The monitor parks when there are no launches; a launch wakes it.

If another library has taken SIGURG since, no thread is signalled, and launches run to their end.
The same holds in a program in C, whose signals gridlane does not change (``core/embedding.py``).
"""

from __future__ import annotations

import sys

TICK_US = 60_000
"""Between two checks: a kernel stops within two of these after Ctrl-C."""

IDLE_TICKS = 20
"""Checks without a launch before the monitor parks."""

_DARWIN = sys.platform == "darwin"
SIGNAL = 16 if _DARWIN else 23
"""SIGURG."""
UNBLOCK = 2 if _DARWIN else 1
"""SIG_UNBLOCK, of pthread_sigmask."""
_NUMBERS = {
    "$TICK_US": TICK_US,
    "$IDLE_TICKS": IDLE_TICKS,
    "$SIGNAL": SIGNAL,
}

_TEXT = r"""
declare ptr @calloc(i64, i64)
declare i64 @pthread_self()
declare i32 @pthread_kill(i64, i32)
declare i32 @pthread_key_create(ptr, ptr)
declare ptr @pthread_getspecific(i64)
declare i32 @pthread_setspecific(i64, ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @sigemptyset(ptr)
declare i32 @sigaddset(ptr, i32)
declare i32 @sigaction(i32, ptr, ptr)
declare ptr @signal(i32, ptr)
declare i32 @usleep(i32)
declare i32 @_setjmp(ptr) returns_twice
declare void @longjmp(ptr, i32) noreturn

@key = internal global i64 0
@keyed = internal global i32 0
@records = internal global ptr null
@main_thread = internal global i64 0
@main_record = internal global ptr null
@old_handler = internal global ptr null
@parked = internal global i32 0
@monitor_mutex = internal global [128 x i8] zeroinitializer, align 64
@monitor_condition = internal global [128 x i8] zeroinitializer, align 64
; PyGILState_Ensure, PyGILState_Release, PyErr_CheckSignals, PyErr_Fetch, PyLong_FromLongLong,
; PyObject_CallFunctionObjArgs, Py_DecRef
@gridlane_python = global [7 x ptr] zeroinitializer, align 64

; ---- records

; A thread ends: the next may have its record.
define internal void @release_record(ptr %record) {
  call void @end_fault_stack(ptr %record)
  %taken.p = getelementptr i8, ptr %record, i64 36
  store atomic i32 0, ptr %taken.p release, align 4
  ret void
}

; The calling thread's record; made at its first launch.
define internal ptr @own_record() {
entry:
  %key = load i64, ptr @key
  %known = call ptr @pthread_getspecific(i64 %key)
  %none = icmp eq ptr %known, null
  br i1 %none, label %look, label %have
have:
  ret ptr %known
look:
  %head = load atomic ptr, ptr @records acquire, align 8
  br label %next
next:
  %record = phi ptr [ %head, %look ], [ %following, %busy ]
  %end = icmp eq ptr %record, null
  br i1 %end, label %make, label %try
try:
  %taken.p = getelementptr i8, ptr %record, i64 36
  %pair = cmpxchg ptr %taken.p, i32 0, i32 1 acq_rel monotonic
  %won = extractvalue { i32, i1 } %pair, 1
  br i1 %won, label %own, label %busy
busy:
  %next.p = getelementptr i8, ptr %record, i64 16
  %following = load ptr, ptr %next.p
  br label %next
make:
  %new = call ptr @calloc(i64 1, i64 128)
  %new.taken = getelementptr i8, ptr %new, i64 36
  store i32 1, ptr %new.taken
  %new.next = getelementptr i8, ptr %new, i64 16
  br label %push
push:
  %first = load atomic ptr, ptr @records monotonic, align 8
  store ptr %first, ptr %new.next
  %put = cmpxchg ptr @records, ptr %first, ptr %new acq_rel monotonic
  %done = extractvalue { ptr, i1 } %put, 1
  br i1 %done, label %own, label %push
own:
  %mine = phi ptr [ %record, %try ], [ %new, %push ]
  %frame.p = getelementptr i8, ptr %mine, i64 8
  %stop.p = getelementptr i8, ptr %mine, i64 32
  store ptr null, ptr %frame.p
  store i32 0, ptr %stop.p
  %self = call i64 @pthread_self()
  store atomic i64 %self, ptr %mine monotonic, align 8
  %s = call i32 @pthread_setspecific(i64 %key, ptr %mine)
  call void @unblock(i32 $SIGNAL)
  call void @begin_fault_stack(ptr %mine)
  %main = load i64, ptr @main_thread
  %is.main = icmp eq i64 %self, %main
  br i1 %is.main, label %note, label %out
note:
  store atomic ptr %mine, ptr @main_record release, align 8
  br label %out
out:
  ret ptr %mine
}

; Run blocks: all of a grid, or those that a thread of a job takes.
$MODES
define internal void @run_blocks(ptr %plan, ptr %params, ptr %context, ptr %pool, i64 %total,
                                 i1 %alone, ptr %record, i64 %slot, ptr %arena) {
entry:
  %frame = alloca [1024 x i8], align 64
  %mode = alloca i32
  $KEEP_MODE
  %frame.p = getelementptr i8, ptr %record, i64 8
  %context.p = getelementptr i8, ptr %record, i64 40
  %outer = load ptr, ptr %context.p
  %unit.p = getelementptr i8, ptr %pool, i64 120
  %stop.p = getelementptr i8, ptr %context, i64 40
  %entry.p = load ptr, ptr %plan
  store ptr %context, ptr %frame
  %frame.plan = getelementptr i8, ptr %frame, i64 8
  store ptr %plan, ptr %frame.plan
  %buffer = getelementptr i8, ptr %frame, i64 64
  %left = call i32 @_setjmp(ptr %buffer) returns_twice
  %back = icmp ne i32 %left, 0
  br i1 %back, label %stop.it, label %begin
stop.it:
  $RESTORE_MODE
  br label %done
begin:
  store atomic ptr %context, ptr %context.p release, align 8
  store atomic ptr %frame, ptr %frame.p seq_cst, align 8
  %stop = load atomic i32, ptr %stop.p acquire, align 4
  %stopped = icmp ne i32 %stop, 0
  br i1 %stopped, label %done, label %which
which:
  br i1 %alone, label %all, label %again
all:
  call void %entry.p(ptr %params, ptr %context, i64 0, i64 %total, ptr %arena)
  br label %done
again:
  %now = load atomic i32, ptr %stop.p monotonic, align 4
  %over = icmp ne i32 %now, 0
  br i1 %over, label %done, label %share.it
share.it:
  %taken = call i64 @take_any(ptr %pool, i64 %slot)
  %some = icmp ne i64 %taken, 0
  br i1 %some, label %work, label %done
work:
  %unit = load i64, ptr %unit.p
  %first.unit = lshr i64 %taken, 32
  %units = and i64 %taken, 4294967295
  %first = mul i64 %first.unit, %unit
  %size = mul i64 %units, %unit
  %end = add i64 %first, %size
  %last = call i64 @llvm.umin.i64(i64 %end, i64 %total)
  call void %entry.p(ptr %params, ptr %context, i64 %first, i64 %last, ptr %arena)
  br label %again
done:
  store atomic ptr null, ptr %frame.p release, align 8
  store atomic ptr %outer, ptr %context.p release, align 8
  ret void
}

; A launch begins on this thread. The monitor counts on it, if the thread is Python's main one.
define internal void @count_launch(ptr %record) {
entry:
  %count.p = getelementptr i8, ptr %record, i64 24
  %main = load ptr, ptr @main_record
  %is.main = icmp eq ptr %record, %main
  br i1 %is.main, label %count, label %out
count:
  %c = atomicrmw add ptr %count.p, i64 1 seq_cst
  %p = load atomic i32, ptr @parked seq_cst, align 4
  %asleep = icmp ne i32 %p, 0
  br i1 %asleep, label %wake, label %out
wake:
  %l = call i32 @pthread_mutex_lock(ptr @monitor_mutex)
  store atomic i32 0, ptr @parked seq_cst, align 4
  %s = call i32 @pthread_cond_signal(ptr @monitor_condition)
  %u = call i32 @pthread_mutex_unlock(ptr @monitor_mutex)
  br label %out
out:
  ret void
}

; ---- stopping

; The launch is to end, for the exception that Python has set on this thread, if any.
define internal void @take_exception(ptr %context) {
entry:
  %type = getelementptr i8, ptr %context, i64 64
  %value = getelementptr i8, ptr %context, i64 72
  %trace = getelementptr i8, ptr %context, i64 80
  %fetch.p = getelementptr [7 x ptr], ptr @gridlane_python, i64 0, i64 3
  %fetch = load ptr, ptr %fetch.p
  %first = call i1 @end_launch(ptr %context, i32 $STOPPED)
  br i1 %first, label %keep, label %drop
keep:
  call void %fetch(ptr %type, ptr %value, ptr %trace)
  br label %out
drop:
  %spare = alloca [3 x ptr], align 8
  %v = getelementptr i8, ptr %spare, i64 8
  %t = getelementptr i8, ptr %spare, i64 16
  call void %fetch(ptr %spare, ptr %v, ptr %t)
  br label %out
out:
  ret void
}

; Let Python's handlers of signals run; whether one raised.
define internal i1 @check_signals(ptr %context) {
entry:
  %ensure = load ptr, ptr @gridlane_python
  %release.p = getelementptr [7 x ptr], ptr @gridlane_python, i64 0, i64 1
  %release = load ptr, ptr %release.p
  %check.p = getelementptr [7 x ptr], ptr @gridlane_python, i64 0, i64 2
  %check = load ptr, ptr %check.p
  %state = call i32 %ensure()
  %raised = call i32 %check()
  %bad = icmp ne i32 %raised, 0
  br i1 %bad, label %take, label %out
take:
  call void @take_exception(ptr %context)
  br label %out
out:
  call void %release(i32 %state)
  ret i1 %bad
}

define internal void @on_signal(i32 %number, ptr %info, ptr %ucontext) {
entry:
  %record = call ptr @record()
  %none = icmp eq ptr %record, null
  br i1 %none, label %chain, label %known
known:
  %frame.p = getelementptr i8, ptr %record, i64 8
  %frame = load volatile ptr, ptr %frame.p
  %outside = icmp eq ptr %frame, null
  br i1 %outside, label %chain, label %inside
inside:
  %context = load ptr, ptr %frame
  %stop.p = getelementptr i8, ptr %context, i64 40
  %asked.p = getelementptr i8, ptr %record, i64 32
  %stop = load atomic i32, ptr %stop.p acquire, align 4
  %stopped = icmp ne i32 %stop, 0
  br i1 %stopped, label %leave, label %request
request:
  %asked = load atomic i32, ptr %asked.p acquire, align 4
  %ask = icmp ne i32 %asked, 0
  br i1 %ask, label %end, label %python
python:
  %main = load ptr, ptr @main_record
  %is.main = icmp eq ptr %record, %main
  br i1 %is.main, label %check, label %out
check:
  store volatile ptr null, ptr %frame.p
  call void @unblock(i32 $SIGNAL)
  %bad = call i1 @check_signals(ptr %context)
  store volatile ptr %frame, ptr %frame.p
  %now = load atomic i32, ptr %stop.p acquire, align 4
  %over = icmp ne i32 %now, 0
  br i1 %over, label %tell, label %out
end:
  store atomic i32 $STOPPED, ptr %stop.p release, align 4
  br label %tell
tell:
  call void @signal_all(ptr %context)
  br label %leave
leave:
  call void @note_place(ptr %frame, ptr %ucontext)
  call void @leave_handler(ptr %frame.p, ptr %frame, i32 %number)
  unreachable
chain:
  %old = load ptr, ptr @old_handler
  %address = ptrtoint ptr %old to i64
  %real = icmp ugt i64 %address, 1
  br i1 %real, label %pass, label %out
pass:
  call void %old(i32 %number, ptr %info, ptr %ucontext)
  br label %out
out:
  ret void
}

; Ask the launch of a thread to stop; take the wish back with 0. The thread must be alive.
define void @gridlane_stop(i64 %thread, i32 %wish) {
entry:
  %head = load atomic ptr, ptr @records acquire, align 8
  br label %next
next:
  %record = phi ptr [ %head, %entry ], [ %following, %skip ]
  %end = icmp eq ptr %record, null
  br i1 %end, label %out, label %look
look:
  %owner = load atomic i64, ptr %record monotonic, align 8
  %taken.p = getelementptr i8, ptr %record, i64 36
  %taken = load atomic i32, ptr %taken.p acquire, align 4
  %same = icmp eq i64 %owner, %thread
  %held = icmp ne i32 %taken, 0
  %it = and i1 %same, %held
  br i1 %it, label %found, label %skip
skip:
  %next.p = getelementptr i8, ptr %record, i64 16
  %following = load ptr, ptr %next.p
  br label %next
found:
  %asked.p = getelementptr i8, ptr %record, i64 32
  store atomic i32 %wish, ptr %asked.p release, align 4
  %wanted = icmp ne i32 %wish, 0
  br i1 %wanted, label %kill, label %out
kill:
  %k = call i32 @pthread_kill(i64 %thread, i32 $SIGNAL)
  br label %out
out:
  ret void
}

; ---- print: Python is called outside of the frame, and an exception of it stops the launch.

define internal void @print(i32 %site, ptr %cells) {
entry:
  %record = call ptr @record()
  %frame.p = getelementptr i8, ptr %record, i64 8
  %frame = load ptr, ptr %frame.p
  %context = load ptr, ptr %frame
  %function.p = getelementptr i8, ptr %context, i64 48
  %function = load ptr, ptr %function.p
  store volatile ptr null, ptr %frame.p
  %release.p = getelementptr [7 x ptr], ptr @gridlane_python, i64 0, i64 1
  %number.p = getelementptr [7 x ptr], ptr @gridlane_python, i64 0, i64 4
  %call.p = getelementptr [7 x ptr], ptr @gridlane_python, i64 0, i64 5
  %drop.p = getelementptr [7 x ptr], ptr @gridlane_python, i64 0, i64 6
  %ensure = load ptr, ptr @gridlane_python
  %release = load ptr, ptr %release.p
  %number = load ptr, ptr %number.p
  %call = load ptr, ptr %call.p
  %drop = load ptr, ptr %drop.p
  %state = call i32 %ensure()
  %site64 = sext i32 %site to i64
  %address = ptrtoint ptr %cells to i64
  %a = call ptr %number(i64 %site64)
  %b = call ptr %number(i64 %address)
  %result = call ptr (ptr, ...) %call(ptr %function, ptr %a, ptr %b, ptr null)
  call void %drop(ptr %a)
  call void %drop(ptr %b)
  call void %drop(ptr %result)
  %raised = icmp eq ptr %result, null
  br i1 %raised, label %take, label %done
take:
  call void @take_exception(ptr %context)
  br label %done
done:
  call void %release(i32 %state)
  store volatile ptr %frame, ptr %frame.p
  %stop.p = getelementptr i8, ptr %context, i64 40
  %stop = load atomic i32, ptr %stop.p acquire, align 4
  %stopped = icmp ne i32 %stop, 0
  br i1 %stopped, label %leave, label %out
leave:
  call void @signal_all(ptr %context)
  call void @leave(ptr %frame.p, ptr %frame)
  unreachable
out:
  ret void
}

; ---- the monitor

define internal i1 @handler_is_ours() {
  %action = alloca [256 x i8], align 16
  %a = call i32 @sigaction(i32 $SIGNAL, ptr null, ptr %action)
  %handler = load ptr, ptr %action
  %ours = icmp eq ptr %handler, @on_signal
  ret i1 %ours
}

define internal ptr @monitor(ptr %unused) {
entry:
  br label %tick
tick:
  %seen = phi i64 [ 0, %entry ], [ %count, %busy ], [ %count, %quiet ], [ %seen, %early ],
                  [ %count, %awake ]
  %idle = phi i32 [ 0, %entry ], [ 0, %busy ], [ %idle1, %quiet ], [ 0, %early ], [ 0, %awake ]
  %s = call i32 @usleep(i32 $TICK_US)
  %record = load atomic ptr, ptr @main_record acquire, align 8
  %none = icmp eq ptr %record, null
  br i1 %none, label %early, label %look
early:
  br label %tick
look:
  %count.p = getelementptr i8, ptr %record, i64 24
  %frame.p = getelementptr i8, ptr %record, i64 8
  %count = load atomic i64, ptr %count.p seq_cst, align 8
  %frame = load atomic ptr, ptr %frame.p seq_cst, align 8
  %same = icmp eq i64 %count, %seen
  %running = icmp ne ptr %frame, null
  %long = and i1 %same, %running
  br i1 %long, label %ours, label %rest
ours:
  %may = call i1 @handler_is_ours()
  br i1 %may, label %kill, label %busy
kill:
  %thread = load atomic i64, ptr %record monotonic, align 8
  %k = call i32 @pthread_kill(i64 %thread, i32 $SIGNAL)
  br label %busy
busy:
  br label %tick
rest:
  %free = xor i1 %running, true
  %nothing = and i1 %same, %free
  %more = add i32 %idle, 1
  %idle1 = select i1 %nothing, i32 %more, i32 0
  %tired = icmp ugt i32 %idle1, $IDLE_TICKS
  br i1 %tired, label %park, label %quiet
quiet:
  br label %tick
park:
  %l = call i32 @pthread_mutex_lock(ptr @monitor_mutex)
  store atomic i32 1, ptr @parked seq_cst, align 4
  br label %check
check:
  %now = load atomic i64, ptr %count.p seq_cst, align 8
  %p = load atomic i32, ptr @parked seq_cst, align 4
  %unchanged = icmp eq i64 %now, %count
  %still = icmp ne i32 %p, 0
  %stay = and i1 %unchanged, %still
  br i1 %stay, label %sleep, label %awake
sleep:
  %w = call i32 @pthread_cond_wait(ptr @monitor_condition, ptr @monitor_mutex)
  br label %check
awake:
  store atomic i32 0, ptr @parked seq_cst, align 4
  %u = call i32 @pthread_mutex_unlock(ptr @monitor_mutex)
  br label %tick
}

; Make the process ready: once, and again in the child of a fork, whose only thread calls this.
; A main thread of 0 is that of a program whose signals are its own.
define internal void @start_stopping(i64 %main) {
entry:
  %signals = icmp ne i64 %main, 0
  %thread = alloca ptr
  store i64 %main, ptr @main_thread
  store i32 0, ptr @parked
  %m = call i32 @pthread_mutex_init(ptr @monitor_mutex, ptr null)
  %c = call i32 @pthread_cond_init(ptr @monitor_condition, ptr null)
  %keyed = load i32, ptr @keyed
  %again = icmp ne i32 %keyed, 0
  br i1 %again, label %child, label %first
first:
  store i32 1, ptr @keyed
  %k = call i32 @pthread_key_create(ptr @key, ptr @release_record)
  call void @catch_faults()
  br i1 $TAKES_SIGNAL, label %take, label %out
take:
  %old = call ptr @take_signal()
  store ptr %old, ptr @old_handler
  $START_WATCH
  br i1 %signals, label %begin, label %out
child:
  ; The records of threads that are gone are left alone: the caller's own alone is used.
  store ptr null, ptr @records
  store ptr null, ptr @main_record
  %key = load i64, ptr @key
  %s = call i32 @pthread_setspecific(i64 %key, ptr null)
  $START_WATCH
  br i1 %signals, label %begin, label %out
begin:
  %failed = call i32 @pthread_create(ptr %thread, ptr null, ptr @monitor, ptr null)
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


_MODES = (
    "declare void @llvm.x86.sse.stmxcsr(ptr)\ndeclare void @llvm.x86.sse.ldmxcsr(ptr)",
    "call void @llvm.x86.sse.stmxcsr(ptr %mode)",
    "call void @llvm.x86.sse.ldmxcsr(ptr %mode)",
)
"""A kernel may run in a mode of floating-point arithmetic, which ``longjmp`` leaves on x86-64."""


def text(machine: str) -> str:
    """The LLVM IR for a processor family; it relies on the pool's declarations."""
    modes = _MODES if machine in ("x86_64", "AMD64") else ("", "", "")
    replaced = _TEXT
    names = {**_NUMBERS, **dict(zip(("$MODES", "$KEEP_MODE", "$RESTORE_MODE"), modes, strict=True))}
    for name, number in names.items():
        replaced = replaced.replace(name, str(number))
    return replaced
