"""Which thread of the CPU device runs which blocks: LLVM IR that is linked with the pool's.

Each thread of a job has a range of the grid's units, the one that it had in other launches of as
many: its cache has the memory of these blocks then. It takes units from the front of its own range;
where that is empty, from the back of others', so that a thread that comes late holds up none. A
unit is one block, or several in a grid of more than 2 to the 31 blocks.

A range (64 bytes, one for each thread) is one word: bits 0 to 31 the next unit, bits 32 up the unit
beyond the last one.
"""

from __future__ import annotations

RANGE_BYTES = 64

OWN_SHARES, OTHERS_SHARES = 8, 2
"""The parts of what is left in a range, of which a thread takes one: the range's owner, and one
that has no units left."""

_TEXT = r"""
; Take units from a range, from its back or its front: the first one in bits 32 up, and how many.
define internal i64 @take(ptr %range, i64 %least, i64 %shares, i1 %back) {
entry:
  %known = load atomic i64, ptr %range monotonic, align 8
  br label %try
try:
  %word = phi i64 [ %known, %entry ], [ %seen, %change ]
  %next = and i64 %word, 4294967295
  %end = lshr i64 %word, 32
  %some = icmp ult i64 %next, %end
  br i1 %some, label %change, label %none
none:
  ret i64 0
change:
  %rest = sub i64 %end, %next
  %share = udiv i64 %rest, %shares
  %wanted = call i64 @llvm.umax.i64(i64 %share, i64 %least)
  %count = call i64 @llvm.umin.i64(i64 %wanted, i64 %rest)
  %high = shl i64 %count, 32
  %without.front = add i64 %word, %count
  %without.back = sub i64 %word, %high
  %new = select i1 %back, i64 %without.back, i64 %without.front
  %pair = cmpxchg ptr %range, i64 %word, i64 %new monotonic monotonic
  %seen = extractvalue { i64, i1 } %pair, 0
  %won = extractvalue { i64, i1 } %pair, 1
  br i1 %won, label %done, label %try
done:
  %last = sub i64 %end, %count
  %first = select i1 %back, i64 %last, i64 %next
  %first.high = shl i64 %first, 32
  %taken = or i64 %first.high, %count
  ret i64 %taken
}

; The same for a thread: from its own range, else from those behind it.
define internal i64 @take_any(ptr %pool, i64 %slot) {
entry:
  %ranges.p = getelementptr i8, ptr %pool, i64 64
  %least.p = getelementptr i8, ptr %pool, i64 80
  %ranges = load i64, ptr %ranges.p
  %least = load i64, ptr %least.p
  %base = getelementptr i8, ptr %pool, i64 $POOL_BYTES
  %has.own = icmp ult i64 %slot, %ranges
  br i1 %has.own, label %mine, label %others
mine:
  %offset = mul i64 %slot, $RANGE_BYTES
  %range = getelementptr i8, ptr %base, i64 %offset
  %own = call i64 @take(ptr %range, i64 %least, i64 $OWN_SHARES, i1 false)
  %is.own = icmp ne i64 %own, 0
  br i1 %is.own, label %out, label %others
others:
  br label %look
look:
  %tried = phi i64 [ 1, %others ], [ %tried1, %more ]
  %sum = add i64 %slot, %tried
  %number = urem i64 %sum, %ranges
  %offset2 = mul i64 %number, $RANGE_BYTES
  %range2 = getelementptr i8, ptr %base, i64 %offset2
  %stolen = call i64 @take(ptr %range2, i64 %least, i64 $OTHERS_SHARES, i1 true)
  %is.some = icmp ne i64 %stolen, 0
  br i1 %is.some, label %out, label %more
more:
  %tried1 = add i64 %tried, 1
  %all = icmp ugt i64 %tried1, %ranges
  br i1 %all, label %none, label %look
none:
  ret i64 0
out:
  %taken = phi i64 [ %own, %mine ], [ %stolen, %look ]
  ret i64 %taken
}

; Divide the blocks of a job among threads, each of them at least one unit.
define internal void @divide(ptr %pool, i64 %total, i64 %threads) {
entry:
  %ranges.p = getelementptr i8, ptr %pool, i64 64
  %unit.p = getelementptr i8, ptr %pool, i64 120
  %base = getelementptr i8, ptr %pool, i64 $POOL_BYTES
  %large = lshr i64 %total, 31
  %unit = add i64 %large, 1
  %up = add i64 %total, %large
  %units = udiv i64 %up, %unit
  %ranges = call i64 @llvm.umin.i64(i64 %units, i64 %threads)
  store i64 %unit, ptr %unit.p
  store i64 %ranges, ptr %ranges.p
  br label %next
next:
  %number = phi i64 [ 0, %entry ], [ %following, %next ]
  %first = phi i64 [ 0, %entry ], [ %last, %next ]
  %following = add i64 %number, 1
  %times = mul i64 %units, %following
  %last = udiv i64 %times, %ranges
  %high = shl i64 %last, 32
  %word = or i64 %high, %first
  %offset = mul i64 %number, $RANGE_BYTES
  %range = getelementptr i8, ptr %base, i64 %offset
  store atomic i64 %word, ptr %range monotonic, align 8
  %more = icmp ult i64 %following, %ranges
  br i1 %more, label %next, label %out
out:
  ret void
}
"""


def text(pool_bytes: int) -> str:
    """The LLVM IR; it relies on the pool's declarations.

    Args:
        pool_bytes: of the pool, behind which the ranges are.
    """
    numbers = {
        "$POOL_BYTES": pool_bytes,
        "$RANGE_BYTES": RANGE_BYTES,
        "$OWN_SHARES": OWN_SHARES,
        "$OTHERS_SHARES": OTHERS_SHARES,
    }
    replaced = _TEXT
    for name, number in numbers.items():
        replaced = replaced.replace(name, str(number))
    return replaced
