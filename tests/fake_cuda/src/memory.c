/* Memory: ranges with their owners. Freed bytes are overwritten and stay until the next reset, so
   what is used too late reads as 0xDD. */

#include "fake.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ALIGNMENT 512

void *zeroed(size_t size)
{
    void *memory = aligned_alloc(ALIGNMENT, (size + ALIGNMENT) / ALIGNMENT * ALIGNMENT);
    if (memory == NULL)
        abort();
    memset(memory, 0xCD, size);
    return memory;
}

Block *add_block(enum memory memory, void *address, size_t size)
{
    Block *block = made(BLOCK, sizeof(Block));
    block->address = address;
    block->size = size;
    block->memory = memory;
    block->promised = block->real = 1;
    block->context = current();
    return block;
}

void drop_block(Block *block)
{
    Device *device = &devices[block->context->device];
    if (block->memory == DEVICE_MEMORY || block->memory == MANAGED_MEMORY)
        device->used -= block->size;
    if (block->memory != REGISTERED)
        memset(block->address, 0xDD, block->size);
    block->promised = block->real = 0;
}

/* The block that holds a range: as work has left it, or as the calls so far will. */
Block *block_at(const void *address, size_t size, int real)
{
    const unsigned char *first = address;
    size_t at = 0;
    for (Block *block; (block = each(BLOCK, &at)) != NULL;)
        if ((real ? block->real : block->promised) && block->address <= first &&
            first + size <= block->address + block->size)
            return block;
    return NULL;
}

/* Whether an address is, or was, one of memory that this library has made. */
int was_allocated(const unsigned char *address)
{
    size_t at = 0;
    for (Block *block; (block = each(BLOCK, &at)) != NULL;)
        if (block->memory != REGISTERED && block->address <= address &&
            address < block->address + block->size)
            return 1;
    return 0;
}

/* Whether a device can use a block: its own, the host's where mapped, a peer's where enabled. */
int reaches(Context *context, const Block *block)
{
    int owner = block->context->device;
    if (block->memory == MANAGED_MEMORY || block->memory == HOST_MEMORY)
        return 1;
    if (block->memory == REGISTERED)
        return block->mapped;
    return owner == context->device || devices[context->device].peer_capable[owner];
}

static CUresult allocated(CUdeviceptr *pointer, size_t size, enum memory memory)
{
    Device *device = &devices[current()->device];
    CUresult code = unsafe_in_capture();
    if (code)
        return code;
    if (!size)
        return INVALID_VALUE;
    if (size > device->total - device->used)
        return OUT_OF_MEMORY;
    device->used += size;
    *pointer = (CUdeviceptr)add_block(memory, zeroed(size), size)->address;
    return SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t size)
{
    BEGIN("cuMemAlloc", CURRENT, "%zu", size);
    return done(allocated(pointer, size, DEVICE_MEMORY));
}

CUresult cuMemAllocManaged(CUdeviceptr *pointer, size_t size, unsigned flags)
{
    BEGIN("cuMemAllocManaged", CURRENT, "%zu, %u", size, flags);
    if (flags != 1 && flags != 2)
        return done(INVALID_VALUE);
    return done(allocated(pointer, size, MANAGED_MEMORY));
}

static Block *starting_at(const void *address)
{
    Block *block = block_at(address, 1, 0);
    return block != NULL && block->address == address ? block : NULL;
}

CUresult cuMemFree_v2(CUdeviceptr pointer)
{
    BEGIN("cuMemFree", CURRENT, "%#llx", pointer);
    Block *block = starting_at((void *)pointer);
    CUresult code = unsafe_in_capture();
    if (code)
        return done(code);
    if (block == NULL || block->memory == HOST_MEMORY || block->memory == REGISTERED ||
        block->memory == GLOBAL)
        return done(INVALID_VALUE);
    run_all(block->context);
    if (block->memory == POOL_MEMORY)
        block->pool->used -= block->size;
    drop_block(block);
    return done(current()->sticky);
}

CUresult cuMemGetInfo_v2(size_t *available, size_t *total)
{
    BEGIN("cuMemGetInfo", CURRENT, "");
    Device *device = &devices[current()->device];
    *available = device->total - device->used;
    *total = device->total;
    return done(SUCCESS);
}

CUresult cuMemHostAlloc(void **address, size_t size, unsigned flags)
{
    BEGIN("cuMemHostAlloc", CURRENT, "%zu, %u", size, flags);
    if (!size || flags > 7)
        return done(INVALID_VALUE);
    Block *block = add_block(HOST_MEMORY, zeroed(size), size);
    block->mapped = (flags & 2) != 0;
    *address = block->address;
    return done(SUCCESS);
}

