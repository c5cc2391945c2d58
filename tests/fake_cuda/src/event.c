/* Events: points in streams, with the library's own clock. */

#include "fake.h"

#define DISABLE_TIMING 2

CUresult cuEventCreate(Event **event, unsigned flags)
{
    BEGIN("cuEventCreate", CURRENT, "%u", flags);
    *event = made(EVENT, sizeof(Event));
    (*event)->context = current();
    (*event)->timing = !(flags & DISABLE_TIMING);
    return done(SUCCESS);
}

static int mine(Event *event)
{
    return alive(EVENT, event) && event->context == current();
}

CUresult cuEventDestroy_v2(Event *event)
{
    BEGIN("cuEventDestroy", CURRENT, "%p", (void *)event);
    if (!mine(event))
        return done(INVALID_HANDLE);
    ended(event);
    return done(SUCCESS);
}

CUresult cuEventRecord(Event *event, uint64_t handle)
{
    BEGIN("cuEventRecord", CURRENT, "%p, %#llx", (void *)event, (unsigned long long)handle);
    Stream *stream = stream_of(handle);
    if (stream == NULL || !mine(event))
        return done(INVALID_HANDLE);
    Operation *record = operation(RECORD);
    record->event = event;
    return done(enqueue(stream, record));
}

CUresult cuEventQuery(Event *event)
{
    BEGIN("cuEventQuery", CURRENT, "%p", (void *)event);
    if (!mine(event))
        return done(INVALID_HANDLE);
    if (event->captured)
        return done(CAPTURED_EVENT);
    return done(event->passed < event->recorded ? NOT_READY : SUCCESS);
}

CUresult cuEventSynchronize(Event *event)
{
    BEGIN("cuEventSynchronize", CURRENT, "%p", (void *)event);
    if (!mine(event))
        return done(INVALID_HANDLE);
    if (event->captured)
        return done(CAPTURED_EVENT);
    if (event->recorded)
        run_until(event->stream, event->recorded);
    return done(current()->sticky);
}

/* Waiting for an event that a capture recorded takes the stream into that capture. */
static void join(Stream *stream, Event *event)
{
    Stream *other = event->stream;
    if (stream->capture == NULL) {
        stream->capture = event->captured;
        stream->forked = 1;
        stream->captured = 1;
        stream->joined = 0;
    }
    if (other->forked && other->joined < event->captured_at)
        other->joined = event->captured_at;
}

CUresult cuStreamWaitEvent(uint64_t handle, Event *event, unsigned flags)
{
    BEGIN("cuStreamWaitEvent", CURRENT, "%#llx, %p, %u", (unsigned long long)handle, (void *)event,
          flags);
    Stream *stream = stream_of(handle);
    if (stream == NULL || !alive(EVENT, event))
        return done(INVALID_HANDLE);
    if (event->captured) {
        if (stream->capture && stream->capture != event->captured)
            return done(CAPTURE_MERGE);
        join(stream, event);
        return done(SUCCESS);
    }
    if (stream->capture)
        return done(905); /* work that is not captured cannot be waited for in a capture */
    if (!event->recorded)
        return done(SUCCESS);
    Operation *wait = operation(WAIT);
    wait->other = event->stream;
    wait->until = event->recorded;
    return done(enqueue(stream, wait));
}

CUresult cuEventElapsedTime_v2(float *milliseconds, Event *start, Event *end)
{
    BEGIN("cuEventElapsedTime", CURRENT, "%p, %p", (void *)start, (void *)end);
    if (!mine(start) || !mine(end) || !start->recorded || !end->recorded || !start->timing ||
        !end->timing)
        return done(INVALID_HANDLE);
    if (start->passed < start->recorded || end->passed < end->recorded)
        return done(NOT_READY);
    *milliseconds = ((double)end->time - (double)start->time) / 1e6;
    return done(SUCCESS);
}
