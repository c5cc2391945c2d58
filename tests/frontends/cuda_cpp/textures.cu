// A read of each kind of texture, and each access to surfaces; the objects' formats and modes are
// the test's.
typedef cudaTextureObject_t Texture;
typedef cudaSurfaceObject_t Surface;

extern "C" __global__ void tex_1d(Texture t, const float *x, float4 *out)
{
    out[threadIdx.x] = tex1D<float4>(t, x[threadIdx.x]);
}

extern "C" __global__ void tex_2d(Texture t, const float *x, const float *y, float4 *out)
{
    int i = threadIdx.x;
    out[i] = tex2D<float4>(t, x[i], y[i]);
}

extern "C" __global__ void tex_2d_integers(Texture t, const float *x, const float *y, int4 *out)
{
    int i = threadIdx.x;
    out[i] = tex2D<int4>(t, x[i], y[i]);
}

extern "C" __global__ void tex_3d(Texture t, const float *x, const float *y, const float *z,
                                  float4 *out)
{
    int i = threadIdx.x;
    tex3D(out + i, t, x[i], y[i], z[i]);
}

extern "C" __global__ void fetches(Texture four, Texture one, const int *x, uchar4 *out, float *more)
{
    int i = threadIdx.x;
    out[i] = tex1Dfetch<uchar4>(four, x[i]);
    more[i] = tex1Dfetch<float>(one, x[i]);
}

extern "C" __global__ void layers(Texture lines, Texture images, const float *x, const float *y,
                                  const int *layer, short2 *line, float2 *image)
{
    int i = threadIdx.x;
    line[i] = tex1DLayered<short2>(lines, x[i], layer[i]);
    image[i] = tex2DLayered<float2>(images, x[i], y[i], layer[i]);
}

extern "C" __global__ void cubes(Texture cube, Texture several, const float *x, const float *y,
                                 const float *z, const int *number, float *out, float *more)
{
    int i = threadIdx.x;
    out[i] = texCubemap<float>(cube, x[i], y[i], z[i]);
    more[i] = texCubemapLayered<float>(several, x[i], y[i], z[i], number[i]);
}

extern "C" __global__ void levels(Texture t, const float *x, const float *y, const float *level,
                                  float *out)
{
    int i = threadIdx.x;
    out[i] = tex2DLod<float>(t, x[i], y[i], level[i]);
}

extern "C" __global__ void gradients(Texture t, const float *x, const float *y, const float2 *dx,
                                     const float2 *dy, float *out)
{
    int i = threadIdx.x;
    out[i] = tex2DGrad<float>(t, x[i], y[i], dx[i], dy[i]);
}

extern "C" __global__ void gathers(Texture t, const float *x, const float *y, float4 *out,
                                   float4 *more)
{
    int i = threadIdx.x;
    out[i] = tex2Dgather<float4>(t, x[i], y[i]);
    more[i] = tex2Dgather<float4>(t, x[i], y[i], 2);
}

// Turns an image around, a texel of four bytes for each thread, and counts along.
extern "C" __global__ void turned(Surface from, Surface to, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    uchar4 seen = surf2Dread<uchar4>(from, x * 4, y, cudaBoundaryModeClamp);
    seen.w += 1;
    surf2Dwrite(seen, to, (width - 1 - x) * 4, height - 1 - y, cudaBoundaryModeZero);
}

extern "C" __global__ void volumes(Surface lines, Surface volume, Surface layers, int *out)
{
    int x = threadIdx.x;
    float2 pair = surf3Dread<float2>(volume, x * 8, 1, 2, cudaBoundaryModeZero);
    short one = surf1Dread<short>(lines, x * 2, cudaBoundaryModeClamp);
    longlong2 wide = surf2DLayeredread<longlong2>(layers, 0, x, 1, cudaBoundaryModeZero);
    surf3Dwrite(make_float2(pair.y, x), volume, x * 8, 0, 0, cudaBoundaryModeZero);
    surf1Dwrite((signed char)x, lines, x, cudaBoundaryModeZero);
    out[x] = pair.x + one + (int)(wide.x - wide.y);
}

extern "C" __global__ void trapped(Surface s, int x, int y)
{
    surf2Dwrite(1.0f, s, x, y);
}
