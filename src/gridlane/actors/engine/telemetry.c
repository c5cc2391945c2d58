/* The ring of traced events: it overwrites the oldest. */
#include <string.h>

#include "telemetry.h"

gl_trace *gl_trace_new(uint64_t size)
{
    void *memory = NULL;
    size_t bytes = sizeof(gl_trace) + size * sizeof(gl_record);
    if (posix_memalign(&memory, 64, bytes))
        return NULL;
    memset(memory, 0, bytes);
    ((gl_trace *)memory)->mask = size - 1;
    return memory;
}

void gl_trace_put(gl_trace *trace, const gl_traced *event)
{
    uint64_t ticket = atomic_fetch_add_explicit(&trace->tail, 1, memory_order_relaxed);
    gl_record *record = &trace->record[ticket & trace->mask];
    uint64_t word[7];
    memcpy(word, event, sizeof word);
    atomic_store_explicit(&record->turn, 2 * ticket + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    for (int n = 0; n < 7; n++)
        atomic_store_explicit(&record->word[n], word[n], memory_order_relaxed);
    atomic_store_explicit(&record->turn, 2 * ticket + 2, memory_order_release);
}
