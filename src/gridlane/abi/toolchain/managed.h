// The host's part of programs with __managed__ variables. Clang has these for HIP alone, so it
// compiles such a file as HIP; what it calls then are CUDA's functions, by names of HIP's.
#pragma once

#define GRIDLANE_HIP extern "C" __attribute__((weak, used))

extern "C" {
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t cudaLaunchKernel_ptsz(const void *kernel, dim3 grid, dim3 block, void **arguments,
                                  size_t shared, cudaStream_t stream);
void **__cudaRegisterFatBinary(void *wrapper);
void __cudaUnregisterFatBinary(void **binary);
char __cudaInitModule(void **binary);
void __cudaRegisterFunction(void **binary, const char *host, char *device, const char *name,
                            int limit, void *tid, void *bid, void *block, void *grid, int *warp);
void __cudaRegisterVar(void **binary, char *host, char *device, const char *name, int external,
                       size_t size, int constant, int global);
void __cudaRegisterTexture(void **binary, const void *host, const void **device, const char *name,
                           int dimensions, int normalised, int external);
void __cudaRegisterSurface(void **binary, const void *host, const void **device, const char *name,
                           int dimensions, int external);
void __cudaRegisterManagedVar(void **binary, void **host, char *device, const char *name,
                              int external, size_t size, int constant, int global);
}

// --- launches

typedef cudaError_t hipError_t;
GRIDLANE_HIP unsigned __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0,
                                                 cudaStream_t stream = 0)
{
    return __cudaPushCallConfiguration(grid, block, shared, stream);
}
GRIDLANE_HIP hipError_t __hipPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared,
                                                  cudaStream_t *stream)
{
    return __cudaPopCallConfiguration(grid, block, shared, stream);
}
GRIDLANE_HIP hipError_t hipLaunchKernel(const void *kernel, dim3 grid, dim3 block,
                                        void **arguments, size_t shared, cudaStream_t stream)
{
    return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}
GRIDLANE_HIP hipError_t hipLaunchKernel_spt(const void *kernel, dim3 grid, dim3 block,
                                            void **arguments, size_t shared, cudaStream_t stream)
{
    return cudaLaunchKernel_ptsz(kernel, grid, block, arguments, shared, stream);
}

// --- registration

struct gridlane_wrapper {
    int magic, version;
    const void *data;
    void *others;
};
GRIDLANE_HIP void **__hipRegisterFatBinary(gridlane_wrapper *given)
{
    gridlane_wrapper *made = new gridlane_wrapper{0x466243b1, 1, given->data, nullptr};
    return __cudaRegisterFatBinary(made);  // the end of the program frees it
}
GRIDLANE_HIP void __hipUnregisterFatBinary(void **binary) { __cudaUnregisterFatBinary(binary); }
GRIDLANE_HIP void __hipRegisterFunction(void **binary, const char *host, char *device,
                                        const char *name, int limit, void *tid, void *bid,
                                        void *block, void *grid, int *warp)
{
    __cudaRegisterFunction(binary, host, device, name, limit, tid, bid, block, grid, warp);
}
GRIDLANE_HIP void __hipRegisterVar(void **binary, char *host, char *device, const char *name,
                                   int external, size_t size, int constant, int global)
{
    __cudaRegisterVar(binary, host, device, name, external, size, constant, global);
}
GRIDLANE_HIP void __hipRegisterTexture(void **binary, void *host, char *device, const char *name,
                                       int dimensions, int normalised, int external)
{
    __cudaRegisterTexture(binary, host, (const void **)device, name, dimensions, normalised, external);
}
GRIDLANE_HIP void __hipRegisterSurface(void **binary, void *host, char *device, const char *name,
                                       int dimensions, int external)
{
    __cudaRegisterSurface(binary, host, (const void **)device, name, dimensions, external);
}
// The host reads a variable by a pointer, which it has from the start.
GRIDLANE_HIP void __hipRegisterManagedVar(void **binary, void **pointer, char *, const char *name,
                                          size_t size, unsigned)
{
    __cudaRegisterManagedVar(binary, pointer, (char *)name, name, 0, size, 0, 0);
    if (!__cudaInitModule(binary))
        exit(EXIT_FAILURE);  // it has said why
}
#undef GRIDLANE_HIP
