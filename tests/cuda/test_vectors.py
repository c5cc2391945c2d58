"""Short vectors on every device: in arrays, shared and local memory, arguments and functions."""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np
import pytest
from tests.devices import DEVICES

import gridlane
from gridlane import cuda
from gridlane.core.argtypes import VECTORS
from gridlane.core.errors import ArgumentError, TypingError
from gridlane.core.numpy_types import from_numpy
from gridlane.core.vector_names import ELEMENTS
from gridlane.cuda.kernels import transfers

THREADS = 6


@cuda.jit(device=True)
def turned(v, count):
    """The vector that began with its last component, over and over."""
    for _ in range(count):
        v = v.wxyz
    return v


@cache
def kernel_of(element: str):
    """A kernel with vectors of one type in every kind of memory."""
    one, two, three, four = (VECTORS[f"{element}x{count}"] for count in (1, 2, 3, 4))
    number = four.element

    @cuda.jit(fp64="exact" if element == "float64" else "emulate")
    def kernel(ones, twos, threes, fours, numbers, out, picked, equal):
        i = cuda.grid(1)
        shared = cuda.shared.array(THREADS, four)
        narrow = cuda.shared.array(THREADS, three)
        local = cuda.local.array(2, two)
        shared[i] = fours[i]
        narrow[i] = threes[i]
        cuda.syncthreads()
        v = shared[THREADS - 1 - i]
        local[0] = v.zw
        local[1] = twos[i]
        n = narrow[THREADS - 1 - i]
        total = four(n, ones[i]) + v * number(2) - four(local[0], local[1])
        for k in range(i):
            if k & 1:
                total = max(total, v)
            else:
                total += numbers.view(four)[i]
        out.view(four)[i] = turned(total, i)
        fours[i] = total.wzyx
        threes[i] = abs(-n.zyx)
        twos[i] = (n.x, total[i % 4])
        ones[i] = one(min(twos[i], local[1]).y)
        x, y, z = n
        picked[i] = v[i % 4] + (x + y) * z
        equal[i] = (v == shared[i]) + 2 * (n != narrow[i]) + 4 * len(v)

    return kernel


def launched(device: str, element: str, start: int) -> list[np.ndarray]:
    """What the kernel leaves in its arrays, as numbers; scalars begin ``start`` numbers behind an
    address that is aligned for vectors."""
    dtype = VECTORS[f"{element}x4"].element.numpy
    arrays = [np.zeros(THREADS, VECTORS[f"{element}x{count}"]) for count in (1, 2, 3, 4)]
    for step, array in enumerate(arrays):
        flat = array.view(dtype)
        flat[:] = (np.arange(flat.size) * (step + 3) + step) % 7
    room = np.zeros((2, 4 * THREADS + 4), dtype)
    room[0] = np.arange(room.shape[1]) % 5
    numbers, out = room[:, start : start + 4 * THREADS]
    picked, equal = np.zeros(THREADS, dtype), np.zeros(THREADS, np.int32)
    with gridlane.device(device):
        kernel_of(element)[1, THREADS](*arrays, numbers, out, picked, equal)
    return [*(array.view(dtype) for array in arrays), out, picked, equal]


