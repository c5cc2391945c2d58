"""The formula of occupancy against the driver, on a GPU."""

from __future__ import annotations

from tests.gpu import programs

PROGRAM = """
import random
import numpy as np
from gridlane import cuda
from gridlane.core.occupancy import multiprocessor, occupancy
from gridlane.launch.devices import get_device

device = get_device("cuda")
of = multiprocessor(device.attributes())
random.seed(16)

def work(x, n):
    dynamic = cuda.shared.array(0, np.float32)
    i = cuda.grid(1)
    a = b = c = d = e = f = g = h = x[i]
    for k in range(n):
        a, b, c, d = b * x[k], c + a, d * b, a + x[k + 1]
        e, f, g, h = f * a, g + b, h * c, e + d
        dynamic[cuda.threadIdx.x] += a
    x[i] = a + b + c + d + e + f + g + h + dynamic[0]

checked, registers, different = 0, set(), []
for bound in (None, 16, 24, 32, 40, 48, 64, 80, 96, 128, 168, 255):
    made = cuda.jit("(float32[::1], int32)", **({"max_registers": bound} if bound else {}))(work)
    kernel = next(iter(made.overloads.values())).loaded(device)
    figures = kernel.figures()
    registers.add(figures.registers)
    for _ in range(900):
        threads = random.randint(1, of.block_threads)
        shared = random.choice((0, random.randint(0, of.block_shared), random.randint(0, 20000)))
        if threads > figures.max_threads:
            continue
        total = shared + figures.shared_bytes
        ours = occupancy(of, threads, figures.registers, total).blocks
        theirs = kernel.occupancy(threads, shared)
        checked += 1
        if ours != theirs:
            different.append((figures.registers, threads, total, ours, theirs))
print(checked, sorted(registers))
assert not different, (len(different), different[:20])
assert checked >= 10_000, checked
"""


def test_ten_thousand_configurations(tmp_path):
    print(programs.run(tmp_path, PROGRAM))
