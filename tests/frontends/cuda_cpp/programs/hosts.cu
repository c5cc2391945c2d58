// A main that asks for much of the host: only the kernel is compiled, and all must be declared.
#define A 1
#include <cuda.h>
#include <cuda_gl_interop.h>
#include <cub/device/device_for.cuh>
#include <cub/version.cuh>
#include <nvml.h>
#include <nvrtc.h>
#include <thrust/device_vector.h>
#include <thrust/mismatch.h>
#include <thrust/shuffle.h>
#include <thrust/zip_function.h>

struct Fused {
    __host__ __device__ float operator()(float a, float b, float c) const { return a + b * c; }
};
__global__ void zipped(float *out)
{
    auto call = thrust::make_zip_function(Fused{});
    out[threadIdx.x] = call(thrust::make_tuple(1.0f, 2.0f, (float)threadIdx.x));
}

static int mipmaps()
{
    cudaMipmappedArray_t levels;
    cudaArray_t level;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<uchar4>();
    cudaMallocMipmappedArray(&levels, &format, make_cudaExtent(8, 8, 0), 3);
    cudaGetMipmappedArrayLevel(&level, levels, 0);
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeMipmappedArray, resource.res.mipmap.mipmap = levels;
    cudaGraphicsResource *shared;
    cudaGraphicsGLRegisterBuffer(&shared, 1, cudaGraphicsRegisterFlagsWriteDiscard);
    return cudaFreeMipmappedArray(levels);
}
static int graphs(cudaGraph_t graph)
{
    cudaGraphConditionalHandle handle;
    cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault);
    cudaGraphNodeParams parameters = {cudaGraphNodeTypeConditional};
    parameters.conditional.handle = handle, parameters.conditional.type = cudaGraphCondTypeWhile;
    parameters.conditional.size = 1;
    cudaGraphNode_t node;
    return cudaGraphAddNode(&node, graph, NULL, 0, &parameters);
}
static int addresses(CUdevice device)
{
    CUmemAllocationProp wanted = {};
    wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE, wanted.location.id = device;
    size_t bytes;
    cuMemGetAllocationGranularity(&bytes, &wanted, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    CUmemGenericAllocationHandle handle;
    CUdeviceptr place;
    cuMemCreate(&handle, bytes, &wanted, 0), cuMemAddressReserve(&place, bytes, 0, 0, 0);
    CUmemAccessDesc access = {wanted.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    return cuMemMap(place, bytes, 0, handle, 0) + cuMemSetAccess(place, bytes, &access, 1);
}
int main()
{
    nvmlDevice_t device;
    unsigned milliwatts;
    nvmlInit(), nvmlDeviceGetHandleByIndex(0, &device);
    nvmlDeviceGetPowerUsage(device, &milliwatts);
    nvrtcProgram program;
    nvrtcCreateProgram(&program, "", "a.cu", 0, NULL, NULL);
    thrust::device_vector<int> keys(9), values(9);
    thrust::shuffle(keys.begin(), keys.end(), thrust::default_random_engine(3));
    auto two = thrust::mismatch(keys.begin(), keys.end(), values.begin());
    cub::DeviceFor::Bulk(9, [] __device__(int) {});
    zipped<<<1, 32>>>(NULL);
    return mipmaps() + graphs(NULL) + addresses(0) + CUB_VERSION + (two.first == keys.end());
}
