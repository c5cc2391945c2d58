"""Faults of running kernels on the CPU device: LLVM IR that is linked with the pool's.

A kernel that reads or writes memory that the process does not have raises SIGSEGV or SIGBUS in its
thread. The handler stops the launch: its context keeps the instruction and the address, and the
thread leaves the kernel by ``longjmp``, which owns nothing (see cpu_leaving.py). Only faults of a
kernel's own code are handled: the thread is in a kernel, and the instruction, or the caller of the
function that it is in, lies in that kernel's code. All others go to the handler from before, as it
would have been called, or end the process as if there were none.

Threads that have no stack for handlers get one with their record, so that a thread whose stack is
full has its fault reported by the program's own handler. A program that sets a handler of these
signals after the first launch replaces this one. Linux alone has it: elsewhere a fault ends the
process.
"""

from __future__ import annotations

import sys

_SIZE = 1 << 16
"""The bytes of a handler's stack."""

_PLACES = {
    # The program counter and the stack pointer in ucontext_t; where a callee's return address is.
    "x86_64": (168, 160, "sp"),
    "aarch64": (440, 432, "424"),
}

_TEXT = r"""
declare ptr @malloc(i64)
declare i32 @sigaltstack(ptr, ptr)

@old_segv = internal global [256 x i8] zeroinitializer, align 16
@old_bus = internal global [256 x i8] zeroinitializer, align 16

; stack_t: 0 ptr start, 8 i32 flags (2: none), 16 i64 size. A thread that has one keeps it.
define internal void @begin_fault_stack(ptr %record) {
entry:
  %old = alloca [32 x i8], align 16
  %new = alloca [32 x i8], align 16
  %own.p = getelementptr i8, ptr %record, i64 48
  %q = call i32 @sigaltstack(ptr null, ptr %old)
  %flags.p = getelementptr i8, ptr %old, i64 8
  %flags = load i32, ptr %flags.p
  %bit = and i32 %flags, 2
  %none = icmp ne i32 %bit, 0
  br i1 %none, label %known, label %out
known:
  %own = load ptr, ptr %own.p
  %has = icmp ne ptr %own, null
  br i1 %has, label %set, label %make
make:
  %made = call ptr @malloc(i64 $SIZE)
  %poor = icmp eq ptr %made, null
  br i1 %poor, label %out, label %keep
keep:
  store ptr %made, ptr %own.p
  br label %set
set:
  %stack = phi ptr [ %own, %known ], [ %made, %keep ]
  %new.flags = getelementptr i8, ptr %new, i64 8
  %new.size = getelementptr i8, ptr %new, i64 16
  store ptr %stack, ptr %new
  store i32 0, ptr %new.flags
  store i64 $SIZE, ptr %new.size
  %s = call i32 @sigaltstack(ptr %new, ptr null)
  br label %out
out:
  ret void
}

; Before another thread gets the record, and its stack.
define internal void @end_fault_stack(ptr %record) {
entry:
  %old = alloca [32 x i8], align 16
  %own.p = getelementptr i8, ptr %record, i64 48
  %own = load ptr, ptr %own.p
  %has = icmp ne ptr %own, null
  br i1 %has, label %look, label %out
look:
  %q = call i32 @sigaltstack(ptr null, ptr %old)
  %start = load ptr, ptr %old
  %ours = icmp eq ptr %start, %own
  br i1 %ours, label %end, label %out
end:
  %flags.p = getelementptr i8, ptr %old, i64 8
  store i32 2, ptr %flags.p
  %s = call i32 @sigaltstack(ptr %old, ptr null)
  br label %out
out:
  ret void
}

; sigaction: 0 ptr handler, 8 set, 136 i32 flags (4: three arguments, 1 << 27: on its stack,
; 1 << 30: the signal is not blocked, 1 << 31: once). siginfo_t: 8 i32 code, 16 ptr address.
define internal void @pass_on(i32 %number, ptr %info, ptr %ucontext) {
entry:
  %segv = icmp eq i32 %number, 11
  %old = select i1 %segv, ptr @old_segv, ptr @old_bus
  %handler = load ptr, ptr %old
  %flags.p = getelementptr i8, ptr %old, i64 136
  %flags = load i32, ptr %flags.p
  %address = ptrtoint ptr %handler to i64
  %real = icmp ugt i64 %address, 1
  br i1 %real, label %prepare, label %default
default:
  ; The instruction raises the signal again; one that was sent is sent again, after this handler.
  %r = call i32 @sigaction(i32 %number, ptr %old, ptr null)
  %code.p = getelementptr i8, ptr %info, i64 8
  %code = load i32, ptr %code.p
  %sent = icmp sle i32 %code, 0
  br i1 %sent, label %again, label %out
again:
  %self = call i64 @pthread_self()
  %k = call i32 @pthread_kill(i64 %self, i32 %number)
  br label %out
prepare:
  %once = icmp slt i32 %flags, 0
  br i1 %once, label %forget, label %mask
forget:
  store ptr null, ptr %old
  br label %mask
mask:
  %nodefer = and i32 %flags, 1073741824
  %open = icmp ne i32 %nodefer, 0
  br i1 %open, label %unblock, label %which
unblock:
  call void @unblock(i32 %number)
  br label %which
which:
  %three = and i32 %flags, 4
  %long = icmp ne i32 %three, 0
  br i1 %long, label %whole, label %short
whole:
  call void %handler(i32 %number, ptr %info, ptr %ucontext)
  br label %out
short:
  call void %handler(i32 %number)
  br label %out
out:
  ret void
}

define internal i1 @is_in_code(ptr %plan, i64 %address) {
  %start.p = getelementptr i8, ptr %plan, i64 40
  %end.p = getelementptr i8, ptr %plan, i64 48
  %start = load i64, ptr %start.p
  %end = load i64, ptr %end.p
  %offset = sub i64 %address, %start
  %size = sub i64 %end, %start
  %in = icmp ult i64 %offset, %size
  ret i1 %in
}

define internal void @on_fault(i32 %number, ptr %info, ptr %ucontext) {
entry:
  %record = call ptr @record()
  %none = icmp eq ptr %record, null
  br i1 %none, label %pass, label %known
known:
  %frame.p = getelementptr i8, ptr %record, i64 8
  %frame = load volatile ptr, ptr %frame.p
  %outside = icmp eq ptr %frame, null
  %code.p = getelementptr i8, ptr %info, i64 8
  %code = load i32, ptr %code.p
  %sent = icmp sle i32 %code, 0
  %foreign = or i1 %outside, %sent
  br i1 %foreign, label %pass, label %inside
inside:
  %plan.p = getelementptr i8, ptr %frame, i64 8
  %plan = load ptr, ptr %plan.p
  %pc.p = getelementptr i8, ptr %ucontext, i64 $PC
  %pc = load i64, ptr %pc.p
  %sp.p = getelementptr i8, ptr %ucontext, i64 $SP
  %sp = load i64, ptr %sp.p
  %address.p = getelementptr i8, ptr %info, i64 16
  %address = load i64, ptr %address.p
  %own = call i1 @is_in_code(ptr %plan, i64 %pc)
  br i1 %own, label %ours, label %callee
callee:
  ; The stack of the thread must be readable: its end is where a full one faults.
  %top = ptrtoint ptr %frame to i64
  %depth = sub i64 %top, %sp
  %deep = icmp ugt i64 %depth, 8388608
  %low = sub i64 %sp, 65536
  %near = sub i64 %address, %low
  %full = icmp ult i64 %near, 131072
  %bad = or i1 %deep, %full
  br i1 %bad, label %pass, label %look
look:
  $RETURN
  %called = call i1 @is_in_code(ptr %plan, i64 %return)
  br i1 %called, label %ours, label %pass
ours:
  %at = phi i64 [ %pc, %inside ], [ %return, %look ]
  %context = load ptr, ptr %frame
  %first = call i1 @end_launch(ptr %context, i32 $FAULTED)
  br i1 %first, label %note, label %leave
note:
  %start.p = getelementptr i8, ptr %plan, i64 40
  %start = load i64, ptr %start.p
  %offset = sub i64 %at, %start
  %place.p = getelementptr i8, ptr %context, i64 64
  %used.p = getelementptr i8, ptr %context, i64 72
  store i64 %offset, ptr %place.p
  store i64 %address, ptr %used.p
  call void @signal_if_ours(ptr %context)
  br label %leave
leave:
  call void @leave_handler(ptr %frame.p, ptr %frame, i32 %number)
  unreachable
pass:
  call void @pass_on(i32 %number, ptr %info, ptr %ucontext)
  ret void
}

; Once in a process.
define internal void @catch_faults() {
  %action = alloca [256 x i8], align 16
  call void @llvm.memset.p0.i64(ptr %action, i8 0, i64 256, i1 false)
  %flags.p = getelementptr i8, ptr %action, i64 136
  store ptr @on_fault, ptr %action
  store i32 134217732, ptr %flags.p
  %s = call i32 @sigaction(i32 11, ptr %action, ptr @old_segv)
  %b = call i32 @sigaction(i32 7, ptr %action, ptr @old_bus)
  ret void
}
"""

