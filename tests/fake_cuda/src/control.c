/* The library's own state, and how a test steers it: functions named fake_*. */

#include "fake.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_OBJECTS 65536
#define MOST_FAILURES 64
#define LOG_BYTES (4 << 20)

Device devices[MOST_DEVICES];
int device_count = 1;
int late;
uint64_t clock_ns;

static pthread_mutex_t lock;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static Object *objects[MOST_OBJECTS];
static size_t object_count, log_length;
static char log_text[LOG_BYTES];
static int started;
static uint64_t epoch = 1, threads;
static __thread Context *thread_context;
static __thread uint64_t thread_epoch, thread_id;
static __thread int thread_calls_back;

static struct {
    char name[64];
    int after, code;
} failures[MOST_FAILURES];

static void make_lock(void)
{
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &kind);
}

static void take_lock(void)
{
    pthread_once(&once, make_lock);
    pthread_mutex_lock(&lock);
}

/* ---- objects */

void *made(enum kind kind, size_t size)
{
    Object *object = calloc(1, size);
    if (object == NULL || object_count == MOST_OBJECTS)
        abort();
    object->kind = kind;
    objects[object_count++] = object;
    return object;
}

/* The memory stays until the next reset: a handle that is used too late is told from a new one. */
void ended(void *object)
{
    ((Object *)object)->kind += KINDS;
}

int alive(enum kind kind, const void *object)
{
    for (size_t n = 0; object != NULL && n < object_count; n++)
        if (objects[n] == object)
            return objects[n]->kind == kind;
    return 0;
}

void *each(enum kind kind, size_t *at)
{
    while (*at < object_count)
        if (objects[(*at)++]->kind == kind)
            return objects[*at - 1];
    return NULL;
}

void forget_everything(void)
{
    for (size_t n = 0; n < object_count; n++) {
        enum kind kind = objects[n]->kind % KINDS;
        if (kind == BLOCK && ((Block *)objects[n])->memory != REGISTERED)
            free(((Block *)objects[n])->address);
        if (kind == MODULE)
            free(((Module *)objects[n])->text);
        free(objects[n]);
    }
    object_count = 0;
}

/* ---- threads */

Context *current(void)
{
    return thread_epoch == epoch ? thread_context : NULL;
}

void set_current(Context *context)
{
    thread_context = context;
    thread_epoch = epoch;
}

void set_started(int yes)
{
    started = yes;
}

void in_callback(int yes)
{
    thread_calls_back += yes ? 1 : -1;
}

uint64_t thread_number(void)
{
    if (!thread_id)
        thread_id = ++threads;
    return thread_id;
}

/* ---- calls */

static void write_down(const char *name, const char *format, va_list values)
{
    size_t room = LOG_BYTES - log_length;
    if (room < 512)
        abort(); /* a test that calls so much shall empty the log */
    char *at = log_text + log_length;
    int length = snprintf(at, 128, "%s(", name);
    length += vsnprintf(at + length, 300, format, values);
    length += snprintf(at + length, 8, ")\n");
    log_length += length;
}

static CUresult injected(const char *name)
{
    CUresult code = SUCCESS;
    for (int n = 0; n < MOST_FAILURES; n++) {
        if (!failures[n].code || strcmp(failures[n].name, name) || --failures[n].after > 0)
            continue;
        code = failures[n].code;
        failures[n].code = 0;
    }
    return code;
}

CUresult begin(const char *name, enum needs needs, const char *format, ...)
{
    take_lock();
    va_list values;
    va_start(values, format);
    write_down(name, format, values);
    va_end(values);
    if (thread_calls_back)
        return NOT_PERMITTED;
    CUresult code = injected(name);
    if (code || needs == NOTHING)
        return code;
    if (!started)
        return NOT_INITIALIZED;
    if (needs == STARTED)
        return SUCCESS;
    Context *context = current();
    if (context == NULL)
        return INVALID_CONTEXT;
    if (!alive(CONTEXT, context))
        return CONTEXT_DESTROYED;
    return context->sticky;
}

CUresult done(CUresult code)
{
    pthread_mutex_unlock(&lock);
    return code;
}

/* ---- for tests */

/* Everything anew: no object lives, no context is current, no failure is planned. */
void fake_reset(int count, size_t memory)
{
    take_lock();
    forget_launches();
    forget_everything();
    memset(devices, 0, sizeof devices);
    memset(failures, 0, sizeof failures);
    device_count = count;
    for (int n = 0; n < count; n++) {
        devices[n].total = memory;
        for (int other = 0; other < count; other++)
            devices[n].peer_capable[other] = n != other;
    }
    late = 0;
    log_length = 0;
    log_text[0] = 0;
    epoch++;
    done(0);
}

void fake_attribute(int device, int attribute, int value)
{
    devices[device].attributes[attribute] = value;
}

void fake_peer(int device, int other, int capable)
{
    devices[device].peer_capable[other] = capable;
}

/* The nth call from now of a function (1: the next) returns a code and does nothing. */
void fake_fail(const char *name, int nth, int code)
{
    take_lock();
    int n = 0;
    while (n < MOST_FAILURES && failures[n].code)
        n++;
    if (n == MOST_FAILURES)
        abort();
    snprintf(failures[n].name, sizeof failures[n].name, "%s", name);
    failures[n].after = nth;
    failures[n].code = code;
    done(0);
}

/* Planned failures that have not come. */
int fake_unfailed(void)
{
    int count = 0;
    for (int n = 0; n < MOST_FAILURES; n++)
        count += failures[n].code != 0;
    return count;
}

/* A fault of a device's context: what a kernel brings down, all later calls return. */
void fake_fault(int device, int code)
{
    take_lock();
    if (devices[device].primary)
        devices[device].primary->sticky = code;
    done(0);
}

void fake_late(int yes)
{
    take_lock();
    late = yes;
    done(0);
}

/* Let everything run that waits in streams. */
void fake_run(void)
{
    take_lock();
    size_t at = 0;
    for (Context *context; (context = each(CONTEXT, &at)) != NULL;)
        run_all(context);
    done(0);
}

int fake_alive(int kind)
{
    int count = 0;
    size_t at = 0;
    take_lock();
    while (each(kind, &at) != NULL)
        count++;
    done(0);
    return count;
}

/* Blocks of a kind of memory that a program has not freed. */
int fake_blocks(int memory)
{
    int count = 0;
    size_t at = 0;
    take_lock();
    for (Block *block; (block = each(BLOCK, &at)) != NULL;)
        count += (int)block->memory == memory && block->promised;
    done(0);
    return count;
}

int fake_retained(int device)
{
    return devices[device].retained;
}

const char *fake_log(void)
{
    return log_text;
}

void fake_clear_log(void)
{
    take_lock();
    log_length = 0;
    log_text[0] = 0;
    done(0);
}
