"""Functions of ``cuda.libdevice`` in terms of others, as device functions of the dialect.

float32's ones of WIDE are rounded from float64's. Bessel functions: Abramowitz and Stegun,
Handbook of Mathematical Functions, chapter 9.
"""

# pyright: basic, reportPossiblyUnboundVariable=false
# Kernels' code: its types are those of a call.

from __future__ import annotations

import math

import numpy as np

from gridlane.core.argtypes import float32, float64, int32, int64, uint32, uint64
from gridlane.frontends.python.device_function import DeviceFunction
from gridlane.frontends.python.libdevice_stubs import libdevice
from gridlane.frontends.python.stubs import cbrt

PI = 3.14159265358979323846
HALF_ROOT = 0.70710678118654752440
GAMMA = 0.57721566490153286061
LOG_2 = 0.69314718055994530942
TWO_BY_PI = 0.63661977236758134308
TWO_PI = 6.28318530717958647693
SMALLEST_TERM = 1e-18
ERROR_SLOPE = 0.88622692545275801
INFINITY, NAN = math.inf, math.nan
LOWEST, HIGHEST = -(2**31), 2**31 - 1


def device(function):
    """A function that others here call."""
    return DeviceFunction(function, floats="float64")


# ---- integers


def hadd(x, y):
    return (int64(x) + int64(y)) >> 1


def rhadd(x, y):
    return (int64(x) + int64(y) + 1) >> 1


def uhadd(x, y):
    return (int64(uint32(x)) + int64(uint32(y))) >> 1


def urhadd(x, y):
    return (int64(uint32(x)) + int64(uint32(y)) + 1) >> 1


def mul24(x, y):
    return ((int64(x) << 40) >> 40) * ((int64(y) << 40) >> 40)


def umul24(x, y):
    return (int64(x) & 0xFFFFFF) * (int64(y) & 0xFFFFFF)


def mulhi(x, y):
    return (int64(x) * int64(y)) >> 32


def umulhi(x, y):
    return (uint64(uint32(x)) * uint64(uint32(y))) >> uint64(32)


def sad(x, y, z):
    return abs(int64(x) - int64(y)) + int64(z)


def usad(x, y, z):
    return abs(int64(uint32(x)) - int64(uint32(y))) + int64(z)


# ---- parts of floats


def fdim(x, y):
    if math.isnan(x) or math.isnan(y):
        return NAN
    return x - y if x > y else 0.0


def saturatef(x):
    if not x > float32(0.0):
        return float32(0.0)
    return min(x, float32(1.0))


def ilogb(x):
    if x == 0.0 or math.isnan(x):
        return int32(LOWEST)
    if math.isinf(x):
        return int32(HIGHEST)
    _, exponent = math.frexp(x)
    return int32(exponent - 1)


def logb(x):
    if x == 0.0:
        return -INFINITY
    if not math.isfinite(x):
        return x * x
    _, exponent = math.frexp(x)
    return float64(exponent - 1)


def remquo(x, y):
    """The quotient is rounded to the nearest even; its three last bits are given."""
    ax, ay = abs(x), abs(y)
    count = 0
    if not ay > 0.0 or not math.isfinite(x) or math.isnan(y):
        return NAN, int32(0)
    if math.isinf(y):
        return x, int32(0)
    if math.isfinite(8.0 * ay):
        ax = math.fmod(ax, 8.0 * ay)
    if ax >= 4.0 * ay:
        ax -= 4.0 * ay
        count += 4
    if ax >= 2.0 * ay:
        ax -= 2.0 * ay
        count += 2
    if ax >= ay:
        ax -= ay
        count += 1
    rest = ay - ax
    if ax > rest or (ax == rest and count % 2 == 1):
        ax -= ay
        count += 1
    count = count & 7
    if math.copysign(1.0, x) != math.copysign(1.0, y):
        count = -count
    return math.copysign(1.0, x) * ax, int32(count)


def remainder(x, y):
    return math.remainder(x, y)


# ---- elementary functions


def rcbrt(x):
    return 1.0 / cbrt(x)


def powi(x, n):
    return math.pow(x, float64(n))


