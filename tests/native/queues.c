/* Queues without Python, under sanitizers: threads that append at once, workers that start and end,
 * marks and events across queues, waits, holds, errors, circles, forks.
 *
 *     queues THREADS ITEMS
 *
 * A worker is a plain thread. Each item notes that it runs; checks are of order and of counts. */
#include "forks.h"
#include "queue.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { QUEUES = 4, SECOND = 1000000000 };

static struct gl_queues *all;
static int items;
static uint64_t pieces, forgotten; /* launches of Python, and those that Python has forgotten */

#define CHECK(what)                                                    \
    do {                                                               \
        if (!(what)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what); \
            _exit(1);                                                  \
        }                                                              \
    } while (0)

/* --- a queue, what its worker has run, and its workers --- */

struct tested {
    struct gl_queue *queue;
    uint64_t ran, last, broke, circles, workers; /* "last": the number of the last call */
    uint32_t users;                              /* of the plan of its launches */
    void (*call)(struct tested *own, uint64_t number);
};

/* What a caller of Python does with its lock. */
static void forget(void)
{
    uint64_t piece;
    while ((piece = gridlane_queues_forget(all))) {
        CHECK(piece == (uintptr_t)&pieces);
        __atomic_add_fetch(&forgotten, 1, __ATOMIC_RELAXED);
    }
}

static void *work(void *argument)
{
    struct tested *own = argument;
    while (gridlane_queue_serve(own->queue)) {
        uint64_t number;
        int code;
        __atomic_add_fetch(&own->workers, 1, __ATOMIC_RELAXED);
        while ((code = gridlane_queue_next(own->queue, &number))) {
            if (code == GL_RUN) {
                __atomic_add_fetch(&own->ran, 1, __ATOMIC_RELAXED);
                own->last = number;
                if (own->call)
                    own->call(own, number);
            } else if (code == GL_BROKE) {
                own->broke++;
                CHECK(own->queue->failure.code == 7);
                gridlane_queue_set(own->queue, GL_FAILED_FLAG, 1);
            } else if (code == GL_CIRCULAR) {
                own->circles++;
            } else if (code == GL_FORGET) {
                forget();
            }
        }
        if (!gridlane_queue_leave(own->queue))
            break;
    }
    gridlane_queue_release(own->queue); /* the thread's use */
    return NULL;
}

static void begin(struct tested *own, void (*call)(struct tested *, uint64_t))
{
    memset(own, 0, sizeof *own);
    own->call = call;
    own->queue = gridlane_queue_new(all);
    CHECK(own->queue);
}

static void start(struct tested *own)
{
    pthread_t thread;
    pthread_mutex_lock(&all->lock);
    own->queue->users++;
    pthread_mutex_unlock(&all->lock);
    CHECK(!pthread_create(&thread, NULL, work, own));
    pthread_detach(thread);
}

static void append(struct tested *own, struct gl_item *item)
{
    CHECK(item);
    if (gridlane_queue_append(own->queue, item))
        start(own);
}

static void wait_for(struct tested *own)
{
    const uint64_t count = gridlane_queue_get(own->queue, GL_APPENDED);
    for (int n = 0; gridlane_queue_wait(all, own->queue, NULL, count, SECOND, NULL) < 1; n++)
        CHECK(n < 60);
}

/* Its workers have left it before the memory is used again. */
static void end(struct tested *own)
{
    wait_for(own);
    gridlane_queue_set(own->queue, GL_OVER_FLAG, 1);
    for (;;) {
        pthread_mutex_lock(&all->lock);
        const uint32_t users = own->queue->users;
        pthread_mutex_unlock(&all->lock);
        if (users == 1)
            break;
        sched_yield();
    }
    gridlane_queue_release(own->queue);
}

static int run_launch(void *native, const void *params, uint32_t gx, uint32_t gy, uint32_t gz,
                      uint32_t shared, void *report)
{
    (void)gy, (void)gz, (void)shared, (void)report;
    struct tested *own = native;
    CHECK(*(const uint64_t *)params == 42);
    __atomic_add_fetch(&own->ran, 1, __ATOMIC_RELAXED);
    return gx == 13 ? 7 : 0;
}

