/* Which thread of the pool runs which blocks.
 *
 * Each thread of a job has a range of the grid's units, the one that it had in other launches of as
 * many: its cache has the memory of these blocks then. It takes units from the front of its own
 * range; where that is empty, from the back of others', so that a thread that comes late holds up
 * none. A unit is one block, or several in a grid of more than 2 to the 31 blocks. */
#include "pool.h"

/* Take units from a range, from its back or its front: the first one in bits 32 up, and how many. */
static uint64_t take(struct gl_range *range, uint64_t least, uint64_t shares, int back)
{
    uint64_t word = GL_LOAD(range->word, RELAXED);
    for (;;) {
        const uint64_t next = (uint32_t)word, end = word >> 32;
        if (next >= end)
            return 0;
        const uint64_t rest = end - next, count = gl_min(gl_max(rest / shares, least), rest);
        const uint64_t left = back ? word - (count << 32) : word + count;
        if (__atomic_compare_exchange_n(&range->word, &word, left, 0, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return (back ? end - count : next) << 32 | count;
    }
}

/* The same for a thread: from its own range, else from those behind it. */
uint64_t gl_take_any(struct gl_pool *pool, uint64_t slot)
{
    const uint64_t ranges = pool->ranges, least = pool->least;
    if (slot < ranges) {
        const uint64_t own = take(&pool->range[slot], least, GL_OWN_SHARES, 0);
        if (own)
            return own;
    }
    for (uint64_t tried = 1; tried <= ranges; tried++) {
        const uint64_t stolen =
            take(&pool->range[(slot + tried) % ranges], least, GL_OTHERS_SHARES, 1);
        if (stolen)
            return stolen;
    }
    return 0;
}

/* Divide the blocks of a job among threads, each of them at least one unit. */
void gl_divide(struct gl_pool *pool, uint64_t total, uint64_t threads)
{
    const uint64_t unit = (total >> 31) + 1, units = (total + unit - 1) / unit;
    const uint64_t ranges = gl_min(units, threads);
    uint64_t first = 0;
    pool->unit = unit;
    pool->ranges = ranges;
    for (uint64_t number = 0; number < ranges; number++) {
        const uint64_t last = units * (number + 1) / ranges;
        GL_STORE(pool->range[number].word, last << 32 | first, RELAXED);
        first = last;
    }
}
