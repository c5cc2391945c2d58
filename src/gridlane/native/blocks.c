/* Blocks of memory: small allocations of C in one reserved region, in chunks of blocks of one size. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "space.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* --- blocks; with the lock --- */

/* Blocks are multiples of GL_UNIT; from 2 KiB on there are four sizes for each power of two. */
static unsigned class_of(size_t size, uint32_t *unit)
{
    uint32_t count = (uint32_t)((size + GL_UNIT - 1) / GL_UNIT);
    if (count <= 8) {
        *unit = count * GL_UNIT;
        return count - 1;
    }
    unsigned shift = 29 - __builtin_clz(count - 1); /* a quarter of the power of two below */
    uint32_t quarter = (count - 1) >> shift;        /* 4 to 7 */
    *unit = ((quarter + 1) << shift) * GL_UNIT;
    return 8 + (shift - 1) * 4 + quarter - 4;
}

static void link_chunk(struct gl_space *space, unsigned class, uint32_t number)
{
    struct gl_chunk *each = &space->chunks[number - 1];
    each->before = GL_NO_CHUNK;
    each->after = space->partial[class];
    if (each->after)
        space->chunks[each->after - 1].before = number;
    space->partial[class] = number;
}

static void unlink_chunk(struct gl_space *space, unsigned class, uint32_t number)
{
    struct gl_chunk *each = &space->chunks[number - 1];
    if (each->after)
        space->chunks[each->after - 1].before = each->before;
    if (each->before)
        space->chunks[each->before - 1].after = each->after;
    else
        space->partial[class] = each->after;
}

static uint32_t new_chunk(struct gl_space *space, uint32_t unit)
{
    uint32_t count = GL_CHUNK / unit, number = space->unused;
    struct gl_block *blocks = calloc(count, sizeof *blocks);
    if (!blocks || (!number && space->fresh == space->most)) {
        free(blocks);
        return GL_NO_CHUNK;
    }
    if (number)
        space->unused = space->chunks[number - 1].after;
    else
        number = ++space->fresh;
    for (uint32_t n = 0; n < count; n++)
        blocks[n].next = n + 1 < count ? n + 2 : GL_NO_CHUNK;
    space->chunks[number - 1] =
        (struct gl_chunk){ blocks, unit, count, 0, 1, GL_NO_CHUNK, GL_NO_CHUNK };
    return number;
}

static uint64_t address_of(const struct gl_space *space, uint32_t number, uint32_t index)
{
    return (uint64_t)(uintptr_t)space->region + (uint64_t)(number - 1) * GL_CHUNK +
           (uint64_t)index * space->chunks[number - 1].unit;
}

/* --- guards; see memory/guards.py --- */

static uint8_t guard_of(int n)
{
    return (uint8_t)(0xa5 ^ (7 * n & 0xff));
}

static void set_guard(uint64_t place)
{
    for (int n = 0; n < GL_GUARD; n++)
        ((uint8_t *)(uintptr_t)place)[n] = guard_of(n);
}

static void set_guards(uint64_t start, uint64_t size)
{
    set_guard(start - GL_GUARD);
    set_guard(start + size);
}

/* What was written outside of memory. */
struct gl_note {
    struct gl_note *next;
    const char *where;
    uint64_t size;
    int64_t place;
};

/* Hazard: the lock of stderr may be held by a thread that waits for this one, a pipe may be full, and
 * the write is a point of cancellation. */
static void write_note(const struct gl_note *note)
{
    const char *quiet = getenv("GRIDLANE_QUIET");
    char line[256];
    int cancels, before = errno;
    if (quiet && *quiet && strcmp(quiet, "0"))
        return;
    const int length = snprintf(line, sizeof line,
                                "gridlane: memory of %llu bytes was written %s, at byte %lld: a kernel "
                                "or a copy goes too far; GRIDLANE_CHECK=1 names the line\n",
                                (unsigned long long)note->size, note->where,
                                (long long)note->place);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancels);
    const ssize_t written = write(STDERR_FILENO, line, (size_t)length);
    (void)written;
    pthread_setcancelstate(cancels, NULL);
    errno = before;
}

void gl_write_notes(struct gl_note *latest)
{
    struct gl_note *first = NULL;
    for (struct gl_note *note = latest, *before; note; note = before) {
        before = note->next;
        note->next = first;
        first = note;
    }
    for (struct gl_note *note = first, *next; note; note = next) {
        next = note->next;
        write_note(note);
        free(note);
    }
}

