// References to textures and surfaces, as programs had them before CUDA 12.
#include <cstdio>

texture<float, 1, cudaReadModeElementType> line;
texture<uchar4, cudaTextureType2D, cudaReadModeNormalizedFloat> image;
static texture<int2, 3> volume;
surface<void, cudaSurfaceType2D> canvas;

__device__ float through(int x) { return tex1Dfetch(line, x); }

extern "C" __global__ void reads(float *out, float4 *colours)
{
    int x = threadIdx.x;
    colours[x] = tex2D(image, x + 0.5f, 1.5f);
    out[x] = through(x) + tex3D(volume, x, 0, 1).y;
    surf2Dwrite(out[x], canvas, x * 4, 2, cudaBoundaryModeZero);
}

int main()
{
    float *memory;
    cudaMalloc(&memory, 64);
    line.normalized = 0;
    line.filterMode = cudaFilterModePoint;
    line.addressMode[0] = cudaAddressModeClamp;
    cudaBindTexture(0, line, memory, 64);
    cudaChannelFormatDesc format = cudaCreateChannelDesc<uchar4>();
    cudaArray_t array;
    cudaMallocArray(&array, &format, 8, 8);
    cudaBindTextureToArray(image, array, format);
    cudaBindTextureToArray(image, array);
    cudaBindSurfaceToArray(canvas, array);
    reads<<<1, 8>>>(memory, nullptr);
    cudaUnbindTexture(line);
    printf("%p\n", (void *)memory);
}