def expected(element: str, start: int) -> list[np.ndarray]:
    """The same by numpy."""
    dtype = VECTORS[f"{element}x4"].element.numpy
    kinds = [(np.arange(THREADS * n) * (n + 2) + n - 1) % 7 for n in (1, 2, 3, 4)]
    ones, twos, threes, fours = (kind.reshape(THREADS, -1) for kind in kinds)
    numbers = (np.arange(4 * THREADS) + start).reshape(THREADS, 4) % 5
    v, n = fours[::-1], threes[::-1]
    total = np.hstack([n, ones]) + v * 2 - np.hstack([v[:, 2:], twos])
    signed = dtype.kind != "u"
    wide = np.int64 if signed else np.uint64
    out, equal = np.zeros_like(total), np.zeros(THREADS)
    for i in range(THREADS):
        for k in range(i):
            if k & 1:
                pair = total[i].astype(wide), v[i].astype(wide)
                total[i] = np.maximum(*pair)
            else:
                total[i] += numbers[i]
        out[i] = np.roll(total[i], i)
        same = (v[i] == fours[i]).all(), (n[i] != threes[i]).any()
        equal[i] = same[0] + 2 * same[1] + 16
    new_twos = np.stack([n[:, 0], [total[i, i % 4] for i in range(THREADS)]], 1).astype(dtype)
    new_ones = np.minimum(new_twos[:, 1], twos[:, 1].astype(dtype))
    new_threes = n[:, ::-1] * (1 if signed else -1)  # -uint8(1) is 255
    picked = np.array([v[i, i % 4] for i in range(THREADS)]) + (n[:, 0] + n[:, 1]) * n[:, 2]
    left = [new_ones, new_twos, new_threes, total[:, ::-1], out, picked]
    return [*(each.astype(dtype).ravel() for each in left), equal.astype(np.int32)]


@pytest.mark.parametrize("device", ["interp", *DEVICES])
@pytest.mark.parametrize("element", ELEMENTS)
def test_every_kind_of_memory(device, element):
    for start in (0, 1):
        got = launched(device, element, start)
        for one, want in zip(got, expected(element, start), strict=True):
            np.testing.assert_array_equal(one, want)


def sums(vectors, v, w, out):
    i = cuda.grid(1)
    out[i] = vectors[i] + v * w.x


@pytest.mark.parametrize("device", ["interp", *DEVICES])
def test_arguments_from_the_host(device):
    kernel = cuda.jit(sums)
    vectors = np.array([(1, 2, 3), (4, 5, 6)], cuda.float32x3)
    out = np.zeros_like(vectors)
    with gridlane.device(device):
        kernel[1, 2](vectors, cuda.float3(1, 2, 3), cuda.short2(10, 0), out)
        assert out.tolist() == [(11, 22, 33), (14, 25, 36)]
        held = cuda.to_device(vectors)
        kernel[1, 2](held, vectors[0], cuda.short2(10, 0), held)
        assert held.copy_to_host().tolist() == [(11, 22, 33), (14, 25, 36)]
        with pytest.raises(TypeError):
            kernel[1, 2](vectors, (1, 2, 3), cuda.short2(10, 0), out)


PARTICLE = np.dtype([("tag", np.uint8), ("place", cuda.float32x3.dtype), ("path", cuda.int4, 2)])
ALIGNED = np.dtype(
    {**dict(names=PARTICLE.names, formats=[PARTICLE[n] for n in PARTICLE.names])}, align=True
)


def moves(particles, places, out):
    i = cuda.grid(1)
    p = particles[i]
    p.place = p.place.zyx + places[i]
    p.path[1] = p.path[0] + p.tag
    out[i] = p.path[1]


@pytest.mark.parametrize("device", ["interp", *DEVICES])
@pytest.mark.parametrize("dtype", [PARTICLE, ALIGNED])
def test_fields_of_records(device, dtype):
    particles = np.zeros(3, dtype)
    particles["tag"] = (1, 2, 3)
    particles["place"] = [(1, 2, 3), (4, 5, 6), (7, 8, 9)]
    particles["path"][:, 0] = [(1, 2, 3, 4), (5, 6, 7, 8), (9, 10, 11, 12)]
    places, out = particles["place"].copy(), np.zeros(3, cuda.int4)
    with gridlane.device(device):
        cuda.jit(moves)[1, 3](particles, particles["place"].copy(), out)
    place = places.view(np.float32).reshape(3, 3)
    got = np.array(particles["place"].tolist())
    np.testing.assert_array_equal(got, place + place[:, ::-1])
    assert out.tolist() == [(2, 3, 4, 5), (7, 8, 9, 10), (12, 13, 14, 15)]


def doubled(vectors, out):
    i = cuda.grid(1)
    out[i] = vectors[i] * 2
    out[-1] = (7, 8)