static void add_note(struct gl_note **latest, uint64_t size, const char *where, int64_t place)
{
    const struct gl_note note = { *latest, where, size, place };
    struct gl_note *made = malloc(sizeof note);
    if (!made) {
        write_note(&note);
        return;
    }
    *made = note;
    *latest = made;
}

/* Note changed bytes of the guards, and write them again. */
static void check_guards(struct gl_note **notes, uint64_t start, uint64_t size)
{
    const uint8_t *before = (const uint8_t *)(uintptr_t)(start - GL_GUARD);
    const uint8_t *behind = (const uint8_t *)(uintptr_t)(start + size);
    int last = GL_GUARD - 1, first = 0;
    while (last >= 0 && before[last] == guard_of(last))
        last--;
    while (first < GL_GUARD && behind[first] == guard_of(first))
        first++;
    if (last >= 0)
        add_note(notes, size, "in front of its start", last - GL_GUARD);
    if (first < GL_GUARD)
        add_note(notes, size, "behind its end", (int64_t)size + first);
    if (last >= 0 || first < GL_GUARD)
        set_guards(start, size);
}

/* Return the pages of a chunk to the system. The guard in front of the next chunk lies in them. */
static void drop_pages(const struct gl_space *space, uint32_t number)
{
    char *start = space->region + (size_t)(number - 1) * GL_CHUNK, guard[GL_GUARD];
    const struct gl_chunk *next = &space->chunks[number];
    int is_used = number < space->fresh && next->blocks && next->blocks[0].state != GL_FREE;
    memcpy(guard, start + GL_CHUNK - GL_GUARD, GL_GUARD);
    madvise(start, GL_CHUNK, MADV_DONTNEED);
    if (is_used)
        memcpy(start + GL_CHUNK - GL_GUARD, guard, GL_GUARD);
}

uint64_t gl_take_block(struct gl_space *space, size_t size, uint64_t context)
{
    uint32_t unit;
    unsigned class = class_of(size + 2 * GL_GUARD, &unit); /* the second guard is in front of the next
                                                           block */
    uint32_t number = space->partial[class];
    if (!number) {
        number = new_chunk(space, unit);
        if (!number)
            return 0;
        link_chunk(space, class, number);
    }
    struct gl_chunk *chunk = &space->chunks[number - 1];
    uint32_t index = chunk->free - 1;
    struct gl_block *block = &chunk->blocks[index];
    chunk->free = block->next;
    chunk->used++;
    if (!chunk->free)
        unlink_chunk(space, class, number);
    *block = (struct gl_block){ context, (uint32_t)size, GL_NO_CHUNK, GL_LIVE };
    uint64_t start = address_of(space, number, index);
    set_guards(start, size);
    return start;
}

/* Return a chunk without blocks, unless it is the only one of its class with room. */
void gl_give_block(struct gl_space *space, const struct gl_block_place *place)
{
    struct gl_chunk *chunk = &space->chunks[place->chunk - 1];
    struct gl_block *block = place->block;
    uint32_t unit;
    unsigned class = class_of(chunk->unit, &unit);
    check_guards(&space->notes, place->start, block->size);
    block->state = GL_FREE;
    block->next = chunk->free;
    if (!chunk->free)
        link_chunk(space, class, place->chunk);
    chunk->free = place->index + 1;
    if (--chunk->used || (!chunk->before && !chunk->after))
        return;
    unlink_chunk(space, class, place->chunk);
    free(chunk->blocks);
    drop_pages(space, place->chunk);
    chunk->blocks = NULL;
    chunk->after = space->unused;
    space->unused = place->chunk;
}

struct gl_block *gl_block_at(struct gl_space *space, uint64_t address,
                             struct gl_block_place *place)
{
    if (!gl_in_region(space, address))
        return NULL;
    const uint64_t offset = address - (uint64_t)(uintptr_t)space->region;
    const struct gl_chunk *chunk = &space->chunks[offset / GL_CHUNK];
    if (!chunk->blocks)
        return NULL;
    place->chunk = (uint32_t)(offset / GL_CHUNK) + 1;
    place->index = (uint32_t)(offset % GL_CHUNK) / chunk->unit;
    place->start = address - (uint32_t)(offset % GL_CHUNK) % chunk->unit;
    if (place->index >= chunk->count)
        return NULL;
    return place->block = &chunk->blocks[place->index];
}

