"""Functions of our headers, compiled by clang, against NVRTC's compilation of the same source.

Both run on the CPU device. Functions of floats that neither rounds correctly are within some ulp.
"""

from __future__ import annotations

import numpy as np
import pytest

from gridlane import cuda
from gridlane.launch import current
from gridlane.launch.devices import get_device

INTEGERS = """
__popc(a) __popcll(l) __clz(a) __clz(0) __clzll(l) __clzll(l >> 40) __ffs(a) __ffs(0) __ffsll(l)
__ffsll(l << 30) __brev(a) __brevll(l) __byte_perm(a, b, c) __byte_perm(a, b, c | 0x8888)
__funnelshift_l(a, b, c) __funnelshift_r(a, b, c) __funnelshift_lc(a, b, c & 63)
__funnelshift_rc(a, b, c & 63) __funnelshift_lc(a, b, 32) __funnelshift_rc(a, b, 32)
__mulhi((int)a, (int)b) __umulhi(a, b) __mul64hi(l, m) __umul64hi(l, m) __mul24((int)a, (int)b)
__umul24(a, b) __sad((int)a, (int)b, c) __usad(a, b, c) __hadd((int)a, (int)b)
__rhadd((int)a, (int)b) __uhadd(a, b) __urhadd(a, b) __dp4a((int)a, (int)b, (int)c) __dp4a(a, b, c)
__dp2a_lo((int)a, (int)b, (int)c) __dp2a_hi((int)a, (int)b, (int)c) __dp2a_lo(a, b, c)
__dp2a_hi(a, b, c) min((int)a, (int)b) max((int)a, (int)b) min(a, b) max(a, b) min(l, m) max(l, m)
abs((int)a) abs(l) min(a, (int)b) max((int)a, b) llabs(l) labs((long)l) umin(a, b) umax(a, b)
__float_as_int(x) __float_as_uint(x) __double_as_longlong(u) __double2hiint(u) __double2loint(u)
__float2int_rn(x) __float2int_rz(x) __float2int_ru(x) __float2int_rd(x) __float2uint_rn(x)
__float2uint_rz(x) __float2uint_ru(x) __float2uint_rd(x) __float2ll_rn(x) __float2ll_rz(x)
__float2ull_ru(x) __float2ull_rd(x) __double2int_rn(u) __double2int_rz(u) __double2uint_ru(u)
__double2uint_rd(u) __double2ll_rn(u) __double2ll_rz(u) __double2ull_ru(u) __double2ull_rd(u)
(int)isnan(x) (int)isinf(x) (int)isfinite(x) (int)signbit(x) (int)isnan(u) (int)isinf(u)
(int)isfinite(u) (int)signbit(u) lrintf(x) lrint(u) llrint(u) lroundf(x) llround(u) ilogb(u)
ilogbf(x) warpSize (int)threadIdx.x (int)blockDim.y
make_uint4(a, b, c, 7).z (int)make_char2(a, b).y (int)make_short3(a, b, c).x
__nv_bswap16((unsigned short)a) __nv_bswap32(a) __nv_bswap64(l) ullmin(l, m) ullmax(l, m)
placed(__vibmax_s16x2, a, b) placed(__vibmin_u16x2, a, b)
"""
HALVES = """
__heq2_mask(g, f) __hltu2_mask(g, f) __hneu2_mask(g, f) (int)__hbne2(g, f) (int)__hbleu2(g, f)
(int)(g != f) bits(__hgtu2(g, f)) bits(__hcmadd(g, f, g)) __half2char_rz(h) __half2uchar_rz(h)
__half2ushort_rd(h) bits(__int2half_ru((int)a)) bits(__ll2half_rz(l)) bits(__ushort2half_rd(c))
bits(__short2half_ru((short)c)) bits(__ull2half_rd(a)) bits(__uint2half_rz(c & 0xffff))
__heq2_mask(k, j) (int)__hbgeu2(k, j) bits(__hcmadd(k, j, k)) bits(__float2bfloat16_ru(x))
bits(__float2bfloat16_rd(x)) bits(__float2bfloat16_rz(x)) bits(__int2bfloat16_rn((int)a))
bits(__int2bfloat16_ru((int)a)) bits(__ll2bfloat16_rn(l)) bits(__ull2bfloat16_rd(l))
bits(__ushort2bfloat16_rz(c)) __bfloat162int_ru(e) __bfloat162ushort_rn(e) __bfloat162ll_rd(e)
__bfloat162char_rz(e) __bfloat162uchar_rz(e) bits(__lows2bfloat162(k, j))
"""
FLOATS = """
fabsf(x) floorf(x) ceilf(x) truncf(x) rintf(x) nearbyintf(x) roundf(x) fminf(x, y) fmaxf(x, y)
copysignf(x, y) fmodf(x, y) fdimf(x, y) sqrtf(fabsf(x)) nextafterf(x, y) ldexpf(x, (int)(c & 63))
scalbnf(x, -(int)(c & 63)) remainderf(x, y) logbf(x) fmaf(x, y, z) min(x, y) max(x, y)
floor(x) ceil(x) sqrt(fabsf(x)) abs(x) fmod(x, y) __saturatef(x) __int_as_float(a & 0x7f7fffff)
__fadd_rn(x, y) __fadd_rz(x, y) __fadd_ru(x, y) __fadd_rd(x, y) __fsub_rz(x, y) __fmul_rn(x, y)
__fmul_rz(x, y) __fmul_ru(x, y) __fmul_rd(x, y) __fmaf_rn(x, y, z) __fmaf_rz(x, y, z)
__fmaf_ru(x, y, z) __fmaf_rd(x, y, z) __fdiv_rn(x, y) __fdiv_rz(x, y) __frcp_rn(x) __frcp_ru(x)
__fsqrt_rn(fabsf(x)) __fsqrt_rd(fabsf(x)) __int2float_rn((int)a) __frsqrt_rn(fabsf(x))
__frsqrt_rn(__int_as_float(0x403a18e3)) __frsqrt_rn(-0.0f) __frsqrt_rn(1e-41f * p)
__fmaf_ieee_rz(x, y, z)
__ll2float_rn(l) __double2float_rn(u)
__double2float_rz(u) __double2float_ru(u) __double2float_rd(u)

"""
DOUBLES = """
fabs(u) floor(u) ceil(u) trunc(u) rint(u) nearbyint(u) round(u) fmin(u, v) fmax(u, v)
copysign(u, v) fmod(u, v) fdim(u, v) sqrt(fabs(u)) nextafter(u, v) ldexp(u, (int)(c & 63))
scalbn(u, -(int)(c & 63)) remainder(u, v) logb(u) fma(u, v, w) min(u, v) max(u, v)
__longlong_as_double(l & 0x7fefffffffffffffll) __hiloint2double(a & 0x7fefffff, b)
__dadd_rn(u, v) __dmul_rn(u, v) __ddiv_rn(u, v) __fma_rn(u, v, w) __drcp_rn(u) __dsub_rn(u, v)
__dsqrt_rn(fabs(u)) __ll2double_rn(l) __ull2double_rn(l) __int2double_rn(a) __uint2double_rn(a)
 abs(u)
"""
CLOSE_FLOATS = """
sinf(x) cosf(x) tanf(x * 0.1f) expf(x) exp2f(x) exp10f(x * 0.1f) expm1f(x) logf(p) log2f(p)
log10f(p) log1pf(p) powf(p, q) asinf(q) acosf(q) atanf(x) atan2f(x, y) sinhf(q) coshf(q) tanhf(x)
asinhf(x) acoshf(p + 1.0f) atanhf(q * 0.9f) cbrtf(x) hypotf(x, y) erff(q) erfcf(q) tgammaf(p)
lgammaf(p + 3.0f) rsqrtf(p) rcbrtf(p) sinpif(x) cospif(x) normcdff(q) rhypotf(x, y)
norm3df(x, y, z) norm4df(x, y, z, q) rnorm3df(x, y, z) erfinvf(q * 0.9f) erfcinvf(p * 0.1f)
normcdfinvf(p * 0.05f) sin(x) exp(x) log(p) pow(p, q) rcbrt(x) sinpi(x) cospi(x) erfinv(q * 0.9f)
erfcinv(p * 0.1f) normcdf(q) normcdfinv(p * 0.05f) erfcx(p) cyl_bessel_i0(p) cyl_bessel_i1(p)
"""
CLOSE_DOUBLES = """
sin(u) cos(u) tan(u * 0.1) exp(u) exp2(u) exp10(u * 0.1) expm1(u) log(r) log2(r) log10(r) log1p(r)
pow(r, t) asin(t) acos(t) atan(u) atan2(u, v) sinh(t) cosh(t) tanh(u) asinh(u) acosh(r + 1.0)
atanh(t * 0.9) cbrt(u) hypot(u, v) erf(t) erfc(t) tgamma(r) lgamma(r + 3.0) rsqrt(r) rcbrt(r)
sinpi(u) cospi(u) normcdf(t) norm3d(u, v, w) rnorm4d(u, v, w, t) erfinv(t * 0.9) erfcinv(r * 0.1)
normcdfinv(r * 0.05) normcdf(-6.0 * r) erfcinv(exp10(-100.0 * r)) normcdfinv(0.5 + t * 1e-9)
erfcinv(1.0) normcdfinv(0.5) fdivide(u, v)
"""
QUICK = """
__sinf(q) __cosf(q) __tanf(q) __expf(q) __exp10f(q) __logf(p + 1.5f) __log2f(p + 1.5f)
__log10f(p + 1.5f) __powf(p, q) __fdividef(x, y)
"""
COUNT = 64
HEAD = """
#include <cuda_bf16.h>
#include <cuda_fp16.h>
__device__ unsigned long long bits(float v) { return __float_as_uint(v); }
__device__ unsigned long long bits(double v) { return __double_as_longlong(v); }
__device__ unsigned long long bits(int v) { return (unsigned)v; }
__device__ unsigned long long bits(unsigned v) { return v; }
__device__ unsigned long long bits(long v) { return v; }
__device__ unsigned long long bits(long long v) { return v; }
__device__ unsigned long long bits(unsigned long long v) { return v; }
__device__ unsigned bits(__half v) { return __half_as_ushort(v); }
__device__ unsigned bits(__nv_bfloat16 v) { return __bfloat16_as_ushort(v); }
__device__ unsigned bits(__half2 v) { return bits(v.x) | bits(v.y) << 16; }
__device__ unsigned bits(__nv_bfloat162 v) { return bits(v.x) | bits(v.y) << 16; }
template <typename F> __device__ unsigned long long placed(F call, unsigned a, unsigned b)
{
    bool high, low;
    unsigned made = call(a, b, &high, &low);
    return made | (unsigned long long)high << 33 | (unsigned long long)low << 32;
}
"""
KERNEL = """
extern "C" __global__ void NAME(const unsigned *words, const long long *longs, const float *floats,
                                const double *doubles, unsigned long long *out)
{
    int i = threadIdx.x;
    unsigned a = words[3 * i], b = words[3 * i + 1], c = words[3 * i + 2];
    long long l = longs[2 * i], m = longs[2 * i + 1];
    float x = floats[3 * i], y = floats[3 * i + 1], z = floats[3 * i + 2];
    double u = doubles[3 * i], v = doubles[3 * i + 1], w = doubles[3 * i + 2];
    float p = fabsf(x) * 0.3f + 0.1f, q = y * 0.1f;
    double r = fabs(u) * 0.3 + 0.1, t = v * 0.1;
    __half h = __float2half(x * 40.0f);
    __half2 g = __floats2half2_rn(x, y), f = __floats2half2_rn(x, z);
    __nv_bfloat16 e = __float2bfloat16(x * 40.0f);
    __nv_bfloat162 k = __floats2bfloat162_rn(x, y), j = __floats2bfloat162_rn(x, z);
    BODY
}
"""
LISTS = {
    "integers": INTEGERS, "floats": FLOATS, "doubles": DOUBLES, "halves": HALVES,
    "close_floats": CLOSE_FLOATS, "close_doubles": CLOSE_DOUBLES, "quick": QUICK,
}  # fmt: skip
ULP = {"close_floats": 12, "close_doubles": 16, "quick": 2**11}
"""How far results may be apart; NVRTC's own functions are compiled in where it has them."""


