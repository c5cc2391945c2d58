"""Time the first compile of a 30-line kernel in this fresh process, then that of another one.

Run by launch.py, with the compile cache off. Prints two numbers, in milliseconds: of launches, or
with --ptx the processor's, of the way from the functions to PTX, which needs no GPU.
"""

from __future__ import annotations

import math
import sys
import time

import numpy as np

from gridlane import cuda

SIZE = 256
F = np.float32


@cuda.jit(fastmath=True)
def springs(position, velocity, neighbours, n, dt):
    """A step of masses on springs: 30 lines with loops, branches, shared memory and math."""
    tile = cuda.shared.array((SIZE, 3), F)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    if i < n:
        tile[t, 0] = position[i, 0]
        tile[t, 1] = position[i, 1]
        tile[t, 2] = position[i, 2]
    cuda.syncthreads()
    if i < n:
        fx = F(0.0)
        fy = F(-9.81)
        fz = F(0.0)
        for k in range(neighbours.shape[1]):
            j = neighbours[i, k]
            if j < 0:
                continue
            dx = position[j, 0] - tile[t, 0]
            dy = position[j, 1] - tile[t, 1]
            dz = position[j, 2] - tile[t, 2]
            length = math.sqrt(dx * dx + dy * dy + dz * dz) + F(1e-6)
            pull = F(50.0) * (length - F(1.0)) / length
            fx += pull * dx
            fy += pull * dy
            fz += pull * dz
        velocity[i, 0] += fx * dt
        velocity[i, 1] += fy * dt
        velocity[i, 2] += fz * dt
        damping = math.exp(-dt)
        for axis in range(3):
            velocity[i, axis] *= damping


@cuda.jit(fastmath=True)
def weather(old, new, wind, n, dt):
    """A step of heat carried by wind, as long and as involved as the other one."""
    tile = cuda.shared.array(SIZE, F)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    if i < n:
        tile[t] = old[i, 0]
    cuda.syncthreads()
    if i < n:
        total = F(0.0)
        largest = F(-1e30)
        for k in range(wind.shape[1]):
            j = wind[i, k]
            if j < 0 or j >= n:
                break
            value = old[j, 0] * math.cos(old[j, 1])
            if value > largest:
                largest = value
            total += value * dt
        mean = total / F(wind.shape[1])
        left = tile[t - 1] if t > 0 else tile[t]
        right = tile[t + 1] if t < SIZE - 1 else tile[t]
        diffusion = left + right - F(2.0) * tile[t]
        value = tile[t] + dt * diffusion + mean
        if value > largest:
            value = largest
        elif value < -largest:
            value = -largest
        new[i, 0] = value
        new[i, 1] = math.sqrt(abs(value))
        new[i, 2] = old[i, 2] * math.exp(-dt)


def to_ptx(kernel) -> None:
    from gridlane import compiler
    from gridlane.core.options import Target
    from gridlane.cuda import float32, int32

    rows = float32[:, ::1]
    types = (rows, rows, int32[:, ::1], int32, float32)
    module = compiler.translate(kernel.py_func, types, kernel.options)
    compiler.generate(module, Target("cuda"), kernel.options)


def main() -> None:
    if "--ptx" in sys.argv:
        for kernel in (springs, weather):
            start = time.process_time()
            to_ptx(kernel)
            print((time.process_time() - start) * 1e3)
        return
    a, b = (cuda.to_device(np.ones((SIZE, 3), F)) for _ in range(2))
    links = cuda.to_device(np.zeros((SIZE, 4), np.int32))
    for kernel in (springs, weather):
        start = time.perf_counter()
        kernel[1, SIZE](a, b, links, np.int32(SIZE), F(0.01))
        cuda.synchronize()
        print((time.perf_counter() - start) * 1e3)


if __name__ == "__main__":
    main()
