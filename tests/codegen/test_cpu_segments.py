"""Values that cross a barrier on the CPU: each chunk of lanes has its own."""

from __future__ import annotations

import numpy as np
import pytest

from gridlane import cuda
from gridlane.cuda import int64
from gridlane.launch import current
from gridlane.launch.devices import get_device

RANKED = """
.version 8.3
.target sm_80
.address_size 64
.visible .entry ranked(.param .u64 x, .param .u64 y) {
  .reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
  .shared .align 4 .b8 s[260];
  ld.param.b64 %rd1, [x];
  ld.param.b64 %rd2, [y];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.y;
  mov.u32 %r4, %ntid.y;
  mov.u32 %r5, %tid.z;
  mad.lo.s32 %r6, %r4, %r5, %r3;
  mad.lo.s32 %r7, %r6, %r2, %r1;
  mul.wide.u32 %rd3, %r7, 4;
  add.s64 %rd1, %rd1, %rd3;
  add.s64 %rd2, %rd2, %rd3;
  mov.b64 %rd4, s;
  add.s64 %rd5, %rd4, %rd3;
  ld.global.b32 %r8, [%rd1];
  setp.lt.u32 %p1, %r7, 1;
  st.shared.b32 [%rd5], %r8;
  bar.sync 0;
  st.shared.b32 [%rd5], %r8;
  bar.sync 0;
  @%p1 bra $L1;
  ld.shared.b32 %r1, [%rd5+-4];
  add.s32 %r8, %r1, %r8;
$L1:
  bar.sync 0;
  st.shared.b32 [%rd5], %r8;
  bar.sync 0;
  st.global.b32 [%rd2], %r8;
  ret;
}
"""


def test_a_condition_from_before_a_barrier():
    """The first lane does not add, though in the last chunk all lanes do."""
    current.choose(get_device("cpu"))
    kernel = cuda.RawModule(code=RANKED).get_function("ranked")
    x, y = np.arange(1, 65, dtype=np.int32), np.zeros(64, np.int32)
    kernel(1, 64, (x, y))
    assert (y == x + np.concatenate([[0], x[:-1]])).all()


def rotates(out, rounds, part):
    """Rotate numbers in parts: whether one has ended is the same for all, and is worked out by each
    chunk, as ``count`` is written in a branch."""
    thread = cuda.threadIdx.x
    shared = cuda.shared.array(64, int64)
    shared[thread] = thread
    cuda.syncthreads()
    done, count = 0, 0
    while True:
        if shared[thread] < 0:
            break
        if count >= part:
            count = 0
        while True:
            count += 1
            if count >= part:
                break
            if done >= rounds:
                break
            seen = shared[(thread + 1) & 63]
            cuda.syncthreads()
            shared[thread] = seen if done + 1 < rounds else -1 - seen
            cuda.syncthreads()
            done += 1
        # Where all have left by their own exit, nobody is in the other loop.
    out[thread] = -1 - shared[thread]


@pytest.mark.parametrize("part", [3, 7, 1000])
def test_exits_at_a_condition_that_is_the_same_for_all(part):
    """What is counted once for the block is not counted after such an exit."""
    current.choose(get_device("cpu"))
    out = np.zeros(64, np.int64)
    cuda.jit(rotates)[1, 64](out, 40, part)
    assert (out == np.roll(np.arange(64), -40)).all()
