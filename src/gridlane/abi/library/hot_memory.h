/* The data of hot_memory.c that hot_copies.c reads. */
#ifndef GRIDLANE_HOT_MEMORY_H
#define GRIDLANE_HOT_MEMORY_H

#include "hot.h"

enum {
    CHUNK = 1 << 20,  /* bytes that blocks of one size share */
    UNIT = 256,       /* the alignment of blocks */
    GUARD = 32,       /* bytes on both sides of allocations that are checked when they are freed */
    LEAD = 64 << 10,  /* bytes in front of a large allocation, a multiple of any system's page */
    MOST = 256 << 10, /* the largest block; Python makes larger allocations */
    CLASSES = 37,
    NONE = 0 /* no chunk: numbers are indices + 1 */
};
static const uint64_t END = 1ull << 56; /* no program has memory from here on; see abi/raw.py */

enum state { FREE, LIVE, ADOPTED };

struct block {
    uint64_t context;
    uint32_t size, next; /* the next free one of its chunk, + 1 */
    uint32_t state;
};

struct chunk {
    struct block *blocks; /* null for an unused chunk */
    uint32_t unit, count, used, free;
    uint32_t before, after; /* chunks of its class that have a free block; "after" of unused ones */
};

struct range {
    uint64_t start, end;
    uint32_t kind;
};

struct map {
    struct range *ranges; /* sorted, disjoint */
    size_t count, room;
};

struct gl_order;

struct gl_shared {
    struct gl_order *order; /* streams and events; see hot_order.h */
    pthread_mutex_t lock;
    pthread_mutex_t turn; /* lock order: its holder takes "lock", and not the other way */
    uintptr_t turner;     /* the thread that holds it, or 0 */
    char *region;
    struct chunk *chunks;
    uint32_t most, fresh, unused; /* chunks: all, the first that was never used, a list */
    uint32_t partial[CLASSES];
    struct map maps[3];
    unsigned used_ahead;
    int is_lost; /* a range could not be stored: C answers nothing about addresses any more */
};

/* Programs' allocations on devices and on the host, and all buffers of Python's devices. A program
 * may free memory that it registered, and another allocation may follow at that address: it then
 * belongs to the device. */
enum { OF_DEVICES, OF_HOST, BUFFERS };

static inline struct gl_shared *shared(void)
{
    return __atomic_load_n(&gl_process.shared, __ATOMIC_ACQUIRE);
}

static inline struct gl_shared *locked(void)
{
    struct gl_shared *all = shared();
    pthread_mutex_lock(&all->lock);
    return all;
}

/* The caller holds the lock: whether an address is in the region of blocks; its block, the start of
 * that, and its numbers; the range of a map that contains it, or null. */
int gl_in_region(const struct gl_shared *all, uint64_t address);
struct block *gl_block_at(struct gl_shared *all, uint64_t address, uint64_t *start, uint32_t *number,
                          uint32_t *index);
const struct range *gl_range_at(const struct map *map, uint64_t address);

#endif
