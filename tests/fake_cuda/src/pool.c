/* Pools, and allocation in the order of a stream. */

#include "fake.h"

typedef struct {
    int type, id;
} Location;

typedef struct {
    int allocation, handles;
    Location location;
} PoolProperties;

typedef struct {
    Location location;
    int flags;
} Access;

enum { PINNED = 1, ON_DEVICE = 1, READ_WRITE = 3 };
enum { THRESHOLD = 4, RESERVED_NOW = 5, RESERVED_MOST = 6, USED_NOW = 7, USED_MOST = 8 };

CUresult cuMemPoolCreate(Pool **pool, const PoolProperties *properties)
{
    int device = properties->location.id;
    BEGIN("cuMemPoolCreate", STARTED, "%d", device);
    if (properties->allocation != PINNED || properties->location.type != ON_DEVICE)
        return done(INVALID_VALUE);
    if (device < 0 || device >= device_count)
        return done(INVALID_DEVICE);
    *pool = made(POOL, sizeof(Pool));
    (*pool)->device = device;
    return done(SUCCESS);
}

static void give_back(Pool *pool, size_t keep)
{
    size_t floor = pool->used > keep ? pool->used : keep;
    if (pool->reserved > floor) {
        devices[pool->device].used -= pool->reserved - floor;
        pool->reserved = floor;
    }
}

CUresult cuMemPoolDestroy(Pool *pool)
{
    BEGIN("cuMemPoolDestroy", STARTED, "%p", (void *)pool);
    if (!alive(POOL, pool))
        return done(INVALID_VALUE);
    give_back(pool, 0);
    ended(pool);
    return done(SUCCESS);
}

CUresult cuMemPoolSetAttribute(Pool *pool, int attribute, uint64_t *value)
{
    BEGIN("cuMemPoolSetAttribute", STARTED, "%p, %d, %llu", (void *)pool, attribute,
          (unsigned long long)*value);
    if (!alive(POOL, pool) || attribute != THRESHOLD)
        return done(INVALID_VALUE);
    pool->threshold = *value;
    return done(SUCCESS);
}

CUresult cuMemPoolGetAttribute(Pool *pool, int attribute, uint64_t *value)
{
    BEGIN("cuMemPoolGetAttribute", STARTED, "%p, %d", (void *)pool, attribute);
    if (!alive(POOL, pool))
        return done(INVALID_VALUE);
    switch (attribute) {
    case THRESHOLD:
        *value = pool->threshold;
        return done(SUCCESS);
    case RESERVED_NOW:
        *value = pool->reserved;
        return done(SUCCESS);
    case USED_NOW:
        *value = pool->used;
        return done(SUCCESS);
    case USED_MOST:
        *value = pool->high;
        return done(SUCCESS);
    }
    return done(INVALID_VALUE);
}

CUresult cuMemPoolTrimTo(Pool *pool, size_t keep)
{
    BEGIN("cuMemPoolTrimTo", STARTED, "%p, %zu", (void *)pool, keep);
    if (!alive(POOL, pool))
        return done(INVALID_VALUE);
    give_back(pool, keep);
    return done(SUCCESS);
}

CUresult cuMemPoolSetAccess(Pool *pool, const Access *map, size_t count)
{
    BEGIN("cuMemPoolSetAccess", STARTED, "%p, %d, %zu", (void *)pool, map->location.id, count);
    if (!alive(POOL, pool))
        return done(INVALID_VALUE);
    for (size_t n = 0; n < count; n++) {
        int device = map[n].location.id;
        if (map[n].location.type != ON_DEVICE || device < 0 || device >= device_count)
            return done(INVALID_DEVICE);
        if (device != pool->device && !devices[device].peer_capable[pool->device])
            return done(PEER_UNSUPPORTED);
        pool->peers[device] = map[n].flags == READ_WRITE;
    }
    return done(SUCCESS);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *pointer, size_t size, Pool *pool, uint64_t handle)
{
    BEGIN("cuMemAllocFromPoolAsync", CURRENT, "%zu, %p, %#llx", size, (void *)pool,
          (unsigned long long)handle);
    Stream *stream = stream_of(handle);
    if (stream == NULL)
        return done(INVALID_HANDLE);
    if (!alive(POOL, pool) || !size)
        return done(INVALID_VALUE);
    if (stream->capture)
        return done(NOT_SUPPORTED); /* the device can; this library has no use for it */
    CUresult code = capture_implicit(current(), stream);
    if (code)
        return done(code);
    Device *device = &devices[pool->device];
    size_t more = pool->used + size > pool->reserved ? pool->used + size - pool->reserved : 0;
    if (more > device->total - device->used)
        return done(OUT_OF_MEMORY);
    device->used += more;
    pool->reserved += more;
    pool->used += size;
    if (pool->used > pool->high)
        pool->high = pool->used;
    Block *block = add_block(POOL_MEMORY, zeroed(size), size);
    block->pool = pool;
    block->real = 0;
    *pointer = (CUdeviceptr)block->address;
    Operation *what = operation(ALLOCATE);
    what->block = block;
    return done(enqueue(stream, what));
}

CUresult cuMemFreeAsync(CUdeviceptr pointer, uint64_t handle)
{
    BEGIN("cuMemFreeAsync", CURRENT, "%#llx, %#llx", pointer, (unsigned long long)handle);
    Stream *stream = stream_of(handle);
    if (stream == NULL)
        return done(INVALID_HANDLE);
    Block *block = block_at((void *)pointer, 1, 0);
    if (block == NULL || (CUdeviceptr)block->address != pointer || block->memory != POOL_MEMORY)
        return done(INVALID_VALUE);
    CUresult code = capture_implicit(current(), stream);
    if (code)
        return done(code);
    block->promised = 0;
    Operation *what = operation(FREE);
    what->block = block;
    return done(enqueue(stream, what));
}
