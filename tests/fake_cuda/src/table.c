/* cuGetProcAddress: the functions that there are, with the version of CUDA that each came with. */

#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS(_)                                                                               \
    _(cuInit, 2000, cuInit)                                                                        \
    _(cuDriverGetVersion, 2020, cuDriverGetVersion)                                                \
    _(cuGetErrorName, 6000, cuGetErrorName)                                                        \
    _(cuGetErrorString, 6000, cuGetErrorString)                                                    \
    _(cuDeviceGetCount, 2000, cuDeviceGetCount)                                                    \
    _(cuDeviceGet, 2000, cuDeviceGet)                                                              \
    _(cuDeviceGetName, 2000, cuDeviceGetName)                                                      \
    _(cuDeviceGetUuid, 11040, cuDeviceGetUuid_v2)                                                  \
    _(cuDeviceTotalMem, 3020, cuDeviceTotalMem_v2)                                                 \
    _(cuDeviceGetAttribute, 2000, cuDeviceGetAttribute)                                            \
    _(cuDeviceCanAccessPeer, 4000, cuDeviceCanAccessPeer)                                          \
    _(cuDevicePrimaryCtxRetain, 7000, cuDevicePrimaryCtxRetain)                                    \
    _(cuDevicePrimaryCtxRelease, 11000, cuDevicePrimaryCtxRelease_v2)                              \
    _(cuDevicePrimaryCtxReset, 11000, cuDevicePrimaryCtxReset_v2)                                  \
    _(cuDevicePrimaryCtxGetState, 7000, cuDevicePrimaryCtxGetState)                                \
    _(cuCtxSetCurrent, 4000, cuCtxSetCurrent)                                                      \
    _(cuCtxGetCurrent, 4000, cuCtxGetCurrent)                                                      \
    _(cuCtxGetDevice, 2000, cuCtxGetDevice)                                                        \
    _(cuCtxSynchronize, 2000, cuCtxSynchronize)                                                    \
    _(cuCtxEnablePeerAccess, 4000, cuCtxEnablePeerAccess)                                          \
    _(cuCtxDisablePeerAccess, 4000, cuCtxDisablePeerAccess)                                        \
    _(cuMemAlloc, 3020, cuMemAlloc_v2)                                                             \
    _(cuMemAllocManaged, 6000, cuMemAllocManaged)                                                  \
    _(cuMemFree, 3020, cuMemFree_v2)                                                               \
    _(cuMemGetInfo, 3020, cuMemGetInfo_v2)                                                         \
    _(cuMemGetAddressRange, 3020, cuMemGetAddressRange_v2)                                         \
    _(cuIpcGetMemHandle, 4010, cuIpcGetMemHandle)                                                  \
    _(cuIpcOpenMemHandle, 11000, cuIpcOpenMemHandle_v2)                                            \
    _(cuIpcCloseMemHandle, 4010, cuIpcCloseMemHandle)                                              \
    _(cuMemHostAlloc, 2020, cuMemHostAlloc)                                                        \
    _(cuMemFreeHost, 2000, cuMemFreeHost)                                                          \
    _(cuMemHostRegister, 6050, cuMemHostRegister_v2)                                               \
    _(cuMemHostUnregister, 4000, cuMemHostUnregister)                                              \
    _(cuPointerGetAttribute, 4000, cuPointerGetAttribute)                                          \
    _(cuMemPoolCreate, 11020, cuMemPoolCreate)                                                     \
    _(cuMemPoolDestroy, 11020, cuMemPoolDestroy)                                                   \
    _(cuMemPoolSetAttribute, 11020, cuMemPoolSetAttribute)                                         \
    _(cuMemPoolGetAttribute, 11020, cuMemPoolGetAttribute)                                         \
    _(cuMemPoolTrimTo, 11020, cuMemPoolTrimTo)                                                     \
    _(cuMemPoolSetAccess, 11020, cuMemPoolSetAccess)                                               \
    _(cuMemAllocFromPoolAsync, 11020, cuMemAllocFromPoolAsync)                                     \
    _(cuMemFreeAsync, 11020, cuMemFreeAsync)                                                       \
    _(cuMemcpyHtoD, 3020, cuMemcpyHtoD_v2)                                                         \
    _(cuMemcpyDtoH, 3020, cuMemcpyDtoH_v2)                                                         \
    _(cuMemcpyHtoDAsync, 3020, cuMemcpyHtoDAsync_v2)                                               \
    _(cuMemcpyDtoHAsync, 3020, cuMemcpyDtoHAsync_v2)                                               \
    _(cuMemcpyAsync, 4000, cuMemcpyAsync)                                                          \
    _(cuMemcpyPeerAsync, 4000, cuMemcpyPeerAsync)                                                  \
    _(cuMemsetD8Async, 3020, cuMemsetD8Async)                                                      \
    _(cuStreamCreate, 2000, cuStreamCreate)                                                        \
    _(cuStreamCreateWithPriority, 5050, cuStreamCreateWithPriority)                                \
    _(cuStreamDestroy, 4000, cuStreamDestroy_v2)                                                   \
    _(cuStreamGetFlags, 5050, cuStreamGetFlags)                                                    \
    _(cuStreamGetPriority, 5050, cuStreamGetPriority)                                              \
    _(cuStreamQuery, 2000, cuStreamQuery)                                                          \
    _(cuStreamSynchronize, 2000, cuStreamSynchronize)                                              \
    _(cuStreamWaitEvent, 3020, cuStreamWaitEvent)                                                  \
    _(cuStreamBeginCapture, 10010, cuStreamBeginCapture_v2)                                        \
    _(cuStreamEndCapture, 10000, cuStreamEndCapture)                                               \
    _(cuStreamIsCapturing, 10000, cuStreamIsCapturing)                                             \
    _(cuStreamGetCaptureInfo, 12030, cuStreamGetCaptureInfo_v3)                                    \
    _(cuUserObjectCreate, 11030, cuUserObjectCreate)                                               \
    _(cuGraphRetainUserObject, 11030, cuGraphRetainUserObject)                                     \
    _(cuThreadExchangeStreamCaptureMode, 10010, cuThreadExchangeStreamCaptureMode)                 \
    _(cuLaunchHostFunc, 10000, cuLaunchHostFunc)                                                   \
    _(cuEventCreate, 2000, cuEventCreate)                                                          \
    _(cuEventDestroy, 4000, cuEventDestroy_v2)                                                     \
    _(cuEventRecord, 2000, cuEventRecord)                                                          \
    _(cuEventQuery, 2000, cuEventQuery)                                                            \
    _(cuEventSynchronize, 2000, cuEventSynchronize)                                                \
    _(cuEventElapsedTime, 12080, cuEventElapsedTime_v2)                                            \
    _(cuModuleLoadData, 2000, cuModuleLoadData)                                                    \
    _(cuModuleLoadDataEx, 2010, cuModuleLoadDataEx)                                                \
    _(cuModuleUnload, 2000, cuModuleUnload)                                                        \
    _(cuModuleGetFunction, 2000, cuModuleGetFunction)                                              \
    _(cuModuleGetGlobal, 3020, cuModuleGetGlobal_v2)                                               \
    _(cuFuncGetAttribute, 2020, cuFuncGetAttribute)                                                \
    _(cuFuncSetAttribute, 9000, cuFuncSetAttribute)                                                \
    _(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050,                                           \
      cuOccupancyMaxActiveBlocksPerMultiprocessor)                                                 \
    _(cuOccupancyMaxPotentialBlockSize, 6050, cuOccupancyMaxPotentialBlockSize)                    \
    _(cuLaunchKernel, 4000, cuLaunchKernel)                                                        \
    _(cuLaunchCooperativeKernel, 9000, cuLaunchCooperativeKernel)                                  \
    _(cuLaunchKernelEx, 11060, cuLaunchKernelEx)                                                   \
    _(cuTensorMapEncodeTiled, 12000, cuTensorMapEncodeTiled)                                       \
    _(cuOccupancyMaxActiveClusters, 11070, cuOccupancyMaxActiveClusters)                           \
    _(cuGraphGetNodes, 10000, cuGraphGetNodes)                                                     \
    _(cuGraphDestroy, 10000, cuGraphDestroy)                                                       \
    _(cuGraphInstantiateWithFlags, 11040, cuGraphInstantiateWithFlags)                             \
    _(cuGraphLaunch, 10000, cuGraphLaunch)                                                         \
    _(cuGraphExecDestroy, 10000, cuGraphExecDestroy)

/* Only the addresses are needed here; the true types stand with the definitions. */
#define DECLARED(name, version, function) extern void function(void) __asm__(#function);
#define ROW(name, version, function) {#name, version, function},

#pragma GCC diagnostic ignored "-Wbuiltin-declaration-mismatch"
FUNCTIONS(DECLARED)

static const struct {
    const char *name;
    int version;
    void (*address)(void);
} table[] = {FUNCTIONS(ROW)};

/* FAKE_CUDA_WITHOUT names functions that an older driver lacks. */
static int left_out(const char *name)
{
    const char *without = getenv("FAKE_CUDA_WITHOUT");
    return without != NULL && strstr(without, name) != NULL;
}

CUresult cuGetProcAddress_v2(const char *name, void **address, int version, uint64_t flags,
                             int *status)
{
    (void)flags;
    *address = NULL;
    for (size_t n = 0; n < sizeof table / sizeof *table; n++)
        if (!strcmp(table[n].name, name) && table[n].version == version && !left_out(name))
            *address = (void *)table[n].address;
    if (status != NULL)
        *status = *address == NULL; /* 1: no such symbol */
    return *address == NULL ? NOT_FOUND : SUCCESS;
}
