// Bessel functions, the scaled error function, norms.
extern "C" __global__ void functions(const double *x, double *o, float *f, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double v = x[i];
    o[i] = j0(v);
    o[n + i] = j1(v);
    o[2 * n + i] = y0(v);
    o[3 * n + i] = y1(v);
    o[4 * n + i] = jn(7, v);
    o[5 * n + i] = yn(5, v);
    o[6 * n + i] = cyl_bessel_i0(v);
    o[7 * n + i] = cyl_bessel_i1(v);
    o[8 * n + i] = erfcx(v);
    float w = (float)v;
    f[i] = j0f(w);
    f[n + i] = y1f(w);
    f[2 * n + i] = cyl_bessel_i0f(w);
}

extern "C" __global__ void edges(double *o)
{
    double nan = __longlong_as_double(0x7ff8000000000000ll), inf = __longlong_as_double(0x7ff0000000000000ll);
    double each[] = {j0(0.0),   j1(0.0),    y0(0.0),   y1(0.0),     y0(-1.0),     jn(3, 0.0),
                     j0(inf),   y1(inf),    jn(4, nan), yn(2, 0.0), erfcx(-30.0), erfcx(inf),
                     j1(-2.0),  jn(3, -2.0), j0(-2.0), jn(-1, 2.0), cyl_bessel_i1(-1.0)};
    for (int n = 0; n < (int)(sizeof(each) / sizeof(*each)); n++)
        o[n] = each[n];
    double v[] = {3.0, 4.0, 12.0};
    o[17] = norm(3, v);
    o[18] = rnorm(3, v);
}

extern "C" __global__ void checked(int *o)
{
    assert(o[threadIdx.x] >= 0);
    o[threadIdx.x] += 1;
}

int main() { checked<<<1, 1>>>(nullptr); }