_NONE = """
define internal void @begin_fault_stack(ptr %record) {
  ret void
}
define internal void @end_fault_stack(ptr %record) {
  ret void
}
define internal void @catch_faults() {
  ret void
}
"""


def return_address(machine: str) -> str | None:
    """The LLVM IR that reads where a callee returns to, by %ucontext and %sp, as %return; None
    where contexts of signals are not known."""
    if machine not in _PLACES or sys.platform != "linux":
        return None
    _, _, register = _PLACES[machine]
    link = "%link.p = inttoptr i64 %sp to ptr"
    if register != "sp":
        link = f"%link.p = getelementptr i8, ptr %ucontext, i64 {register}"
    return f"{link}\n  %return = load i64, ptr %link.p"


def placed(text: str, machine: str) -> str:
    """LLVM IR with the places of the program counter and the stack pointer in %ucontext."""
    counter, pointer, _ = _PLACES.get(machine, (0, 0, ""))
    return text.replace("$PC", str(counter)).replace("$SP", str(pointer))


def text(machine: str) -> str:
    """The LLVM IR for a processor family; it relies on that of the pool and of stopping."""
    known = return_address(machine)
    if known is None:
        return _NONE
    return placed(_TEXT.replace("$RETURN", known).replace("$SIZE", str(_SIZE)), machine)