/* Move a place to the next block in use; false if there is none. A place before the first block is
 * (null, 0, 1, 0). */
static int next_used(const struct gl_space *space, struct gl_block_place *place)
{
    place->index += place->block != NULL;
    for (; place->chunk <= space->fresh; place->chunk++, place->index = 0) {
        const struct gl_chunk *chunk = &space->chunks[place->chunk - 1];
        for (; chunk->blocks && place->index < chunk->count; place->index++) {
            place->block = &chunk->blocks[place->index];
            place->start = address_of(space, place->chunk, place->index);
            if (place->block->state != GL_FREE)
                return 1;
        }
    }
    return 0;
}

/* --- functions that Python calls --- */

int gridlane_block_adopt(struct gl_space *space, uint64_t address, uint64_t *made)
{
    gl_lock_space(space);
    struct gl_block_place place;
    struct gl_block *block = gl_block_at(space, address, &place);
    const int found =
        block && block->state == GL_LIVE && address - place.start <= block->size;
    if (found) {
        block->state = GL_ADOPTED;
        made[0] = place.start;
        made[1] = block->size;
        made[2] = block->context;
    }
    gl_unlock_space(space);
    return found;
}

void gridlane_block_release(struct gl_space *space, uint64_t start)
{
    gl_lock_space(space);
    struct gl_block_place place;
    const struct gl_block *block = gl_block_at(space, start, &place);
    if (block && block->state == GL_ADOPTED)
        gl_give_block(space, &place);
    gl_unlock_space(space);
}

/* --- without Python --- */

void gl_reserve(struct gl_space *space, uint64_t *made)
{
    struct rlimit limit;
    size_t most = (size_t)16 << 30;
    if (!getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur / 16 < most)
        most = limit.rlim_cur / 16;
    gl_lock_space(space);
    for (size_t size = most; !space->region && size >= (size_t)64 << 20; size /= 4) {
        /* Pages are allocated at their first use. */
        char *region = mmap(NULL, size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (region == MAP_FAILED)
            continue;
        const size_t lead = GL_CHUNK - (uintptr_t)region % GL_CHUNK; /* never 0: for a guard */
        space->region = region + lead;
        space->most = (uint32_t)((size - lead) / GL_CHUNK);
        space->chunks = mmap(NULL, space->most * sizeof *space->chunks, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (space->chunks == MAP_FAILED)
            space->most = 0;
    }
    made[0] = (uint64_t)(uintptr_t)space->region;
    made[1] = made[0] + (uint64_t)space->most * GL_CHUNK;
    gl_unlock_space(space);
}

struct gl_space *gl_new_space(void)
{
    struct gl_space *made = calloc(1, sizeof *made);
    if (made)
        pthread_mutex_init(&made->lock, NULL);
    return made;
}

void gl_end_blocks(struct gl_space *space, uint64_t context)
{
    struct gl_block_place each = { NULL, 0, 1, 0 };
    gl_lock_space(space);
    while (next_used(space, &each))
        if (each.block->state == GL_LIVE && each.block->context == context)
            gl_give_block(space, &each); /* its chunk may have no blocks then */
    gl_unlock_space(space);
}

void gl_move_blocks(struct gl_space *space, uint64_t from, uint64_t to)
{
    struct gl_block_place each = { NULL, 0, 1, 0 };
    gl_lock_space(space);
    while (next_used(space, &each))
        if (each.block->state == GL_LIVE && each.block->context == from)
            each.block->context = to;
    gl_unlock_space(space);
}

void gl_check_live(struct gl_space *space)
{
    struct gl_block_place each = { NULL, 0, 1, 0 };
    if (pthread_mutex_trylock(&space->lock))
        return;
    while (next_used(space, &each))
        check_guards(&space->notes, each.start, each.block->size);
    gl_unlock_space(space);
}

uint64_t gl_new_large(uint64_t size)
{
    char *memory = mmap(NULL, GL_LEAD + size + GL_GUARD, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 0;
    const uint64_t start = (uint64_t)(uintptr_t)memory + GL_LEAD;
    set_guards(start, size);
    return start;
}

void gridlane_large_free(uint64_t start, uint64_t size)
{
    struct gl_note *notes = NULL;
    check_guards(&notes, start, size);
    gl_write_notes(notes);
    munmap((char *)(uintptr_t)start - GL_LEAD, GL_LEAD + size + GL_GUARD);
}
