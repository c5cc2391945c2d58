/* The engine without Python, used by many threads at once; for ThreadSanitizer and AddressSanitizer.

   Three actors send to each other in a cycle, with inboxes of two messages; the last replies. Threads
   post, call with short limits, suspend and resume, hold, change routes, end and free a fourth actor,
   and take dead letters. At the end each message must be handled or dead. Usage: stress SECONDS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine.h"

#define ACTORS 4
#define TYPE 7
#define PAYLOAD 64
#define BATCH 2
#define MISSING 99

static gl_engine *engine;
static gl_actor *actors[ACTORS];
static _Atomic int stop;
static _Atomic uint64_t posted, handled, emitted, refused, buried, answers, wrong;
static _Atomic uint64_t replied, late; /* answers for callers; those that are dead letters */

static void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(1);
}

/* A step: each message with hops left is sent on to the next actor, the last actor replies. */
static int handle(const void *plan, const void *params, int gx, int gy, int gz, int shared,
                  void *report)
{
    gl_actor *actor = *(gl_actor *const *)params;
    (void)plan, (void)gx, (void)gy, (void)gz, (void)shared, (void)report;
    uint32_t out = 0;
    for (int32_t n = 0; n < actor->info[GL_COUNT]; n++) {
        gl_header *slot = gl_slot(&actor->inbox, (uint32_t)(actor->info[GL_FIRST] + n));
        uint64_t *message = (uint64_t *)(slot + 1);
        if (message[1] != (message[0] ^ 0x5555))
            atomic_fetch_add(&wrong, 1);
        gl_output *output = (gl_output *)(actor->output + (size_t)out * actor->output_bytes);
        uint64_t *payload = (uint64_t *)(output + 1);
        if (message[0] % 8 || actor->id == 3) {
            output->kind = actor->id == 3 ? GL_REPLY : GL_SEND;
            output->message = (uint32_t)n;
            output->type = TYPE;
            output->key = message[0] % 64 == 1 ? MISSING : actor->id % 3 + 1;
            output->payload_bytes = PAYLOAD;
            payload[0] = message[0] > 0 ? message[0] - 1 : 0;
            payload[1] = payload[0] ^ 0x5555;
            out++;
            /* A reply to a caller is no message. */
            if (slot->reply_to & GL_TO_WAITER)
                atomic_fetch_add(&replied, 1);
            int to_actor = slot->reply_to && !(slot->reply_to & (GL_TO_WAITER | GL_TO_OUTBOX));
            if (output->kind == GL_SEND || to_actor)
                atomic_fetch_add(&emitted, 1);
        }
        actor->info[GL_HANDLED] = n + 1;
        atomic_fetch_add(&handled, 1);
    }
    actor->info[GL_EMITTED] = (int32_t)out;
    return 0;
}

static gl_actor *make(uint64_t id, uint32_t capacity)
{
    gl_actor *a = calloc(1, sizeof *a);
    if (!a || gl_queue_init(&a->inbox, capacity, 512) || gl_queue_init(&a->outbox, 2, 512))
        fail("no memory");
    pthread_mutex_init(&a->mutex, NULL);
    a->control = calloc(1, sizeof *a->control);
    if (posix_memalign((void **)&a->latencies, 64, sizeof *a->latencies))
        fail("no memory");
    memset(a->latencies, 0, sizeof *a->latencies);
    a->info = calloc(GL_INFO_WORDS, 4);
    if (gl_outputs_init(a, BATCH, sizeof(gl_output) + PAYLOAD))
        fail("no memory");
    a->params = malloc(sizeof(gl_actor *));
    *(gl_actor **)a->params = a;
    a->launch = handle;
    a->engine = engine;
    a->id = a->clock.node = id;
    a->type = TYPE;
    a->tier = 256;
    a->batch = BATCH;
    atomic_store(&a->phase, GL_ACCEPTS | GL_RUNS);
    return a;
}

static void drop(gl_actor *a)
{
    gl_queue_free(&a->inbox);
    gl_queue_free(&a->outbox);
    free(a->blocked), free(a->asked), free(a->params), free(a->info), gl_outputs_free(a);
    free(a->control), free(a->latencies), free(a);
}

