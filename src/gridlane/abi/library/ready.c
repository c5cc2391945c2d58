/* A process that is ahead of Python: C publishes the state of its threads itself, and launches by
 * Python's files. See ready.h.
 *
 * The process is ahead while the numbers of the state are C's own. Python sets others when it
 * begins. It then adopts C's blocks, and applies to each thread the state that C gave it. */
#define _GNU_SOURCE
#include "pool.h"
#include "ready.h"

#include <dlfcn.h>
#include <errno.h>
#include <fenv.h>
#include <stdlib.h>
#include <string.h>

enum { KERNEL_WORDS = 8, MOST_BYTES = 4096 };

/* The beginning of files, behind their headers; see ready.py. */
struct device_file {
    uint32_t kind, devices, threads, unused;
    int64_t limit; /* of a launch, in ns; 0 for any time */
};
struct kernel_file {
    uint32_t kind, parameters, pieces, bytes, most_grid[3], most_shared, entry, code;
    int64_t arena, work, entry_offset, code_size; /* the last two of machine code, or 0 */
};
enum { DEVICE_FILE = 1, KERNEL_FILE = 2 };

typedef int launch_function(void *, const void *, uint32_t, uint32_t, uint32_t, uint32_t, void *);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int tried;                 /* the test whether the process can be ahead was done */
static int is_own;                /* this library put it ahead */
static struct device_file told;
static struct gl_pool *pool;      /* started with the first kernel */

static int is_ahead(void)
{
    return __atomic_load_n(&gl_process.state, __ATOMIC_ACQUIRE) == GL_AHEAD;
}

/* The caller's error number and floating-point mode, which it gets back; started threads inherit
 * the mode. Reading a file is no cancellation point here. */
struct surroundings {
    int error, cancels;
    fenv_t floats;
};

static void take_lock(struct surroundings *before)
{
    before->error = errno;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before->cancels);
    fegetenv(&before->floats);
    fesetenv(FE_DFL_ENV);
    pthread_mutex_lock(&lock);
}

static void give_lock(const struct surroundings *before)
{
    pthread_mutex_unlock(&lock);
    fesetenv(&before->floats);
    pthread_setcancelstate(before->cancels, NULL);
    errno = before->error;
}

/* Read the file of the device; the caller holds the lock. */
static int read_device(void)
{
    const struct gl_ready_key *key = gl_ready_key();
    struct gl_ready_file file;
    if (!key || !gl_ready_open(&file, key->of_device))
        return 0;
    const void *head = gl_ready_take(&file, sizeof told);
    const int is_whole = head && file.next == file.size;
    if (is_whole)
        memcpy(&told, head, sizeof told);
    gl_ready_close(&file);
    return is_whole && told.kind == DEVICE_FILE && told.devices && told.threads;
}

/* Begin ahead of Python, if there are files and no Python. */
static void begin(void)
{
    struct surroundings before;
    gl_note_begun();
    take_lock(&before);
    if (!tried && !dlsym(RTLD_DEFAULT, "PyGILState_Ensure") && read_device())
        is_own = gl_begin_ahead();
    __atomic_store_n(&tried, 1, __ATOMIC_RELEASE);
    give_lock(&before);
}

int gl_ready_tells(void)
{
    if (gl_process.forked) /* from a thread that may have held the lock */
        return 0;
    if (!__atomic_load_n(&tried, __ATOMIC_ACQUIRE))
        begin();
    if (!is_own || !is_ahead())
        return 0;
    struct gl_thread *me = &gl_thread;
    *me = (struct gl_thread){
        .state = GL_AHEAD,
        .pools = GL_AHEAD,
        .chosen = -1,
        .knows = GL_NO_ERROR,
    };
    return 1;
}

int gl_ready_uses(unsigned what)
{
    struct gl_thread *me = &gl_thread;
    if (!(what & GL_READY)) { /* this call initialises the driver, and makes no context */
        gl_use_ahead(GL_DRIVER_AHEAD);
        me->knows |= GL_KNOWS_DEVICE;
        return what == GL_KNOWS_DEVICE;
    }
    gl_use_ahead(GL_DRIVER_AHEAD | GL_CONTEXT_AHEAD);
    if (pthread_setspecific(gl_process.ahead, me))
        return 0;
    me->context = GL_AHEAD;
    me->chosen = 0;
    me->knows |= GL_KNOWS_DEVICE | GL_READY | GL_IDLE | GL_ALLOCATES;
    return 1;
}

int gl_ready_chooses(int32_t chosen)
{
    return !chosen && gl_thread.state == GL_AHEAD && gl_ready_uses(GL_READY);
}

int gl_ready_count(int *made)
{
    struct gl_thread *me = gl_me();
    if (!made || !gl_knows(me, GL_KNOWS_DEVICE) || gl_thread.state != GL_AHEAD)
        return 0;
    *made = (int)told.devices;
    return 1;
}

/* --- launches --- */

/* Start the workers; the caller holds the lock. */
static int begin_pool(void)
{
    const int threads = (int)told.threads;
    if (pool)
        return 1;
    struct gl_pool *made = aligned_alloc(64, gridlane_bytes(threads));
    if (!made)
        return 0;
    /* Signal safety: the pool handles signals of no main thread; the program's handlers stay. */
    gridlane_start(made, threads - 1, 0, told.limit);
    pool = made;
    return 1;
}

static int is_well(const struct kernel_file *head, const struct gl_piece *pieces)
{
    for (uint32_t n = 0; n < head->pieces; n++) {
        const struct gl_piece *each = &pieces[n];
        if (each->argument >= head->parameters || each->to > head->bytes ||
            each->size > head->bytes - each->to || each->from > MOST_BYTES)
            return 0;
    }
    return 1;
}

