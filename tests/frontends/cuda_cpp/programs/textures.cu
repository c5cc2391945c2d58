// Reads of textures of each shape, and a kernel without any.
#include <cstdio>
#include <cstring>

__global__ void filtered(cudaTextureObject_t image, float *out, int width)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    uchar4 four = tex2D<uchar4>(image, x + 0.5f, y + 0.5f);
    float one;
    tex2D(&one, image, x * 0.1f, y * 0.2f);
    out[y * width + x] = one + four.x + tex1Dfetch<float>(image, x) + tex1D<int2>(image, 0.5f).y +
        tex3D<float>(image, x, y, 0) + tex2DLayered<float2>(image, x, y, 3).x;
}

__global__ void plain(float *out) { out[threadIdx.x] = 2.0f * threadIdx.x; }

int main()
{
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaMallocArray(&array, &format, 64, 64);
    cudaResourceDesc resource;
    memset(&resource, 0, sizeof(resource));
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc texture = {};
    texture.addressMode[0] = cudaAddressModeClamp;
    texture.filterMode = cudaFilterModeLinear;
    texture.readMode = cudaReadModeElementType;
    cudaTextureObject_t image = 0;
    cudaCreateTextureObject(&image, &resource, &texture, NULL);
    filtered<<<dim3(2, 64), 32>>>(image, nullptr, 64);
    cudaDestroyTextureObject(image);
    cudaFreeArray(array);
    printf("%d\n", cudaGetLastError());
}