static void begin(uint32_t workers)
{
    if (posix_memalign((void **)&engine, 64, sizeof *engine))
        fail("no memory");
    memset(engine, 0, sizeof *engine);
    engine->run = calloc(GL_RUN_QUEUE, sizeof *engine->run);
    engine->host_ready = calloc(GL_RUN_QUEUE, sizeof *engine->host_ready);
    engine->waiters = calloc(GL_WAITERS, sizeof *engine->waiters);
    engine->completed = calloc(GL_COMPLETED, sizeof *engine->completed);
    pthread_mutex_init(&engine->mutex, NULL);
    pthread_mutex_init(&engine->answer_mutex, NULL);
    pthread_mutex_init(&engine->dead_mutex, NULL);
    pthread_mutex_init(&engine->clock_mutex, NULL);
    pthread_mutex_init(&engine->gates_mutex, NULL);
    pthread_cond_t *all[] = {&engine->work,     &engine->host,    &engine->events,
                             &engine->answered, &engine->answers, &engine->taken};
    for (unsigned n = 0; n < sizeof all / sizeof *all; n++)
        gl_cond_init(all[n]);
    for (uint32_t n = 0; n < GL_WAITERS; n++)
        engine->waiters[n].next = n + 1 < GL_WAITERS ? n + 1 : UINT32_MAX;
    engine->drift = 60000000000u;
    engine->dead_limit = 1u << 20;
    engine->worker_spins = 200;
    for (uint64_t n = 0; n < 3; n++) {
        actors[n] = make(n + 1, 2);
        if (gl_set_route(engine, n + 1, actors[n]))
            fail("no memory");
    }
    if (gl_engine_start(engine, workers))
        fail("no workers");
}

static gl_letter letter_of(uint64_t *payload, uint64_t value)
{
    memset(payload, 0, PAYLOAD);
    payload[0] = value;
    payload[1] = value ^ 0x5555;
    return (gl_letter){.type = TYPE, .payload_bytes = PAYLOAD, .clock = {gl_now(), 0, 5}};
}

static void *post(void *number)
{
    uint64_t seed = (uint64_t)(uintptr_t)number, payload[PAYLOAD / 8];
    while (!atomic_load(&stop)) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        gl_letter letter = letter_of(payload, seed >> 40 & 15);
        int result = gl_post(actors[seed >> 60 & 1], &letter, payload, 0);
        if (result == GL_POSTED)
            atomic_fetch_add(&posted, 1);
        else if (result > 0)
            atomic_fetch_add(&refused, 1);
    }
    return NULL;
}

static void *call(void *number)
{
    uint64_t value = (uint64_t)(uintptr_t)number, payload[PAYLOAD / 8];
    while (!atomic_load(&stop)) {
        uint64_t ticket = gl_wait_begin(engine, 3, 0);
        gl_letter letter = letter_of(payload, value = (value + 8) & 0xFFFFFF);
        letter.reply_to = letter.correlation = ticket;
        int answered = 0;
        if (gl_post(actors[2], &letter, payload, 0) == GL_POSTED) {
            atomic_fetch_add(&posted, 1);
            answered = gl_wait(engine, ticket, 20000, gl_elapsed() + value % 3 * 50000);
            if (answered) {
                gl_waiter *waiter = gl_waiter_of(engine, ticket);
                uint64_t got;
                memcpy(&got, waiter->payload, 8);
                if (!waiter->reason && got != value - 1)
                    atomic_fetch_add(&wrong, 1);
                atomic_fetch_add(&answers, !waiter->reason);
            }
        }
        gl_wait_end(engine, ticket, answered);
    }
    return NULL;
}

static void nap(void)
{
    struct timespec pause = {0, 30000};
    nanosleep(&pause, NULL);
}

static void *suspend(void *unused)
{
    (void)unused;
    for (uint32_t n = 0; !atomic_load(&stop); n++) {
        gl_actor *actor = actors[n % 3];
        atomic_store(&actor->phase, GL_ACCEPTS);
        nap();
        if (gl_hold(actor, gl_elapsed() + 200000))
            gl_release(actor);
        atomic_store(&actor->phase, GL_ACCEPTS | GL_RUNS);
        gl_schedule(actor);
        nap();
    }
    return NULL;
}

/* quiet() of engine_object.c. */
static void quiet(void)
{
    uint64_t seen[16];
    atomic_thread_fence(memory_order_seq_cst);
    for (uint32_t n = 0; n < engine->workers; n++)
        seen[n] = atomic_load(&engine->inside[n * 8]);
    for (uint32_t n = 0; n < engine->workers; n++)
        while (seen[n] & 1 && atomic_load(&engine->inside[n * 8]) == seen[n])
            nap();
}