def expressions(text: str) -> list[str]:
    """The expressions of a list, which blanks outside parentheses part."""
    made, depth, start = [], 0, 0
    for place, letter in enumerate(text + " "):
        depth += (letter == "(") - (letter == ")")
        if letter.isspace() and not depth:
            if text[start:place].strip():
                made.append(text[start:place].strip())
            start = place
    return made


def source() -> str:
    parts = [HEAD]
    for name, text in LISTS.items():
        body = "\n".join(
            f"    out[{n * COUNT} + i] = bits({each});" for n, each in enumerate(expressions(text))
        )
        parts.append(KERNEL.replace("NAME", name).replace("BODY", body))
    return "\n".join(parts)


@pytest.fixture(scope="module")
def modules() -> dict[str, cuda.RawModule]:
    return {name: cuda.RawModule(code=source(), backend=name) for name in ("clang", "nvrtc")}


@pytest.mark.parametrize("name", LISTS)
def test_functions(modules, name):
    current.choose(get_device("cpu"))
    rng = np.random.default_rng(5)
    words = rng.integers(0, 2**32, (COUNT, 3), np.uint32)
    words[: COUNT // 8] &= 3
    longs = rng.integers(-(2**63), 2**63 - 1, (COUNT, 2))
    floats = rng.uniform(-9, 9, (COUNT, 3)).astype(np.float32)
    doubles = rng.uniform(-9, 9, (COUNT, 3))
    if name not in ULP:  # integral, halves, and large
        floats[0:4, 0] = doubles[0:4, 0] = -2.5, 3.5, 0.5, -0.0
        floats[4:6, 0] = doubles[4:6, 0] = 1e9, -3e9
    if name == "halves":
        floats[6:9, 1] = np.nan, np.inf, -0.0
    each = expressions(LISTS[name])
    results = []
    for backend in ("clang", "nvrtc"):
        out = np.zeros((len(each), COUNT), np.uint64)
        kernel = modules[backend].get_function(name)
        kernel(1, COUNT, (words, longs, floats, doubles, out))
        results.append(out)
    wrong = [
        f"{each[n]}: {results[0][n, k]:#x}, not {results[1][n, k]:#x}"
        for n, k in np.argwhere(distances(name, *results) > ULP.get(name, 0))
    ]
    assert not wrong, f"{len(wrong)} are wrong:\n" + "\n".join(wrong[:40])


def distances(name: str, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """How far results are apart, in units of the last bit."""
    if name not in ULP:
        return (first != second).astype(int)
    unit = np.float64 if name == "close_doubles" else np.float32
    words = [v.astype(f"u{np.dtype(unit).itemsize}") for v in (first, second)]
    floats = [v.view(unit).astype(np.float64) for v in words]
    spacing = np.spacing(np.abs(floats[1]).astype(unit)).astype(np.float64)
    apart = np.abs(floats[0] - floats[1]) / spacing
    same = (first == second) | (np.isnan(floats[0]) & np.isnan(floats[1]))
    return np.where(same, 0, np.nan_to_num(apart, nan=np.inf))


def test_lengths_that_overflow():
    """The reciprocal of a length beyond the greatest number is a number."""
    current.choose(get_device("cpu"))
    code = """
    extern "C" __global__ void k(const double *p, const float *q, double *out, float *outf)
    {
        out[0] = rnorm(3, p); out[1] = norm(3, p); out[2] = rhypot(p[0], p[0]);
        outf[0] = rnormf(3, q); outf[1] = normf(3, q); outf[2] = rhypotf(q[0], q[0]);
    }"""
    module = cuda.RawModule(code=code, backend="clang")
    for large, small in ((1.7e308, 3.4e38), (1e-320, 1e-44), (np.inf, np.inf), (3.0, 3.0)):
        p, q = np.array([large, -large, 0]), np.array([small, -small, 0], np.float32)
        out, outf = np.zeros(3), np.zeros(3, np.float32)
        module.get_function("k")(1, 1, (p, q, out, outf))
        for made, given in ((out, p), (outf, q)):
            x = np.longdouble(abs(given[0]))
            with np.errstate(all="ignore"):
                length = x * np.sqrt(np.longdouble(2))
                wanted = np.array([1 / length, length, 1 / length]).astype(made.dtype)
            np.testing.assert_allclose(made, wanted, rtol=4 * np.finfo(made.dtype).eps)
