/* A program in C, with no Python of its own: what it had before is as it was after. */
#include <cuda.h>
#include <errno.h>
#include <fenv.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(call)                                                              \
    do {                                                                         \
        CUresult code = (call);                                                  \
        if (code) {                                                              \
            printf("line %d: %s is %d\n", __LINE__, #call, code);                \
            exit(1);                                                             \
        }                                                                        \
    } while (0)
#define EXPECT(what)                                                             \
    do {                                                                         \
        if (!(what)) {                                                           \
            printf("line %d: not %s\n", __LINE__, #what);                        \
            exit(1);                                                             \
        }                                                                        \
    } while (0)

static const char *text =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry scale(.param .u64 x, .param .f32 by, .param .u32 n) {\n"
    " .reg .b64 %rd<4>; .reg .b32 %r<6>; .reg .f32 %f<4>; .reg .pred %p;\n"
    " ld.param.u64 %rd1, [x]; ld.param.f32 %f1, [by]; ld.param.u32 %r1, [n];\n"
    " mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
    " mad.lo.u32 %r5, %r2, %r3, %r4; setp.ge.u32 %p, %r5, %r1; @%p ret;\n"
    " mul.wide.u32 %rd2, %r5, 4; add.s64 %rd3, %rd1, %rd2;\n"
    " ld.global.f32 %f2, [%rd3]; mul.f32 %f3, %f2, %f1; st.global.f32 [%rd3], %f3; ret;\n}\n";

enum { N = 1000 };
static CUcontext shared_context;
static CUfunction scale;

static void run(float factor)
{
    float x[N];
    CUdeviceptr there;
    unsigned n = N;
    for (int i = 0; i < N; i++)
        x[i] = i;
    CHECK(cuMemAlloc(&there, sizeof x));
    CHECK(cuMemcpyHtoD(there, x, sizeof x));
    void *arguments[] = { &there, &factor, &n };
    CHECK(cuLaunchKernel(scale, 8, 1, 1, 128, 1, 1, 0, 0, arguments, 0));
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyDtoH(x, there, sizeof x));
    for (int i = 0; i < N; i++)
        EXPECT(x[i] == i * factor);
    CHECK(cuMemFree(there));
}

static void *in_thread(void *number)
{
    CUcontext found;
    CHECK(cuCtxGetCurrent(&found)); /* a new thread has none */
    EXPECT(!found);
    CHECK(cuCtxSetCurrent(shared_context));
    for (int n = 0; n < 20; n++)
        run((float)(size_t)number + n);
    CHECK(cuCtxGetCurrent(&found)); /* and keeps its own from call to call */
    EXPECT(found == shared_context);
    return 0;
}

/* Note the handlers of all signals, or expect those that were noted, but for faults: those of
 * kernels have a handler, which passes on all others. */
static void handlers(int expect)
{
    static void (*before[32])(int);
    for (int number = 1; number < 32; number++) {
        struct sigaction found;
        if (sigaction(number, 0, &found) || number == SIGSEGV || number == SIGBUS)
            continue;
        if (expect && found.sa_handler != before[number])
            printf("signal %d\n", number);
        EXPECT(!expect || found.sa_handler == before[number]);
        before[number] = found.sa_handler;
    }
}

static void __attribute__((destructor)) after_main(void)
{
    int version = 0;
    if (cuDriverGetVersion(&version) || version != 13000)
        _exit(7);
}

int main(void)
{
    CUdevice device;
    CUmodule module;
    char name[8];
    handlers(0);
    fesetround(FE_UPWARD);
    errno = 77;
    EXPECT(cuMemFree(8) == CUDA_ERROR_NOT_INITIALIZED);
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDeviceGetName(name, sizeof name, device));
    EXPECT(strlen(name) == 7);
    CHECK(cuCtxCreate(&shared_context, 0, 0, device));
    CHECK(cuModuleLoadData(&module, text));
    CHECK(cuModuleGetFunction(&scale, module, "scale"));
    EXPECT(cuModuleGetFunction(&scale, module, "none") == CUDA_ERROR_NOT_FOUND);
    CHECK(cuModuleGetFunction(&scale, module, "scale"));
    run(3);
    EXPECT(errno == 77 && fegetround() == FE_UPWARD);
    EXPECT(!strcmp(setlocale(LC_ALL, 0), "C"));
    fesetround(FE_TONEAREST);
    pthread_t threads[8];
    for (size_t n = 0; n < 8; n++)
        pthread_create(&threads[n], 0, in_thread, (void *)(n + 1));
    for (int n = 0; n < 8; n++)
        pthread_join(threads[n], 0);
    handlers(1);
    pid_t child = fork();
    if (!child) { /* the devices and threads are the parent's */
        CUdeviceptr there;
        _exit(cuMemAlloc(&there, 16) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    EXPECT(!status);
    run(5);
    puts("well");
    return 0;
}
