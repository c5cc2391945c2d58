/* Blocks and ranges without Python, under sanitizers: threads that allocate, free, adopt and look
 * up at once, compared with what each knows of its own; guards, ends of contexts, and forks.
 *
 *     space THREADS STEPS
 *
 * Each thread is a context of its own, and has a map of its own and ranges in its own addresses. */
#include "forks.h"
#include "queue.h"
#include "space.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OWN = 64, SLOTS = 256, SLOT = 4096 };

static struct gl_space *space;
static int steps;

#define CHECK(what)                                                    \
    do {                                                               \
        if (!(what)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what); \
            _exit(1);                                                  \
        }                                                              \
    } while (0)

static uint32_t next_of(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

/* --- blocks --- */

struct owned {
    uint64_t start;
    size_t size;
    int is_adopted;
};

static uint64_t allocated(size_t size, uint64_t context)
{
    gl_lock_space(space);
    const uint64_t start = gl_take_block(space, size, context);
    gl_unlock_space(space);
    CHECK(start && start % GL_UNIT == 0);
    return start;
}

/* Free a block as cudaFree does; false where none is live. */
static int freed(uint64_t start)
{
    gl_lock_space(space);
    struct gl_block_place place;
    const struct gl_block *block = gl_block_at(space, start, &place);
    const int found = block && block->state == GL_LIVE && place.start == start;
    if (found)
        gl_give_block(space, &place);
    gl_unlock_space(space);
    return found;
}

static void check_block(const struct owned *own, uint64_t context, uint32_t random)
{
    gl_lock_space(space);
    struct gl_block_place place;
    const struct gl_block *block = gl_block_at(space, own->start + random % own->size, &place);
    CHECK(block && place.start == own->start && block->size == own->size);
    CHECK(block->context == context);
    CHECK(block->state == (own->is_adopted ? GL_ADOPTED : GL_LIVE));
    gl_unlock_space(space);
    const uint8_t *bytes = (const uint8_t *)(uintptr_t)own->start;
    const uint8_t byte = (uint8_t)(context % 1000);
    CHECK(bytes[0] == byte && bytes[own->size - 1] == byte);
}

static void step_of_blocks(struct owned *own, uint64_t context, uint32_t *seed)
{
    struct owned *one = &own[next_of(seed) % OWN];
    const uint32_t random = next_of(seed);
    uint64_t told[3];
    if (!one->start) {
        one->size = 1 + random % (random % 8 ? 3000 : GL_MOST_BLOCK);
        one->start = allocated(one->size, context);
        one->is_adopted = 0;
        memset((void *)(uintptr_t)one->start, (int)context, one->size); /* up to both guards */
        return;
    }
    check_block(one, context, random);
    if (random % 3 == 0 && !one->is_adopted) {
        CHECK(gridlane_block_adopt(space, one->start + random % (one->size + 1), told));
        CHECK(told[0] == one->start && told[1] == one->size && told[2] == context);
        CHECK(!gridlane_block_adopt(space, one->start, told)); /* once */
        one->is_adopted = 1;
        return;
    }
    if (one->is_adopted) {
        CHECK(!freed(one->start)); /* Python frees it */
        gridlane_block_release(space, one->start);
    } else {
        CHECK(!freed(one->start + 1));
        CHECK(freed(one->start));
    }
    one->start = 0;
}

/* --- ranges: one in each slot at most, compared with a table --- */

struct ranges {
    struct gl_map *map;
    uint64_t base, starts[SLOTS], sizes[SLOTS]; /* a start of 0: none */
};

static void step_of_ranges(struct ranges *own, uint32_t *seed)
{
    const uint32_t n = next_of(seed) % SLOTS, random = next_of(seed);
    const uint64_t first = own->base + (uint64_t)n * SLOT, address = first + random % SLOT;
    if (own->starts[n] && random % 2) {
        gridlane_range_remove(space, own->map, own->starts[n]);
        own->starts[n] = 0;
    } else {
        if (!own->starts[n]) /* else in place of it */
            own->starts[n] = first + random % 1000;
        own->sizes[n] = next_of(seed) % 3000;
        CHECK(gridlane_range_add(space, own->map, own->starts[n], own->sizes[n], GL_DEVICE));
    }
    const uint64_t start = own->starts[n], end = start + own->sizes[n];
    uint64_t found;
    const int is_in = start && start <= address && address + 8 <= end;
    CHECK(gridlane_range_find(space, own->map, address, 8, &found) == is_in);
    CHECK(!is_in || found == start);
    CHECK(!start || gridlane_range_find(space, own->map, end, 0, &found));
    const int meets = start && start < address + 100 && address < end;
    CHECK(gridlane_range_meets(space, own->map, address, 100) >= meets);
    CHECK(gridlane_range_meets(space, own->map, first, SLOT) == (start && start < end));
    CHECK(gridlane_range_size(space, own->map, first + 3500) == 0);
    CHECK(!start || gridlane_range_size(space, own->map, start) == own->sizes[n]);
    gl_lock_space(space);
    const struct gl_span *range = gl_range_at(space, GL_BUFFERS, address);
    CHECK(!range == !(start && start <= address && address < end));
    CHECK(!range || range->start == start);
    gl_unlock_space(space);
}

static void check_ranges(const struct ranges *own)
{
    uint64_t told[2 * SLOTS];
    size_t count = gridlane_ranges(space, own->map, told, SLOTS), n = 0;
    for (size_t slot = 0; slot < SLOTS; slot++)
        if (own->starts[slot]) {
            CHECK(n < count && told[2 * n] == own->starts[slot]);
            CHECK(told[2 * n + 1] == own->sizes[slot]);
            n++;
        }
    CHECK(n == count);
}

static void *work(void *argument)
{
    const uint64_t context = 1 + (uintptr_t)argument;
    struct owned blocks[OWN] = { { 0, 0, 0 } };
    struct ranges ranges = { .map = gridlane_map(space, GL_BUFFERS), .base = context << 40 };
    uint32_t seed = (uint32_t)context;
    CHECK(ranges.map);
    for (int n = 0; n < steps; n++) {
        step_of_blocks(blocks, context, &seed);
        step_of_ranges(&ranges, &seed);
    }
    check_ranges(&ranges);
    gridlane_map_release(space, ranges.map);
    gl_move_blocks(space, context, context + 1000);
    gl_end_blocks(space, context); /* has none any more but adopted ones, which stay */
    for (int n = 0; n < OWN; n++)
        if (blocks[n].start)
            check_block(&blocks[n], blocks[n].is_adopted ? context : context + 1000, 0);
    gl_end_blocks(space, context + 1000);
    for (int n = 0; n < OWN; n++)
        if (blocks[n].start && blocks[n].is_adopted)
            gridlane_block_release(space, blocks[n].start);
    return NULL;
}

#if defined FORKS || defined __SANITIZE_THREAD__

/* --- forks: the child finds the lock free, and its memory as it was --- */

static int is_over;

static void *fork_while_others_work(void *unused)
{
    (void)unused;
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
        const uint64_t start = allocated(100, 999);
        memset((void *)(uintptr_t)start, 7, 100);
        const pid_t child = fork();
        if (!child) {
            const uint64_t other = allocated(5000, 999);
            CHECK(((uint8_t *)(uintptr_t)start)[99] == 7 && freed(start) && freed(other));
            _exit(0);
        }
        int status;
        CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
        CHECK(freed(start));
    }
    return NULL;
}

