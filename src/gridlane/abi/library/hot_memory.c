/* Memory of a device whose memory is the process's: small allocations, and the default stream's
 * lock.
 *
 * Where Python looks an address of a block up, it adopts the block, and from then on only Python
 * frees it; see native/space.h. */
#include "hot_order.h"

#include <stdlib.h>
#include <string.h>

/* --- functions that Python calls --- */

/* Free the blocks, streams and events of a context that ends. Python frees blocks that it
 * adopted. */
static void end_context(uint64_t context)
{
    gl_end_blocks(gl_process.queues->space, context);
    gl_end_streams(context);
    gl_end_events(context);
}

/* Move the blocks, streams and events of a context to another. */
static void move_context(uint64_t from, uint64_t to)
{
    gl_move_blocks(gl_process.queues->space, from, to);
    gl_move_order(from, to);
}

/* The thread that held the default stream's lock is not in the child of a fork. */
static void in_child(void)
{
    pthread_mutex_init(&shared()->turn, NULL);
    shared()->turner = 0;
}

void gl_use_ahead(unsigned what)
{
    __atomic_fetch_or(&shared()->used_ahead, what, __ATOMIC_RELAXED);
}

/* The start and end of the region of blocks, 0 where there is none; what was used ahead of Python;
 * and the map of what C allocated in pages of its own. The first call reserves the region. */
static int begin(uint64_t *told)
{
    struct gl_shared *all = shared();
    if (!all) {
        all = calloc(1, sizeof *all);
        if (!all || !(all->order = gl_new_order()) ||
            !(all->large = gridlane_map(gl_process.queues->space, GL_OF_DEVICES))) {
            free(all);
            return 0;
        }
        pthread_mutex_init(&all->turn, NULL);
        __atomic_store_n(&gl_process.shared, all, __ATOMIC_RELEASE);
        pthread_atfork(NULL, NULL, in_child);
    }
    gl_reserve(gl_process.queues->space, told);
    told[2] = __atomic_load_n(&all->used_ahead, __ATOMIC_RELAXED);
    told[3] = (uintptr_t)all->large;
    return 1;
}

/* The program's live allocations. */
__attribute__((destructor)) static void check_live(void)
{
    if (shared() && !gl_process.forked)
        gl_check_live(gl_process.queues->space);
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

const struct gl_memory gl_memory = { begin,    end_context,  wait_for_turn,
                                     try_turn, gl_give_turn, move_context };

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
    if (!made || !size || size > GL_MOST_BLOCK || !gl_knows(me, needed))
        return 0;
    struct gl_space *space = locked();
    /* Lock order: the end of a context changes the number first, then takes this lock. */
    uint64_t start = gl_knows(me, needed) ? gl_take_block(space, size, me->context) : 0;
    gl_unlock_space(space);
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
    if (!made || size <= GL_MOST_BLOCK || size >= END || !is_ahead(needed))
        return 0;
    const uint64_t start = gl_new_large(size);
    const struct gl_span range = { start, start + size, GL_DEVICE };
    if (!start)
        return 0;
    struct gl_space *space = locked();
    /* Order: Python sets other numbers first, then reads the ranges. */
    int done = is_ahead(needed) && gl_put_range(shared()->large, &range);
    gl_unlock_space(space);
    if (done)
        memcpy(made, &start, sizeof start);
    else
        gridlane_large_free(start, size);
    return done;
}

int gl_free_large(uint64_t address)
{
    uint64_t size = 0;
    if (!address || !is_ahead(GL_READY | GL_QUIET) || !gl_take_turn()) /* no launch uses it */
        return 0;
    struct gl_space *space = locked();
    const struct gl_span *range = gl_range_in(shared()->large, address);
    if (range && range->start == address && is_ahead(GL_READY | GL_QUIET)) {
        size = range->end - address;
        gl_take_range_out(shared()->large, address);
    }
    gl_unlock_space(space);
    gl_give_turn();
    if (size)
        gridlane_large_free(address, size);
    return size != 0;
}

int gl_free(uint64_t address)
{
    struct gl_thread *me = gl_me();
    if (!address)
        return gl_knows(me, GL_READY | GL_UNCAPTURED);
    if (!gl_is_quiet(me, GL_READY) || !gl_take_turn())
        return 0;
    struct gl_space *space = locked();
    struct gl_block_place place;
    const struct gl_block *block = gl_block_at(space, address, &place);
    int found = block && block->state == GL_LIVE && place.start == address;
    if (found) /* under the default stream's lock: a kernel of another thread may use it */
        gl_give_block(space, &place);
    struct gl_note *notes = gl_unlock_space_first(space);
    gl_give_turn();
    gl_write_notes(notes);
    return found;
}