static struct gl_item *new_launch(struct tested *own, uint32_t gx)
{
    const struct gl_launch launch = { run_launch, own, own, &own->users, { gx, 1, 1 }, 0 };
    struct gl_item *made = gridlane_launch_item(0, &launch, sizeof(uint64_t));
    CHECK(made);
    *(uint64_t *)gl_params(made) = 42;
    __atomic_add_fetch(&own->users, 1, __ATOMIC_RELAXED);
    return made;
}

/* A launch of Python, which has a piece. */
static struct gl_item *new_launch_of_python(struct tested *own, uint32_t gx)
{
    const struct gl_launch launch = { run_launch, own, &pieces, NULL, { gx, 1, 1 }, 0 };
    struct gl_item *made = gridlane_launch_item(0, &launch, sizeof(uint64_t));
    CHECK(made);
    *(uint64_t *)gl_params(made) = 42;
    __atomic_add_fetch(&pieces, 1, __ATOMIC_RELAXED);
    return made;
}

/* --- all at once: threads append to all queues, follow marks across them, and wait --- */

static struct tested many[QUEUES];
static uint64_t appended[QUEUES];
static struct gl_event *events[QUEUES]; /* that all threads record, on any queue */

/* Record an event; the work before that is done once its mark, of then, is passed. */
static void record(struct tested *own, struct gl_event *event)
{
    const int needs_worker = gridlane_event_record(all, event, own->queue);
    CHECK(needs_worker >= 0);
    if (needs_worker)
        start(own);
}

static void use_event(unsigned random, struct tested *own)
{
    struct gl_event *event = events[random >> 18 & 3];
    struct gl_mark *mark;
    switch (random >> 24 & 3) {
    case 0:
        record(own, event);
        break;
    case 1:
        if ((mark = gridlane_event_mark(all, event))) {
            append(own, gridlane_item(GL_FOLLOW, GL_ITEM_ALWAYS, (uintptr_t)mark));
            gridlane_mark_release(all, mark);
        }
        break;
    case 2:
        if ((mark = gridlane_event_mark(all, event))) {
            while (gridlane_queue_wait(all, NULL, mark, 0, SECOND, NULL) < 1)
                continue;
            CHECK(mark->time > 0);
            gridlane_mark_release(all, mark);
        }
        break;
    default:
        event = gridlane_event();
        CHECK(event && gridlane_event_time(all, event) == -1);
        record(own, event);
        gridlane_event_capture(all, event);
        const int64_t time = gridlane_event_time(all, event);
        CHECK(time >= 0 && (uint64_t)time <= gl_elapsed() && event->is_captured);
        gridlane_event_release(all, event);
    }
}

static void *append_often(void *argument)
{
    unsigned random = (unsigned)(uintptr_t)argument;
    for (int n = 0; n < items; n++) {
        random = random * 1664525 + 1013904223;
        const int number = random >> 16 & 3, other = random >> 18 & 3;
        struct tested *own = &many[number];
        struct gl_mark *mark;
        switch (random >> 20 & 7) {
        case 0:
            CHECK((mark = gridlane_mark()));
            append(own, gridlane_item(GL_PASS, GL_ITEM_ALWAYS, (uintptr_t)mark));
            append(&many[other], gridlane_item(GL_FOLLOW, GL_ITEM_ALWAYS, (uintptr_t)mark));
            if (random >> 23 & 1)
                while (gridlane_queue_wait(all, NULL, mark, 0, SECOND, NULL) < 1)
                    continue;
            gridlane_mark_release(all, mark);
            break;
        case 1:
            wait_for(own);
            forget();
            break;
        case 2:
            pthread_mutex_lock(&all->lock);
            const int is_idle = own->queue->appended == own->queue->done;
            if (is_idle)
                gl_hold_queue(own->queue);
            pthread_mutex_unlock(&all->lock);
            if (!is_idle)
                break;
            const uint64_t before = __atomic_load_n(&own->ran, __ATOMIC_RELAXED);
            sched_yield();
            CHECK(__atomic_load_n(&own->ran, __ATOMIC_RELAXED) == before);
            pthread_mutex_lock(&all->lock);
            gl_let_go_of_queue(own->queue);
            pthread_mutex_unlock(&all->lock);
            break;
        case 3:
            gl_wait_for_all(all, 1000);
            break;
        case 4:
            gridlane_queue_set(own->queue, GL_OVER_FLAG, random >> 23 & 1); /* and begins anew */
            break;
        case 5:
            use_event(random, own);
            break;
        default:
            __atomic_add_fetch(&appended[number], 1, __ATOMIC_RELAXED);
            append(own, random >> 23 & 1   ? gridlane_item(GL_CALL, 0, random)
                        : random >> 24 & 1 ? new_launch_of_python(own, 1)
                                           : new_launch(own, 1));
        }
    }
    return NULL;
}

