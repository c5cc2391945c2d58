/* What macOS has and Linux lacks, for a look at the branches for macOS without one. */
#include <pthread.h>
#include <time.h>

int pthread_cond_timedwait_relative_np(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                       const struct timespec *span);