def sinpi(x):
    """The angle is reduced exactly before it is multiplied by pi."""
    r = x - 2.0 * libdevice.rint(x * 0.5)
    m = abs(r)
    y = 1.0 - m if m > 0.5 else m
    s = math.cos((0.5 - y) * PI) if y > 0.25 else math.sin(y * PI)
    return math.copysign(0.0, x) if r == 0.0 else math.copysign(s, r)


def cospi(x):
    m = abs(x - 2.0 * libdevice.rint(x * 0.5))
    y = 0.5 - m
    a = abs(y)
    s = math.cos((0.5 - a) * PI) if a > 0.25 else math.sin(a * PI)
    return -s if y < 0.0 else s


half_sine, half_cosine = DeviceFunction(sinpi), DeviceFunction(cospi)


def sincospi(x):
    return half_sine(x), half_cosine(x)


# Of float32, by polynomials in y*y, of errors below 0.01 ulp for y up to a quarter. GPUs without
# float64, and drivers that compile slowly, are spared the reduction of any angle.
PI_32, PI_REST = np.float32(PI), np.float32(PI - float(np.float32(PI)))
SINE = tuple(map(np.float32, (0.081229575, -0.59922880, 2.5501636, -5.1677128)))
COSINE = tuple(map(np.float32, (0.23212541, -1.3351378, 4.0587106, -1.4213799e-07, -4.9348022)))


def sine_of_quarter(y):
    t = y * y
    p = ((SINE[0] * t + SINE[1]) * t + SINE[2]) * t + SINE[3]
    return y * PI_32 + (y * PI_REST + y * t * p)


def cosine_of_quarter(y):
    t = y * y
    p = ((COSINE[0] * t + COSINE[1]) * t + COSINE[2]) * t + COSINE[3]
    first = t * COSINE[4]
    near = float32(1.0) + first
    return near + ((float32(1.0) - near) + first + t * p)


quarter_sine, quarter_cosine = device(sine_of_quarter), device(cosine_of_quarter)


def sinpif(x):
    r = x - float32(2.0) * libdevice.rintf(x * float32(0.5))
    m = abs(r)
    y = float32(1.0) - m if m > float32(0.5) else m
    s = quarter_cosine(float32(0.5) - y) if y > float32(0.25) else quarter_sine(y)
    return math.copysign(float32(0.0), x) if r == float32(0.0) else math.copysign(s, r)


def cospif(x):
    m = abs(x - float32(2.0) * libdevice.rintf(x * float32(0.5)))
    if m > float32(0.25) and m < float32(0.75):
        return quarter_sine(float32(0.5) - m)
    return -quarter_cosine(float32(1.0) - m) if m > float32(0.5) else quarter_cosine(m)


half_sinef, half_cosinef = device(sinpif), device(cospif)


def sincospif(x):
    return half_sinef(x), half_cosinef(x)


def normcdf(x):
    """Far from 0 it takes the rounding of its argument many times: that is corrected by the slope,
    which is -2 t times the function."""
    t = x * -HALF_ROOT
    rest = libdevice.fma(x, -HALF_ROOT, -t) + x * 4.8336466567264567e-17
    y = math.erfc(t)
    if t > 1.0 and y > 0.0:
        y = libdevice.fma(-2.0 * t * rest, y, y)
    return 0.5 * y


def small_erfinv(y):
    """A first guess, then steps of Halley."""
    a = abs(y)
    x = a * ERROR_SLOPE
    for _ in range(4):
        error = (math.erf(x) - a) * ERROR_SLOPE * math.exp(x * x)
        x -= error / (1.0 + x * error)
    return math.copysign(x, y)


def erfcinv(y):
    if 0.5 <= y <= 1.5:
        return inner_erfinv(1.0 - y)
    if not (y >= 0.0 and y <= 2.0):
        return NAN
    if y == 0.0:
        return INFINITY
    if y == 2.0:
        return -INFINITY
    z = y if y < 1.0 else 2.0 - y
    t = math.sqrt(2.0 * (LOG_2 - math.log(z)))
    x = HALF_ROOT * (t - (2.30753 + t * 0.27061) / (1.0 + t * (0.99229 + t * 0.04481)))
    for _ in range(4):
        if z < 1e-30:  # at the latest where erfc(x) has few digits, and exp(x * x) is infinite
            root = math.exp(0.5 * x * x)
            error = (libdevice.erfcx(x) - z * root * root) * ERROR_SLOPE
        else:
            error = (math.erfc(x) - z) * ERROR_SLOPE * math.exp(x * x)
        x += error / (1.0 + x * error)
    return x if y < 1.0 else -x


