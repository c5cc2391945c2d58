// Mathematical functions and intrinsics.
extern "C" __global__ void floats_1(const float *x, float *y)
{
    float v = x[threadIdx.x];
    float *o = y + threadIdx.x * 12;
    o[0] = sinf(v), o[1] = cosf(v), o[2] = tanf(v), o[3] = expf(v), o[4] = logf(v), o[5] = sqrtf(v);
    o[6] = atanf(v), o[7] = sinhf(v), o[8] = cbrtf(v), o[9] = erff(v), o[10] = exp10f(v), o[11] = tanhf(v);
}

extern "C" __global__ void floats_2(const float *x, float *y)
{
    float v = x[threadIdx.x], w = v * 0.3f + 1;
    float *o = y + threadIdx.x * 12;
    o[0] = powf(v, w), o[1] = atan2f(v, -w), o[2] = hypotf(v, w), o[3] = fmodf(v * 7, w), o[4] = lgammaf(v + 1);
    o[5] = log1pf(v), o[6] = expm1f(v), o[7] = acoshf(v + 1), o[8] = rsqrtf(v), o[9] = rintf(v * 3);
    o[10] = ldexpf(v, 5), o[11] = fdimf(v, w) + fmaxf(v, w) + copysignf(v, -w);
}

extern "C" __global__ void doubles_1(const double *x, double *y)
{
    double v = x[threadIdx.x];
    double *o = y + threadIdx.x * 12;
    o[0] = sin(v), o[1] = cos(v), o[2] = tan(v), o[3] = exp(v), o[4] = log(v), o[5] = sqrt(v);
    o[6] = atan(v), o[7] = sinh(v), o[8] = cbrt(v), o[9] = erf(v), o[10] = asinh(v), o[11] = tanh(v);
}

extern "C" __global__ void doubles_2(const double *x, double *y)
{
    double v = x[threadIdx.x], w = v * 0.3 + 1;
    double *o = y + threadIdx.x * 12;
    o[0] = pow(v, w), o[1] = atan2(v, -w), o[2] = hypot(v, w), o[3] = fmod(v * 7, w), o[4] = lgamma(v + 1);
    o[5] = log1p(v), o[6] = expm1(v), o[7] = acosh(v + 1), o[8] = rsqrt(v), o[9] = rint(v * 3);
    o[10] = ldexp(v, 5), o[11] = remainder(v * 9, w);
}

extern "C" __global__ void large_angles(const float *x, float *y, const double *z, double *w)
{
    y[threadIdx.x] = sinf(x[threadIdx.x] * 1e6f);
    w[threadIdx.x] = cos(z[threadIdx.x] * 1e9);
}

extern "C" __global__ void rounded(const float *x, float *y)
{
    float v = x[threadIdx.x], w = 1.7f;
    float *o = y + threadIdx.x * 10;
    o[0] = __fadd_rz(v, w), o[1] = __fadd_ru(v, w), o[2] = __fmul_rd(v, w), o[3] = __fmaf_rz(v, w, v);
    o[4] = __fdiv_ru(v, w), o[5] = __fsqrt_rd(v), o[6] = __frcp_rz(v), o[7] = __fsub_rd(v, w);
    o[8] = __fdividef(v, w), o[9] = __saturatef(v - 1);
}

extern "C" __global__ void rounded_doubles(const double *x, double *y)
{
    double v = x[threadIdx.x], w = 1.7;
    double *o = y + threadIdx.x * 6;
    o[0] = __dadd_rz(v, w), o[1] = __dmul_ru(v, w), o[2] = __fma_rd(v, w, v), o[3] = __ddiv_rz(v, w);
    o[4] = __dsqrt_ru(v), o[5] = __drcp_rd(v);
}

extern "C" __global__ void rough(const float *x, float *y)
{
    float v = x[threadIdx.x];
    float *o = y + threadIdx.x * 6;
    o[0] = __sinf(v), o[1] = __cosf(v), o[2] = __expf(v), o[3] = __logf(v), o[4] = __powf(v, 1.5f), o[5] = __log2f(v);
}

extern "C" __global__ void conversions(const float *x, const double *z, int *y, long long *w)
{
    int i = threadIdx.x;
    y[i] = __float2int_rn(x[i]) + 3 * __float2int_ru(x[i]) + 5 * __float2int_rd(x[i]) + 7 * (int)x[i]
        + __double2int_rn(z[i]) + (int)__float2uint_rn(fabsf(x[i])) + __float_as_int(__int2float_rz(i * 16777217));
    w[i] = __double2ll_ru(z[i] * 1e10) + (long long)x[i] + __double2loint(z[i]) + __double2hiint(z[i])
        + __double_as_longlong(__ll2double_rd(123456789012345678LL * i)) + __float_as_int((float)w[i]);
}

extern "C" __global__ void words(const unsigned *x, unsigned *y)
{
    unsigned i = threadIdx.x, v = x[i], u = x[(i + 1) & 31];
    y[i] = __popc(v) + __clz(v) + __ffs(v) + (__brev(v) >> 3) + __byte_perm(v, u, 0x3715) + __umulhi(v, u)
        + __mul24(v, u) + __sad((int)v, (int)u, 5) + __funnelshift_l(v, u, 7) + __funnelshift_rc(v, u, i)
        + __hadd((int)v, (int)u) + __rhadd((int)v, (int)u) + __dp4a((int)v, (int)u, 9) + __usad(v, u, 1)
        + __vadd4(v, u) + __vabsdiffu4(v, u) + __vmaxs2(v, u) + __vcmpgtu4(v, u) + __vsadu4(v, u);
}

extern "C" __global__ void quotients(const int *x, int *y, const long long *z, long long *w)
{
    int i = threadIdx.x, d = (i - 16) | 1;
    y[i] = x[i] / d + x[i] % d * 7 + (unsigned)x[i] / (unsigned)(d & 255) + x[i] / 10 + x[i] % 1000;
    w[i] = z[i] / d + z[i] % d * 7 + (unsigned long long)z[i] / 12345u + z[i] % 100003;
}