#endif

/* --- one thread: guards are reported, maps that overlap are unclear --- */

/* Chunks of three blocks: their pages return to the system but for a guard of the next chunk's, and
 * they are used again. */
static void check_chunks(void)
{
    enum { COUNT = 9, PER_CHUNK = 3 };
    uint64_t starts[COUNT];
    struct gl_block_place place;
    for (int round = 0; round < 2; round++) {
        for (int n = 0; n < COUNT; n++) {
            starts[n] = allocated(GL_MOST_BLOCK, 1);
            memset((void *)(uintptr_t)starts[n], n, GL_MOST_BLOCK);
            for (int before = 0; before < n; before++)
                CHECK(starts[before] != starts[n]);
        }
        const uint64_t base = starts[0] & ~(uint64_t)(GL_CHUNK - 1);
        CHECK(!gl_block_at(space, base + GL_CHUNK - 1, &place));
        CHECK(gl_block_at(space, starts[PER_CHUNK - 1], &place) && place.start == starts[2]);
        gridlane_block_release(space, starts[0]); /* is not Python's */
        CHECK(freed(starts[COUNT - 1])); /* another chunk has room */
        for (int n = 0; n < COUNT - 1; n++)
            CHECK(freed(starts[n]) && !freed(starts[n]));
        CHECK(space->fresh == COUNT / PER_CHUNK);
        CHECK(!gl_block_at(space, starts[0], &place)); /* the chunk is unused */
    }
}

