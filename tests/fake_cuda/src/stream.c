/* Streams: ordered queues, and who waits for whom. */

#include "fake.h"

#include <stdlib.h>
#include <string.h>

#define NON_BLOCKING 1
#define STEP_NS 1000

static uint64_t numbers;

Stream *new_stream(Context *context, unsigned flags, int priority)
{
    Stream *stream = made(STREAM, sizeof(Stream));
    stream->context = context;
    stream->flags = flags;
    stream->priority = priority;
    return stream;
}

/* The stream of a handle in the current context; NULL if there is none. */
Stream *stream_of(uint64_t handle)
{
    Stream *stream = (Stream *)(uintptr_t)handle;
    if (handle <= 1)
        return current()->legacy;
    if (handle == 2)
        return current()->per_thread;
    return alive(STREAM, stream) && stream->context == current() ? stream : NULL;
}

Operation *operation(enum operation what)
{
    Operation *made_now = calloc(1, sizeof(Operation));
    made_now->what = what;
    return made_now;
}

void free_operation(Operation *done_now)
{
    if (done_now->what == STAGED)
        free(done_now->source);
    if (done_now->what == LAUNCH)
        free(done_now->launch);
    free(done_now);
}

/* Append work; without late mode it has run on return. */
CUresult enqueue(Stream *stream, Operation *what)
{
    if (stream->capture)
        return captured(stream, what);
    CUresult code = capture_implicit(stream->context, stream);
    if (code) {
        free_operation(what);
        return code;
    }
    what->number = ++numbers;
    what->next = NULL;
    if (what->what == RECORD) {
        what->event->recorded = what->number;
        what->event->stream = stream;
        what->event->captured = NULL;
    }
    if (stream->last)
        stream->last->next = what;
    else
        stream->first = what;
    stream->last = what;
    if (!late)
        run_until(stream, what->number);
    return SUCCESS;
}

static int sound(Context *context, unsigned char *address, size_t size)
{
    Block *block = block_at(address, size, 1);
    if (block == NULL) /* sound if it is pageable memory of the host, which nothing can check */
        return !was_allocated(address);
    return block->memory == HOST_MEMORY || block->memory == REGISTERED || reaches(context, block);
}

static void run(Stream *stream, Operation *what)
{
    Context *context = stream->context;
    clock_ns += STEP_NS;
    if (context->sticky)
        return;
    switch (what->what) {
    case COPY:
    case STAGED:
        if (!sound(context, what->target, what->size) ||
            (what->what == COPY && !sound(context, what->source, what->size)))
            context->sticky = ILLEGAL_ADDRESS;
        else
            memmove(what->target, what->source, what->size);
        return;
    case FILL:
        if (!sound(context, what->target, what->size))
            context->sticky = ILLEGAL_ADDRESS;
        else
            memset(what->target, what->byte, what->size);
        return;
    case ALLOCATE:
        what->block->real = 1;
        return;
    case FREE:
        what->block->pool->used -= what->block->size;
        drop_block(what->block);
        return;
    case CALL:
        in_callback(1);
        what->function(what->data);
        in_callback(0);
        return;
    case LAUNCH:
        if (alive(FUNCTION, what->kernel))
            run_launch(context, what->launch);
        else
            context->sticky = ILLEGAL_ADDRESS;
        return;
    case RECORD:
        what->event->passed = what->number;
        what->event->time = clock_ns;
        return;
    case WAIT:
        return;
    }
}

/* What must have run before an operation of a stream. */
static void run_before(Stream *stream, Operation *what)
{
    Context *context = stream->context;
    if (what->what == WAIT && what->other != stream)
        run_until(what->other, what->until);
    if (stream->flags & NON_BLOCKING)
        return;
    if (stream != context->legacy) {
        run_until(context->legacy, what->number - 1);
        return;
    }
    size_t at = 0;
    for (Stream *other; (other = each(STREAM, &at)) != NULL;)
        if (other->context == context && other != stream && !(other->flags & NON_BLOCKING))
            run_until(other, what->number - 1);
}

