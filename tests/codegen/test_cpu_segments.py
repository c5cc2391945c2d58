"""Values that cross a barrier on the CPU: each chunk of lanes has its own."""

from __future__ import annotations

import numpy as np

from gridlane import cuda
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
