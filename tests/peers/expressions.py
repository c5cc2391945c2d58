"""The scalar expressions that gridlane and numba-cuda are compared on.

"; " ends a statement, the last part is the result; a and b are the operands.
"""

from __future__ import annotations

import itertools

from tests.peers.facts import TYPES

ARITHMETIC = "+ - * / // % ** << >> & | ^".split()
MATH_1 = """acos acosh asin asinh atan atanh cbrt ceil cos cosh degrees erf erfc exp exp2 expm1 fabs
    factorial floor frexp gamma isfinite isinf isnan isqrt lgamma log log10 log1p log2 modf radians
    sin sinh sqrt tan tanh trunc ulp""".split()
CMATH_1 = """acos acosh asin asinh atan atanh cos cosh exp isfinite isinf isnan log log10 phase
    polar sin sinh sqrt tan tanh""".split()
NUMPY_1 = """abs absolute arccos arccosh arcsin arcsinh arctan arctanh bitwise_not cbrt ceil conj
    conjugate cos cosh deg2rad degrees exp exp2 expm1 fabs floor imag invert isfinite isinf isnan
    log log10 log1p log2 logical_not negative positive rad2deg radians real reciprocal rint round
    sign signbit sin sinh spacing sqrt square tan tanh trunc""".split()
CALLS_2 = """min max divmod pow round complex math.atan2 math.copysign math.fmod math.gcd math.hypot
    math.ldexp math.nextafter math.pow math.remainder np.add np.arctan2 np.bitwise_and np.bitwise_or
    np.bitwise_xor np.copysign np.divide np.divmod np.equal np.float_power np.floor_divide np.fmax
    np.fmin np.fmod np.gcd np.greater np.greater_equal np.hypot np.lcm np.ldexp np.left_shift
    np.less np.less_equal np.logaddexp np.logaddexp2 np.logical_and np.logical_or np.logical_xor
    np.maximum np.minimum np.mod np.multiply np.nextafter np.not_equal np.power np.remainder
    np.right_shift np.subtract np.true_divide cuda.fp16.hadd cuda.fp16.hmax cuda.fp16.heq""".split()
UNARY = """+a|-a|~a|not a|abs(a)|round(a)|round(a, 1)|int(a)|float(a)|bool(a)|complex(a)|a.real
    |a.imag|a.conjugate()|str(a)|a ** 2|a ** 3|a ** 0.5|a ** -1|a ** -2|2 ** a|min(a, 1, 2)
    |max(a, 0.0, a)|-abs(a)|sum((a, a))|a == None|a is None|x = 0; x += a; x|x = 0.0; x += a; x
    |x = 0; for _ in range(9): x += a; x|x = 0.0; for _ in range(9): x += a; x
    |x = 1; for _ in range(9): x *= a; x|x = a; for _ in range(9): x += 1; x
    |x = 0; for i in range(a): x = i; x|x = 0; for i in range(1, a, 2): x = i; x
    |x = a; if a: x = 0; x|x = a; if a: x = 0.0; x|a if a else 0|a if a else 1.5|(a,)[0]|(a, 1)
    |a in (1, 2)|1 < a < 9|cuda.selp(True, a, a)|cuda.shfl_sync(-1, a, 0)|cuda.fma(a, a, a)
    |cuda.brev(a)|cuda.cbrt(a)|cuda.clz(a)|cuda.ffs(a)|cuda.popc(a)|cuda.fp16.habs(a)
    |cuda.fp16.hneg(a)|cuda.fp16.hsqrt(a)""".replace("\n    ", "").split("|")
UNARY += ["a & 0xffffffff", "a | 0x8000000000000000"]
UNARY += [f"math.{name}(a)" for name in MATH_1] + [f"cmath.{name}(a)" for name in CMATH_1]
UNARY += [f"np.{name}(a)" for name in [*NUMPY_1, "bool_", *TYPES[1:], "intp", "uintp"]]
BINARY = [f"a {op} b" for op in [*ARITHMETIC, *"< <= > >= == != is and or".split()]]
BINARY += [f"x = a; x {op}= b; x" for op in ARITHMETIC]
BINARY += [f"x = a; for _ in range(9): x {op}= b; x" for op in "+-*/"]
BINARY += ["a if a else b", "x = a; if a: x = b; x", "min(a, b, 1)", "max(a, b, a)", "a * b + a"]
BINARY += ["x = a; for _ in range(9): x = min(x, b); x", "a + b * 0.5"]
BINARY += [f"{name}(a, b)" for name in CALLS_2]
LITERALS = ["1", "-1", "3000000000", "10000000000000000000", "True", "1.5", "1e400", "2j"]
LITERALS += ["np.int32(3)", "np.uint8(3)", "np.float32(1.5)"]
FORMS = [f"{{}} {op} {{}}" for op in [*ARITHMETIC, "<", "==", "and"]]
FORMS += ["min({}, {})", "max({}, {})", "divmod({}, {})", "math.pow({}, {})"]
for form, literal in itertools.product(FORMS, LITERALS):
    UNARY += [form.format("a", literal), form.format(literal, "a")]
CONSTANTS = """1|-1|True|1.5|2j|1 << 31|1 << 62|1 << 63|1 << 64|2 ** 63|2 ** 64 - 1|2 ** 64|-2 ** 63
    |-2 ** 63 - 1|2 ** 62 * 2|7 // 2|-7 // 2|7 % -3|7 / 2|2 ** -1|0 ** -1|1 // 0|1 / 0|1 % 0|1.0 / 0
    |1e400|-1e400|1e308 * 10|~0|~1|-True|+True|~True|not 0|not 1.5|True + True|True & True|True << 1
    |1 and 2.5|0 or 2.5|1 < 2|1 if 2.5 else 3.5|int(2.5)|int(1e30)|float(3)|bool(2)|abs(-2 ** 63)
    |round(2.5)|round(2.675, 2)|min(1, 2)|min(1, 2.0)|max(1, True)|divmod(7, -2)|pow(2, 10)
    |pow(2, -1)|2 ** 0.5|(-1) ** 0.5|1 >> 1|-1 >> 70|1 << 70|0xffffffff << 32|0xffffffffffffffff ^ 1
    |math.pi|math.floor(2.5)|math.sqrt(2)|np.pi|np.float32(1)|np.int8(1)|np.uint64(1)|np.bool_(1)
    |np.int8(200)|np.uint8(-1)|np.int32(2 ** 31)|len((1, 2))|(1, 2.0)|x = 1; x + 2 ** 62 * 2
    |x = 1; x << 63|x = 2 ** 63; x * 2|x = 2 ** 63 - 1; x + 1|x = -2 ** 63; -x|x = 2 ** 63; -x
    |x = 2 ** 63; ~x|x = 2 ** 63; x + 1|x = 2 ** 63; x - 1|x = 7; x // 2|x = 2; x ** -1
    |x = 0; x ** -1|x = 1; x // 0|cuda.grid(1)|cuda.gridsize(1)|cuda.threadIdx.x|cuda.blockIdx.x
    |cuda.blockDim.x|cuda.gridDim.x|cuda.laneid""".replace("\n    ", "").split("|")

EXPRESSIONS = [list(dict.fromkeys(some)) for some in (CONSTANTS, UNARY, BINARY)]
"""Those of no operand, of one and of two."""