def erfinv(y):
    if abs(y) <= 0.5:
        return inner_erfinv(y)
    if math.isnan(y):
        return y
    return libdevice.erfcinv(1.0 - y) if y > 0.0 else -libdevice.erfcinv(1.0 + y)


def normcdfinv(y):
    return 0.0 - 1.4142135623730950488 * libdevice.erfcinv(2.0 * y)


def erfcx(x):
    """exp(x * x) * erfc(x), with the square's low part; far away by a continued fraction."""
    if x < 8.0:
        square = x * x
        low = libdevice.fma(x, x, -square)
        e = math.exp(square)
        if math.isfinite(e):
            e += e * low
        return e * math.erfc(x)
    if math.isinf(x):
        return 0.0
    part = x
    for k in range(40, 0, -1):
        part = x + 0.5 * float64(k) / part
    return 0.56418958354775628695 / part


inner_erfinv = device(small_erfinv)

# ---- Bessel functions

# Where Miller's recurrences start, and where they are scaled down: float64 may be emulated, in the
# range of float32.
SMALL, LARGE = 2.0**-70, 2.0**50


def bessel_near(x):
    """J0, J1, Y0, Y1 of 0 < x < 25: J by Miller's recurrence downwards (9.1.46), Y by Neumann's
    series of J (9.1.88)."""
    above, here, total, even, odd = 0.0, SMALL, 0.0, 0.0, 0.0
    n = (int(1.2 * x) + 30) & ~1
    while n > 0:
        k = n >> 1
        signed = -here if k & 1 else here
        if n & 1 == 0:
            total += here
            even += signed / float64(k)
        elif n > 1:
            odd += signed * (float64(n) / (float64(k) * float64(k + 1)))
        below = here * (2.0 * float64(n) / x) - above
        above, here = here, below
        if abs(here) > LARGE:
            above *= SMALL / LARGE
            here *= SMALL / LARGE
            total *= SMALL / LARGE
            even *= SMALL / LARGE
            odd *= SMALL / LARGE
        n -= 1
    scale = 1.0 / (here + 2.0 * total)
    j0, j1 = here * scale, above * scale
    logarithm = math.log(0.5 * x) + GAMMA
    y0 = logarithm * j0 - 2.0 * even * scale
    y1 = (logarithm - 1.0) * j1 - j0 / x - odd * scale
    return j0, j1, TWO_BY_PI * y0, TWO_BY_PI * y1


def bessel_far(x, order):
    """J and Y of x >= 25, by Hankel's expansions (9.2.5 to 9.2.10). The phase is that of x itself,
    as the cosine of x - pi/4 is (cos x + sin x) / sqrt 2."""
    mu = 4.0 * float64(order)
    term, p, q = 1.0, 1.0, 0.0
    for k in range(1, 40):
        odd = 2.0 * float64(k) - 1.0
        following = term * ((mu - odd * odd) / (8.0 * float64(k) * x))
        if abs(following) >= abs(term) or abs(following) < 1e-18:
            break
        term = following
        signed = -term if k & 2 else term
        if k & 1:
            q += signed
        else:
            p += signed
    s, c = math.sin(x), math.cos(x)
    cosine = s - c if order else c + s
    sine = -(s + c) if order else s - c
    scale = 0.56418958354775628695 / math.sqrt(x)
    return scale * (p * cosine - q * sine), scale * (p * sine + q * cosine)


near, far = device(bessel_near), device(bessel_far)


def bessel_j(x, order):
    a = abs(x)
    if math.isnan(x):
        return x
    if math.isinf(x):
        return 0.0
    if a < 1e-8:
        return 0.5 * x if order else 1.0
    if a < 25.0:
        j0, j1, _, _ = near(a)
        j = j1 if order else j0
    else:
        j, _ = far(a, order)
    return -j if order and x < 0.0 else j


def bessel_y(x, order):
    if not x > 0.0:
        return -INFINITY if x == 0.0 else NAN
    if math.isinf(x):
        return 0.0
    if x < 1e-8:
        return -TWO_BY_PI / x if order else TWO_BY_PI * (math.log(x) + (GAMMA - LOG_2))
    if x < 25.0:
        _, _, y0, y1 = near(x)
        return y1 if order else y0
    _, y = far(x, order)
    return y


