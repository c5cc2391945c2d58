/* Resident memory of a process that makes many calls, modules and contexts. Each line is what was
   done, how often, and the KiB at a tenth, at a half and at the end of it. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(call)                                                                    \
    do {                                                                               \
        CUresult error = (call);                                                       \
        if (error) {                                                                   \
            fprintf(stderr, "%s gives %d\n", #call, error);                            \
            exit(1);                                                                   \
        }                                                                              \
    } while (0)

static long resident(void)
{
    long all, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &all, &pages) != 2)
        exit(2);
    fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static const char *const text =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .global .u32 g%d;\n"
    ".visible .entry k(.param .u64 p) { .reg .b64 %%d; .reg .b32 %%r; ld.param.u64 %%d, [p];\n"
    "ld.global.u32 %%r, [%%d]; add.u32 %%r, %%r, 1; st.global.u32 [%%d], %%r; ret; }\n";

static CUdeviceptr device;
static CUmodule module;
static CUfunction function;
static CUstream stream;
static CUevent event;
static unsigned value;

static void load(int n)
{
    char made[512];
    snprintf(made, sizeof made, text, n % 16);
    CHECK(cuModuleLoadData(&module, made));
    CHECK(cuModuleGetFunction(&function, module, "k"));
}

static void launch(void)
{
    void *params[] = { &device };
    CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, params, 0));
}

/* Ten calls. */
static void calls(int n)
{
    CUdeviceptr more;
    size_t free_bytes, total;
    CUcontext current;
    (void)n;
    CHECK(cuMemAlloc(&more, 4096));
    CHECK(cuMemcpyHtoD(more, &value, 4));
    CHECK(cuMemcpyDtoD(device, more, 4));
    launch();
    CHECK(cuMemcpyDtoHAsync(&value, device, 4, stream));
    CHECK(cuEventRecord(event, stream));
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuMemGetInfo(&free_bytes, &total));
    CHECK(cuCtxGetCurrent(&current));
    CHECK(cuMemFree(more));
}

static void modules(int n)
{
    CUdeviceptr address;
    size_t bytes;
    char name[16];
    load(n);
    launch();
    snprintf(name, sizeof name, "g%d", n % 16);
    CHECK(cuModuleGetGlobal(&address, &bytes, module, name));
    CHECK(cuCtxSynchronize());
    CHECK(cuModuleUnload(module));
}

static void contexts(int n)
{
    CUcontext made;
    CHECK(cuCtxCreate(&made, 0, 0, 0));
    CHECK(cuMemAlloc(&device, 4096));
    CHECK(cuStreamCreate(&stream, 0));
    CHECK(cuEventCreate(&event, 0));
    load(n);
    calls(n);
    CHECK(cuCtxDestroy(made));
}

static void measured(const char *name, void (*some)(int), int count, int each)
{
    long tenth = 0, half = 0;
    for (int n = 0; n < count; n++) {
        some(n);
        if (n + 1 == count / 10)
            tenth = resident();
        if (n + 1 == count / 2)
            half = resident();
    }
    printf("%s %d %ld %ld %ld\n", name, count * each, tenth, half, resident());
    fflush(stdout);
}

int main(int argc, char **argv)
{
    int less = argc > 1 ? atoi(argv[1]) : 1;
    CUcontext context;
    CHECK(cuInit(0));
    CHECK(cuCtxCreate(&context, 0, 0, 0));
    CHECK(cuMemAlloc(&device, 4096));
    CHECK(cuStreamCreate(&stream, 0));
    CHECK(cuEventCreate(&event, 0));
    measured("modules", modules, 10000 / less, 1);
    measured("contexts", contexts, 1000 / less, 1);
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuMemAlloc(&device, 4096));
    CHECK(cuStreamCreate(&stream, 0));
    CHECK(cuEventCreate(&event, 0));
    load(0);
    measured("calls", calls, 100000 / less, 10);
    return 0;
}
