/* Memory of a device whose memory is the process's: small allocations, and the default stream's
 * lock.
 *
 * Blocks lie in one reserved region, so the block of an address is computed by arithmetic. Python
 * has no record of them. Where Python looks an address up, it adopts the block, and from then on
 * only Python frees it. Python mirrors its own allocations to C as ranges. */
#define _GNU_SOURCE
#include "hot_order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* --- blocks; with the lock --- */

/* Blocks are multiples of UNIT; from 2 KiB on there are four sizes for each power of two. */
static unsigned class_of(size_t size, uint32_t *unit)
{
    uint32_t count = (uint32_t)((size + UNIT - 1) / UNIT);
    if (count <= 8) {
        *unit = count * UNIT;
        return count - 1;
    }
    unsigned shift = 29 - __builtin_clz(count - 1); /* a quarter of the power of two below */
    uint32_t quarter = (count - 1) >> shift;        /* 4 to 7 */
    *unit = ((quarter + 1) << shift) * UNIT;
    return 8 + (shift - 1) * 4 + quarter - 4;
}

static void link_chunk(struct gl_shared *all, unsigned class, uint32_t number)
{
    struct chunk *each = &all->chunks[number - 1];
    each->before = NONE;
    each->after = all->partial[class];
    if (each->after)
        all->chunks[each->after - 1].before = number;
    all->partial[class] = number;
}

static void unlink_chunk(struct gl_shared *all, unsigned class, uint32_t number)
{
    struct chunk *each = &all->chunks[number - 1];
    if (each->after)
        all->chunks[each->after - 1].before = each->before;
    if (each->before)
        all->chunks[each->before - 1].after = each->after;
    else
        all->partial[class] = each->after;
}

static uint32_t new_chunk(struct gl_shared *all, uint32_t unit)
{
    uint32_t count = CHUNK / unit, number = all->unused;
    struct block *blocks = calloc(count, sizeof *blocks);
    if (!blocks || (!number && all->fresh == all->most)) {
        free(blocks);
        return NONE;
    }
    if (number)
        all->unused = all->chunks[number - 1].after;
    else
        number = ++all->fresh;
    for (uint32_t n = 0; n < count; n++)
        blocks[n].next = n + 1 < count ? n + 2 : NONE;
    all->chunks[number - 1] = (struct chunk){ blocks, unit, count, 0, 1, NONE, NONE };
    return number;
}

static uint64_t address_of(const struct gl_shared *all, uint32_t number, uint32_t index)
{
    return (uint64_t)(uintptr_t)all->region + (uint64_t)(number - 1) * CHUNK +
           (uint64_t)index * all->chunks[number - 1].unit;
}

/* --- guards; see memory/guards.py --- */

static uint8_t guard_of(int n)
{
    return (uint8_t)(0xa5 ^ (7 * n & 0xff));
}

static void set_guard(uint64_t place)
{
    for (int n = 0; n < GUARD; n++)
        ((uint8_t *)(uintptr_t)place)[n] = guard_of(n);
}

static void set_guards(uint64_t start, uint64_t size)
{
    set_guard(start - GUARD);
    set_guard(start + size);
}

static void note(uint64_t size, const char *where, int64_t place)
{
    const char *quiet = getenv("GRIDLANE_QUIET");
    if (!quiet || !*quiet || !strcmp(quiet, "0"))
        fprintf(stderr,
                "gridlane: memory of %llu bytes was written %s, at byte %lld: a kernel or a copy goes "
                "too far; GRIDLANE_CHECK=1 names the line\n",
                (unsigned long long)size, where, (long long)place);
}

