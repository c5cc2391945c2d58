"""Checks of running kernels on the CPU device: LLVM IR that is linked with the pool's.

A check that fails reports its error and ends the launch: the first thread that fails writes the
report and stops the others; see cpu_leaving.py. The range of an address is looked up in a table of
the allocations: an i64, their number, then the start and the size of each, by address. Python
builds it at a launch's first lookup, and again for an address that it lacks.
"""

from __future__ import annotations

from gridlane.core import cpu_abi as abi

_TEXT = r"""
define internal void @fail(ptr %context, i32 %code, i32 %thread, i64 %block, ptr %numbers) {
entry:
  %record = call ptr @record()
  %frame.p = getelementptr i8, ptr %record, i64 8
  %frame = load ptr, ptr %frame.p
  %error.p = getelementptr i8, ptr %context, i64 $ERROR
  %pair = cmpxchg ptr %error.p, i32 0, i32 %code acq_rel monotonic
  %first = extractvalue { i32, i1 } %pair, 1
  br i1 %first, label %note, label %leave
note:
  %thread.p = getelementptr i8, ptr %context, i64 $THREAD
  %block.p = getelementptr i8, ptr %context, i64 $BLOCK
  %numbers.p = getelementptr i8, ptr %context, i64 $NUMBERS
  store i32 %thread, ptr %thread.p
  store i64 %block, ptr %block.p
  call void @llvm.memcpy.p0.p0.i64(ptr %numbers.p, ptr %numbers, i64 $SIZE, i1 false)
  %ends = call i1 @end_launch(ptr %context, i32 $FAILED)
  call void @signal_if_ours(ptr %context)
  br label %leave
leave:
  call void @leave(ptr %frame.p, ptr %frame)
  unreachable
}

define internal i1 @search(ptr %table, i64 %address, i64 %bytes, ptr %range) {
entry:
  %count = load i64, ptr %table
  %ranges = getelementptr i64, ptr %table, i64 1
  br label %loop
loop:
  ; The last range that starts at the address or before it is in front of high.
  %low = phi i64 [ 0, %entry ], [ %low1, %step ]
  %high = phi i64 [ %count, %entry ], [ %high1, %step ]
  %more = icmp ult i64 %low, %high
  br i1 %more, label %step, label %look
step:
  %sum = add i64 %low, %high
  %middle = lshr i64 %sum, 1
  %middle.p = getelementptr [2 x i64], ptr %ranges, i64 %middle
  %middle.start = load i64, ptr %middle.p
  %before = icmp ule i64 %middle.start, %address
  %after = add i64 %middle, 1
  %low1 = select i1 %before, i64 %after, i64 %low
  %high1 = select i1 %before, i64 %high, i64 %middle
  br label %loop
look:
  %none = icmp eq i64 %low, 0
  br i1 %none, label %missing, label %compare
compare:
  %last = sub i64 %low, 1
  %start.p = getelementptr [2 x i64], ptr %ranges, i64 %last
  %size.p = getelementptr i64, ptr %start.p, i64 1
  %start = load i64, ptr %start.p
  %size = load i64, ptr %size.p
  %offset = sub i64 %address, %start
  %fits = icmp uge i64 %size, %bytes
  %room = sub i64 %size, %bytes
  %near = icmp ule i64 %offset, %room
  %in = and i1 %fits, %near
  br i1 %in, label %found, label %missing
found:
  %range.size = getelementptr i64, ptr %range, i64 1
  store i64 %start, ptr %range
  store i64 %size, ptr %range.size
  ret i1 true
missing:
  ret i1 false
}

define internal i1 @find(ptr %context, i64 %address, i64 %bytes, ptr %range) {
entry:
  %cells = alloca [3 x i64], align 16
  %table.p = getelementptr i8, ptr %context, i64 $ALLOCATIONS
  %table = load atomic ptr, ptr %table.p acquire, align 8
  %have = icmp ne ptr %table, null
  br i1 %have, label %look, label %ask
look:
  %found = call i1 @search(ptr %table, i64 %address, i64 %bytes, ptr %range)
  br i1 %found, label %yes, label %ask
ask:
  %null = icmp ult i64 %address, 4096
  %useless = and i1 %null, %have
  br i1 %useless, label %no, label %python
python:
  %number = ptrtoint ptr %context to i64
  %address.p = getelementptr i64, ptr %cells, i64 1
  %bytes.p = getelementptr i64, ptr %cells, i64 2
  store i64 %number, ptr %cells
  store i64 %address, ptr %address.p
  store i64 %bytes, ptr %bytes.p
  call void @print(i32 $ASK, ptr %cells)
  %newer = load atomic ptr, ptr %table.p acquire, align 8
  %made = icmp ne ptr %newer, null
  br i1 %made, label %again, label %no
again:
  %known = call i1 @search(ptr %newer, i64 %address, i64 %bytes, ptr %range)
  ret i1 %known
yes:
  ret i1 true
no:
  ret i1 false
}
"""

_NUMBERS = {
    "$ERROR": abi.ERROR_OFFSET,
    "$THREAD": abi.ERROR_THREAD_OFFSET,
    "$BLOCK": abi.ERROR_BLOCK_OFFSET,
    "$NUMBERS": abi.NUMBERS_OFFSET,
    "$SIZE": 8 * abi.NUMBERS,
    "$ALLOCATIONS": abi.ALLOCATIONS_OFFSET,
    "$ASK": abi.ASK,
}


def text() -> str:
    """The LLVM IR; it relies on that of the pool and of leaving."""
    llvm_text = _TEXT
    for name, number in _NUMBERS.items():
        llvm_text = llvm_text.replace(name, str(number))
    return llvm_text
