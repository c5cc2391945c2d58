"""warp-lang's kernels, ahead of time by its own NVRTC: ``python make_warp.py OUT.json``, with Warp.

``warp_programs.py`` launches them and knows their results.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import warp as wp

wp.config.quiet = True
wp.set_module_options({"block_dim": 64})


@wp.kernel
def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def functions(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    v = x[i]
    made = wp.sin(v) + wp.cos(v) * wp.exp(v) + wp.log(v) + wp.sqrt(v) + wp.pow(v, 1.5)
    made += wp.atan2(v, 2.0) + wp.tanh(v) + wp.floor(v) + wp.cbrt(v) + wp.asin(v / 8.0)
    y[i] = made + wp.clamp(v, 0.5, 1.5) + wp.sign(v) + wp.lerp(v, 2.0, 0.25)


@wp.kernel
def vectors(x: wp.array(dtype=wp.vec3), y: wp.array(dtype=wp.vec3), z: wp.array(dtype=float)):
    i = wp.tid()
    a = x[i]
    b = x[31 - i]
    y[i] = wp.cross(a, b) + wp.normalize(a) * wp.length(b) - wp.cw_mul(a, b)
    z[i] = wp.dot(a, b) + wp.length_sq(a - b) + wp.max(a)


@wp.kernel
def matrices(x: wp.array(dtype=wp.mat33), y: wp.array(dtype=wp.mat33), z: wp.array(dtype=float)):
    i = wp.tid()
    m = x[i]
    y[i] = m * wp.transpose(m) + wp.inverse(m) + wp.outer(m[0], m[1])
    z[i] = wp.determinant(m) + wp.trace(m) + wp.ddot(m, m)


@wp.kernel
def quaternions(axis: wp.array(dtype=wp.vec3), y: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    q = wp.quat_from_axis_angle(wp.normalize(axis[i]), 0.5)
    y[i] = wp.quat_rotate(q, wp.vec3(1.0, 2.0, 3.0)) + wp.quat_rotate_inv(q, axis[i])


@wp.struct
class Particle:
    at: wp.vec3
    mass: float
    kind: int


@wp.kernel
def structures(x: wp.array(dtype=Particle), p: Particle, y: wp.array(dtype=float)):
    i = wp.tid()
    q = x[i]
    q.kind = q.kind + p.kind
    x[i] = q
    y[i] = wp.dot(q.at, p.at) * q.mass + float(q.kind)


@wp.kernel
def planes(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    i, j = wp.tid()
    total = float(0.0)
    for di in range(-1, 2):
        for dj in range(-1, 2):
            a = wp.min(wp.max(i + di, 0), x.shape[0] - 1)
            b = wp.min(wp.max(j + dj, 0), x.shape[1] - 1)
            total += x[a, b]
    y[i, j] = total


@wp.kernel
def atomics(x: wp.array(dtype=int), total: wp.array(dtype=int), f: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(total, 0, x[i])
    wp.atomic_max(total, 1, x[i])
    wp.atomic_min(total, 2, x[i])
    wp.atomic_add(f, x[i] & 3, float(x[i]))
    wp.atomic_max(f, 4, float(x[i]))


@wp.func
def gcd(a: int, b: int):
    while b != 0:
        t = a % b
        a = b
        b = t
    return a


@wp.kernel
def loops(x: wp.array(dtype=int), y: wp.array(dtype=int), n: int):
    i = wp.tid()
    made = int(0)
    for k in range(n):
        if x[k] > 90:
            break
        if x[k] % 3 == 0:
            continue
        made += gcd(x[i], x[k])
    y[i] = made


@wp.kernel
def integers(x: wp.array(dtype=wp.int64), y: wp.array(dtype=wp.int64), z: wp.array(dtype=wp.uint8)):
    i = wp.tid()
    v = x[i]
    y[i] = v / wp.int64(7) + v % wp.int64(11) + (v << wp.int64(3)) - (v ^ wp.int64(85))
    z[i] = wp.uint8(v & wp.int64(255))


@wp.kernel
def doubles(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    y[i] = wp.sqrt(x[i]) + wp.sin(x[i]) * wp.exp(-x[i]) + x[i] / wp.float64(3.0)


@wp.kernel
def halves(x: wp.array(dtype=wp.float16), y: wp.array(dtype=wp.float16)):
    i = wp.tid()
    y[i] = x[i] * wp.float16(2.0) + x[i]


@wp.kernel
def randoms(seed: int, y: wp.array(dtype=int), z: wp.array(dtype=float)):
    i = wp.tid()
    state = wp.rand_init(seed, i)
    y[i] = wp.randi(state)
    z[i] = wp.randf(state, -1.0, 1.0)


@wp.kernel
def searched(x: wp.array(dtype=float), at: wp.array(dtype=float), y: wp.array(dtype=int)):
    i = wp.tid()
    y[i] = wp.lower_bound(x, at[i])


@wp.kernel
def tiles(x: wp.array2d(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    t = wp.tile_load(x[i], shape=256)
    wp.tile_store(y, wp.tile_sum(t * 2.0), offset=i)


@wp.kernel
def skinny(x: wp.array(dtype=wp.mat22), y: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    v = wp.vec2(1.0, 2.0)
    for _ in range(5):
        v = wp.normalize(x[i] * v)
    y[i] = v


@wp.kernel
def springs(
    at: wp.array(dtype=wp.vec3), ends: wp.array2d(dtype=int), force: wp.array(dtype=wp.vec3)
):
    i = wp.tid()
    a = ends[i, 0]
    b = ends[i, 1]
    d = at[a] - at[b]
    f = wp.normalize(d) * (wp.length(d) - 1.0) * 10.0
    wp.atomic_sub(force, a, f)
    wp.atomic_add(force, b, f)


def compiled(arch):
    with tempfile.TemporaryDirectory() as folder:
        (path,) = wp.compile_aot_module(
            wp.get_module("__main__"), arch=arch, module_dir=folder, use_ptx=True, strip_hash=True
        )
        ptx = Path(path).read_text()
    names = {}
    for kernel in wp.get_module("__main__").kernels.values():
        for way in ("forward", "backward"):
            names[f"{kernel.key}-{way}"] = f"{kernel.key}_cuda_kernel_{way}"
    return {"name": "kernels", "variant": f"sm_{arch}", "ptx": ptx, "meta": {"names": names}}


if __name__ == "__main__":
    made = [compiled(arch) for arch in (80, 90)]
    Path(sys.argv[1]).write_text(json.dumps(made))
