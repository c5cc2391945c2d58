# ruff: noqa: E501  # a program wrote these kernels
"""Random kernels that a device once got wrong, cut down while it still did."""

from __future__ import annotations

FOUND = {
    # By NVIDIA's Vulkan compiler: a quotient of 64 bits minus 1 lost its upper half.
    1200000104: """
@cuda.jit(OPTIONS)
def k(x_uint64, x_uint32, x_float32, o_uint64, o_uint32, o_float32, a_int32, a_uint32):
    i = cuda.grid(1)
    v_uint64 = np.uint64(i)
    v_uint64 = np.uint64(np.uint64(v_uint64) // np.uint64(10))
    w1 = np.uint64(np.uint64(np.uint32(4294967295)) // np.uint64(100))
    o_uint64[i * 6 + 0] = np.uint64(w1 ^ np.uint64(v_uint64 + np.uint64(18446744073709551615)))
    o_uint64[i * 6 + 1] = np.uint64((x_uint64[i] // np.uint64(100)) | np.uint64(v_uint64 - np.uint64(1)))
""",
    # By NVIDIA's Vulkan compiler: the opposite of the least narrow number stayed positive, and
    # x % 2 of 64 bits times a constant was wrong.
    3003224381: """
@cuda.jit(OPTIONS)
def k(x_uint64, x_float32, x_int32, o_uint64, o_float32, o_int32, a_int32, a_uint32):
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    s = cuda.shared.array(16, np.float32)
    v_uint64 = np.uint64(x_uint64[i])
    v_float32 = np.float32(i)
    v_int32 = np.int32(i)
    v_uint64 = np.uint64((np.uint64(26) if v_uint64 <= v_uint64 else v_uint64) * np.uint64(v_uint64 % np.uint64(2)))
    s[t] = np.float32(math.trunc(v_float32 / np.float32(4))) if np.int32(13) > v_int32 else np.float32(0.5)
    o_uint64[i * 6 + 0] = v_uint64
""",
    3263300789: """
@cuda.jit(OPTIONS)
def k(x_uint64, x_int8, x_uint32, o_uint64, o_int8, o_uint32, a_int32, a_uint32):
    i = cuda.grid(1)
    v_uint64 = np.uint64(x_uint64[i])
    v_int8 = np.int8(x_int8[i])
    if np.uint64(v_uint64) >= np.uint64(18446744073709551615):
        pass
    else:
        v_uint64 = np.uint64(np.uint64(v_uint64) // np.uint64(100))
    if np.int8(abs(v_int8)) <= np.int8(np.uint64(36)):
        cuda.atomic.or_(a_uint32, np.int64(i & 7), np.uint32(4294967295))
    o_uint64[i * 6 + 0] = v_uint64
""",
    561405140: """
@cuda.jit(OPTIONS)
def k(x_float32, x_uint16, x_int16, o_float32, o_uint16, o_int16, a_int32, a_uint32):
    i = cuda.grid(1)
    v_float32 = np.float32(x_float32[i])
    v_int16 = np.int16(x_int16[i])
    w1 = v_float32 if np.float32(-6.5) == np.float32(2.0) else np.float32(math.trunc(v_float32 / np.float32(4)))
    if np.int16(v_float32) >= np.int16(abs(v_int16)):
        return
    o_float32[i * 6 + 1] = w1
""",
    3387205669: """
@cuda.jit(OPTIONS)
def k(x_uint64, x_float64, x_int8, o_uint64, o_float64, o_int8, a_int32, a_uint32):
    i = cuda.grid(1)
    v_uint64 = np.uint64(x_uint64[i])
    v_int8 = np.int8(x_int8[i])
    v_uint64 = np.uint64(np.uint64(v_uint64) // np.uint64(7))
    v_int8 = np.int8(max(np.int8(v_uint64), np.int8(abs(v_int8))))
    o_int8[i * 6 + 0] = v_int8
""",
    2277457441: """
@cuda.jit(OPTIONS)
def k(x_float32, x_int8, x_uint64, o_float32, o_int8, o_uint64, a_int32, a_uint32):
    i = cuda.grid(1)
    v_float32 = np.float32(i)
    v_int8 = np.int8(x_int8[i])
    v_uint64 = np.uint64(i)
    if (np.int8(46) if v_uint64 > np.uint64(18446744073709551615) else np.int8(v_float32)) < np.int8(v_int8 * np.int8(np.uint64(18446744073709551615))):
        v_float32 = np.float32(7.0)
    o_float32[i * 6 + 0] = v_float32
""",
    3091272978: """
@cuda.jit(OPTIONS)
def k(x_int64, x_float64, x_int16, o_int64, o_float64, o_int16, a_int32, a_uint32):
    i = cuda.grid(1)
    v_int64 = np.int64(x_int64[i])
    v_int64 = np.int64(np.int64(v_int64 % np.int64(2)) * np.int64(51))
    v_int64 = np.int64(np.int64(v_int64) // np.int64(10))
    o_int64[i * 6 + 0] = v_int64
""",
    2496828378: """
@cuda.jit(OPTIONS)
def k(x_uint64, x_int64, x_int16, o_uint64, o_int64, o_int16, a_int32, a_uint32):
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    s = cuda.shared.array(16, np.int16)
    v_uint64 = np.uint64(i)
    v_int64 = np.int64(i)
    v_int16 = np.int16(x_int16[i])
    w1 = np.int64(90)
    w2 = np.int16(v_int16) if w1 > w1 else np.int16(np.int16(v_int16) - np.int16(v_int16))
    if (w2 if w2 >= w2 else np.int16(36)) >= (np.int16(w2 - v_int16) if v_uint64 < np.uint64(85) else np.int16(1)):
        v_int64 = np.int64(w1) if v_int16 < v_int16 else w1
    s[t] = np.int16(v_int64)
    cuda.syncthreads()
    w3 = np.int16(s[(t + 7) % 16])
    o_int16[i * 6 + 2] = w3
""",
    2197944702: """
@cuda.jit(OPTIONS)
def k(x_int8, x_float32, x_int32, o_int8, o_float32, o_int32, a_int32, a_uint32):
    i = cuda.grid(1)
    v_int8 = np.int8(x_int8[i])
    v_float32 = np.float32(i)
    v_int8 = np.int8(np.int8(abs(v_int8 if v_float32 == v_float32 else v_int8)) % np.int8(7))
    w5 = np.float32(math.trunc(np.float32(v_float32) / np.float32(4)))
    o_int8[i * 6 + 0] = v_int8
    o_float32[i * 6 + 1] = w5
""",
    4068426501: """
@cuda.jit(OPTIONS)
def k(x_uint64, x_uint16, x_int16, o_uint64, o_uint16, o_int16, a_int32, a_uint32):
    i = cuda.grid(1)
    v_uint64 = np.uint64(i)
    v_int16 = np.int16(x_int16[i])
    if ((v_uint64 if v_uint64 > v_uint64 else v_uint64) if v_uint64 <= v_uint64 else np.uint64(18446744073709551615)) >= np.uint64(v_int16):
        pass
    elif np.uint64(v_uint64 % np.uint64(100)) != np.uint64(v_uint64 - v_uint64):
        v_uint64 = np.uint64(41)
    if np.int16(-np.int16(v_int16)) < np.int16(v_uint64):
        v_int16 = np.int16(np.uint16(78))
    o_int16[i * 6 + 0] = v_int16
""",
    # By ptxas (of CUDA 13.0): abs(x) passed for not negative, and 1 or -0 became 1 or 0.
    771000841: """
@cuda.jit(OPTIONS)
def k(x_int64, x_uint64, x_uint32, o_int64, o_uint64, o_uint32, a_int32, a_uint32):
    i = cuda.grid(1)
    v_int64 = np.int64(x_int64[i])
    v_uint32 = np.uint32(i)
    if np.int64(abs(v_int64)) >= np.int64(v_int64 ^ v_int64):
        return
    o_uint32[i * 6 + 0] = v_uint32
""",
    777001075: """
@cuda.jit(OPTIONS)
def k(x_float64, x_int64, x_float32, o_float64, o_int64, o_float32, a_int32, a_uint32):
    i = cuda.grid(1)
    v_float32 = np.float32(x_float32[i])
    v_float32 = np.float32(math.trunc(np.float32(math.floor((np.float32(8.0) if np.float32(7.0) > v_float32 else np.float32(-2.0)) * np.float32(0.5))) / np.float32(4)))
    o_float32[i * 6 + 0] = v_float32
""",
    781000585: """
@cuda.jit(OPTIONS)
def k(x_int16, x_float32, x_int64, o_int16, o_float32, o_int64, a_int32, a_uint32):
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    s = cuda.shared.array(16, np.float32)
    v_int16 = np.int16(i)
    v_int64 = np.int64(v_int16)
    v_float32 = np.float32(math.ceil(np.float32(-0.5) * np.float32(0.75)))
    if np.int64(21) < np.int64(-9223372036854775808):
        pass
    elif (v_int64 if v_float32 <= v_float32 else np.int64(14)) > np.int64(84):
        v_float32 = np.float32(math.ceil(np.float32(-1.5) * np.float32(0.75)))
    s[t] = np.float32(0.75)
    cuda.syncthreads()
    cuda.syncthreads()
    o_float32[i * 6 + 0] = v_float32
""",
    # By NVIDIA's Vulkan compiler: integers of 64 bits, and negated ones of 8.
    774000994: """
@cuda.jit(OPTIONS)
def k(x_uint64, x_int8, x_int64, o_uint64, o_int8, o_int64, a_int32, a_uint32):
    i = cuda.grid(1)
    v_int8 = np.int8(x_int8[i])
    v_int64 = np.int64(x_int64[i])
    if v_int8 > np.int8(v_int8):
        pass
    else:
        v_int64 = np.int64(max(np.int64(v_int64 % np.int64(10)), np.int64(np.int8(-v_int8))))
    o_int64[i * 6 + 0] = v_int64
""",
    778000411: """
@cuda.jit(OPTIONS)
def k(x_int16, x_uint8, x_int64, o_int16, o_uint8, o_int64, a_int32, a_uint32):
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    s = cuda.shared.array(16, np.int64)
    v_int16 = np.int16(i)
    s[t] = np.int64(np.int16(~v_int16))
    cuda.syncthreads()
    v_int64 = np.int64(s[(t + 1) % 16])
    cuda.syncthreads()
    s[t] = np.int64(v_int64)
    cuda.syncthreads()
    w3 = np.int64(t)
    cuda.syncthreads()
    if np.uint8(np.int64(88)) == np.uint8(v_int64):
        pass
    elif np.int64(v_int64 << np.int64(18)) > np.int64(np.int64(13) >> np.int64(22)):
        p4 = (np.int64(v_int64 // np.int64(10)), w3)
        v_int64 = p4[0]
    s[t] = np.int64(np.int16(83))
    cuda.syncthreads()
    cuda.syncthreads()
    o_int64[i * 6 + 0] = v_int64
""",
    892000205: """
@cuda.jit(OPTIONS)
def k(x_int16, x_float32, x_int8, o_int16, o_float32, o_int8, a_int32, a_uint32):
    i = cuda.grid(1)
    v_float32 = np.float32(i)
    v_int8 = np.int8(x_int8[i])
    v_int8 = np.int8(min(np.int8(v_float32), np.int8(-np.int8(v_int8))))
    v_float32 = np.float32(math.trunc(v_float32 / np.float32(4)))
    o_float32[i * 6 + 0] = v_float32
    o_int8[i * 6 + 0] = v_int8
""",
    782000435: """
@cuda.jit(OPTIONS)
def k(x_int64, x_int16, x_float64, o_int64, o_int16, o_float64, a_int32, a_uint32):
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    s = cuda.shared.array(16, np.int64)
    v_int64 = np.int64(x_int64[i])
    v_int16 = np.int16(i)
    v_float64 = np.float64(i)
    w1 = np.int64(-np.int64(max(np.int64(v_int64), np.int64(9223372036854775807))))
    s[t] = np.int64(91) if v_float64 > v_float64 else np.int64(v_int64)
    cuda.syncthreads()
    cuda.syncthreads()
    s[t] = np.int64(v_int64 % np.int64(100))
    cuda.syncthreads()
    cuda.syncthreads()
    if np.int64(w1) > np.int64(v_int16) or np.int64(v_int64 << np.int64(10)) < np.int64(w1 // np.int64(16)):
        v_int16 = np.int16(32767)
    o_int16[i * 6 + 0] = v_int16
""",
    782000429: """
@cuda.jit(OPTIONS)
def k(x_uint32, x_int64, x_float32, o_uint32, o_int64, o_float32, a_int32, a_uint32):
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    s = cuda.shared.array(16, np.uint32)
    v_int64 = np.int64(x_int64[i])
    v_float32 = np.float32(i)
    if np.int64(v_int64) <= np.int64(v_int64) and np.float32(math.trunc(v_float32 / np.float32(4))) <= np.float32(1024):
        v_uint32 = np.uint32(v_int64)
    s[t] = np.uint32(v_uint32)
    cuda.syncthreads()
    cuda.syncthreads()
    if np.int64(v_int64 + v_int64) > np.int64(v_int64 - v_int64):
        return
    o_float32[i * 6 + 0] = v_float32
""",
    923000397: """
@cuda.jit(device=True)
def f0(a, b):
    w1 = np.uint64(83)
    if np.uint64(np.uint64(min(a, w1)) - np.uint64(a)) > (np.uint64(18446744073709551615) if b < b else np.uint64(72)):
        a = np.uint64(w1)
    return np.uint64(18446744073709551615) if np.uint64(0) < a else np.uint64(b // np.uint64(7))

@cuda.jit(OPTIONS)
def k(x_uint16, x_uint64, x_uint8, o_uint16, o_uint64, o_uint8, a_int32, a_uint32):
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    s = cuda.shared.array(16, np.uint16)
    v_uint16 = np.uint16(i)
    v_uint64 = np.uint64(i)
    v_uint8 = np.uint8(i)
    v_uint64 = np.uint64(f0(np.uint64(v_uint64), v_uint64 if v_uint8 >= np.uint8(0) else np.uint64(21)))
    s[t] = v_uint16
    cuda.syncthreads()
    cuda.syncthreads()
    s[t] = np.uint16(11)
    cuda.syncthreads()
    cuda.syncthreads()
    o_uint64[i * 6 + 0] = v_uint64
""",
    927000459: """
@cuda.jit(OPTIONS)
def k(x_uint64, x_uint32, x_float32, o_uint64, o_uint32, o_float32, a_int32, a_uint32):
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    s = cuda.shared.array(16, np.float32)
    v_uint64 = np.uint64(i)
    v_uint64 = np.uint64(np.uint64(np.uint64(min(np.uint64(12), v_uint64)) - np.uint64(v_uint64)) ^ np.uint64(np.uint64(v_uint64 // np.uint64(100)) // np.uint64(3)))
    s[t] = np.float32(1024)
    cuda.syncthreads()
    cuda.syncthreads()
    o_uint64[i * 6 + 0] = v_uint64
""",
    932000174: """
@cuda.jit(device=True)
def f0(a, b):
    w1 = np.uint64(np.uint64(a) % np.uint64(100))
    return np.uint64(w1 - np.uint64(max(b, w1)))

@cuda.jit(OPTIONS)
def k(x_int16, x_int32, x_uint64, o_int16, o_int32, o_uint64, a_int32, a_uint32):
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    s = cuda.shared.array(16, np.uint64)
    v_uint64 = np.uint64(i)
    w2 = np.uint64(f0(np.uint64(v_uint64), np.uint64(v_uint64)))
    s[t] = np.uint64(np.int32(96))
    cuda.syncthreads()
    cuda.syncthreads()
    o_uint64[i * 6 + 1] = w2
""",
    886000780: """
@cuda.jit(OPTIONS)
def k(x_int64, x_uint64, x_int16, o_int64, o_uint64, o_int16, a_int32, a_uint32):
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    s = cuda.shared.array(16, np.int64)
    v_int64 = np.int64(x_int64[i])
    v_uint64 = np.uint64(i)
    v_int16 = np.int16(i)
    if np.int64(15) < v_int64 and v_uint64 == np.uint64(18446744073709551615) or (v_int16 != v_int16 and v_int16 >= v_int16):
        v_int64 = np.int64(v_int64 // np.int64(100))
    elif np.int64(min(np.int64(9223372036854775807), np.int64(v_int64 + v_int64))) <= np.int64(34):
        v_int64 = np.int64(~v_int64)
    s[t] = np.int64(v_int64) if v_uint64 != v_uint64 else np.int64(80)
    cuda.syncthreads()
    cuda.syncthreads()
    w10 = np.int16(v_int64)
    s[t] = np.int64(9223372036854775807)
    cuda.syncthreads()
    cuda.syncthreads()
    o_int16[i * 6 + 1] = w10
""",
    922000541: """
@cuda.jit(OPTIONS)
def k(x_float64, x_uint8, x_int32, o_float64, o_uint8, o_int32, a_int32, a_uint32):
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    s = cuda.shared.array(16, np.int32)
    v_float64 = np.float64(i)
    s[t] = np.int32(v_float64)
    cuda.syncthreads()
    v_int32 = np.int32(s[(t + 15) % 16])
    cuda.syncthreads()
    for j2 in range(4):
        v_int32 = np.int32(np.int32(np.int32(v_int32) | np.int32(-2147483648)) // np.int32(2))
    s[t] = np.int32(v_int32)
    cuda.syncthreads()
    w3 = np.int32(s[(t + 9) % 16])
    cuda.syncthreads()
    o_int32[i * 6 + 1] = w3
""",
    952000597: """
@cuda.jit(device=True)
def f0(a, b):
    if np.int64(b << np.int64(31)) <= np.int64(16):
        return np.int64(-1)
    return np.int64(7)

@cuda.jit(OPTIONS)
def k(x_int8, x_int32, x_int64, o_int8, o_int32, o_int64, a_int32, a_uint32):
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    s = cuda.shared.array(16, np.int32)
    v_int32 = np.int32(i)
    v_int64 = np.int64(i)
    if np.int32(25) < np.int32(2147483647) and np.int64(v_int64) < np.int64(7):
        pass
    else:
        v_int64 = np.int64(f0(np.int64(v_int64), v_int64 if v_int32 >= v_int32 else v_int64))
    s[t] = np.int32(v_int32)
    cuda.syncthreads()
    cuda.syncthreads()
    s[t] = np.int32(2)
    cuda.syncthreads()
    cuda.syncthreads()
    o_int64[i * 6 + 0] = v_int64
""",
    960000767: """
@cuda.jit(OPTIONS)
def k(x_int16, x_int64, x_uint32, o_int16, o_int64, o_uint32, a_int32, a_uint32):
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    s = cuda.shared.array(16, np.int16)
    v_int16 = np.int16(x_int16[i])
    v_int64 = np.int64(i)
    v_uint32 = np.uint32(i)
    s[t] = v_int16
    cuda.syncthreads()
    cuda.syncthreads()
    s[t] = np.int16(v_uint32)
    cuda.syncthreads()
    w6 = np.int16(s[(t + 2) % 16])
    cuda.syncthreads()
    v_int64 = np.int64(v_int64 // np.int64(10))
    s[t] = np.int16(v_int16)
    cuda.syncthreads()
    cuda.syncthreads()
    if w6 > np.int16(-v_int16):
        return
    o_int64[i * 6 + 0] = v_int64
""",
    969000357: """
@cuda.jit(OPTIONS)
def k(x_int32, x_uint64, x_int16, o_int32, o_uint64, o_int16, a_int32, a_uint32):
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    s = cuda.shared.array(16, np.int16)
    v_uint64 = np.uint64(i)
    v_int16 = np.int16(x_int16[i])
    p3 = (np.int16(13), np.int16(-v_int16))
    v_int16 = p3[1]
    v_int32 = np.int32(v_int16)
    s[t] = np.int16(v_int16)
    cuda.syncthreads()
    cuda.syncthreads()
    if np.int16(79) > np.int16(v_int32):
        pass
    elif np.uint64(50) != np.uint64(v_uint64) or np.uint64(v_uint64 // np.uint64(3)) <= (np.uint64(18446744073709551615) if v_uint64 > v_uint64 else v_uint64):
        pass
    else:
        v_int32 = np.int32(12)
    o_int32[i * 6 + 0] = v_int32
""",
    971000551: """
@cuda.jit(device=True)
def f0(a, b):
    if np.int16(b) > np.int16(b ^ a) and (not b < a):
        pass
    else:
        b = np.int16(2)
    return np.int16(b)

@cuda.jit(OPTIONS)
def k(x_uint32, x_int16, x_uint16, o_uint32, o_int16, o_uint16, a_int32, a_uint32):
    i = cuda.grid(1)
    v_uint32 = np.uint32(x_uint32[i])
    v_int16 = np.int16(x_int16[i])
    v_int16 = np.int16(f0(np.int16(-v_int16), np.int16(-v_int16)))
    cuda.atomic.max(a_uint32, np.int64(i & 7), np.uint32(v_uint32 % np.uint32(10)))
    o_int16[i * 6 + 0] = v_int16
""",
}
"""The text by the seed of the random kernel, whose arrays it takes."""
