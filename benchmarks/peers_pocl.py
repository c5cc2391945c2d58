"""The kernels in OpenCL, on the CPU through PoCL (pip install pyopencl, Debian pocl-opencl-icd)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pyopencl as cl

from cases import (
    BINS,
    BLOCKS,
    BODIES,
    ITERATIONS,
    MATRIX,
    OPTIONS,
    PICTURE,
    THREADS,
    VECTOR,
    Inputs,
    Prepared,
)

# Global size, local size, outputs (shape, dtype), the integers that the kernel takes last.
_LAUNCH = {
    "vecadd": ((VECTOR,), (256,), [(VECTOR, np.float32)], (VECTOR,)),
    "nbody": ((BODIES,), (256,), [((BODIES, 4), np.float32)], (BODIES,)),
    "mandelbrot": (
        (PICTURE, PICTURE),
        (16, 16),
        [((PICTURE, PICTURE), np.int32)],
        (PICTURE, ITERATIONS),
    ),
    "blackscholes": ((OPTIONS,), (256,), [(OPTIONS, np.float32)] * 2, (OPTIONS,)),
    "matmul": ((MATRIX, MATRIX), (16, 16), [((MATRIX, MATRIX), np.float32)], (MATRIX,)),
    "reduction": ((BLOCKS * THREADS,), (THREADS,), [(BLOCKS, np.float32)], (VECTOR,)),
    "histogram": ((BLOCKS * THREADS,), (THREADS,), [(BINS, np.int32)], (VECTOR,)),
}


@cache
def _program() -> tuple[cl.Context, cl.CommandQueue, cl.Program]:
    pocl = [p for p in cl.get_platforms() if p.name == "Portable Computing Language"]
    if not pocl:
        raise RuntimeError("no PoCL among the OpenCL platforms")
    context = cl.Context([pocl[0].get_devices()[0]])
    source = Path(__file__).with_suffix(".cl").read_text()
    program = cl.Program(context, source).build(["-cl-fast-relaxed-math"])
    return context, cl.CommandQueue(context), program


def version() -> str:
    return _program()[0].devices[0].platform.version.split("PoCL ")[-1].split()[0]


def prepare(name: str, inputs: Inputs) -> Prepared:
    context, queue, program = _program()
    use = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR
    size, group, outputs, integers = _LAUNCH[name]
    outs = [np.zeros(shape, dtype) for shape, dtype in outputs]
    host = [*inputs.values(), *outs]
    buffers = [cl.Buffer(context, use, hostbuf=array) for array in host]
    kernel = cl.Kernel(program, name)
    kernel.set_args(*buffers, *(np.int32(i) for i in integers))

    def run() -> None:
        cl.enqueue_nd_range_kernel(queue, kernel, size, group)
        queue.finish()

    def result() -> np.ndarray:
        if name == "histogram":  # it adds to its output: start from zero, run once
            cl.enqueue_copy(queue, buffers[-1], np.zeros(BINS, np.int32))
            run()
        for array, buffer in zip(outs, buffers[len(inputs) :], strict=True):
            cl.enqueue_copy(queue, array, buffer)
        queue.finish()
        if name == "blackscholes":
            return np.stack(outs)
        return outs[0].sum(keepdims=True) if name == "reduction" else outs[0]

    return run, result