/* Make a plan from a kernel's file; null if it is no such file. */
static struct gl_plan *read_plan(struct gl_ready_file *file)
{
    struct kernel_file head;
    const void *start = gl_ready_take(file, sizeof head);
    if (!start)
        return NULL;
    memcpy(&head, start, sizeof head);
    if (head.kind != KERNEL_FILE || head.pieces > MOST_BYTES || head.bytes > MOST_BYTES ||
        head.arena < 0 || head.work < 0)
        return NULL;
    const size_t pieces = head.pieces * sizeof(struct gl_piece);
    const void *piece = gl_ready_take(file, pieces), *constants = gl_ready_take(file, head.bytes);
    const char *entry = gl_ready_take(file, head.entry);
    const void *code = gl_ready_take(file, head.code);
    if (!piece || !constants || !entry || !code || file->next != file->size || !head.entry ||
        entry[head.entry - 1])
        return NULL;
    /* One allocation, which is never freed. */
    struct gl_plan *made = calloc(1, sizeof *made + KERNEL_WORDS * 8 + pieces + head.bytes + 1);
    void *found;
    if (!made)
        return NULL;
    int64_t *words = (int64_t *)(made + 1);
    struct gl_piece *own = (struct gl_piece *)(words + KERNEL_WORDS);
    memcpy(own, piece, pieces);
    memcpy(own + head.pieces, constants, head.bytes);
    if (!is_well(&head, own) || !gl_ready_load(code, head.code, &entry, &found, 1)) {
        free(made);
        return NULL;
    }
    words[0] = (int64_t)(uintptr_t)found;
    words[1] = (int64_t)(uintptr_t)pool;
    words[2] = head.arena;
    words[3] = head.work;
    if (head.code_size > 0) { /* the code in which a fault is the kernel's */
        words[5] = words[0] - head.entry_offset;
        words[6] = words[5] + head.code_size;
    }
    made->parameters = head.parameters;
    made->pieces = head.pieces;
    made->bytes = head.bytes;
    memcpy(made->most_grid, head.most_grid, sizeof made->most_grid);
    made->most_shared = head.most_shared;
    made->launch = (launch_function *)(uintptr_t)gridlane_launch;
    made->native = words;
    made->piece = own;
    made->constants = (const uint8_t *)(own + head.pieces);
    made->usable = 1;
    return made;
}

/* The plans that were made. They stay, as loaded code does: a library that is opened again has the
 * plans that it had. The caller holds the lock. */
static struct made {
    uint8_t key[GL_DIGEST];
    struct gl_plan *plan;
    struct made *next;
} *all_made;

/* A plan of the same code as an earlier one: an unused one, or a copy; null if there is none. */
static struct gl_plan *made_before(const uint8_t *key, int *is_listed)
{
    uint64_t code = __atomic_load_n(&gl_process.code, __ATOMIC_ACQUIRE);
    struct gl_plan *like = NULL;
    for (struct made *each = all_made; each; each = each->next) {
        if (memcmp(each->key, key, GL_DIGEST))
            continue;
        like = each->plan;
        if (like->code == code)
            continue;
        gl_launches.remove_plan(like);
        if (!__atomic_load_n(&like->users, __ATOMIC_ACQUIRE)) {
            *is_listed = 1;
            return like;
        }
    }
    struct gl_plan *copy = like ? malloc(sizeof *copy) : NULL;
    if (copy) {
        *copy = *like;
        copy->users = 0;
    }
    return copy;
}

static struct gl_plan *made_plan(uint64_t function, const uint32_t *block)
{
    struct gl_ready_file file;
    struct made *entry = malloc(sizeof *entry);
    int is_listed = 0;
    if (!entry || !gl_ready_key_of(function, block, entry->key)) {
        free(entry);
        return NULL;
    }
    struct gl_plan *made = made_before(entry->key, &is_listed);
    if (!made && gl_ready_open(&file, entry->key)) {
        made = begin_pool() ? read_plan(&file) : NULL;
        gl_ready_close(&file);
    }
    if (!made || is_listed) {
        free(entry);
        return made;
    }
    entry->plan = made;
    entry->next = all_made;
    all_made = entry;
    return made;
}

int gl_ready_plan(uint32_t api, uint64_t function, const uint32_t *block)
{
    if (api != GL_RUNTIME || gl_thread.state != GL_AHEAD)
        return 0;
    struct surroundings before;
    take_lock(&before);
    uint64_t code = __atomic_load_n(&gl_process.code, __ATOMIC_ACQUIRE);
    int found = gl_has_plan(api, function, block); /* another thread made it */
    struct gl_plan *made = found || !is_ahead() ? NULL : made_plan(function, block);
    if (made) {
        made->function = function;
        made->context = GL_AHEAD;
        made->code = code;
        made->api = api;
        memcpy(made->block, block, sizeof made->block);
        gl_launches.add_plan(made);
    }
    give_lock(&before);
    return found || made;
}

/* A registered image ends, and its addresses may become another's. */
void gl_ready_forget(void)
{
    uint64_t code = __atomic_load_n(&gl_process.code, __ATOMIC_ACQUIRE);
    while (is_ahead() && !__atomic_compare_exchange_n(&gl_process.code, &code, code - 1, 0,
                                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        continue;
}

/* --- functions that Python calls to store a file --- */

int gl_ready_names(uint64_t function, const uint32_t *block, struct gl_ready_names *made)
{
    const struct gl_ready_key *key = gl_ready_key();
    if (!key || !gl_ready_key_of(function, block, made->kernel))
        return 0;
    memcpy(made->device, key->of_device, GL_DIGEST);
    made->environment = key->environment;
    made->package = key->package;
    return 1;
}
