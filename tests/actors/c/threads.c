/* Calls of an actor from threads without Python. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "gridlane_actors.h"

typedef struct {
    const gridlane_actors_api *api;
    gridlane_actor *actor;
    long calls;
    long long sum;
    int result;
} work;

/* Call the actor, which replies to a number with the sum so far, and add up the replies. */
static void *call(void *argument)
{
    work *mine = argument;
    for (long n = 0; n < mine->calls && !mine->result; n++) {
        long long one = 1, reply = 0;
        mine->result = mine->api->call(mine->actor, &one, sizeof one, &reply, sizeof reply, 1000,
                                       20000000000ull);
        mine->sum += reply;
    }
    return NULL;
}

/* The result of the first thread whose calls fail, or 0; `sum` is that of all replies. */
int call_from_threads(const gridlane_actors_api *api, gridlane_actor *actor, int threads, long calls,
                      long long *sum)
{
    pthread_t *thread = calloc((size_t)threads, sizeof *thread);
    work *works = calloc((size_t)threads, sizeof *works);
    int result = api->version == GRIDLANE_ACTORS_VERSION && api->bytes == sizeof *api ? 0 : 1000;
    *sum = 0;
    for (int n = 0; n < threads; n++) {
        works[n] = (work){api, actor, calls, 0, result};
        pthread_create(&thread[n], NULL, call, &works[n]);
    }
    for (int n = 0; n < threads; n++) {
        pthread_join(thread[n], NULL);
        *sum += works[n].sum;
        if (!result)
            result = works[n].result;
    }
    free(thread);
    free(works);
    return result;
}

/* ---- threads that go on while Python does something else */

typedef struct {
    pthread_t thread[4];
    work works[4];
} running;

running *begin(const gridlane_actors_api *api, gridlane_actor *actor)
{
    running *all = calloc(1, sizeof *all);
    for (int n = 0; n < 4; n++) {
        api->keep(actor);
        all->works[n] = (work){api, actor, 1000000000, 0, 0};
        pthread_create(&all->thread[n], NULL, call, &all->works[n]);
    }
    return all;
}

/* Join them; how many have ended with an error. Each lets go of the actor, without Python's lock. */
int join(running *all)
{
    int failed = 0;
    for (int n = 0; n < 4; n++) {
        pthread_join(all->thread[n], NULL);
        failed += all->works[n].result != 0;
        all->works[n].api->release(all->works[n].actor);
    }
    free(all);
    return failed;
}

/* ---- threads that the program cancels */

static void *call_once(void *argument)
{
    work *mine = argument;
    long long one = 1, reply = 0;
    mine->result = mine->api->call(mine->actor, &one, sizeof one, &reply, sizeof reply, 1000,
                                   200000000ull);
    __atomic_store_n(&mine->calls, 0, __ATOMIC_RELEASE);
    pthread_testcancel();
    return NULL;
}

/* Cancel threads that wait for answers, which do not come; how many ended otherwise than by that,
   after their time. */
int cancel(const gridlane_actors_api *api, gridlane_actor *actor)
{
    pthread_t thread[4];
    work works[4];
    int wrong = 0;
    for (int n = 0; n < 4; n++) {
        works[n] = (work){api, actor, 1, 0, 0};
        pthread_create(&thread[n], NULL, call_once, &works[n]);
    }
    for (int n = 0; n < 4; n++)
        pthread_cancel(thread[n]);
    for (int n = 0; n < 4; n++) {
        void *result;
        pthread_join(thread[n], &result);
        wrong += result != PTHREAD_CANCELED || works[n].calls || works[n].result != GRIDLANE_TIMEOUT;
    }
    return wrong;
}
