/* The pool without Python, under sanitizers: threads that launch at once, stops, forks, limits.
 *
 *     stress THREADS LAUNCHES WORKERS [MILLISECONDS]
 *
 * With MILLISECONDS, that is the limit of a launch, and one lasts longer.
 *
 * A kernel counts each block of its grid. Each launch checks that all of its blocks ran once. */
#include "forks.h"
#include "pool.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_BLOCKS = 300 };

static struct gl_pool *pool;
static int launches;

#define CHECK(what)                                                        \
    do {                                                                   \
        if (!(what)) {                                                     \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);     \
            _exit(1);                                                      \
        }                                                                  \
    } while (0)

/* --- kernels: their parameter is an array of counters --- */

static void count(const void *params, struct gl_context *context, int64_t first, int64_t last,
                  void *arena)
{
    int *const counters = *(int *const *)params;
    (void)context;
    memset(arena, 1, 64);
    for (int64_t block = first; block < last; block++)
        __atomic_fetch_add(&counters[block], 1, __ATOMIC_RELAXED);
}

/* Runs until it is stopped. */
static void spin(const void *params, struct gl_context *context, int64_t first, int64_t last,
                 void *arena)
{
    int *const is_running = *(int *const *)params;
    (void)context, (void)first, (void)last, (void)arena;
    for (;;) {
        __atomic_store_n(is_running, 1, __ATOMIC_RELEASE);
        usleep(100);
    }
}

/* Fails in one block; others see the end of the launch. */
static void refuse(const void *params, struct gl_context *context, int64_t first, int64_t last,
                   void *arena)
{
    const int64_t numbers[GL_NUMBERS] = { 7 };
    (void)arena;
    if (first <= 5 && last > 5)
        context->fail(context, 3, 1, 5, numbers);
    count(params, context, first, last, arena);
}

static int launch(gl_entry *entry, void *params, int blocks, int64_t work, int64_t *report)
{
    const struct gl_plan_of_kernel plan = { .entry = entry, .pool = pool, .work = work };
    return gridlane_launch(&plan, &params, blocks, 1, 1, 0, report);
}

/* --- threads that launch at once --- */

static void *launch_often(void *argument)
{
    unsigned random = (unsigned)(uintptr_t)argument;
    int counters[MOST_BLOCKS];
    int64_t report[GL_REPORT];
    for (int n = 0; n < launches; n++) {
        random = random * 1664525 + 1013904223;
        const int blocks = 1 + (int)(random >> 16) % MOST_BLOCKS;
        const int fails = random >> 8 & 1 && blocks > 5;
        memset(counters, 0, sizeof counters);
        const int code = launch(fails ? refuse : count, counters, blocks, 100000, report);
        CHECK(code == (fails ? 3 : 0));
        if (fails)
            CHECK((int32_t)report[0] == 1 && report[1] == 5 && report[5] == 7 && !counters[5]);
        for (int block = 0; block < blocks; block++)
            CHECK(fails ? counters[block] <= 1 : counters[block] == 1);
    }
    return NULL;
}

static void all_launch(int threads)
{
    pthread_t made[64];
    for (int n = 0; n < threads; n++)
        CHECK(!pthread_create(&made[n], NULL, launch_often, (void *)(uintptr_t)(n + 1)));
    for (int n = 0; n < threads; n++)
        pthread_join(made[n], NULL);
}

/* --- stops --- */

struct stopped {
    int is_running, code, is_over;
};

static void *launch_endless(void *argument)
{
    struct stopped *own = argument;
    int64_t report[GL_REPORT];
    own->code = launch(spin, &own->is_running, 64, 100000, report);
    __atomic_store_n(&own->is_over, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* Also a launch of the same thread and record afterwards. */
static void stops(void)
{
    for (int n = 0; n < 20; n++) {
        struct stopped each = { 0 };
        pthread_t thread;
        CHECK(!pthread_create(&thread, NULL, launch_endless, &each));
        while (!__atomic_load_n(&each.is_running, __ATOMIC_ACQUIRE))
            sched_yield();
        while (!__atomic_load_n(&each.is_over, __ATOMIC_ACQUIRE)) {
            gridlane_stop((uint64_t)(uintptr_t)thread, 1);
            usleep(1000);
        }
        pthread_join(thread, NULL);
        CHECK(each.code == -GL_STOPPED);
        all_launch(1);
    }
}

#ifdef FORKS

/* --- forks: the child's pool starts anew, whatever the parent's threads did --- */

static void forks(int workers)
{
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, launch_often, (void *)(uintptr_t)99));
    for (int n = 0; n < 4; n++) {
        const pid_t child = fork();
        CHECK(child >= 0);
        if (!child) {
            CHECK(gridlane_start(pool, workers, (uint64_t)(uintptr_t)pthread_self(), 0) == workers);
            launches = 50;
            launch_often((void *)(uintptr_t)5);
            _exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
    }
    pthread_join(thread, NULL);
}

#endif

/* --- a limit --- */

static void limited(void)
{
    for (int n = 0; n < 2; n++) {
        struct stopped each = { 0 };
        launch_endless(&each);
        CHECK(each.code == -GL_TIMED_OUT);
        launch_often((void *)(uintptr_t)5);
    }
}

/* --- Python, as far as the pool calls it --- */

static int ensure(void)
{
    return 0;
}

static void release(int state)
{
    (void)state;
}

static int check_signals(void)
{
    return 0;
}

int main(int argc, char **argv)
{
    const int threads = argc > 1 ? atoi(argv[1]) : 24, workers = argc > 3 ? atoi(argv[3]) : 3;
    const int most = argc > 2 ? atoi(argv[2]) : 10000;
    const int64_t limit = argc > 4 ? atoi(argv[4]) * INT64_C(1000000) : 0;
    gridlane_python = (struct gl_python){ .ensure = ensure, .release = release,
                                          .check_signals = check_signals };
    pool = aligned_alloc(64, gridlane_bytes(workers + 1));
    CHECK(pool);
    CHECK(gridlane_start(pool, workers, (uint64_t)(uintptr_t)pthread_self(), limit) == workers);
    launches = most;
    all_launch(threads);
    launches = 20;
    if (limit)
        limited();
    else
        stops();
#ifdef FORKS
    launches = most / 10 + 1;
    forks(workers);
#endif
    printf("launched\n");
    return 0;
}
