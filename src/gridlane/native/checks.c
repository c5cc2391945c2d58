/* Checks of running kernels.
 *
 * A check that fails reports its error and ends the launch: the first thread that fails writes the
 * report and stops the others. The range of an address is looked up in a table of the allocations:
 * their number, then the start and the size of each, by address. Python builds it at a launch's
 * first lookup, and again for an address that it lacks (cpu_ranges.py). */
#include "pool.h"

#include <string.h>

void gl_fail(struct gl_context *context, int32_t code, int32_t thread, int64_t block,
             const void *numbers)
{
    struct gl_record *record = gl_this_record();
    struct gl_frame *frame = record->frame;
    int32_t none = 0;
    if (__atomic_compare_exchange_n(&context->error, &none, code, 0, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED)) {
        context->thread = thread;
        context->block = block;
        memcpy(context->numbers, numbers, sizeof context->numbers);
        gl_end_launch(context, GL_FAILED);
        gl_signal_if_ours(context);
    }
    gl_leave(record, frame);
}

static _Bool search(const uint64_t *table, uint64_t address, uint64_t bytes, uint64_t *range)
{
    /* The last range that starts at the address or before it is in front of "high". */
    uint64_t low = 0, high = table[0];
    while (low < high) {
        const uint64_t middle = (low + high) / 2;
        if (table[1 + 2 * middle] <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low)
        return 0;
    const uint64_t start = table[2 * low - 1], size = table[2 * low];
    if (size < bytes || address - start > size - bytes)
        return 0;
    range[0] = start;
    range[1] = size;
    return 1;
}

_Bool gl_find(struct gl_context *context, uint64_t address, uint64_t bytes, uint64_t *range)
{
    const uint64_t *table = GL_LOAD(context->allocations, ACQUIRE);
    if (table && search(table, address, bytes, range))
        return 1;
    if (table && address < 4096) /* no allocation of a later table has it */
        return 0;
    int64_t cells[3] = { (int64_t)(intptr_t)context, (int64_t)address, (int64_t)bytes };
    gl_print(GL_ASK, cells);
    table = GL_LOAD(context->allocations, ACQUIRE);
    return table && search(table, address, bytes, range);
}
