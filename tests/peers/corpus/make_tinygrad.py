"""tinygrad's kernels by its PTX renderer: ``python make_tinygrad.py OUT.json``, with tinygrad.

A program is a graph of tensors, and its text the kernels of its schedule; ``tinygrad_programs.py``
launches these and knows the results.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

os.environ["DEV"] = "PYTHON"  # the schedule is the same, and nothing runs

from tinygrad import Tensor, dtypes
from tinygrad.codegen import to_program
from tinygrad.helpers import Target
from tinygrad.renderer.ptx import PTXRenderer
from tinygrad.uop.ops import Ops

GRAPHS = {}
f32, f16, f64, i32, i64, u8, u32, b1 = (
    *(dtypes.float32, dtypes.float16, dtypes.float64, dtypes.int32, dtypes.int64),
    *(dtypes.uint8, dtypes.uint32, dtypes.bool),
)


def graph(*inputs):
    """A graph of inputs, each a shape with a dtype at its end."""

    def keep(function):
        GRAPHS[function.__name__] = inputs, function
        return function

    return keep


@graph((64, f32), (64, f32))
def elementwise(a, b):
    return (a * b + a).relu() - b / 3


@graph((100, f32))
def functions(a):
    return a.exp() + a.log() + a.sin() * a.cos() + a.sqrt() + a.exp2() + a.tanh() + a.sigmoid()


@graph((100, f32), (100, f32))
def powers(a, b):
    return a**b + a**3 + a.rsqrt() + a.erf()


@graph((40, 60, f32))
def sums(a):
    return a.sum(1)


@graph((37, 53, f32))
def most(a):
    return a.max(0)


@graph((10, 20, 30, f32))
def variance(a):
    return a.var((0, 2))


@graph((20, 100, f32))
def softmax(a):
    return a.softmax(1)


@graph((12, 64, f32), (64, f32))
def layer_norm(a, w):
    return a.layernorm() * w


@graph((48, 32, f32), (32, 40, f32))
def matmul(a, b):
    return a @ b


@graph((64, 64, f16), (64, 64, f16))
def matmul_half(a, b):
    return a.matmul(b, dtype=f32)


@graph((3, 33, 17, f32), (3, 17, 21, f32))
def batched(a, b):
    return (a @ b).relu()


@graph((2, 3, 12, 12, f32), (8, 3, 3, 3, f32), (8, f32))
def convolved(x, w, b):
    return x.conv2d(w, b, padding=1).relu()


@graph((1, 4, 16, 16, f32))
def pooled(x):
    return x.max_pool2d() + x.avg_pool2d()


@graph((2, 4, 8, 16, f32), (2, 4, 8, 16, f32), (2, 4, 8, 16, f32))
def attention(q, k, v):
    return q.scaled_dot_product_attention(k, v)


@graph((30, 40, f32))
def argmax(a):
    return a.argmax(1)


@graph((300, f32))
def cumulated(a):
    return a.cumsum()


@graph((100, i32), (100, i32))
def integers(a, b):
    return (a // 7 + a % 11) * b + (a ^ b) - (a & 255) + (a >> 3) + (b << 2) + (a < b).where(a, -b)


@graph((100, i64), (100, i64))
def longs(a, b):
    return a * b // 1000 + (a % 77) - b.abs()


@graph((100, f32))
def casts(a):
    return (
        a.cast(i32).cast(u8).cast(f32)
        + (a.cast(f16) * 3).cast(f32)
        + (a > 0).cast(f32)
        + a.cast(i64).cast(f32)
    )


@graph((100, f64))
def doubles(a):
    return a * a - a * 3 + (a < 1).where(a, 2)


@graph((50, 8, f32), (20, i32))
def embedded(table, at):
    return table[at]


@graph((10, 20, f32), (10, 20, f32))
def moved(a, b):
    return a.flip(1).pad(((1, 2), (0, 3))) + b.cat(b[:3], dim=0).pad(((0, 0), (3, 0)))


@graph((16, 16, f32))
def triangle(a):
    return a.triu() + a.T.tril(-1)


@graph((100, f16), (100, f16))
def halves(a, b):
    return a * b + a.maximum(b)


@graph((40, 25, b1))
def booleans(a):
    return a.any(1).cast(i32) + a.all(1).cast(i32) * 2 + a.sum(1)


@graph((64, f32))
def sorted_(a):
    return a.sort()[0]


@graph((4, 8, f32))
def outer(a):
    return (a.unsqueeze(2) * a.unsqueeze(1)).sum(0)


def compiled(name, arch):
    shapes, function = GRAPHS[name]
    renderer = PTXRenderer(Target("CUDA", "PTX", arch))
    inputs = [Tensor.empty(*shape[:-1], dtype=shape[-1]) for shape in shapes]
    result = function(*inputs).contiguous()
    numbers, texts, steps = {}, [], []
    for call in result.schedule_linear().src:
        assert call.op is Ops.CALL and call.src[0].op is Ops.SINK, call.op
        program = to_program(call.src[0], renderer)
        (source,) = [each for each in program.src if each.op is Ops.SOURCE]
        (sink,) = [each for each in program.src if each.op is Ops.SINK]
        ptx = renderer.compiler.compile(source.arg).decode()
        name_there = sink.arg.function_name  # which different kernels may share
        entry = f"{name_there}_{len(steps)}"
        texts.append(ptx.replace(f".entry {name_there} ", f".entry {entry} "))
        buffers = [
            (numbers.setdefault(each.buf_uop, len(numbers)), each.buffer.offset)
            for each in call.src[1:]
        ]  # parts of one buffer hold what is needed for a while
        info = program.arg
        steps.append({
            "entry": entry,
            "grid": [int(each) for each in info.global_size],
            "block": [int(each) for each in info.local_size or (1, 1, 1)],
            "buffers": [buffers[n] for n in info.globals],
        })  # fmt: skip
    given = [numbers.get(each.uop.buf_uop, -1) for each in inputs]
    sizes = [each.buffer.nbytes for each in numbers]
    first, *others = texts
    whole = first + "".join(each[each.index(".visible") :] for each in others)
    meta = {"steps": steps, "inputs": given, "sizes": sizes, "result": numbers[result.uop.buf_uop]}
    return {"name": name, "variant": arch, "ptx": whole, "meta": meta}


if __name__ == "__main__":
    made = [compiled(name, arch) for name in GRAPHS for arch in ("sm_80", "sm_90")]
    Path(sys.argv[1]).write_text(json.dumps(made))
