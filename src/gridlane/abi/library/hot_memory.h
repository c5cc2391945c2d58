/* What hot_memory.c shares with the files of copies, streams and events. */
#ifndef GRIDLANE_HOT_MEMORY_H
#define GRIDLANE_HOT_MEMORY_H

#include "hot.h"
#include "space.h"

static const uint64_t END = 1ull << 56; /* no program has memory from here on; see abi/raw.py */

struct gl_order;

struct gl_shared {
    struct gl_order *order; /* streams and events; see hot_order.h */
    struct gl_map *large;   /* what C allocated ahead of Python in pages of its own */
    pthread_mutex_t turn;   /* lock order: its holder takes the space's lock, and not the other way */
    uintptr_t turner;       /* the thread that holds it, or 0 */
    unsigned used_ahead;
};

static inline struct gl_shared *shared(void)
{
    return __atomic_load_n(&gl_process.shared, __ATOMIC_ACQUIRE);
}

static inline struct gl_space *locked(void)
{
    struct gl_space *space = gl_process.queues->space;
    gl_lock_space(space);
    return space;
}

#endif
