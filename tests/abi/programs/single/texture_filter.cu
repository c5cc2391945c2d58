#include <cstdio>
#include <cstring>
#include <cmath>
#include <cuda_runtime.h>
__global__ void rotateKernel(float *outputData, int width, int height, float theta, cudaTextureObject_t tex)
{
    unsigned int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float u = (float)x - (float)width / 2, v = (float)y - (float)height / 2;
    float tu = u * cosf(theta) - v * sinf(theta), tv = v * cosf(theta) + u * sinf(theta);
    outputData[y * width + x] = tex2D<float>(tex, tu + (float)width / 2 + 0.5f, tv + (float)height / 2 + 0.5f);
}
__global__ void lookup(int *out, cudaTextureObject_t tex, int n)
{
    int i = threadIdx.x;
    if (i < n) out[i] = tex1Dfetch<int>(tex, n - 1 - i);
}
__global__ void stamp(cudaSurfaceObject_t s, int w) { surf2Dwrite((float)(threadIdx.x * 10 + threadIdx.y), s, threadIdx.x * sizeof(float), threadIdx.y); }
int main()
{
    const int width = 32, height = 24;
    static float image[height][width], out[height][width];
    for (int y = 0; y < height; y++) for (int x = 0; x < width; x++) image[y][x] = x + 100 * y;
    cudaChannelFormatDesc channelDesc = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
    cudaArray *cuArray;
    if (cudaMallocArray(&cuArray, &channelDesc, width, height, cudaArraySurfaceLoadStore)) return 1;
    if (cudaMemcpy2DToArray(cuArray, 0, 0, image, sizeof(image[0]), sizeof(image[0]), height, cudaMemcpyHostToDevice)) return 2;
    cudaResourceDesc texRes;
    memset(&texRes, 0, sizeof(cudaResourceDesc));
    texRes.resType = cudaResourceTypeArray;
    texRes.res.array.array = cuArray;
    cudaTextureDesc texDescr;
    memset(&texDescr, 0, sizeof(cudaTextureDesc));
    texDescr.normalizedCoords = false;
    texDescr.filterMode = cudaFilterModePoint;
    texDescr.addressMode[0] = texDescr.addressMode[1] = cudaAddressModeClamp;
    texDescr.readMode = cudaReadModeElementType;
    cudaTextureObject_t tex;
    if (cudaCreateTextureObject(&tex, &texRes, &texDescr, NULL)) return 3;
    float *dData = NULL;
    cudaMalloc((void **)&dData, sizeof(out));
    rotateKernel<<<dim3(2, 2), dim3(16, 16)>>>(dData, width, height, 0.0f, tex);
    cudaMemcpy(out, dData, sizeof(out), cudaMemcpyDeviceToHost);
    bool ok = !memcmp(out, image, sizeof(out));
    int h[10], *dLinear, *dOut;
    for (int i = 0; i < 10; i++) h[i] = i * i;
    cudaMalloc(&dLinear, sizeof(h));
    cudaMalloc(&dOut, sizeof(h));
    cudaMemcpy(dLinear, h, sizeof(h), cudaMemcpyHostToDevice);
    memset(&texRes, 0, sizeof(texRes));
    texRes.resType = cudaResourceTypeLinear;
    texRes.res.linear.devPtr = dLinear;
    texRes.res.linear.desc = cudaCreateChannelDesc<int>();
    texRes.res.linear.sizeInBytes = sizeof(h);
    memset(&texDescr, 0, sizeof(texDescr));
    texDescr.readMode = cudaReadModeElementType;
    cudaTextureObject_t linear;
    if (cudaCreateTextureObject(&linear, &texRes, &texDescr, NULL)) return 4;
    lookup<<<1, 32>>>(dOut, linear, 10);
    cudaMemcpy(h, dOut, sizeof(h), cudaMemcpyDeviceToHost);
    for (int i = 0; i < 10; i++) ok &= h[i] == (9 - i) * (9 - i);
    memset(&texRes, 0, sizeof(texRes));
    texRes.resType = cudaResourceTypeArray;
    texRes.res.array.array = cuArray;
    cudaSurfaceObject_t surface;
    if (cudaCreateSurfaceObject(&surface, &texRes)) return 5;
    stamp<<<1, dim3(8, 8)>>>(surface, width);
    cudaMemcpy2DFromArray(out, sizeof(out[0]), cuArray, 0, 0, sizeof(out[0]), height, cudaMemcpyDeviceToHost);
    for (int y = 0; y < 8; y++) for (int x = 0; x < 8; x++) ok &= out[y][x] == x * 10 + y;
    ok &= out[9][9] == image[9][9];
    cudaDestroyTextureObject(tex);
    cudaDestroySurfaceObject(surface);
    cudaFreeArray(cuArray);
    printf("%s\n", ok ? "PASS" : "FAIL");
    return !ok;
}
