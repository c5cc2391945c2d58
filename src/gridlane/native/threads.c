/* Starts of threads, sleeps, and parking. */
#include "threads.h"
#if defined(GL_LINKED_BY_JIT) && !defined(__APPLE__)
/* The JIT finds no pthread_atfork: each library of glibc's has its own. */
int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *);
#endif

int gl_start_thread(pthread_t *thread, void *(*body)(void *), void *argument)
{
    pthread_t detached;
    sigset_t before;
    gl_block_signals(&before);
    const int failed = pthread_create(thread ? thread : &detached, NULL, body, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failed && !thread)
        pthread_detach(detached);
    return failed;
}

int gl_at_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void))
{
#if defined(GL_LINKED_BY_JIT) && !defined(__APPLE__)
    return __register_atfork(before, in_parent, in_child, NULL);
#else
    return pthread_atfork(before, in_parent, in_child);
#endif
}

static struct timespec span_of(uint64_t nanoseconds)
{
    return (struct timespec){ (time_t)(nanoseconds / 1000000000u),
                              (long)(nanoseconds % 1000000000u) };
}

void gl_cond_init(pthread_cond_t *condition)
{
#ifdef __APPLE__
    pthread_cond_init(condition, NULL);
#else
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &clock);
    pthread_condattr_destroy(&clock);
#endif
}

void gl_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t until)
{
    int cancels;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancels);
#ifdef __APPLE__
    const uint64_t now = gl_elapsed();
    const struct timespec left = span_of(until > now ? until - now : 0);
    pthread_cond_timedwait_relative_np(condition, mutex, &left);
#else
    const struct timespec at = span_of(until);
    pthread_cond_timedwait(condition, mutex, &at);
#endif
    pthread_setcancelstate(cancels, NULL);
}

void gl_nap(uint64_t nanoseconds)
{
    const struct timespec nap = span_of(nanoseconds);
    int cancels;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancels);
    nanosleep(&nap, NULL);
    pthread_setcancelstate(cancels, NULL);
}

void gl_park(uint32_t *parked, pthread_mutex_t *mutex)
{
    pthread_mutex_lock(mutex);
    __atomic_fetch_add(parked, 1, __ATOMIC_SEQ_CST);
}

void gl_rise(uint32_t *parked, pthread_mutex_t *mutex)
{
    __atomic_fetch_sub(parked, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(mutex);
}
