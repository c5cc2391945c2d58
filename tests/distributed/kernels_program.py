"""A program whose kernels of all kinds go to another process: it prints their results here, and
writes their pickles to a file."""

import enum
import math
import pickle
import sys

import numpy as np

from gridlane import cuda, tiles
from gridlane.compute import Tensor, compute, f64, grid
from gridlane.cuda import atomic, threadIdx
from gridlane.tiles import language as tl

SCALE, TABLE = 3, np.arange(4.0)


class Color(enum.IntEnum):
    RED = 5


class OutOfTable(Exception):
    pass


@cuda.jit(device=True)
def factorial(n):
    if n < 2:
        return 1
    return n * factorial(n - 1)


@cuda.jit(device=True)
def is_even(n):
    return n == 0 or is_odd(n - 1)


@cuda.jit("boolean(int64)", device=True)
def is_odd(n):
    return n != 0 and is_even(n - 1)


@cuda.jit
def reads(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = x[i] * SCALE + factorial(i) + TABLE[i % 4] + math.sqrt(4.0) + int(Color.RED)


@cuda.jit
def stubs(x):
    atomic.add(x, 0, threadIdx.x)


@cuda.jit
def mutual(x):
    i = cuda.grid(1)
    x[i] = 10.0 if is_even(i) else 20.0


@cuda.jit(debug=True, opt=False)
def raising(x):
    if x[0] == 0:
        raise OutOfTable("nothing there")


def closure(a, b):
    @cuda.jit(fastmath=True)
    def inner(x, by=2):
        x[cuda.grid(1)] = a + b * by

    return inner


class Owner:
    @cuda.jit
    def method(__x):  # a name that a class mangles
        __y = 2
        __x[0] = __y + 1


@cuda.jit(["void(float64[:])", "void(int32[:])"])
def with_signatures(x):
    x[0] = 4


TEXT = """
@cuda.jit
def executed(x):
    x[0] = 77
"""
SCOPE = {"cuda": cuda}
exec(TEXT, SCOPE)

LAMBDAS = [cuda.jit(lambda x: atomic.add(x, 0, 1)), cuda.jit(lambda x: atomic.add(x, 0, SCALE))]


@cuda.vectorize(["float64(float64)"])
def ufunc(v):
    return v / SCALE


@cuda.vectorize
def host_ufunc(v):
    return v * SCALE


@cuda.reduce
def total(a, b):
    return a + b


@cuda.guvectorize(["void(float64[:], float64[:])"], "(n)->(n)")
def gufunc(x, y):
    for i in range(x.size):
        y[i] = x[i] + SCALE


@tiles.jit
def twice(v):
    return v * 2


@tiles.jit
def tile(x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n)
    tl.store(x + i, twice(v) + tl.cdiv(n, 3), mask=i < n)


@tiles.autotune([tiles.Config({"B": 4})], key=["n"])
@tiles.heuristics({"SHIFT": lambda args: args["n"] + 1})
@tiles.jit
def tuned(x, n, SHIFT: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, i * 1.0 + SHIFT, mask=i < n)


@compute
def loops(x: Tensor[f64, "N"], by: float):
    for i in grid(N):
        x[i] = by * x[i] + SCALE + math.sin(x[i])


@compute(fastmath=True, workgroup=(32,))
def as_text(x: "Tensor[f64, 'N']", by: "int"):
    for i in grid(N):
        x[i] = x[i] - by


PTX = """
.version 8.0
.target sm_80
.address_size 64
.const .align 8 .f64 step = 0d4000000000000000;
.visible .entry add(.param .u64 x) {
    .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .f64 %d<3>;
    ld.param.u64 %rd1, [x];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 8;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.f64 %d1, [%rd3];
    ld.const.f64 %d2, [step];
    add.f64 %d1, %d1, %d2;
    st.global.f64 [%rd3], %d1;
    ret;
}"""
CPP = 'extern "C" __global__ void plus(double *x, int n) { x[threadIdx.x] += n; }'
UNITS = [
    "__device__ double third(double x) { return x / 3; }",
    'extern __device__ double third(double); extern "C" __global__ void part(double *x) '
    "{ x[threadIdx.x] = third(x[threadIdx.x]); }",
]

RUNS = {
    "Dispatcher": lambda kernel, x: kernel[1, x.size](x),
    "UFunc": lambda kernel, x: kernel(x, out=x),
    "HostUFunc": lambda kernel, x: np.copyto(x, kernel(x)),
    "GUFunc": lambda kernel, x: np.copyto(x, kernel(x)),
    "Reduce": lambda kernel, x: x.fill(kernel(x)),
    "JITFunction": lambda kernel, x: kernel[(1,)](x, x.size, B=4),
    "Autotuner": lambda kernel, x: kernel[(1,)](x, x.size),
    "Compute": lambda kernel, x: kernel(x, 2),
    "RawKernel": lambda kernel, x: kernel(1, x.size, (x, 5) if kernel.name == "plus" else (x,)),
    "RawModule": lambda module, x: RUNS["RawKernel"](module.get_function("part"), x),
}


def result_of(kernel):
    """What a kernel makes of 0, 1, 2, 3."""
    x = np.arange(4.0)
    try:
        RUNS[type(kernel).__name__](kernel, x)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return x.tolist()


def kernels():
    """Kernels by name."""
    found = {
        name: globals()[name]
        for name in "reads stubs mutual raising with_signatures ufunc host_ufunc total gufunc "
        "tile tuned loops as_text".split()
    }
    return found | {
        "closure": closure(5, 2),
        "method": Owner.method,
        "executed": SCOPE["executed"],
        "first lambda": LAMBDAS[0],
        "second lambda": LAMBDAS[1],
        "specialised": reads.specialize(np.zeros(4)),
        "scheduled": loops.schedule("i", threads=("i",), workgroup=(32,)),
        "ptx": cuda.RawKernel(PTX, "add"),
        "cpp": cuda.RawKernel(CPP, "plus"),
        "units": cuda.RawModule(code=UNITS),
    }


if __name__ == "__main__":
    module = {"plain": pickle, "cloud": sys.modules.get("cloudpickle", pickle)}[sys.argv[1]]
    sent = {name: (module.dumps(each), result_of(each)) for name, each in kernels().items()}
    with open(sys.argv[2], "wb") as file:
        pickle.dump(sent, file)
