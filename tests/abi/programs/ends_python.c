/* A process that ends its own Python, begins another one, and calls meanwhile. */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

void Py_InitializeEx(int signals);
int Py_FinalizeEx(void);
void *PyEval_SaveThread(void);
void PyEval_RestoreThread(void *state);

static int codes[4];

static void ask(void)
{
    void *made = NULL;
    int device;
    codes[0] = cudaMalloc(&made, 64);
    codes[1] = cudaGetDevice(&device);
    codes[2] = cudaFree(made);
    codes[3] = strcmp(cudaGetErrorName(codes[0]), codes[0] ? "cudaErrorCudartUnloading" : "cudaSuccess");
}

static void *in_thread(void *unused)
{
    ask();
    return unused;
}

static void tell(const char *when)
{
    printf("%s: %d %d %d %d\n", when, codes[0], codes[1], codes[2], codes[3]);
}

int main(void)
{
    for (int n = 0; n < 2; n++) {
        pthread_t thread;
        Py_InitializeEx(0);
        void *state = PyEval_SaveThread();
        ask();
        tell("python");
        pthread_create(&thread, NULL, in_thread, NULL);
        pthread_join(thread, NULL);
        tell("thread");
        PyEval_RestoreThread(state);
        Py_FinalizeEx();
        ask();
        tell("none");
    }
    return 0;
}
