"""The addition in Triton, which reads its source from a file."""

import triton
import triton.language as tl


@triton.jit
def add(a, b, c, n, SIZE: tl.constexpr):
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    inside = at < n
    tl.store(c + at, tl.load(a + at, mask=inside) + tl.load(b + at, mask=inside), mask=inside)
