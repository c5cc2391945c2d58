/* NVRTC's interface in C: a kernel of a template with a header, errors with their log, and the PTX
 * in the driver. */
#include <cuda.h>
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(what)                                        \
    do {                                                    \
        if (!(what)) {                                      \
            printf("line %d: not %s\n", __LINE__, #what);   \
            return 1;                                       \
        }                                                   \
    } while (0)

static const char code[] = "#include \"factor.h\"\n"
                           "template <class T> __global__ void scale(T *x) { x[threadIdx.x] *= FACTOR; }\n";

int main(void)
{
    const char *header = "#define FACTOR 3\n", *name = "factor.h", *lowered;
    const char *options[] = { "--gpu-architecture=compute_80", "-std=c++17" };
    int major, minor, count;
    nvrtcProgram program, broken;
    size_t size;

    EXPECT(nvrtcVersion(&major, &minor) == NVRTC_SUCCESS && major == 13);
    EXPECT(nvrtcGetNumSupportedArchs(&count) == NVRTC_SUCCESS && count > 0);
    EXPECT(!strcmp(nvrtcGetErrorString(NVRTC_ERROR_COMPILATION), "NVRTC_ERROR_COMPILATION"));
    EXPECT(nvrtcCreateProgram(NULL, code, "scale.cu", 0, NULL, NULL) != NVRTC_SUCCESS);
    EXPECT(nvrtcCompileProgram((nvrtcProgram)1, 0, NULL) == NVRTC_ERROR_INVALID_PROGRAM);

    EXPECT(!nvrtcCreateProgram(&broken, "__global__ void k() { none(); }", "k.cu", 0, NULL, NULL));
    EXPECT(nvrtcCompileProgram(broken, 0, NULL) == NVRTC_ERROR_COMPILATION);
    EXPECT(!nvrtcGetProgramLogSize(broken, &size) && size > 1);
    char *log = malloc(size);
    EXPECT(!nvrtcGetProgramLog(broken, log) && strlen(log) + 1 == size && strstr(log, "none"));
    EXPECT(!nvrtcDestroyProgram(&broken) && !broken);

    EXPECT(!nvrtcCreateProgram(&program, code, "scale.cu", 1, &header, &name));
    EXPECT(!nvrtcAddNameExpression(program, "scale<int>"));
    EXPECT(!nvrtcCompileProgram(program, 2, options));
    EXPECT(!nvrtcGetLoweredName(program, "scale<int>", &lowered));
    EXPECT(!nvrtcGetPTXSize(program, &size));
    char *ptx = malloc(size);
    EXPECT(!nvrtcGetPTX(program, ptx) && strlen(ptx) + 1 == size && strstr(ptx, lowered));

    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction scale;
    CUdeviceptr x;
    int values[4] = { 1, 2, 3, 4 };
    void *arguments[] = { &x };
    EXPECT(!cuInit(0) && !cuDeviceGet(&device, 0));
    EXPECT(!cuDevicePrimaryCtxRetain(&context, device) && !cuCtxSetCurrent(context));
    EXPECT(!cuModuleLoadData(&module, ptx) && !cuModuleGetFunction(&scale, module, lowered));
    EXPECT(!cuMemAlloc(&x, sizeof values) && !cuMemcpyHtoD(x, values, sizeof values));
    EXPECT(!cuLaunchKernel(scale, 1, 1, 1, 4, 1, 1, 0, NULL, arguments, NULL));
    EXPECT(!cuMemcpyDtoH(values, x, sizeof values) && values[0] == 3 && values[3] == 12);
    EXPECT(!nvrtcDestroyProgram(&program) && !program);
    printf("well\n");
    return 0;
}
