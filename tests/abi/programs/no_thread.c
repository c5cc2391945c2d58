/* Work of streams whose thread cannot start at first: queries start it. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define EXPECT(what)                                                         \
    do {                                                                     \
        if (!(what))                                                         \
            return printf("line %d: not %s\n", __LINE__, #what), fflush(0), 0; \
    } while (0)

static int is_full; /* the system has no place for a thread */

int pthread_create(pthread_t *made, const pthread_attr_t *how, void *(*start)(void *), void *given)
{
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    *(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
    return is_full ? EAGAIN : create(made, how, start, given);
}

static void counts(void *number)
{
    *(int *)number += 1;
}

/* Append a call and an event to a new stream, without a thread for them. */
static int append(cudaStream_t *stream, cudaEvent_t *event, int *number)
{
    EXPECT(!cudaStreamCreate(stream) && !cudaEventCreate(event));
    is_full = 1;
    EXPECT(cudaLaunchHostFunc(*stream, counts, number));
    EXPECT(cudaEventRecord(*event, *stream));
    is_full = 0;
    (void)cudaGetLastError();
    return 1;
}

int main(void)
{
    enum { ROUNDS = 5 };
    for (int round = 0; round < ROUNDS; round++) {
        cudaStream_t stream, other;
        cudaEvent_t event;
        float ms;
        int number = 0, code = cudaErrorNotReady;
        EXPECT(!cudaFree(0) && !cudaStreamCreate(&other));
        EXPECT(!cudaLaunchHostFunc(other, counts, &(int){ 0 }) && !cudaStreamSynchronize(other));
        if (!append(&stream, &event, &number))
            return 1;
        if (round == 3)
            EXPECT(!cudaStreamWaitEvent(other, event, 0));
        for (int n = 0; n < 2000 && code == cudaErrorNotReady; n++) {
            code = round == 0   ? cudaStreamQuery(stream)
                   : round == 1 ? cudaEventQuery(event)
                   : round == 2 ? cudaEventElapsedTime(&ms, event, event)
                   : round == 3 ? cudaStreamQuery(other)
                                : cudaEventSynchronize(event);
            usleep(1000);
        }
        EXPECT(code == 0 && number == 1);
    }
    puts("well");
    return 0;
}
