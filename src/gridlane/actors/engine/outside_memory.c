/* Code for the memory of a shared inbox that a runtime and its peers share. */
#ifdef __linux__
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* seals */
#endif
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "outside.h"

#define MOST_PAYLOAD 16384u
#define HEADS (2 * sizeof(gl_inbox) + sizeof(gl_shared))

static size_t up(size_t bytes) { return (bytes + 63) & ~(size_t)63; }

size_t gl_area_bytes(const gl_sizes *sizes)
{
    if (!sizes->capacity || sizes->capacity & (sizes->capacity - 1) || sizes->capacity > 1u << 20
        || !sizes->seats || sizes->seats > GL_SEATS || !sizes->payload_bytes
        || sizes->payload_bytes > MOST_PAYLOAD || sizes->reply_bytes > MOST_PAYLOAD)
        return 0;
    size_t slot = up(sizeof(gl_header) + sizes->payload_bytes);
    return HEADS + sizes->seats * (sizeof(gl_seat) + up(sizes->reply_bytes))
           + (sizes->capacity + (size_t)GL_LETTERS) * slot;
}

static void place_ring(gl_ring *ring, uint8_t *inbox, uint8_t *slots, uint32_t capacity, size_t slot)
{
    ring->inbox = (gl_inbox *)inbox;
    ring->slots = slots;
    ring->mask = capacity - 1;
    ring->shift = (uint32_t)__builtin_ctz(capacity);
    ring->slot_bytes = (uint32_t)slot;
}

int gl_area_map(gl_area *area, int file, const gl_sizes *sizes)
{
    struct stat facts;
    size_t bytes = gl_area_bytes(sizes), slot = up(sizeof(gl_header) + sizes->payload_bytes);
    int seals = fcntl(file, F_GET_SEALS);
    if (fstat(file, &facts))
        return -1;
    /* Without the seal a peer could shrink the file, and an access to it would be fatal. */
    if (!bytes || (size_t)facts.st_size != bytes || seals < 0 || !(seals & F_SEAL_SHRINK)) {
        errno = EINVAL;
        return -1;
    }
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED)
        return -1;
    area->memory = memory;
    area->bytes = bytes;
    area->sizes = *sizes;
    area->shared = (gl_shared *)(area->memory + 2 * sizeof(gl_inbox));
    area->seats = (gl_seat *)(area->memory + HEADS);
    area->replies = (uint8_t *)(area->seats + sizes->seats);
    area->reply_step = (uint32_t)up(sizes->reply_bytes);
    uint8_t *slots = area->replies + (size_t)sizes->seats * area->reply_step;
    place_ring(&area->ring[GL_MESSAGES], area->memory, slots, sizes->capacity, slot);
    place_ring(&area->ring[GL_DEAD_ONES], area->memory + sizeof(gl_inbox),
               slots + sizes->capacity * slot, GL_LETTERS, slot);
    return 0;
}

void gl_area_unmap(gl_area *area)
{
    if (area->memory)
        munmap(area->memory, area->bytes);
    area->memory = NULL;
}

/* The 22nd field of /proc/PID/stat, behind the name in brackets, which may hold any text. The third
   is the state; a zombie counts as ended. */
uint64_t gl_start_of(pid_t process)
{
    char path[32], text[1024], *at;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (process <= 0 || file < 0) {
        if (file >= 0)
            close(file);
        return 0;
    }
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0)
        return 0;
    text[length] = 0;
    at = strrchr(text, ')');
    if (!at || strlen(at) < 4 || at[2] == 'Z' || at[2] == 'X')
        return 0;
    at += 2;
    for (int field = 3; field < 22; field++) {
        at = strchr(at, ' ');
        if (!at)
            return 0;
        at++;
    }
    uint64_t start = strtoull(at, NULL, 10);
    return start ? start : 1;
}

uint64_t gl_owner_of(pid_t process)
{
    return (uint64_t)(uint32_t)process << 32 | (uint32_t)gl_start_of(process);
}

int gl_owner_lives(uint64_t owner)
{
    pid_t process = (pid_t)(owner >> 32);
    uint64_t start = gl_start_of(process);
    return start && (uint32_t)start == (uint32_t)owner;
}

void gl_sleep_on(_Atomic uint32_t *bell, uint32_t seen, uint64_t nanoseconds)
{
    struct timespec left = {(time_t)(nanoseconds / 1000000000u), (long)(nanoseconds % 1000000000u)};
    syscall(SYS_futex, bell, FUTEX_WAIT, seen, &left, NULL, 0);
}

void gl_ring_bell(_Atomic uint32_t *bell, _Atomic uint32_t *asleep)
{
    atomic_thread_fence(memory_order_seq_cst);
    if (!atomic_load_explicit(asleep, memory_order_relaxed))
        return;
    atomic_fetch_add(bell, 1);
    syscall(SYS_futex, bell, FUTEX_WAKE, 1 << 30, NULL, NULL, 0);
}
#else
typedef int gl_no_shared_memory;
#endif
