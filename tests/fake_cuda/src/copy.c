/* Copies and fills. Ranges are checked when they are asked for, and again when the work runs. */

#include "fake.h"

#include <stdlib.h>
#include <string.h>

static int of_device(const Block *block)
{
    return block->memory == DEVICE_MEMORY || block->memory == POOL_MEMORY ||
           block->memory == GLOBAL;
}

/* A range that the current device can use. */
static int on_device(CUdeviceptr address, size_t size)
{
    Block *block = block_at((void *)address, size, 0);
    return block != NULL && (block->memory == HOST_MEMORY || reaches(current(), block));
}

/* A range of the host: any that is not a device's. */
static int on_host(const void *address, size_t size)
{
    Block *block = block_at(address, 1, 0);
    if (address == NULL)
        return 0;
    if (block != NULL)
        return !of_device(block) && block_at(address, size, 0) == block;
    return block_at((const char *)address + size - 1, 1, 0) == NULL;
}

static int pinned(const void *address, size_t size)
{
    Block *block = block_at(address, size, 0);
    return block != NULL && !of_device(block) && block->memory != MANAGED_MEMORY;
}

static Operation *copying(void *target, const void *source, size_t size)
{
    Operation *copy = operation(COPY);
    copy->target = target;
    copy->source = (unsigned char *)source;
    copy->size = size;
    return copy;
}

/* Copies that the host waits for are the legacy stream's. */
static CUresult at_once(Context *context, void *target, const void *source, size_t size)
{
    CUresult code = unsafe_in_capture();
    if (code)
        return code;
    code = enqueue(context->legacy, copying(target, source, size));
    if (code)
        return code;
    run_until(context->legacy, FOREVER);
    return context->sticky;
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr target, const void *source, size_t size)
{
    BEGIN("cuMemcpyHtoD", CURRENT, "%#llx, %p, %zu", target, source, size);
    if (!size)
        return done(SUCCESS);
    if (!on_device(target, size) || !on_host(source, size))
        return done(INVALID_VALUE);
    return done(at_once(current(), (void *)target, source, size));
}

CUresult cuMemcpyDtoH_v2(void *target, CUdeviceptr source, size_t size)
{
    BEGIN("cuMemcpyDtoH", CURRENT, "%p, %#llx, %zu", target, source, size);
    if (!size)
        return done(SUCCESS);
    if (!on_device(source, size) || !on_host(target, size))
        return done(INVALID_VALUE);
    return done(at_once(current(), target, (void *)source, size));
}

/* From memory that is not page-locked the driver takes the bytes before it returns. */
static Operation *staged(void *target, const void *source, size_t size)
{
    Operation *copy = copying(target, source, size);
    copy->what = STAGED;
    copy->source = malloc(size);
    memcpy(copy->source, source, size);
    return copy;
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr target, const void *source, size_t size, uint64_t handle)
{
    BEGIN("cuMemcpyHtoDAsync", CURRENT, "%#llx, %p, %zu, %#llx", target, source, size,
          (unsigned long long)handle);
    Stream *stream = stream_of(handle);
    if (stream == NULL)
        return done(INVALID_HANDLE);
    if (!size)
        return done(SUCCESS);
    if (!on_device(target, size) || !on_host(source, size))
        return done(INVALID_VALUE);
    int now = !pinned(source, size);
    if (now && stream->capture)
        return done(captured(stream, NULL));
    return done(enqueue(stream, now ? staged((void *)target, source, size)
                                    : copying((void *)target, source, size)));
}

CUresult cuMemcpyDtoHAsync_v2(void *target, CUdeviceptr source, size_t size, uint64_t handle)
{
    BEGIN("cuMemcpyDtoHAsync", CURRENT, "%p, %#llx, %zu, %#llx", target, source, size,
          (unsigned long long)handle);
    Stream *stream = stream_of(handle);
    if (stream == NULL)
        return done(INVALID_HANDLE);
    if (!size)
        return done(SUCCESS);
    if (!on_device(source, size) || !on_host(target, size))
        return done(INVALID_VALUE);
    int now = !pinned(target, size);
    if (now && stream->capture)
        return done(captured(stream, NULL));
    CUresult code = enqueue(stream, copying(target, (void *)source, size));
    if (now && !code)
        run_until(stream, FOREVER);
    return done(code ? code : current()->sticky);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr target, Context *to, CUdeviceptr source, Context *from,
                           size_t size, uint64_t handle)
{
    BEGIN("cuMemcpyPeerAsync", CURRENT, "%#llx, %p, %#llx, %p, %zu, %#llx", target, (void *)to,
          source, (void *)from, size, (unsigned long long)handle);
    Stream *stream = stream_of(handle);
    if (stream == NULL)
        return done(INVALID_HANDLE);
    if (!alive(CONTEXT, to) || !alive(CONTEXT, from))
        return done(INVALID_CONTEXT);
    if (!size)
        return done(SUCCESS);
    Block *one = block_at((void *)target, size, 0), *two = block_at((void *)source, size, 0);
    if (one == NULL || two == NULL || one->context != to || two->context != from)
        return done(INVALID_VALUE);
    return done(enqueue(stream, copying((void *)target, (void *)source, size)));
}

CUresult cuMemcpyAsync(CUdeviceptr target, CUdeviceptr source, size_t size, uint64_t handle)
{
    BEGIN("cuMemcpyAsync", CURRENT, "%#llx, %#llx, %zu, %#llx", target, source, size,
          (unsigned long long)handle);
    Stream *stream = stream_of(handle);
    if (stream == NULL)
        return done(INVALID_HANDLE);
    if (!size)
        return done(SUCCESS);
    Block *one = block_at((void *)target, size, 0), *two = block_at((void *)source, size, 0);
    if (one == NULL || two == NULL || !reaches(current(), one) ||
        !reaches(current(), two))
        return done(INVALID_VALUE);
    return done(enqueue(stream, copying((void *)target, (void *)source, size)));
}

CUresult cuMemsetD8Async(CUdeviceptr target, unsigned char byte, size_t size, uint64_t handle)
{
    BEGIN("cuMemsetD8Async", CURRENT, "%#llx, %u, %zu, %#llx", target, byte, size,
          (unsigned long long)handle);
    Stream *stream = stream_of(handle);
    if (stream == NULL)
        return done(INVALID_HANDLE);
    if (!size)
        return done(SUCCESS);
    if (!on_device(target, size))
        return done(INVALID_VALUE);
    Operation *fill = operation(FILL);
    fill->target = (void *)target;
    fill->size = size;
    fill->byte = byte;
    return done(enqueue(stream, fill));
}
