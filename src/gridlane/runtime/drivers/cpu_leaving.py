"""How threads leave a launch of the CPU device: LLVM IR that is linked with the pool's.

A context holds the first reason for the end of its launch, and 0 until then. The thread that writes
the reason signals the other threads of the launch, and all leave the kernel by ``longjmp`` to their
frames; see cpu_stop.py.
"""

from __future__ import annotations

from gridlane.core import cpu_abi as abi

REASONS = {
    "$STOPPED": -abi.STOPPED,
    "$NO_MEMORY": -abi.NO_MEMORY,
    "$FAULTED": -abi.FAULTED,
    "$TIMED_OUT": -abi.TIMED_OUT,
    "$FAILED": 5,
}
"""Why a launch ends, by the names in the texts of all modules; see core/cpu_abi.py."""

_TEXT = r"""
; The calling thread's record; null if it has none.
define internal ptr @record() {
  %key = load i64, ptr @key
  %record = call ptr @pthread_getspecific(i64 %key)
  ret ptr %record
}

; Write why a launch ends; whether no other reason was there.
define internal i1 @end_launch(ptr %context, i32 %reason) {
  %stop.p = getelementptr i8, ptr %context, i64 40
  %pair = cmpxchg ptr %stop.p, i32 0, i32 %reason acq_rel monotonic
  %first = extractvalue { i32, i1 } %pair, 1
  ret i1 %first
}

; Signal every other thread that is in this launch.
define internal void @signal_all(ptr %context) {
entry:
  %head = load atomic ptr, ptr @records acquire, align 8
  %self = call i64 @pthread_self()
  br label %next
next:
  %record = phi ptr [ %head, %entry ], [ %following, %skip ]
  %end = icmp eq ptr %record, null
  br i1 %end, label %out, label %look
look:
  %at.p = getelementptr i8, ptr %record, i64 40
  %at = load atomic ptr, ptr %at.p acquire, align 8
  %thread = load atomic i64, ptr %record monotonic, align 8
  %here = icmp eq ptr %at, %context
  %other = icmp ne i64 %thread, %self
  %wanted = and i1 %here, %other
  br i1 %wanted, label %kill, label %skip
kill:
  %k = call i32 @pthread_kill(i64 %thread, i32 $SIGNAL)
  br label %skip
skip:
  %next.p = getelementptr i8, ptr %record, i64 16
  %following = load ptr, ptr %next.p
  br label %next
out:
  ret void
}

; The same, but in a program whose signals are its own.
define internal void @signal_if_ours(ptr %context) {
entry:
  %main = load i64, ptr @main_thread
  %signals = icmp ne i64 %main, 0
  br i1 %signals, label %tell, label %out
tell:
  call void @signal_all(ptr %context)
  br label %out
out:
  ret void
}

; Leave the kernel of a frame.
define internal void @leave(ptr %frame.p, ptr %frame) noreturn {
  store volatile ptr null, ptr %frame.p
  %buffer = getelementptr i8, ptr %frame, i64 64
  call void @longjmp(ptr %buffer, i32 1)
  unreachable
}

; The same, in the handler of a signal.
define internal void @leave_handler(ptr %frame.p, ptr %frame, i32 %number) noreturn {
  store volatile ptr null, ptr %frame.p
  call void @unblock(i32 %number)
  call void @leave(ptr %frame.p, ptr %frame)
  unreachable
}

define internal void @unblock(i32 %number) {
  %set = alloca [256 x i8], align 16
  %e = call i32 @sigemptyset(ptr %set)
  %a = call i32 @sigaddset(ptr %set, i32 %number)
  %m = call i32 @pthread_sigmask(i32 $UNBLOCK, ptr %set, ptr null)
  ret void
}
"""


def text(signal: int, unblock: int) -> str:
    """The LLVM IR.

    Args:
        signal: reaches a thread in a kernel.
        unblock: the system's number for it, of pthread_sigmask.
    """
    return _TEXT.replace("$SIGNAL", str(signal)).replace("$UNBLOCK", str(unblock))
