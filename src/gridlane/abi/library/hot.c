/* What a thread was told by Python, and how it asks again. */
#include "hot.h"

__thread struct gl_thread gl_thread;

static const struct { /* see hot.py */
    uint64_t *state, *work, *code;
    int *offers;
    const struct gl_memory *memory;
} table = { &gl_process.state, &gl_process.work, &gl_process.code, &gl_process.offers, &gl_memory };

const void *gl_hot_table(void)
{
    return &table;
}

void gl_forget_thread(void)
{
    gl_thread.knows = 0;
    gl_thread.state = 0;
}

/* After a function entered Python because what the thread knew was old. */
void gl_after(gl_caller *call, struct gl_slot *slot, const uint64_t *arguments, uint64_t code)
{
    static struct gl_slot told = { "hot:tell", 0, 0 };
    struct gl_thread *me = &gl_thread;
    (void)slot, (void)arguments;
    if (me->asks) {
        me->asks = 0;
        uint64_t words[] = { (uintptr_t)me };
        call(&told, words, 1);
    }
    gl_learn(call, code);
}
