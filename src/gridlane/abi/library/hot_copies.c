/* Copies and fills of memory in the space of native/space.h. */
#define _GNU_SOURCE
#include "hot_memory.h"

#include <string.h>

/* The required kind of an end of a copy: the table of runtime/copies.py, and the driver's. */
enum side { ANY, HOST_SIDE, DEVICE_SIDE, DRIVERS_HOST, DRIVERS_DEVICE };

/* The memory that a program allocated at an address: its kind and end, or 0; the caller holds the
 * lock. */
static uint32_t kind_at(struct gl_space *space, uint64_t address, uint64_t *end)
{
    struct gl_block_place place;
    const struct gl_block *block =
        gl_in_region(space, address) ? gl_block_at(space, address, &place) : NULL;
    if (block && block->state == GL_LIVE && address < place.start + block->size) {
        *end = place.start + block->size;
        return GL_DEVICE;
    }
    const struct gl_span *range = gl_range_at(space, GL_OF_DEVICES, address);
    range = range ? range : gl_range_at(space, GL_OF_HOST, address);
    if (!range)
        return 0;
    *end = range->end;
    return range->kind;
}

/* Whether bytes are a valid end of a copy; the caller holds the lock. */
static int is_end(struct gl_space *space, uint64_t address, size_t size, enum side side)
{
    uint64_t end = END;
    if (!address || address >= END)
        return 0;
    if (side == DRIVERS_HOST)
        return size <= END - address;
    const uint32_t kind = kind_at(space, address, &end);
    if (size > end - address)
        return 0;
    switch (kind) {
    case GL_DEVICE:
        return side != HOST_SIDE;
    case GL_MANAGED:
        return 1;
    case GL_HOST:
        return side != DRIVERS_DEVICE;
    case 0: /* memory of the program, unless it is a variable of a module, a freed block or similar */
        return (side == ANY || side == HOST_SIDE) && !gl_in_region(space, address) &&
               !gl_range_at(space, GL_BUFFERS, address);
    default:
        return 0;
    }
}

/* The kind of memory of some bytes; 0 for memory of the program. */
static uint32_t kind_of(struct gl_space *space, uint64_t address, size_t size)
{
    uint64_t end;
    const uint32_t kind = kind_at(space, address, &end);
    return kind && size <= end - address ? kind : 0;
}

/* A copy on a stream of the program. It ends before the call returns, except between two device
 * memories. */
static int copied_there(uint64_t to, enum side target, uint64_t from, enum side source, size_t size,
                        const void *stream)
{
    struct gl_thread *me = gl_me();
    if (!size || !gl_knows(me, GL_READY | GL_UNCAPTURED))
        return 0;
    struct gl_space *space = locked();
    int is_right = is_end(space, to, size, target) && is_end(space, from, size, source);
    uint32_t there = kind_of(space, to, size), here = kind_of(space, from, size);
    gl_unlock_space(space);
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
    struct gl_space *space = locked();
    int is_right = is_end(space, to, size, target) && is_end(space, from, size, source);
    gl_unlock_space(space);
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
    struct gl_space *space = locked();
    int is_right = is_end(space, to, size, DRIVERS_DEVICE);
    gl_unlock_space(space);
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
    struct gl_space *space = locked();
    int is_right = is_end(space, to, count * width, DRIVERS_DEVICE);
    gl_unlock_space(space);
    if (is_right)
        gl_move(&(struct gl_move){ to, 0, count * width, value, (uint32_t)width });
    gl_give_turn();
    return is_right;
}