static void all_append(int threads)
{
    pthread_t made[64];
    for (int n = 0; n < QUEUES; n++) {
        begin(&many[n], NULL);
        CHECK((events[n] = gridlane_event()));
    }
    memset(appended, 0, sizeof appended);
    for (int n = 0; n < threads; n++)
        CHECK(!pthread_create(&made[n], NULL, append_often, (void *)(uintptr_t)(n + 1)));
    for (int n = 0; n < threads; n++)
        pthread_join(made[n], NULL);
    for (int n = 0; n < QUEUES; n++)
        wait_for(&many[n]);
    for (int n = 0; n < QUEUES; n++) {
        CHECK(gridlane_event_time(all, events[n])); /* passed, or never recorded */
        gridlane_event_release(all, events[n]);
        end(&many[n]);
        CHECK(many[n].ran == appended[n] && !many[n].users);
    }
    CHECK(!all->unfinished && !all->first);
    forget();
    CHECK(forgotten == pieces);
}

/* --- order: the numbers of calls rise --- */

static void is_next(struct tested *own, uint64_t number)
{
    CHECK(own->ran == number);
}

static void in_order(void)
{
    struct tested own;
    begin(&own, is_next);
    for (int n = 1; n <= items; n++)
        append(&own, gridlane_item(GL_CALL, 0, (uint64_t)n));
    end(&own);
    CHECK(own.ran == (uint64_t)items);
}

/* --- errors: later items are dropped, those for always run --- */

static void errors(void)
{
    struct tested own;
    char bytes[8] = "before";
    begin(&own, NULL);
    pieces = forgotten = 0;
    append(&own, new_launch(&own, 13));
    append(&own, new_launch(&own, 1));
    append(&own, new_launch_of_python(&own, 1));
    append(&own, gridlane_item(GL_CALL, 0, 1));
    struct gl_item *move = gridlane_item(GL_MOVE, 0, 0);
    move->move = (struct gl_move){ (uintptr_t)bytes, 0, 8, 'x', 1 };
    append(&own, move);
    append(&own, gridlane_item(GL_CALL, GL_ITEM_ALWAYS, 2));
    wait_for(&own);
    CHECK(own.broke == 1 && own.ran == 2 && own.last == 2 && all->failed == 1 && !own.users);
    CHECK(!strcmp(bytes, "before"));
    gridlane_queue_set(own.queue, GL_FAILED_FLAG, 0);
    move = gridlane_item(GL_MOVE, 0, 0);
    move->move = (struct gl_move){ (uintptr_t)bytes, 0, 8, 0x7978, 2 };
    append(&own, move);
    append(&own, gridlane_item(GL_CALL, 0, 3));
    wait_for(&own);
    append(&own, new_launch_of_python(&own, 13));
    wait_for(&own);
    CHECK(own.broke == 2 && own.queue->failure.is_of_python);
    CHECK(own.queue->failure.plan == (uintptr_t)&pieces && all->failed == 1);
    gridlane_queue_set(own.queue, GL_FAILED_FLAG, 0);
    while (__atomic_load_n(&forgotten, __ATOMIC_RELAXED) < 2) /* by the idle worker */
        sched_yield();
    end(&own);
    CHECK(pieces == 2 && own.last == 3 && !all->failed && !memcmp(bytes, "xyxyxyxy", 8));
}

