/* Copies and fills of memory that hot_memory.c has. */
#define _GNU_SOURCE
#include "hot_memory.h"

#include <string.h>

/* The required kind of an end of a copy: the table of runtime/copies.py, and the driver's. */
enum side { ANY, HOST_SIDE, DEVICE_SIDE, DRIVERS_HOST, DRIVERS_DEVICE };

/* Whether bytes are a valid end of a copy; the caller holds the lock. */
static int is_end(struct gl_shared *all, uint64_t address, size_t size, enum side side)
{
    uint32_t number, index, kind = 0;
    uint64_t start, end = END;
    if (!address || address >= END)
        return 0;
    if (side == DRIVERS_HOST)
        return size <= END - address;
    struct block *block = gl_block_at(all, address, &start, &number, &index);
    if (block && block->state == LIVE && address < start + block->size) {
        kind = GL_DEVICE;
        end = start + block->size;
    } else {
        const struct range *range = gl_range_at(&all->maps[OF_DEVICES], address);
        range = range ? range : gl_range_at(&all->maps[OF_HOST], address);
        if (range) {
            kind = range->kind;
            end = range->end;
        } else if (gl_in_region(all, address)) {
            return 0; /* a freed block */
        }
    }
    if (size > end - address)
        return 0;
    switch (kind) {
    case GL_DEVICE:
        return side != HOST_SIDE;
    case GL_MANAGED:
        return 1;
    case GL_HOST:
        return side != DRIVERS_DEVICE;
    case 0: /* memory of the program, unless it is a variable of a module or similar */
        return (side == ANY || side == HOST_SIDE) && !gl_range_at(&all->maps[BUFFERS], address);
    default:
        return 0;
    }
}

/* The kind of memory of some bytes; 0 for memory of the program. */
static uint32_t kind_of(struct gl_shared *all, uint64_t address, size_t size)
{
    uint32_t number, index;
    uint64_t start;
    const struct block *block = gl_block_at(all, address, &start, &number, &index);
    if (block && block->state == LIVE)
        return size <= start + block->size - address ? GL_DEVICE : 0;
    const struct range *range = gl_range_at(&all->maps[OF_DEVICES], address);
    range = range ? range : gl_range_at(&all->maps[OF_HOST], address);
    return range && size <= range->end - address ? range->kind : 0;
}

/* A copy on a stream of the program. It ends before the call returns, except between two device
 * memories. */
static int copied_there(uint64_t to, enum side target, uint64_t from, enum side source, size_t size,
                        const void *stream)
{
    struct gl_thread *me = gl_me();
    if (!size || !gl_knows(me, GL_READY | GL_UNCAPTURED))
        return 0;
    struct gl_shared *all = locked();
    int is_right = !all->is_lost && is_end(all, to, size, target) && is_end(all, from, size, source);
    uint32_t there = kind_of(all, to, size), here = kind_of(all, from, size);
    pthread_mutex_unlock(&all->lock);
    const struct gl_move move = { to, from, size, 0, 0 };
    return is_right &&
           gl_do(stream, &move, !there || !here || (there == GL_HOST && here == GL_HOST));
}

static int copied(uint64_t to, enum side target, uint64_t from, enum side source, size_t size,
                  const void *stream)
{
    struct gl_thread *me = gl_me();
    if (!gl_is_default(stream))
        return copied_there(to, target, from, source, size, stream);
    if (!size || !gl_is_quiet(me, GL_READY) || !gl_take_turn())
        return 0;
    struct gl_shared *all = locked();
    int is_right = !all->is_lost && is_end(all, to, size, target) && is_end(all, from, size, source);
    pthread_mutex_unlock(&all->lock);
    if (is_right)
        memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, size);
    gl_give_turn();
    return is_right;
}

int gl_copy(const void *to, const void *from, size_t size, int kind, const void *stream)
{
    static const enum side sides[][2] = { { HOST_SIDE, HOST_SIDE },
                                          { DEVICE_SIDE, HOST_SIDE },
                                          { HOST_SIDE, DEVICE_SIDE },
                                          { DEVICE_SIDE, DEVICE_SIDE },
                                          { ANY, ANY } };
    if (kind < 0 || kind > 4)
        return 0;
    return copied((uintptr_t)to, sides[kind][0], (uintptr_t)from, sides[kind][1], size, stream);
}

int gl_copy_to_device(uint64_t to, const void *from, size_t size, const void *stream)
{
    return copied(to, DRIVERS_DEVICE, (uintptr_t)from, DRIVERS_HOST, size, stream);
}

int gl_copy_to_host(const void *to, uint64_t from, size_t size, const void *stream)
{
    return copied((uintptr_t)to, DRIVERS_HOST, from, DRIVERS_DEVICE, size, stream);
}

int gl_copy_within(uint64_t to, uint64_t from, size_t size, const void *stream)
{
    return copied(to, DRIVERS_DEVICE, from, DRIVERS_DEVICE, size, stream);
}

int gl_copy_between(uint64_t to, uint64_t from, size_t size, const void *stream)
{
    return copied(to, ANY, from, ANY, size, stream);
}

static int filled_there(uint64_t to, uint32_t value, size_t size, size_t width,
                        const void *stream)
{
    struct gl_thread *me = gl_me();
    if (!gl_knows(me, GL_READY | GL_UNCAPTURED))
        return 0;
    struct gl_shared *all = locked();
    int is_right = !all->is_lost && is_end(all, to, size, DRIVERS_DEVICE);
    pthread_mutex_unlock(&all->lock);
    const struct gl_move move = { to, 0, size, value, (uint32_t)width };
    return is_right && gl_do(stream, &move, 0);
}

int gl_fill(uint64_t to, uint32_t value, size_t count, size_t width, const void *stream)
{
    struct gl_thread *me = gl_me();
    if (!count || count > END / width || to % width)
        return 0;
    if (!gl_is_default(stream))
        return filled_there(to, value, count * width, width, stream);
    if (!gl_is_quiet(me, GL_READY) || !gl_take_turn())
        return 0;
    struct gl_shared *all = locked();
    int is_right = !all->is_lost && is_end(all, to, count * width, DRIVERS_DEVICE);
    pthread_mutex_unlock(&all->lock);
    if (is_right)
        gl_move(&(struct gl_move){ to, 0, count * width, value, (uint32_t)width });
    gl_give_turn();
    return is_right;
}