/* The fourth actor, which has the name that is missing at other times. */
static void *come_and_go(void *unused)
{
    (void)unused;
    for (uint64_t n = 0; !atomic_load(&stop); n++) {
        gl_actor *a = make(1000 + n, 2);
        if (n % 2)
            atomic_store(&a->phase, GL_ACCEPTS); /* so that senders wait for room in it */
        gl_set_route(engine, MISSING, a);
        gl_set_route(engine, 1000 + n, a);
        nap(), nap();
        gl_set_route(engine, MISSING, NULL);
        gl_set_route(engine, 1000 + n, NULL);
        atomic_store(&a->phase, 0);
        gl_unblock(a);
        while (atomic_load(&a->in_step) || atomic_load(&a->posting))
            nap();
        gl_leave_list(a);
        a->full = GL_DEAD;
        gl_flush(a);
        for (uint64_t head; gl_queue_has(&a->inbox, head = atomic_load(&a->inbox.inbox->head));) {
            gl_refuse_slot(a, gl_slot(&a->inbox, head), GL_STOPPED);
            gl_queue_release(&a->inbox);
        }
        gl_unblock(a);
        while (atomic_load(&a->scheduled) || atomic_load(&a->waiting))
            nap();
        quiet(); /* the worker that has cleared scheduled looks at the actor once more */
        drop(a);
        gl_routes *routes = atomic_load(&engine->routes);
        gl_routes_free(routes->older);
        routes->older = NULL;
    }
    return NULL;
}

static void *undertake(void *unused)
{
    (void)unused;
    for (int ends = 0; !ends;) {
        ends = atomic_load(&stop) == 2;
        pthread_mutex_lock(&engine->dead_mutex);
        gl_dead *dead = engine->dead_first;
        engine->dead_first = engine->dead_last = NULL;
        engine->dead_count = 0;
        pthread_mutex_unlock(&engine->dead_mutex);
        while (dead) {
            gl_dead *next = dead->next;
            atomic_fetch_add(dead->header.reason == GL_LATE ? &late : &buried, 1);
            free(dead);
            dead = next;
        }
        nap();
    }
    return NULL;
}

int main(int count, char **words)
{
    void *(*const work[])(void *) = {post, post, post, call, call, suspend, come_and_go};
    enum { THREADS = sizeof work / sizeof *work };
    pthread_t threads[THREADS], undertaker;
    struct timespec span = {count > 1 ? atoi(words[1]) : 1, 0};
    begin(2);
    pthread_create(&undertaker, NULL, undertake, NULL);
    for (int n = 0; n < THREADS; n++)
        pthread_create(&threads[n], NULL, work[n], (void *)(uintptr_t)(n + 1));
    nanosleep(&span, NULL);
    atomic_store(&stop, 1);
    for (int n = 0; n < THREADS; n++)
        pthread_join(threads[n], NULL);
    uint64_t until = gl_elapsed() + 30000000000u;
    for (int n = 0; n < 3; n++)
        while (gl_queue_length(&actors[n]->inbox) || atomic_load(&actors[n]->scheduled)
               || atomic_load(&actors[n]->waiting)) {
            if (gl_elapsed() > until)
                fail("an actor has messages, and nobody runs it");
            nap();
            n = 0;
        }
    gl_engine_stop(engine);
    atomic_store(&stop, 2);
    pthread_join(undertaker, NULL);
    printf("%llu posted, %llu emitted, %llu handled, %llu dead, %llu answers, %llu refused\n",
           (unsigned long long)posted, (unsigned long long)emitted, (unsigned long long)handled,
           (unsigned long long)buried, (unsigned long long)answers, (unsigned long long)refused);
    if (wrong)
        fail("a message is not what was sent");
    if (posted + emitted != handled + buried)
        fail("messages are lost or doubled");
    if (replied != answers + late)
        fail("answers are lost or doubled");
    for (int n = 0; n < 3; n++)
        drop(actors[n]);
    for (uint32_t n = 0; n < GL_WAITERS; n++)
        free(engine->waiters[n].payload);
    gl_routes_free(atomic_load(&engine->routes));
    free(engine->waiters), free(engine->completed), free(engine->host_ready), free(engine->run);
    free(engine->threads), free(engine->inside), free(engine);
    return 0;
}