of_first_kind, of_second_kind = device(bessel_j), device(bessel_y)


def j0(x):
    return of_first_kind(x, int64(0))


def j1(x):
    return of_first_kind(x, int64(1))


def y0(x):
    return of_second_kind(x, int64(0))


def y1(x):
    return of_second_kind(x, int64(1))


def jn(n, x):
    """Upwards where n < x, else Miller's recurrence downwards from an order where J is tiny; near 0
    the first term of the series, as the recurrence would overflow."""
    if n < 0:
        return NAN
    if n < 2:
        return of_first_kind(x, int64(n))
    a = abs(x)
    if not a > 0.0 or math.isinf(a):
        return x if math.isnan(x) else 0.0
    if a < 1e-8:
        bessel = 1.0
        for k in range(1, n + 1):
            bessel *= 0.5 * a / float64(k)
            if bessel == 0.0:
                break
    elif float64(n) < a:
        below, bessel = of_first_kind(a, int64(0)), of_first_kind(a, int64(1))
        for k in range(1, n):
            above = bessel * (2.0 * float64(k) / a) - below
            below, bessel = bessel, above
    else:
        above, here, total, value_at_n = 0.0, SMALL, 0.0, 0.0
        k = (int64(n) + int(math.sqrt(60.0 * float64(n))) + 30) & ~1
        while k > 0:
            if k & 1 == 0:
                total += here
            if k == n:
                value_at_n = here
            below = here * (2.0 * float64(k) / a) - above
            above, here = here, below
            if abs(here) > LARGE:
                above *= SMALL / LARGE
                here *= SMALL / LARGE
                total *= SMALL / LARGE
                value_at_n *= SMALL / LARGE
            k -= 1
        bessel = value_at_n / (here + 2.0 * total)
    return -bessel if x < 0.0 and n & 1 else bessel


def yn(n, x):
    if n < 0:
        return NAN
    if n < 2 or not x > 0.0 or math.isinf(x):
        return of_second_kind(x, int64(n == 1))
    below, here = of_second_kind(x, int64(0)), of_second_kind(x, int64(1))
    for k in range(1, n):
        if not here > -INFINITY:
            break
        above = here * (2.0 * float64(k) / x) - below
        below, here = here, above
    return here


def cyl_bessel_i(x, order):
    """The power series, whose terms are all positive, and from 20 on the asymptotic one, whose
    least term is e^-40 of the first there."""
    a = abs(x)
    if math.isinf(a) or not a > 0.0:
        return x if order or math.isnan(x) or math.isinf(a) else 1.0
    total, k = 1.0, 0.0
    term = total
    if a < 20.0:
        quarter = 0.25 * a * a
        while term > total * SMALLEST_TERM:
            k += 1.0
            term *= quarter / (k * (k + float64(order)))
            total += term
        bessel = total * 0.5 * a if order else total
    else:
        square = 4.0 * float64(order)
        for n in range(1, 40):
            odd = 2.0 * float64(n) - 1.0
            term *= -(square - odd * odd) / (8.0 * a * float64(n))
            total += term
            if abs(term) < abs(total) * SMALLEST_TERM:
                break
        root = math.exp(0.5 * a)  # e^a may be more than the result
        bessel = root * (total / math.sqrt(TWO_PI * a)) * root
    return math.copysign(bessel, x) if order else bessel


of_third_kind = device(cyl_bessel_i)


def cyl_bessel_i0(x):
    return abs(of_third_kind(x, int64(0)))


def cyl_bessel_i1(x):
    return of_third_kind(x, int64(1))


OWN = fdim, ilogb, logb, remquo, remainder, rcbrt
"""Functions that compute in the type of their argument."""
HALF_TURNS = sinpi, cospi, sincospi, sinpif, cospif, sincospif
"""Functions of the type that their names say."""
WIDE = (
    *(powi, normcdf, erfcinv, erfinv, normcdfinv, erfcx, j0, j1, y0, y1, jn, yn),
    *(cyl_bessel_i0, cyl_bessel_i1),
)
"""Functions of float64, of which those of float32 are rounded."""
OTHERS = hadd, rhadd, uhadd, urhadd, mul24, umul24, mulhi, umulhi, sad, usad, saturatef
