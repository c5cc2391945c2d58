/* The address space of a process's host devices: blocks that C allocates, and the ranges of all
 * other memory. The only state by which C and Python look up an address.
 *
 * One lock is held for a few instructions at a time; its holder takes no other lock, and never the
 * GIL. Several copies of this code work on the same space; see queue.h. */
#ifndef GRIDLANE_NATIVE_SPACE_H
#define GRIDLANE_NATIVE_SPACE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum {
    GL_CHUNK = 1 << 20,        /* bytes that blocks of one size share */
    GL_UNIT = 256,             /* the alignment of blocks */
    GL_GUARD = 32,             /* bytes on both sides of memory that are checked at its free */
    GL_LEAD = 64 << 10,        /* bytes in front of a large allocation, a multiple of a page */
    GL_MOST_BLOCK = 256 << 10, /* the largest block */
    GL_CLASSES = 37,
    GL_NO_CHUNK = 0 /* numbers of chunks are indices + 1 */
};

/* What ranges of a map are of: programs' allocations on devices and on the host, and all buffers of
 * host devices. A program may free memory that it registered, and another allocation may follow at
 * that address: it then belongs to the device. */
enum { GL_OF_DEVICES, GL_OF_HOST, GL_BUFFERS, GL_KINDS_OF_MAPS };

/* Kinds of ranges. */
enum {
    GL_DEVICE = 1,
    GL_MANAGED,
    GL_HOST,
    GL_FOREIGN /* of a device whose memory C cannot access */
};

/* Adopted: Python has an object of the block, and frees it. */
enum gl_block_state { GL_FREE, GL_LIVE, GL_ADOPTED };

struct gl_block {
    uint64_t context;
    uint32_t size, next; /* the next free one of its chunk, + 1 */
    uint32_t state;
};

struct gl_chunk {
    struct gl_block *blocks; /* null for an unused chunk */
    uint32_t unit, count, used, free;
    uint32_t before, after; /* chunks of its class that have a free block; "after" of unused ones */
};

struct gl_span {
    uint64_t start, end;
    uint32_t kind;
};

/* Ranges by their starts, which differ. An empty range has no address. */
struct gl_map {
    struct gl_span *ranges;
    size_t count, room;
    struct gl_map *next, **place; /* of the space's maps of its kind */
};

struct gl_space {
    pthread_mutex_t lock;
    char *region; /* of blocks, so that the block of an address is computed; null before the first */
    struct gl_chunk *chunks;
    uint32_t most, fresh, unused; /* chunks: all, the first that was never used, a list */
    uint32_t partial[GL_CLASSES];
    struct gl_map *maps[GL_KINDS_OF_MAPS];
    struct gl_note *notes; /* of changed guards, the latest first; none without the lock */
};

struct gl_block_place {
    struct gl_block *block;
    uint64_t start;
    uint32_t chunk, index;
};

#pragma GCC visibility push(hidden)

/* --- maps of ranges --- */

/* A map; null without memory. */
struct gl_map *gridlane_map(struct gl_space *space, int of);
void gridlane_map_release(struct gl_space *space, struct gl_map *map);

/* Add a range, in place of one with the same start; false without memory. */
int gridlane_range_add(struct gl_space *space, struct gl_map *map, uint64_t start, uint64_t size,
                       uint32_t kind);
void gridlane_range_remove(struct gl_space *space, struct gl_map *map, uint64_t start);

/* The start of the range that holds bytes, in "start"; false if none does. No bytes are held by the
 * range at or before them up to its end. */
int gridlane_range_find(struct gl_space *space, struct gl_map *map, uint64_t address, uint64_t size,
                        uint64_t *start);

/* Whether a range of a map, whose ranges are disjoint, has one of the bytes. */
int gridlane_range_meets(struct gl_space *space, struct gl_map *map, uint64_t address,
                         uint64_t size);

/* The size of the range with a start, or 0. */
uint64_t gridlane_range_size(struct gl_space *space, struct gl_map *map, uint64_t start);

/* The ranges, in order: how many; starts and sizes of the first of them in "made". */
size_t gridlane_ranges(struct gl_space *space, struct gl_map *map, uint64_t *made, size_t most);

/* --- blocks --- */

/* Transfer the block at an address to Python: its start, size and context. Returns 0 if no live one
 * is there. Its free. */
int gridlane_block_adopt(struct gl_space *space, uint64_t address, uint64_t *made);
void gridlane_block_release(struct gl_space *space, uint64_t start);

/* Free a large allocation, which is alone in its pages. */
void gridlane_large_free(uint64_t start, uint64_t size);

/* --- without Python --- */

struct gl_space *gl_new_space(void);

/* Reserve the region, once: its start and end, or 0. */
void gl_reserve(struct gl_space *space, uint64_t *made);

/* Free the live blocks of a context; move them to another one. */
void gl_end_blocks(struct gl_space *space, uint64_t context);
void gl_move_blocks(struct gl_space *space, uint64_t from, uint64_t to);

void gl_check_live(struct gl_space *space); /* report changed guards of live blocks */

/* Write notes to stderr, and free them. The caller holds no lock. */
void gl_write_notes(struct gl_note *latest);

/* A large allocation; 0 without memory. It is in no map. */
uint64_t gl_new_large(uint64_t size);

/* --- with the lock --- */

/* A block of at most GL_MOST_BLOCK bytes; 0 without memory. */
uint64_t gl_take_block(struct gl_space *space, size_t size, uint64_t context);
void gl_give_block(struct gl_space *space, const struct gl_block_place *place);

/* The block whose slot contains an address, which may lie behind the size of the block, and its
 * place; or null. */
struct gl_block *gl_block_at(struct gl_space *space, uint64_t address,
                             struct gl_block_place *place);

/* The range of a map that contains an address, or null; of all maps of a kind. */
const struct gl_span *gl_range_in(const struct gl_map *map, uint64_t address);
const struct gl_span *gl_range_at(const struct gl_space *space, int of, uint64_t address);
int gl_put_range(struct gl_map *map, const struct gl_span *range);
void gl_take_range_out(struct gl_map *map, uint64_t start);

#pragma GCC visibility pop

static inline void gl_lock_space(struct gl_space *space)
{
    pthread_mutex_lock(&space->lock);
}

static inline int gl_in_region(const struct gl_space *space, uint64_t address)
{
    return address - (uint64_t)(uintptr_t)space->region < (uint64_t)space->fresh * GL_CHUNK;
}

/* The same, for a caller with another lock: it returns what the caller writes without it. */
static inline struct gl_note *gl_unlock_space_first(struct gl_space *space)
{
    struct gl_note *notes = space->notes;
    space->notes = NULL;
    pthread_mutex_unlock(&space->lock);
    return notes;
}

static inline void gl_unlock_space(struct gl_space *space)
{
    struct gl_note *notes = gl_unlock_space_first(space);
    if (notes)
        gl_write_notes(notes);
}

#endif