@pytest.mark.parametrize("device", ["interp", *DEVICES])
def test_arrays_with_strides_and_without_alignment(device):
    """Views of every second element, and of memory that starts anywhere."""
    raw = np.zeros(8 * 9 + 4, np.uint8)
    vectors = raw[4:].view(cuda.int32x2.dtype)
    vectors.view(np.int32)[:] = range(18)
    out = np.zeros(9, cuda.int2)
    with gridlane.device(device):
        kernel = cuda.jit(doubled)
        kernel[1, 8](vectors, out)
        assert out.tolist() == [(4 * n, 4 * n + 2) for n in range(8)] + [(7, 8)]
        kernel[1, 4](vectors[1::2], out[::2])
        assert out[::2].tolist() == [(8 * n + 4, 8 * n + 6) for n in range(4)] + [(7, 8)]
        bytes_ = cuda.to_device(raw)
        shifted = bytes_[4:].view(cuda.int32x2.dtype)
        kernel[1, 8](shifted, out)
        assert out[:8].tolist() == [(4 * n, 4 * n + 2) for n in range(8)]


def moved(source, out):
    for i in range(3):
        source[i] = out[i]
        out[i] = source[i] + 1


@pytest.mark.parametrize("device", ["interp", *DEVICES])
def test_arguments_that_overlap(device):
    """They share a copy that is aligned for vectors, if there is one; else they are refused where
    the device needs a copy."""
    raw = np.zeros(4 * 9, np.float32)
    same = raw[:16].view(cuda.float4)
    with gridlane.device(device):
        kernel = cuda.jit(moved)
        kernel[1, 1](same, same[1:])
        assert raw[:16].reshape(4, 4)[:, 0].tolist() == [0, 0, 0, 1]
        if device == "cpu":
            return
        with pytest.raises(ArgumentError, match="cannot share a copy"):
            kernel[1, 1](raw[1:17].view(cuda.float4), raw[2:18].view(cuda.float4))


CONSTANT = np.array([(1, 2, 3, 4), (5, 6, 7, 8)], cuda.ushort4)
SCALE = cuda.float2(0.5, 0.25)


def captured(out, n):
    v = CONSTANT[n] * SCALE.xyxy
    out[0] = v
    out[1] = cuda.const.array_like(CONSTANT)[1 - n]


@pytest.mark.parametrize("device", ["interp", *DEVICES])
def test_captured_vectors(device):
    out = np.zeros(2, cuda.float4)
    with gridlane.device(device):
        cuda.jit(captured)[1, 1](out, 1)
    assert out.tolist() == [(2.5, 1.5, 3.5, 2), (1, 2, 3, 4)]


def test_memory_that_a_gpu_uses_in_place_is_aligned():
    """Only NVIDIA's devices use mapped memory in place, and their kernels access whole vectors."""
    unaligned = np.zeros(40, np.uint8)[4:36].view(cuda.int2.dtype)
    with pytest.raises(ArgumentError, match="multiple of 8 bytes"):
        transfers._shown(unaligned, [])


def test_on_the_host():
    kind = cuda.float32x4
    assert cuda.float4 is kind is cuda.make_float4 is cuda.types.SIGNATURE_NAMES["float4"]
    assert kind.aliases == ("float4",) and cuda.int64x2.aliases == ("long2", "longlong2")
    assert (kind.itemsize, kind.alignment, cuda.float3.alignment) == (16, 16, 4)
    assert (cuda.double4.alignment, cuda.uchar2.alignment, cuda.short1.alignment) == (16, 2, 2)
    made = kind(1, 2, 3, 4)
    assert made.dtype == kind.dtype and made.tolist() == (1, 2, 3, 4)
    with pytest.raises(TypeError, match=r"float32x4\(\) takes 4 components, not 2"):
        kind(1, 2)
    assert str(cuda.float32(kind, kind[::1])) == "float32(float32x4, array(float32x4, 1d, C))"