/* Run a stream's work up to a number, and first what that waits for. */
void run_until(Stream *stream, uint64_t number)
{
    while (stream->first != NULL && stream->first->number <= number) {
        Operation *what = stream->first;
        run_before(stream, what);
        if (stream->first != what)
            continue;
        stream->first = what->next;
        if (stream->first == NULL)
            stream->last = NULL;
        stream->running++;
        run(stream, what);
        stream->running--;
        free_operation(what);
    }
}

void run_all(Context *context)
{
    size_t at = 0;
    for (Stream *stream; (stream = each(STREAM, &at)) != NULL;)
        if (stream->context == context)
            run_until(stream, FOREVER);
}

int pending(Stream *stream)
{
    return stream->first != NULL || stream->running;
}

CUresult cuStreamCreateWithPriority(Stream **stream, unsigned flags, int priority)
{
    BEGIN("cuStreamCreateWithPriority", CURRENT, "%u, %d", flags, priority);
    if (flags > NON_BLOCKING)
        return done(INVALID_VALUE);
    *stream = new_stream(current(), flags, priority);
    return done(SUCCESS);
}

CUresult cuStreamCreate(Stream **stream, unsigned flags)
{
    BEGIN("cuStreamCreate", CURRENT, "%u", flags);
    *stream = new_stream(current(), flags, 0);
    return done(SUCCESS);
}

CUresult cuStreamDestroy_v2(Stream *stream)
{
    BEGIN("cuStreamDestroy", CURRENT, "%p", (void *)stream);
    if (stream_of((uintptr_t)stream) != stream || stream == NULL)
        return done(INVALID_HANDLE);
    if (stream->capture)
        drop_capture(stream);
    run_until(stream, FOREVER);
    ended(stream);
    return done(SUCCESS);
}

CUresult cuStreamGetFlags(uint64_t handle, unsigned *flags)
{
    BEGIN("cuStreamGetFlags", CURRENT, "%#llx", (unsigned long long)handle);
    Stream *stream = stream_of(handle);
    if (stream == NULL)
        return done(INVALID_HANDLE);
    if (stream->capture) /* as seen of driver 580: the capture is invalid then */
        return done(captured(stream, NULL));
    *flags = stream->flags;
    return done(SUCCESS);
}

CUresult cuStreamGetPriority(uint64_t handle, int *priority)
{
    BEGIN("cuStreamGetPriority", CURRENT, "%#llx", (unsigned long long)handle);
    Stream *stream = stream_of(handle);
    if (stream == NULL)
        return done(INVALID_HANDLE);
    *priority = stream->priority;
    return done(SUCCESS);
}

CUresult cuStreamQuery(uint64_t handle)
{
    BEGIN("cuStreamQuery", CURRENT, "%#llx", (unsigned long long)handle);
    Stream *stream = stream_of(handle);
    if (stream == NULL)
        return done(INVALID_HANDLE);
    if (stream->capture)
        return done(captured(stream, NULL));
    return done(pending(stream) ? NOT_READY : SUCCESS);
}

CUresult cuStreamSynchronize(uint64_t handle)
{
    BEGIN("cuStreamSynchronize", CURRENT, "%#llx", (unsigned long long)handle);
    Stream *stream = stream_of(handle);
    if (stream == NULL)
        return done(INVALID_HANDLE);
    if (stream->capture)
        return done(captured(stream, NULL));
    CUresult code = capture_implicit(current(), stream);
    if (code)
        return done(code);
    run_until(stream, FOREVER);
    if (stream == current()->legacy) {
        size_t at = 0;
        for (Stream *other; (other = each(STREAM, &at)) != NULL;)
            if (other->context == stream->context && !(other->flags & NON_BLOCKING))
                run_until(other, FOREVER);
    }
    return done(current()->sticky);
}

CUresult cuLaunchHostFunc(uint64_t handle, void (*function)(void *), void *data)
{
    BEGIN("cuLaunchHostFunc", CURRENT, "%#llx", (unsigned long long)handle);
    Stream *stream = stream_of(handle);
    if (stream == NULL)
        return done(INVALID_HANDLE);
    Operation *call = operation(CALL);
    call->function = function;
    call->data = data;
    return done(enqueue(stream, call));
}
