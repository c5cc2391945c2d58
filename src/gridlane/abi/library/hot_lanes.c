/* Launches on a program's own streams, without Python. Python opens the lane of a stream and appends
 * a piece of work to the stream's queue; while the lane is open, C puts launches into the batch that
 * the piece runs. Python closes the lane before it appends anything behind that piece, and before it
 * waits for the stream; the piece closes it when nothing is left. So all work keeps its order.
 */
#include "hot.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 256, MOST_ITEMS = 4096, PAUSES = 2000, REPORT = 5 };

struct item {
    struct item *next;
    struct gl_plan *plan; /* which it uses until it is done */
    uint32_t grid[3], shared;
    _Alignas(64) uint8_t params[];
};

struct batch { /* what one piece of the queue runs */
    struct item *first, *last;
    uint32_t count;
};

struct lane {
    uint64_t stream, context;
    struct batch *open; /* that C appends to, or null */
    struct lane *next;
};

static struct lane *lanes[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all that is here */

static struct lane **bucket_of(uint64_t stream)
{
    return &lanes[(stream ^ stream / BUCKETS) % BUCKETS];
}

/* In the child of a fork nobody can use lanes, and the lock may be one that is held for ever. */
static int is_gone(void)
{
    return gl_process.forked;
}

/* Null without memory. */
static struct lane *make_lane(uint64_t stream, uint64_t context)
{
    struct lane *made = is_gone() ? NULL : calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->stream = stream;
    made->context = context;
    pthread_mutex_lock(&lock);
    made->next = *bucket_of(stream);
    *bucket_of(stream) = made;
    pthread_mutex_unlock(&lock);
    return made;
}

/* What C appends to from now on; null without memory. */
static struct batch *open_lane(struct lane *lane)
{
    struct batch *made = is_gone() ? NULL : calloc(1, sizeof *made);
    if (!made)
        return NULL;
    pthread_mutex_lock(&lock);
    lane->open = made;
    pthread_mutex_unlock(&lock);
    return made;
}

static void close_lane(struct lane *lane)
{
    if (is_gone())
        return;
    pthread_mutex_lock(&lock);
    lane->open = NULL;
    pthread_mutex_unlock(&lock);
}

static void release_plan(struct gl_plan *plan)
{
    __atomic_sub_fetch(&plan->users, 1, __ATOMIC_ACQ_REL);
}

static void end_item(struct item *item)
{
    release_plan(item->plan);
    free(item);
}

/* Drop what is left of a batch, and let nobody append to it. */
static void end_batch(struct lane *lane, struct batch *batch)
{
    if (is_gone())
        return;
    pthread_mutex_lock(&lock);
    if (lane->open == batch)
        lane->open = NULL;
    pthread_mutex_unlock(&lock);
    for (struct item *item = batch->first, *next; item; item = next) {
        next = item->next;
        end_item(item);
    }
    free(batch);
}

/* It has no batch. */
static void end_lane(struct lane *lane)
{
    if (is_gone())
        return;
    pthread_mutex_lock(&lock);
    struct lane **place = bucket_of(lane->stream);
    while (*place != lane)
        place = &(*place)->next;
    *place = lane->next;
    pthread_mutex_unlock(&lock);
    free(lane);
}

/* The next item; null if there is none, and nobody appends one then. */
static struct item *take_item(struct lane *lane, struct batch *batch)
{
    /* The next launch comes soon, if it comes: to open a lane costs more than this wait. */
    for (int n = 0; n < PAUSES && !__atomic_load_n(&batch->first, __ATOMIC_RELAXED) &&
                    __atomic_load_n(&lane->open, __ATOMIC_RELAXED) == batch; n++)
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    pthread_mutex_lock(&lock);
    struct item *item = batch->first;
    if (item) {
        __atomic_store_n(&batch->first, item->next, __ATOMIC_RELAXED);
        batch->count--;
    } else if (lane->open == batch) {
        __atomic_store_n(&lane->open, NULL, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&lock);
    return item;
}

/* Run a batch, until it is empty or a launch fails. Whether one failed: Python raises its error,
 * releases its plan, and drops what is behind it. */
static int run_batch(struct lane *lane, struct batch *batch, struct gl_failure *failure)
{
    for (struct item *item; (item = take_item(lane, batch));) {
        struct gl_plan *plan = item->plan;
        memset(failure->report, 0, sizeof failure->report);
        int code = plan->launch(plan->native, item->params, item->grid[0], item->grid[1],
                                item->grid[2], item->shared, failure->report);
        if (code) {
            failure->plan = (uintptr_t)plan;
            failure->code = code;
            memcpy(failure->grid, item->grid, sizeof failure->grid);
            free(item);
            return 1;
        }
        end_item(item);
    }
    return 0;
}

const struct gl_lanes gl_lanes = { make_lane, open_lane, close_lane, run_batch,
                                   end_batch, end_lane, release_plan };

/* Put a launch into the lane of a stream, with the plan that the caller uses; false if that is not
 * open. */
int gl_append(struct gl_plan *plan, uint64_t stream, const uint32_t *grid, void **arguments,
              size_t shared)
{
    size_t size = (sizeof(struct item) + plan->bytes + 63) / 64 * 64;
    struct item *item = aligned_alloc(64, size);
    if (!item)
        return 0;
    item->next = NULL;
    item->plan = plan;
    item->shared = (uint32_t)shared;
    memcpy(item->grid, grid, sizeof item->grid);
    int put = gl_pack(plan, arguments, item->params);
    if (put) {
        pthread_mutex_lock(&lock);
        struct lane *lane = *bucket_of(stream);
        while (lane && (lane->stream != stream || lane->context != gl_thread.context))
            lane = lane->next;
        struct batch *batch = lane ? lane->open : NULL;
        put = batch && batch->count < MOST_ITEMS;
        if (put) {
            if (batch->first)
                batch->last->next = item;
            else
                __atomic_store_n(&batch->first, item, __ATOMIC_RELAXED);
            batch->last = item;
            batch->count++;
        }
        pthread_mutex_unlock(&lock);
    }
    if (!put)
        free(item);
    return put;
}