def test_dtypes_tell_vectors_from_records():
    """Arrays of records with the same fields stay what they are, in views and files too."""
    vectors = np.zeros(3, cuda.float2)
    record = np.dtype([("x", np.float32), ("y", np.float32)], align=True)
    assert from_numpy(vectors.dtype) == cuda.float2 == cuda.typeof(vectors).dtype
    assert from_numpy(record) != cuda.float2 and record != vectors.dtype
    assert from_numpy(vectors[::2].copy().dtype) == cuda.float2
    assert from_numpy(pickle.loads(pickle.dumps(vectors)).dtype) == cuda.float2
    other = np.dtype({"names": "xy", "formats": ["f8", "f8"], "titles": ["float32x2", None]})
    assert from_numpy(other) != cuda.float2
    assert all(from_numpy(kind.dtype) == kind for kind in VECTORS.values())
    swapped = cuda.float2.dtype.newbyteorder()
    with pytest.raises(TypeError):
        from_numpy(swapped)


def test_signatures():
    @cuda.jit("void(float4[::1], float4)")
    def kernel(out, v):
        out[0] = v

    out = np.zeros(1, cuda.float4)
    kernel[1, 1](out, cuda.float4(1, 2, 3, 4))
    assert out.tolist() == [(1, 2, 3, 4)]
    with pytest.raises((ArgumentError, TypingError, TypeError)):
        kernel[1, 1](out, cuda.int4(1, 2, 3, 4))


@cache
def mixing(element: str):
    """A kernel whose lanes read and write vectors that follow each other."""

    @cuda.jit(fp64="exact" if element == "float64" else "emulate")
    def kernel(twos, threes, fours):
        i = cuda.grid(1)
        if i < fours.size:
            v, w = fours[i], twos[i]
            fours[i] = (threes[i].z, v.x, w.y, v.w)
            twos[i] = v.zy
            threes[i] = (w.x, v.x, v.y)

    return kernel


@pytest.mark.parametrize("device", ["interp", *DEVICES])
@pytest.mark.parametrize("element", ELEMENTS)
def test_whole_warps(device, element):
    count = 77
    twos, threes, fours = (
        (np.arange(count * n) * (n + 1) % 101).astype(element).reshape(count, n) for n in (2, 3, 4)
    )
    arrays = [
        each.copy().view(VECTORS[f"{element}x{each.shape[1]}"].dtype).reshape(count)
        for each in (twos, threes, fours)
    ]
    with gridlane.device(device):
        mixing(element)[3, 32](*arrays)
    got = [each.view(element).reshape(count, -1) for each in arrays]
    x, y, z, w = fours.T
    np.testing.assert_array_equal(got[0].T, [z, y])
    np.testing.assert_array_equal(got[1].T, [twos[:, 0], x, y])
    np.testing.assert_array_equal(got[2].T, [threes[:, 2], x, twos[:, 1], w])


@pytest.mark.parametrize("device", ["interp", *DEVICES])
def test_two_components_are_a_complex_number(device):
    @cuda.jit
    def kernel(out, z, pairs):
        pairs[0] = cuda.float32x2(z[0])
        pairs[1] = -z[1]
        v = pairs[0]
        out[0] = complex(v)
        out[1] = np.complex64(v) * np.complex64(1j)
        out[2] = complex(cuda.int32x2(3, -4))

    z = np.array([1 + 2j, 3 - 4j], np.complex64)
    out, pairs = np.zeros(3, np.complex64), np.zeros(2, cuda.float32x2)
    with gridlane.device(device):
        kernel[1, 1](out, z, pairs)
    assert out.tolist() == [1 + 2j, -2 + 1j, 3 - 4j]
    assert pairs.tolist() == [(1, 2), (-3, 4)]


def test_three_components_are_no_complex_number():
    @cuda.jit
    def kernel(out, v):
        out[0] = complex(v)

    with pytest.raises(TypingError, match="not float32x3"):
        kernel.compile((cuda.types.complex64[:], cuda.float32x3))