/* Report changed bytes of the guards, and write them again. */
static void check_guards(uint64_t start, uint64_t size)
{
    const uint8_t *before = (const uint8_t *)(uintptr_t)(start - GUARD);
    const uint8_t *behind = (const uint8_t *)(uintptr_t)(start + size);
    int last = GUARD - 1, first = 0;
    while (last >= 0 && before[last] == guard_of(last))
        last--;
    while (first < GUARD && behind[first] == guard_of(first))
        first++;
    if (last >= 0)
        note(size, "in front of its start", last - GUARD);
    if (first < GUARD)
        note(size, "behind its end", (int64_t)size + first);
    if (last >= 0 || first < GUARD)
        set_guards(start, size);
}

/* Return the pages of a chunk to the system. The guard in front of the next chunk lies in them. */
static void drop_pages(const struct gl_shared *all, uint32_t number)
{
    char *start = all->region + (size_t)(number - 1) * CHUNK, guard[GUARD];
    const struct chunk *next = &all->chunks[number];
    int is_used = number < all->fresh && next->blocks && next->blocks[0].state != FREE;
    memcpy(guard, start + CHUNK - GUARD, GUARD);
    madvise(start, CHUNK, MADV_DONTNEED);
    if (is_used)
        memcpy(start + CHUNK - GUARD, guard, GUARD);
}

static uint64_t take(struct gl_shared *all, size_t size, uint64_t context)
{
    uint32_t unit;
    unsigned class = class_of(size + 2 * GUARD, &unit); /* the second guard is in front of the next
                                                           block */
    uint32_t number = all->partial[class];
    if (!number) {
        number = new_chunk(all, unit);
        if (!number)
            return 0;
        link_chunk(all, class, number);
    }
    struct chunk *chunk = &all->chunks[number - 1];
    uint32_t index = chunk->free - 1;
    struct block *block = &chunk->blocks[index];
    chunk->free = block->next;
    chunk->used++;
    if (!chunk->free)
        unlink_chunk(all, class, number);
    *block = (struct block){ context, (uint32_t)size, NONE, LIVE };
    uint64_t start = address_of(all, number, index);
    set_guards(start, size);
    return start;
}

/* Return a chunk without blocks, unless it is the only one of its class with room. */
static void give(struct gl_shared *all, uint32_t number, uint32_t index)
{
    struct chunk *chunk = &all->chunks[number - 1];
    struct block *block = &chunk->blocks[index];
    uint32_t unit;
    unsigned class = class_of(chunk->unit, &unit);
    check_guards(address_of(all, number, index), block->size);
    block->state = FREE;
    block->next = chunk->free;
    if (!chunk->free)
        link_chunk(all, class, number);
    chunk->free = index + 1;
    if (--chunk->used || (!chunk->before && !chunk->after))
        return;
    unlink_chunk(all, class, number);
    free(chunk->blocks);
    drop_pages(all, number);
    chunk->blocks = NULL;
    chunk->after = all->unused;
    all->unused = number;
}

int gl_in_region(const struct gl_shared *all, uint64_t address)
{
    return address - (uint64_t)(uintptr_t)all->region < (uint64_t)all->fresh * CHUNK;
}

/* The block whose slot contains an address, which may lie behind the size of the block. */
struct block *gl_block_at(struct gl_shared *all, uint64_t address, uint64_t *start,
                              uint32_t *number, uint32_t *index)
{
    if (!gl_in_region(all, address))
        return NULL;
    uint64_t offset = address - (uint64_t)(uintptr_t)all->region;
    struct chunk *chunk = &all->chunks[offset / CHUNK];
    if (!chunk->blocks)
        return NULL;
    *number = (uint32_t)(offset / CHUNK) + 1;
    *index = (uint32_t)(offset % CHUNK) / chunk->unit;
    if (*index >= chunk->count)
        return NULL;
    *start = address - (uint32_t)(offset % CHUNK) % chunk->unit;
    return &chunk->blocks[*index];
}

/* --- ranges; with the lock --- */

