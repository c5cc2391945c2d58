"""``cuda.libdevice``: the names of NVIDIA's library of device functions, with their types.

A signature is its results, a colon, and its parameters: d, f float64 and 32, l, i, h int64, 32 and
16. Unsigned numbers go as signed ones of their bits, halves as int16, as in numba.
"""

from __future__ import annotations

from gridlane.frontends.python.stubs import Namespace, Stub

_BY_SIGNATURE = {
    "i:i": "abs brev clz ffs popc",
    "l:l": "brevll llabs",
    "i:l": "clzll ffsll popcll",
    "i:ii": "hadd max min mul24 mulhi rhadd uhadd umax umin umul24 umulhi urhadd",
    "l:ll": "llmax llmin mul64hi ullmax ullmin umul64hi",
    "i:iii": "byte_perm sad usad",
    "d:d": "acos acosh asin asinh atan atanh cbrt ceil cos cosh cospi drcp_rd drcp_rn drcp_ru "
    "drcp_rz dsqrt_rd dsqrt_rn dsqrt_ru dsqrt_rz erf erfc erfcinv erfcx erfinv exp exp10 exp2 "
    "expm1 fabs floor j0 j1 lgamma log log10 log1p log2 logb nearbyint normcdf normcdfinv rcbrt "
    "rint round rsqrt sin sinh sinpi sqrt tan tanh tgamma trunc y0 y1",
    "d:dd": "atan2 copysign dadd_rd dadd_rn dadd_ru dadd_rz ddiv_rd ddiv_rn ddiv_ru ddiv_rz "
    "dmul_rd dmul_rn dmul_ru dmul_rz fdim fmax fmin fmod hypot nextafter pow remainder",
    "d:ddd": "fma fma_rd fma_rn fma_ru fma_rz",
    "d:id": "jn yn",
    "d:di": "ldexp powi scalbn",
    "dd:d": "modf sincos sincospi",
    "di:d": "frexp",
    "di:dd": "remquo",
    "i:d": "double2hiint double2int_rd double2int_rn double2int_ru double2int_rz double2loint "
    "double2uint_rd double2uint_rn double2uint_ru double2uint_rz ilogb isfinited isinfd isnand "
    "signbitd",
    "l:d": "double2ll_rd double2ll_rn double2ll_ru double2ll_rz double2ull_rd double2ull_rn "
    "double2ull_ru double2ull_rz double_as_longlong llrint llround",
    "f:d": "double2float_rd double2float_rn double2float_ru double2float_rz",
    "d:i": "int2double_rn uint2double_rn",
    "d:ii": "hiloint2double",
    "d:l": "ll2double_rd ll2double_rn ll2double_ru ll2double_rz longlong_as_double ull2double_rd "
    "ull2double_rn ull2double_ru ull2double_rz",
    "f:f": "acosf acoshf asinf asinhf atanf atanhf cbrtf ceilf cosf coshf cospif erfcf erfcinvf "
    "erfcxf erff erfinvf exp10f exp2f expf expm1f fabsf fast_cosf fast_exp10f fast_expf "
    "fast_log10f fast_log2f fast_logf fast_sinf fast_tanf floorf frcp_rd frcp_rn frcp_ru frcp_rz "
    "frsqrt_rn fsqrt_rd fsqrt_rn fsqrt_ru fsqrt_rz j0f j1f lgammaf log10f log1pf log2f logbf logf "
    "nearbyintf normcdff normcdfinvf rcbrtf rintf roundf rsqrtf saturatef sinf sinhf sinpif sqrtf "
    "tanf tanhf tgammaf truncf y0f y1f",
    "f:ff": "atan2f copysignf fadd_rd fadd_rn fadd_ru fadd_rz fast_fdividef fast_powf fdimf "
    "fdiv_rd fdiv_rn fdiv_ru fdiv_rz fmaxf fminf fmodf fmul_rd fmul_rn fmul_ru fmul_rz fsub_rd "
    "fsub_rn fsub_ru fsub_rz hypotf nextafterf powf remainderf",
    "f:fff": "fmaf fmaf_rd fmaf_rn fmaf_ru fmaf_rz",
    "f:if": "jnf ynf",
    "f:fi": "ldexpf powif scalbnf",
    "ff:f": "fast_sincosf modff sincosf sincospif",
    "fi:f": "frexpf",
    "fi:ff": "remquof",
    "i:f": "finitef float2int_rd float2int_rn float2int_ru float2int_rz float2uint_rd "
    "float2uint_rn float2uint_ru float2uint_rz float_as_int ilogbf isinff isnanf signbitf",
    "h:f": "float2half_rn",
    "l:f": "float2ll_rd float2ll_rn float2ll_ru float2ll_rz float2ull_rd float2ull_rn "
    "float2ull_ru float2ull_rz llrintf llroundf",
    "f:h": "half2float",
    "f:i": "int2float_rd int2float_rn int2float_ru int2float_rz int_as_float uint2float_rd "
    "uint2float_rn uint2float_ru uint2float_rz",
    "f:l": "ll2float_rd ll2float_rn ll2float_ru ll2float_rz ull2float_rd ull2float_rn "
    "ull2float_ru ull2float_rz",
}

SIGNATURES: dict[str, str] = {
    name: signature for signature, names in _BY_SIGNATURE.items() for name in names.split()
}
"""The signature of each function."""


class LibdeviceStub(Stub):
    """A function of ``cuda.libdevice``."""

    home = "gridlane.frontends.python.calls.libdevice"


def _stub(name: str, signature: str) -> Stub:
    params = ", ".join("xyz"[: len(signature.partition(":")[2])])
    doc = f"libdevice's __nv_{name}, as ``{signature}``: see docs/device-functions.md."
    return LibdeviceStub(f"cuda.libdevice.{name}", params, doc)


libdevice = Namespace(
    "cuda.libdevice",
    "NVIDIA's device functions, by gridlane's own ones.",
    **{name: _stub(name, signature) for name, signature in SIGNATURES.items()},
)