CUresult cuMemFreeHost(void *address)
{
    BEGIN("cuMemFreeHost", CURRENT, "%p", address);
    Block *block = starting_at(address);
    if (block == NULL || block->memory != HOST_MEMORY)
        return done(INVALID_VALUE);
    drop_block(block); /* whatever still uses it */
    return done(current()->sticky);
}

CUresult cuMemHostRegister_v2(void *address, size_t size, unsigned flags)
{
    BEGIN("cuMemHostRegister", CURRENT, "%p, %zu, %u", address, size, flags);
    if (!size || address == NULL)
        return done(INVALID_VALUE);
    if (block_at(address, 1, 0) || block_at((char *)address + size - 1, 1, 0))
        return done(ALREADY_REGISTERED);
    add_block(REGISTERED, address, size)->mapped = (flags & 2) != 0;
    return done(SUCCESS);
}

CUresult cuMemHostUnregister(void *address)
{
    BEGIN("cuMemHostUnregister", CURRENT, "%p", address);
    Block *block = starting_at(address);
    if (block == NULL || block->memory != REGISTERED)
        return done(NOT_REGISTERED);
    drop_block(block);
    return done(current()->sticky);
}

/* Whether kernels of a context can use a block; copies between devices ask for less. */
static int mapped_in(Context *context, const Block *block)
{
    int owner = block->context->device, here = context->device;
    if (block->memory == MANAGED_MEMORY || block->memory == HOST_MEMORY || owner == here)
        return reaches(context, block);
    if (block->memory == POOL_MEMORY)
        return block->pool->peers[here];
    return block->memory == REGISTERED ? block->mapped : context->peers[owner];
}

/* The kind of memory (2; 1 is the host's and 2 a device's), its address for kernels (3), whether it
   is managed (8), and its device (9). */
CUresult cuPointerGetAttribute(void *value, int attribute, CUdeviceptr pointer)
{
    BEGIN("cuPointerGetAttribute", CURRENT, "%d, %#llx", attribute, pointer);
    Block *block = block_at((void *)pointer, 1, 0);
    if (block == NULL)
        return done(INVALID_VALUE);
    int host = block->memory == HOST_MEMORY || block->memory == REGISTERED;
    switch (attribute) {
    case 2:
        *(unsigned *)value = host ? 1 : 2;
        return done(SUCCESS);
    case 3:
        if (!mapped_in(current(), block))
            return done(INVALID_VALUE);
        *(CUdeviceptr *)value = pointer;
        return done(SUCCESS);
    case 8:
        *(unsigned char *)value = block->memory == MANAGED_MEMORY;
        return done(SUCCESS);
    case 9:
        *(int *)value = block->context->device;
        return done(SUCCESS);
    }
    return done(INVALID_VALUE);
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr address)
{
    BEGIN("cuMemGetAddressRange", CURRENT, "%#llx", address);
    Block *block = block_at((void *)address, 1, 0);
    if (block == NULL)
        return done(NOT_FOUND);
    *base = (CUdeviceptr)block->address;
    *size = block->size;
    return done(SUCCESS);
}

/* A handle is the process, the address and the size; one of another process opens new memory. */
typedef struct {
    uint64_t process, address, size, unused[5];
} IpcHandle;

CUresult cuIpcGetMemHandle(IpcHandle *handle, CUdeviceptr address)
{
    BEGIN("cuIpcGetMemHandle", CURRENT, "%#llx", address);
    Block *block = starting_at((void *)address);
    if (block == NULL || block->memory != DEVICE_MEMORY)
        return done(INVALID_VALUE);
    *handle = (IpcHandle){getpid(), address, block->size, {0}};
    return done(SUCCESS);
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *pointer, IpcHandle handle, unsigned flags)
{
    BEGIN("cuIpcOpenMemHandle", CURRENT, "%u", flags);
    if (handle.process == (uint64_t)getpid())
        return done(INVALID_CONTEXT);
    if (!handle.size || handle.size > 1 << 20)
        return done(INVALID_VALUE);
    return done(allocated(pointer, handle.size, DEVICE_MEMORY));
}

CUresult cuIpcCloseMemHandle(CUdeviceptr pointer)
{
    BEGIN("cuIpcCloseMemHandle", CURRENT, "%#llx", pointer);
    Block *block = starting_at((void *)pointer);
    if (block == NULL || block->memory != DEVICE_MEMORY)
        return done(INVALID_VALUE);
    drop_block(block);
    return done(SUCCESS);
}