/* The first range that ends behind an address. */
static size_t place_of(const struct map *map, uint64_t address)
{
    size_t low = 0, high = map->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (map->ranges[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct range *gl_range_at(const struct map *map, uint64_t address)
{
    size_t n = place_of(map, address);
    return n < map->count && map->ranges[n].start <= address ? &map->ranges[n] : NULL;
}

/* --- functions that Python calls --- */

static void take_out(struct map *map, uint64_t start)
{
    size_t n = place_of(map, start);
    if (n < map->count && map->ranges[n].start == start) {
        map->count--;
        memmove(&map->ranges[n], &map->ranges[n + 1], (map->count - n) * sizeof *map->ranges);
    }
}

static int put_in(struct map *map, uint64_t start, uint64_t size, uint32_t kind)
{
    if (map->count == map->room) {
        size_t more = map->room ? 2 * map->room : 64;
        struct range *larger = realloc(map->ranges, more * sizeof *larger);
        if (!larger)
            return 0;
        map->ranges = larger;
        map->room = more;
    }
    size_t n = place_of(map, start);
    memmove(&map->ranges[n + 1], &map->ranges[n], (map->count - n) * sizeof *map->ranges);
    map->ranges[n] = (struct range){ start, start + size, kind };
    map->count++;
    return 1;
}

static void remove_range(int of, uint64_t start)
{
    struct gl_shared *all = locked();
    take_out(&all->maps[of], start);
    pthread_mutex_unlock(&all->lock);
}

static void add_range(int of, uint64_t start, uint64_t size, uint32_t kind)
{
    remove_range(of, start);
    if (!size) /* no address is in it */
        return;
    struct gl_shared *all = locked();
    if (!put_in(&all->maps[of], start, size, kind))
        all->is_lost = 1;
    pthread_mutex_unlock(&all->lock);
}

/* Transfer the block at an address to Python, which frees it; its start, size and context. Returns
 * 0 if C has none there. */
static int adopt(uint64_t address, uint64_t *told)
{
    uint32_t number, index;
    struct gl_shared *all = locked();
    struct block *block = gl_block_at(all, address, &told[0], &number, &index);
    int found = block && block->state == LIVE && address - told[0] <= block->size;
    if (found) {
        block->state = ADOPTED;
        told[1] = block->size;
        told[2] = block->context;
    }
    pthread_mutex_unlock(&all->lock);
    return found;
}

/* Free a block that Python adopted. */
static void release(uint64_t start)
{
    uint32_t number, index;
    uint64_t first;
    struct gl_shared *all = locked();
    struct block *block = gl_block_at(all, start, &first, &number, &index);
    if (block && block->state == ADOPTED)
        give(all, number, index);
    pthread_mutex_unlock(&all->lock);
}

/* Free the blocks, streams and events of a context that ends. Python frees those that it
 * adopted. */
static void end_context(uint64_t context)
{
    struct gl_shared *all = locked();
    for (uint32_t number = 1; number <= all->fresh; number++) {
        struct chunk *chunk = &all->chunks[number - 1];
        for (uint32_t n = 0; chunk->blocks && n < chunk->count; n++)
            if (chunk->blocks[n].state == LIVE && chunk->blocks[n].context == context)
                give(all, number, n);
    }
    pthread_mutex_unlock(&all->lock);
    gl_end_streams(context);
    gl_end_events(context);
}

/* Fork: Python in the child looks up blocks as well, and streams and events, whose lock the queues
 * handle. The thread that held the default stream's lock is not there. */
static void before_fork(void)
{
    locked();
}

static void after_fork(void)
{
    pthread_mutex_unlock(&shared()->lock);
}

static void in_child(void)
{
    pthread_mutex_init(&shared()->turn, NULL);
    shared()->turner = 0;
    after_fork();
}

/* The start and end of the region, 0 where there is none; and what was used ahead of Python. */
static int tell(uint64_t *told)
{
    struct gl_shared *all = locked();
    told[0] = (uint64_t)(uintptr_t)all->region;
    told[1] = told[0] + (uint64_t)all->most * CHUNK;
    told[2] = all->used_ahead;
    pthread_mutex_unlock(&all->lock);
    return 1;
}

void gl_use_ahead(unsigned what)
{
    struct gl_shared *all = locked();
    all->used_ahead |= what;
    pthread_mutex_unlock(&all->lock);
}

/* Reserve the region at the first call. */
static int begin(uint64_t *told)
{
    if (shared())
        return tell(told);
    struct gl_shared *all = calloc(1, sizeof *all);
    if (!all || !(all->order = gl_new_order())) {
        free(all);
        return 0;
    }
    pthread_mutex_init(&all->lock, NULL);
    pthread_mutex_init(&all->turn, NULL);
    struct rlimit limit;
    size_t most = (size_t)16 << 30;
    if (!getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur / 16 < most)
        most = limit.rlim_cur / 16;
    for (size_t size = most; size >= (size_t)64 << 20; size /= 4) {
        /* Pages are allocated at their first use. */
        char *region = mmap(NULL, size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (region == MAP_FAILED)
            continue;
        size_t lead = CHUNK - (uintptr_t)region % CHUNK; /* never 0: a guard is in front */
        all->region = region + lead;
        all->most = (uint32_t)((size - lead) / CHUNK);
        all->chunks = mmap(NULL, all->most * sizeof *all->chunks, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (all->chunks == MAP_FAILED)
            all->most = 0;
        break;
    }
    __atomic_store_n(&gl_process.shared, all, __ATOMIC_RELEASE);
    pthread_atfork(before_fork, after_fork, in_child);
    return tell(told);
}

/* Move the blocks, streams and events of a context to another. */
static void move_context(uint64_t from, uint64_t to)
{
    struct gl_shared *all = locked();
    for (uint32_t number = 1; number <= all->fresh; number++) {
        struct chunk *chunk = &all->chunks[number - 1];
        for (uint32_t n = 0; chunk->blocks && n < chunk->count; n++)
            if (chunk->blocks[n].state == LIVE && chunk->blocks[n].context == from)
                chunk->blocks[n].context = to;
    }
    pthread_mutex_unlock(&all->lock);
    gl_move_order(from, to);
}

/* A large allocation that C made ahead of Python. Only such ranges exist at that time. */
static int large(uint64_t number, uint64_t *told)
{
    struct gl_shared *all = locked();
    const struct map *map = &all->maps[OF_DEVICES];
    int found = number < map->count;
    if (found) {
        told[0] = map->ranges[number].start;
        told[1] = map->ranges[number].end - told[0];
    }
    pthread_mutex_unlock(&all->lock);
    return found;
}

static void free_large(uint64_t start, uint64_t size)
{
    check_guards(start, size);
    munmap((char *)(uintptr_t)start - LEAD, LEAD + size + GUARD);
}

/* The program's live allocations. */
__attribute__((destructor)) static void check_live(void)
{
    struct gl_shared *all = shared();
    if (!all || gl_process.forked || pthread_mutex_trylock(&all->lock))
        return;
    for (uint32_t number = 1; number <= all->fresh; number++) {
        struct chunk *chunk = &all->chunks[number - 1];
        for (uint32_t n = 0; chunk->blocks && n < chunk->count; n++)
            if (chunk->blocks[n].state != FREE)
                check_guards(address_of(all, number, n), chunk->blocks[n].size);
    }
    pthread_mutex_unlock(&all->lock);
}

static int take_turn(struct gl_shared *all, int waits)
{
    if (pthread_mutex_trylock(&all->turn)) {
        if (!waits)
            return 0;
        pthread_mutex_lock(&all->turn);
    }
    __atomic_store_n(&all->turner, (uintptr_t)pthread_self(), __ATOMIC_RELAXED);
    return 1;
}

static void wait_for_turn(void)
{
    take_turn(shared(), 1);
}

static int try_turn(void)
{
    return take_turn(shared(), 0);
}

int gl_try_turn(void)
{
    return try_turn();
}

void gl_give_turn(void)
{
    struct gl_shared *all = shared();
    __atomic_store_n(&all->turner, 0, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&all->turn);
}

const struct gl_memory gl_memory = { begin,       add_range,     remove_range, adopt,
                                     release,     end_context,   wait_for_turn, try_turn,
                                     gl_give_turn, move_context, large,        free_large };

int gl_take_turn(void)
{
    struct gl_shared *all = shared();
    if (take_turn(all, 0))
        return 1;
    /* A function that the default stream calls holds the lock itself; Python continues there. */
    if (__atomic_load_n(&all->turner, __ATOMIC_RELAXED) == (uintptr_t)pthread_self())
        return 0;
    return !gl_holds_python() && take_turn(all, 1);
}

int gl_wait(void)
{
    struct gl_thread *me = gl_me();
    if (!gl_is_quiet(me, GL_READY | GL_IDLE) || !gl_take_turn())
        return 0;
    gl_give_turn();
    return 1;
}

/* --- functions that stubs call: each returns whether it did its work --- */

int gl_allocate(void *made, size_t size)
{
    struct gl_thread *me = gl_me();
    const unsigned needed = GL_READY | GL_ALLOCATES | GL_UNCAPTURED;
    if (!made || !size || size > MOST || !gl_knows(me, needed))
        return 0;
    struct gl_shared *all = locked();
    /* Lock order: the end of a context changes the number first, then takes this lock. */
    uint64_t start = gl_knows(me, needed) ? take(all, size, me->context) : 0;
    pthread_mutex_unlock(&all->lock);
    if (start)
        memcpy(made, &start, sizeof start);
    return start != 0;
}

/* Ahead of Python, C makes large allocations as well. */
static int is_ahead(unsigned knows)
{
    struct gl_thread *me = gl_me();
    return gl_knows(me, knows) && me->state == GL_AHEAD;
}

int gl_allocate_large(void *made, size_t size)
{
    const unsigned needed = GL_READY | GL_ALLOCATES | GL_UNCAPTURED;
    if (!made || size <= MOST || size >= END || !is_ahead(needed))
        return 0;
    char *memory = mmap(NULL, LEAD + size + GUARD, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 0;
    char *start = memory + LEAD;
    struct gl_shared *all = locked();
    /* Order: Python sets other numbers first, then reads the ranges. */
    int done = is_ahead(needed) &&
               put_in(&all->maps[OF_DEVICES], (uintptr_t)start, size, GL_DEVICE);
    pthread_mutex_unlock(&all->lock);
    set_guards((uintptr_t)start, size);
    if (done)
        memcpy(made, &start, sizeof start);
    else
        munmap(memory, LEAD + size + GUARD);
    return done;
}

int gl_free_large(uint64_t address)
{
    uint64_t size = 0;
    if (!address || !is_ahead(GL_READY | GL_QUIET) || !gl_take_turn()) /* no launch uses it */
        return 0;
    struct gl_shared *all = locked();
    const struct range *range = gl_range_at(&all->maps[OF_DEVICES], address);
    if (range && range->start == address && is_ahead(GL_READY | GL_QUIET)) {
        size = range->end - address;
        take_out(&all->maps[OF_DEVICES], address);
    }
    pthread_mutex_unlock(&all->lock);
    if (size)
        free_large(address, size);
    gl_give_turn();
    return size != 0;
}

int gl_free(uint64_t address)
{
    struct gl_thread *me = gl_me();
    uint32_t number, index;
    uint64_t start;
    if (!address)
        return gl_knows(me, GL_READY | GL_UNCAPTURED);
    if (!gl_is_quiet(me, GL_READY) || !gl_take_turn())
        return 0;
    struct gl_shared *all = locked();
    struct block *block = gl_block_at(all, address, &start, &number, &index);
    int found = block && block->state == LIVE && start == address;
    if (found) /* under the default stream's lock: a kernel of another thread may use it */
        give(all, number, index);
    pthread_mutex_unlock(&all->lock);
    gl_give_turn();
    return found;
}