static void *free_one(void *start)
{
    pthread_cancel(pthread_self()); /* at the next point of cancellation */
    CHECK(freed((uintptr_t)start));
    pthread_testcancel();
    return NULL;
}

/* A report waits for no lock of stderr, and its thread ends without the space's lock. */
static void check_reports(void)
{
    pthread_t thread;
    void *result;
    const uint64_t start = allocated(300, 1);
    ((uint8_t *)(uintptr_t)start)[301] = 0;
    flockfile(stderr);
    CHECK(!pthread_create(&thread, NULL, free_one, (void *)(uintptr_t)start));
    CHECK(!pthread_join(thread, &result) && result == PTHREAD_CANCELED);
    CHECK(freed(allocated(300, 1)));
    funlockfile(stderr);
}

static void check_alone(void)
{
    struct gl_map *one = gridlane_map(space, GL_OF_DEVICES);
    struct gl_map *other = gridlane_map(space, GL_OF_DEVICES);
    CHECK(one && other && gridlane_range_add(space, one, 4096, 100, GL_MANAGED));
    CHECK(gl_range_at(space, GL_OF_DEVICES, 4100)->kind == GL_MANAGED);
    CHECK(gridlane_range_add(space, other, 4000, 200, GL_DEVICE));
    CHECK(gl_range_at(space, GL_OF_DEVICES, 4100)->kind == GL_FOREIGN);
    CHECK(gl_range_at(space, GL_OF_DEVICES, 4000)->kind == GL_DEVICE);
    CHECK(gl_range_at(space, GL_OF_DEVICES, 4199)->kind == GL_DEVICE);
    CHECK(!gl_range_at(space, GL_OF_DEVICES, 4200) && !gl_range_at(space, GL_OF_DEVICES, 3999));
    gridlane_map_release(space, one);
    CHECK(gl_range_at(space, GL_OF_DEVICES, 4100)->kind == GL_DEVICE);
    gridlane_map_release(space, other);
    CHECK(!gl_range_at(space, GL_OF_DEVICES, 4100));
    const uint64_t large = gl_new_large(1 << 20);
    CHECK(large);
    memset((void *)(uintptr_t)large, 1, 1 << 20);
    gridlane_large_free(large, 1 << 20);
    const uint64_t start = allocated(100, 1);
    ((uint8_t *)(uintptr_t)start)[100] = 0;
    CHECK(freed(start)); /* reports byte 100 */
    ((uint8_t *)(uintptr_t)start)[-1] = 0;
    CHECK(allocated(100, 1) == start); /* writes the guards anew */
    ((uint8_t *)(uintptr_t)start)[-3] = 0;
    gl_check_live(space); /* reports byte -3 */
    gl_end_blocks(space, 1);
    CHECK(!freed(start));
}

int main(int count, char **given)
{
    CHECK(count == 3);
    struct gl_queues *all = gridlane_queues();
    uint64_t told[2], again[2];
    CHECK(all && (space = all->space));
    struct gl_block_place nowhere;
    CHECK(!gl_in_region(space, 0) && !gl_block_at(space, 4096, &nowhere));
    gl_reserve(space, told);
    gl_reserve(space, again);
    CHECK(told[0] && told[0] < told[1] && !memcmp(told, again, sizeof told));
    check_chunks();
    check_alone();
    check_reports();
    pthread_t threads[64];
    const int threads_count = atoi(given[1]);
    steps = atoi(given[2]);
    CHECK(threads_count <= 64);
#if defined FORKS || defined __SANITIZE_THREAD__
    pthread_t forks;
    CHECK(!pthread_create(&forks, NULL, fork_while_others_work, NULL));
#endif
    for (intptr_t n = 0; n < threads_count; n++)
        CHECK(!pthread_create(&threads[n], NULL, work, (void *)n));
    for (int n = 0; n < threads_count; n++)
        pthread_join(threads[n], NULL);
#if defined FORKS || defined __SANITIZE_THREAD__
    __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
    pthread_join(forks, NULL);
#endif
    /* Each class keeps one chunk, without blocks. */
    for (uint32_t n = 0; n < space->fresh; n++) {
        CHECK(!space->chunks[n].used);
        free(space->chunks[n].blocks); /* to find leaks beside these */
    }
    puts("done");
    return 0;
}
