/* Threads of gridlane and their waits, for the pool, the queues and the actors' engine.
 *
 * The module of each has its own copy, so that no state is here. Times are ns of gl_elapsed. */
#ifndef GRIDLANE_NATIVE_THREADS_H
#define GRIDLANE_NATIVE_THREADS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>

#pragma GCC visibility push(hidden)

/* Start a thread: 0, or the error of pthread_create. One whose place is null is detached. It has
 * the signals of its own instructions, SIGPROF of profilers and SIGURG, which stops a kernel; all
 * others are for the program's threads. */
int gl_start_thread(pthread_t *thread, void *(*body)(void *), void *argument);

/* As pthread_atfork. */
int gl_at_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void));

/* A condition whose times are those of gl_elapsed. */
void gl_cond_init(pthread_cond_t *condition);

/* Sleep until a change, or until a time. The thread is not cancelled meanwhile: locks and counts of
 * its caller would stay. */
void gl_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t until);

/* Sleep; not cancelled either. */
void gl_nap(uint64_t nanoseconds);

/* Begin to park: lock, and count this thread. It looks for work before it sleeps. */
void gl_park(uint32_t *parked, pthread_mutex_t *mutex);
void gl_rise(uint32_t *parked, pthread_mutex_t *mutex);

#pragma GCC visibility pop

/* Wake one or all of the threads that are parked, if any is. Memory order: the work is written
 * before, by a sequentially consistent store or with such a fence behind it, so that a thread that
 * is not seen here sees the work. */
static inline void gl_unpark(const uint32_t *parked, pthread_mutex_t *mutex,
                             pthread_cond_t *condition, int all)
{
    if (!__atomic_load_n(parked, __ATOMIC_SEQ_CST))
        return;
    pthread_mutex_lock(mutex);
    if (all)
        pthread_cond_broadcast(condition);
    else
        pthread_cond_signal(condition);
    pthread_mutex_unlock(mutex);
}

/* Block the signals that are for the program's threads, so that a thread that is started then has
 * them blocked; as in core/threads.py. */
static inline void gl_block_signals(sigset_t *before)
{
    static const int own[] = { SIGURG, SIGPROF, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };
    sigset_t others;
    sigfillset(&others);
    for (unsigned n = 0; n < sizeof own / sizeof *own; n++)
        sigdelset(&others, own[n]);
    pthread_sigmask(SIG_BLOCK, &others, before);
}

/* Of a loop that polls. "yield" of AArch64 does nothing on most processors. */
static inline void gl_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) && defined(__clang__)
    __builtin_arm_isb(15);
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

/* The time of a clock that no change of the time of day moves. */
static inline uint64_t gl_elapsed(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* After so many tries without success: pause, and after "polls" of them sleep, twice as long each
 * time. */
static inline void gl_back_off(uint32_t tries, uint32_t polls, uint64_t shortest, uint64_t longest)
{
    if (tries < polls) {
        gl_pause();
        return;
    }
    const uint32_t sleeps = tries - polls;
    const uint64_t doubled = sleeps < 32 ? shortest << sleeps : longest;
    gl_nap(doubled < longest ? doubled : longest);
}

#endif
