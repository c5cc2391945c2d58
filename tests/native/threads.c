/* Threads, sleeps and parking of native/threads.h. Prints "done". Usage: threads ROUNDS */
#include "threads.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(what)                                                                               \
    do {                                                                                          \
        if (!(what)) {                                                                            \
            fprintf(stderr, "%d: %s\n", __LINE__, #what);                                         \
            exit(1);                                                                              \
        }                                                                                         \
    } while (0)

enum { MILLISECOND = 1000000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition;
static uint32_t parked, begun, ended;

/* --- signals --- */

static void *note_signals(void *mask)
{
    pthread_sigmask(SIG_BLOCK, NULL, mask);
    return NULL;
}

/* A thread leaves the program's signals to the program's threads, and stops and faults reach it. */
static void check_signals(void)
{
    sigset_t mask, before, after;
    pthread_t thread;
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    CHECK(!gl_start_thread(&thread, note_signals, &mask));
    pthread_join(thread, NULL);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    const int open[] = { SIGURG, SIGPROF, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };
    for (unsigned n = 0; n < sizeof open / sizeof *open; n++)
        CHECK(!sigismember(&mask, open[n]));
    const int others[] = { SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGUSR1, SIGUSR2, SIGCHLD };
    for (unsigned n = 0; n < sizeof others / sizeof *others; n++)
        CHECK(sigismember(&mask, others[n]));
    for (int number = 1; number < 32; number++)
        CHECK(sigismember(&before, number) == sigismember(&after, number));
}

/* --- times --- */

static void check_times(void)
{
    uint64_t begin = gl_elapsed();
    gl_nap(2 * MILLISECOND);
    CHECK(gl_elapsed() - begin >= 2 * MILLISECOND);
    begin = gl_elapsed();
    pthread_mutex_lock(&mutex);
    while (gl_elapsed() < begin + 2 * MILLISECOND)
        gl_cond_wait(&condition, &mutex, begin + 2 * MILLISECOND);
    gl_cond_wait(&condition, &mutex, 0); /* a time that is over */
    pthread_mutex_unlock(&mutex);
    begin = gl_elapsed();
    for (uint32_t tries = 10; tries < 13; tries++)
        gl_back_off(tries, 10, MILLISECOND, 3 * MILLISECOND); /* 1, 2 and 3 */
    gl_back_off(UINT32_MAX, 10, MILLISECOND, 3 * MILLISECOND);
    CHECK(gl_elapsed() - begin >= 9 * MILLISECOND);
    for (uint32_t tries = 0; tries < 10; tries++)
        gl_back_off(tries, 10, UINT64_MAX, UINT64_MAX); /* does not sleep */
}

/* --- cancels --- */

static void *is_cancelled(void *argument)
{
    pthread_mutex_lock(&mutex);
    __atomic_store_n(&begun, 1, __ATOMIC_SEQ_CST);
    gl_cond_wait(&condition, &mutex, gl_elapsed() + 20 * MILLISECOND);
    pthread_mutex_unlock(&mutex);
    gl_nap(MILLISECOND);
    __atomic_store_n(&ended, 1, __ATOMIC_SEQ_CST);
    pthread_testcancel();
    return argument;
}

/* A thread that is cancelled while it sleeps lets go of its lock first. */
static void check_cancels(void)
{
    pthread_t thread;
    void *result;
    CHECK(!gl_start_thread(&thread, is_cancelled, NULL));
    while (!__atomic_load_n(&begun, __ATOMIC_SEQ_CST))
        gl_pause();
    pthread_mutex_lock(&mutex); /* it sleeps now */
    pthread_cancel(thread);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, &result);
    CHECK(result == PTHREAD_CANCELED && __atomic_load_n(&ended, __ATOMIC_SEQ_CST));
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}

/* --- parking --- */

static uint64_t turn, rounds;
static uint32_t left;

/* Two threads, each of which parks until it is its turn. Without a wake both sleep for ever. */
static void *take_turns(void *argument)
{
    const uint64_t own = (uint64_t)(uintptr_t)argument;
    for (uint64_t round = 0; round < rounds; round++) {
        if (__atomic_load_n(&turn, __ATOMIC_SEQ_CST) != 2 * round + own) {
            gl_park(&parked, &mutex);
            while (__atomic_load_n(&turn, __ATOMIC_SEQ_CST) != 2 * round + own)
                pthread_cond_wait(&condition, &mutex);
            gl_rise(&parked, &mutex);
        }
        __atomic_store_n(&turn, 2 * round + own + 1, __ATOMIC_SEQ_CST);
        gl_unpark(&parked, &mutex, &condition, round % 2);
    }
    __atomic_fetch_sub(&left, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static void check_parking(void)
{
    left = 2;
    CHECK(!gl_start_thread(NULL, take_turns, (void *)0));
    CHECK(!gl_start_thread(NULL, take_turns, (void *)1));
    const uint64_t until = gl_elapsed() + UINT64_C(200000) * MILLISECOND;
    while (__atomic_load_n(&left, __ATOMIC_SEQ_CST)) {
        CHECK(gl_elapsed() < until);
        gl_nap(MILLISECOND);
    }
    CHECK(turn == 2 * rounds && !parked);
}

/* --- forks --- */

static int before, in_parent, in_child;

static void count_before(void)
{
    before++;
}

static void count_parent(void)
{
    in_parent++;
}

static void count_child(void)
{
    in_child++;
}

static void check_forks(void)
{
    int status;
    CHECK(!gl_at_fork(count_before, count_parent, count_child));
    const pid_t child = fork();
    if (!child)
        _exit(before != 1 || in_parent || in_child != 1);
    CHECK(child > 0 && waitpid(child, &status, 0) == child && !status);
    CHECK(before == 1 && in_parent == 1 && !in_child);
}

int main(int count, char **words)
{
    CHECK(count == 2);
    rounds = strtoull(words[1], NULL, 10);
    gl_cond_init(&condition);
    check_signals();
    check_times();
    check_cancels();
    check_parking();
    check_forks();
    puts("done");
    return 0;
}