/* --- circles: two workers wait for each other's queue; one of the waits is refused --- */

static struct tested pair[2];
static int refused;

static void waits_for_other(struct tested *own, uint64_t number)
{
    struct gl_queue *other = pair[own == pair].queue;
    int code;
    while (!(code = gridlane_queue_wait(all, other, NULL, number, SECOND / 100, own->queue)))
        continue;
    if (code < 0)
        __atomic_add_fetch(&refused, 1, __ATOMIC_RELAXED);
}

static void circles(void)
{
    for (int n = 0; n < items / 10 + 1; n++) {
        refused = 0;
        for (int each = 0; each < 2; each++)
            begin(&pair[each], waits_for_other);
        for (int each = 0; each < 2; each++)
            append(&pair[each], gridlane_item(GL_CALL, 0, 1));
        for (int each = 0; each < 2; each++)
            wait_for(&pair[each]);
        for (int each = 0; each < 2; each++)
            end(&pair[each]);
        CHECK(refused <= 1);
    }
}

#ifdef FORKS

/* --- forks: the child's queues have no work, and their marks are passed --- */

static void blocks(struct tested *own, uint64_t number)
{
    (void)own;
    while (!__atomic_load_n((int *)(uintptr_t)number, __ATOMIC_ACQUIRE))
        sched_yield();
}

static void forks(void)
{
    for (int n = 0; n < 20; n++) {
        struct tested own, beside;
        int gate = 0, status;
        begin(&own, blocks);
        begin(&beside, NULL);
        struct gl_mark *mark = gridlane_mark();
        struct gl_event *event = gridlane_event(), *idle = gridlane_event();
        record(&own, idle);
        append(&own, gridlane_item(GL_CALL, 0, (uintptr_t)&gate));
        record(&own, event);
        CHECK(!gridlane_event_time(all, event) && gridlane_event_time(all, idle) > 0);
        append(&own, new_launch(&own, 1));
        append(&own, gridlane_item(GL_PASS, GL_ITEM_ALWAYS, (uintptr_t)mark));
        append(&beside, gridlane_item(GL_FOLLOW, GL_ITEM_ALWAYS, (uintptr_t)mark));
        append(&beside, gridlane_item(GL_CALL, 0, 5));
        append(&beside, new_launch_of_python(&beside, 1));
        const pid_t child = fork();
        CHECK(child >= 0);
        if (!child) {
            CHECK(gl_is_passed(mark) && !all->unfinished && !own.users);
            CHECK(gridlane_event_time(all, event) > gridlane_event_time(all, idle));
            CHECK(gridlane_queue_lost(own.queue) == 4 && gridlane_queue_lost(beside.queue) == 3);
            int seen = 0;
            for (uint64_t piece; (piece = gridlane_queues_forget(all));)
                seen += piece == 5 ? 1 : piece == (uintptr_t)&pieces ? 10 : 100;
            CHECK(seen == 11 || seen == 111); /* the gate's, if it had not begun */
            append(&beside, new_launch(&beside, 1));
            append(&beside, gridlane_item(GL_CALL, 0, 6));
            wait_for(&beside);
            CHECK(beside.last == 6 && beside.ran == 2);
            _exit(0);
        }
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
        CHECK(!gl_is_passed(mark) && !gridlane_event_time(all, event));
        __atomic_store_n(&gate, 1, __ATOMIC_RELEASE);
        end(&beside);
        end(&own);
        forget();
        CHECK(own.ran == 2 && beside.ran == 2);
        CHECK(gridlane_event_time(all, event) > gridlane_event_time(all, idle));
        gridlane_event_release(all, event);
        gridlane_event_release(all, idle);
        gridlane_mark_release(all, mark);
    }
}

#endif

int main(int argc, char **argv)
{
    const int threads = argc > 1 ? atoi(argv[1]) : 24;
    items = argc > 2 ? atoi(argv[2]) : 10000;
    CHECK((all = gridlane_queues()) && all == gridlane_queues());
    in_order();
    errors();
    circles();
    all_append(threads);
#ifdef FORKS
    forks();
#endif
    printf("done\n");
    return 0;
}
