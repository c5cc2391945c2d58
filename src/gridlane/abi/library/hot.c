/* The state that Python published to a thread, and the request for a new one. */
#include "hot.h"

__thread struct gl_thread gl_thread;

static const struct { /* see hot.py */
    uint64_t *state, *pools, *code;
    int *offers;
    const struct gl_memory *memory;
    const struct gl_streams *streams;
    const struct gl_events *events;
    struct gl_queues **queues;
    uint32_t **unread;
    const uint32_t *sizes;
} table = { &gl_process.state, &gl_process.pools,  &gl_process.code,   &gl_process.offers,
            &gl_memory,        &gl_streams,        &gl_events,         &gl_process.queues,
            &gl_process.unread, gridlane_sizes };

const void *gl_hot_table(void)
{
    return &table;
}

void gl_forget_thread(void)
{
    gl_thread.knows = 0;
    gl_thread.state = 0;
}

/* Put this process ahead of Python; false if Python has begun. */
int gl_begin_ahead(void)
{
    uint64_t told[4];
    int done = 0;
    if (__atomic_load_n(&gl_process.entered, __ATOMIC_ACQUIRE)) /* by a thread that may be this one */
        return 0;
    pthread_mutex_lock(&gl_process.beginning);
    if (!gl_process.entered && !pthread_key_create(&gl_process.ahead, NULL)) {
        gl_process.is_keyed = 1;
        done = gl_memory.begin(told) && told[0];
    }
    if (done) {
        gl_process.pools = gl_process.code = GL_AHEAD;
        __atomic_store_n(&gl_process.state, GL_AHEAD, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&gl_process.beginning);
    return done;
}

/* Most libraries are never ahead of Python. */
__attribute__((weak)) int gl_ready_tells(void)
{
    return 0;
}

__attribute__((weak)) int gl_ready_uses(unsigned what)
{
    (void)what;
    return 0;
}

__attribute__((weak)) int gl_ready_plan(uint32_t api, uint64_t function, const uint32_t *block)
{
    (void)api, (void)function, (void)block;
    return 0;
}

__attribute__((weak)) int gl_ready_names(uint64_t function, const uint32_t *block,
                                         struct gl_ready_names *made)
{
    (void)function, (void)block, (void)made;
    return 0;
}

/* Called after a function entered Python because the thread's state was old. */
void gl_after(gl_caller *call, uint64_t code)
{
    static struct gl_slot told = { "hot:tell", 0, 0 };
    struct gl_thread *me = &gl_thread;
    gl_learn(call, code);
    if (me->asks) {
        me->asks = 0;
        uint64_t words[] = { (uintptr_t)me };
        call(&told, words, 1);
    }
}
