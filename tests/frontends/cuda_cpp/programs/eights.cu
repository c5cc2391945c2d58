// Conversions of 8-bit floats, compiled by each compiler.
#include <cuda_fp8.h>

extern "C" __global__ void narrowed(const float *x, const double *u, unsigned char *o, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    o[i] = __nv_cvt_float_to_fp8(x[i], __NV_SATFINITE, __NV_E4M3);
    o[n + i] = __nv_cvt_float_to_fp8(x[i], __NV_NOSAT, __NV_E4M3);
    o[2 * n + i] = __nv_cvt_float_to_fp8(x[i], __NV_SATFINITE, __NV_E5M2);
    o[3 * n + i] = __nv_cvt_float_to_fp8(x[i], __NV_NOSAT, __NV_E5M2);
    o[4 * n + i] = __nv_cvt_double_to_fp8(u[i], __NV_SATFINITE, __NV_E4M3);
    o[5 * n + i] = __nv_cvt_double_to_fp8(u[i], __NV_NOSAT, __NV_E5M2);
    o[6 * n + i] = __nv_fp8_e4m3((int)fminf(fmaxf(x[i], -1e9f), 1e9f)).__x;
    o[7 * n + i] = __nv_cvt_halfraw_to_fp8((__half_raw)__float2half(x[i]), __NV_NOSAT, __NV_E4M3);
    o[8 * n + i] = __nv_fp8_e5m2(__float2bfloat16(x[i])).__x;
    o[9 * n + i] = __nv_fp8x2_e4m3(make_float2(x[i], u[i])).__x >> 8;
    o[10 * n + i] = __nv_fp8x4_e5m2(make_float4(0, 1, x[i], 2)).__x >> 16;
}

extern "C" __global__ void widened(unsigned short *halves, int *integers, float *floats)
{
    unsigned i = threadIdx.x;
    __nv_fp8_e4m3 a;
    __nv_fp8_e5m2 b;
    a.__x = b.__x = i;
    halves[i] = __nv_cvt_fp8_to_halfraw(i, __NV_E4M3).x;
    halves[256 + i] = __nv_cvt_fp8_to_halfraw(i, __NV_E5M2).x;
    integers[i] = (int)a;
    integers[256 + i] = (signed char)b;
    integers[512 + i] = (unsigned char)a;
    integers[768 + i] = (unsigned)b;
    integers[1024 + i] = (short)b;
    __nv_fp8x2_e4m3 two;
    two.__x = i << 8 | 0x38;
    float2 wide = float2(two);
    floats[i] = wide.x + wide.y;
    floats[256 + i] = (float)b;
}
