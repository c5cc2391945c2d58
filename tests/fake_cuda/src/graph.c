/* Capturing streams, and graphs, which are kept as lists: work in the order of its capture. */

#include "fake.h"

#include <stdlib.h>
#include <string.h>

#define NON_BLOCKING 1

enum { GLOBALLY, BY_THREAD, RELAXED };

static _Thread_local int thread_mode = GLOBALLY;

CUresult cuThreadExchangeStreamCaptureMode(int *mode)
{
    BEGIN("cuThreadExchangeStreamCaptureMode", STARTED, "%d", *mode);
    if (*mode < GLOBALLY || *mode > RELAXED)
        return done(INVALID_VALUE);
    int before = thread_mode;
    thread_mode = *mode;
    *mode = before;
    return done(SUCCESS);
}

/* Calls that a capture in this thread, or a global one in any, does not allow, by the thread's own
   mode. */
CUresult unsafe_in_capture(void)
{
    size_t at = 0;
    if (thread_mode == RELAXED)
        return SUCCESS;
    for (Stream *stream; (stream = each(STREAM, &at)) != NULL;) {
        Graph *graph = stream->capture;
        if (graph == NULL || graph->mode == RELAXED)
            continue;
        int is_own = graph->thread == thread_number();
        if (!is_own && (graph->mode == BY_THREAD || thread_mode == BY_THREAD))
            continue;
        graph->invalid = 1;
        return CAPTURE_UNSUPPORTED;
    }
    return SUCCESS;
}

/* Work of the legacy stream waits for blocking streams, which one that is captured cannot have. */
CUresult capture_implicit(Context *context, Stream *stream)
{
    size_t at = 0;
    if (stream != context->legacy)
        return SUCCESS;
    for (Stream *other; (other = each(STREAM, &at)) != NULL;) {
        if (other->context != context || !other->capture || other->flags & NON_BLOCKING)
            continue;
        other->capture->invalid = 1;
        return CAPTURE_IMPLICIT;
    }
    return SUCCESS;
}

/* Append work of a stream to the graph that it is captured to; NULL is work that cannot be. */
CUresult captured(Stream *stream, Operation *what)
{
    Graph *graph = stream->capture;
    if (what == NULL)
        graph->invalid = 1;
    if (graph->invalid) {
        if (what)
            free_operation(what);
        return what ? CAPTURE_INVALIDATED : CAPTURE_UNSUPPORTED;
    }
    if (what->what == RECORD) {
        what->event->captured = graph;
        what->event->stream = stream;
        what->event->captured_at = stream->captured;
        free_operation(what);
        return SUCCESS;
    }
    stream->captured++;
    what->next = NULL;
    if (graph->last)
        graph->last->next = what;
    else
        graph->first = what;
    graph->last = what;
    graph->count++;
    return SUCCESS;
}

static uint64_t captures;

CUresult cuStreamBeginCapture_v2(uint64_t handle, int mode)
{
    BEGIN("cuStreamBeginCapture", CURRENT, "%#llx, %d", (unsigned long long)handle, mode);
    Stream *stream = stream_of(handle);
    if (stream == NULL)
        return done(INVALID_HANDLE);
    if (stream == current()->legacy)
        return done(CAPTURE_UNSUPPORTED);
    if (stream->capture || mode < GLOBALLY || mode > RELAXED)
        return done(stream->capture ? 401 : INVALID_VALUE);
    Graph *graph = made(GRAPH, sizeof(Graph));
    graph->context = current();
    graph->origin = stream;
    graph->mode = mode;
    graph->thread = thread_number();
    graph->number = ++captures;
    stream->capture = graph;
    stream->forked = 0;
    stream->captured = 0;
    return done(SUCCESS);
}

/* Take all streams out of a capture; whether every one that joined it was waited for. */
static int leave(Graph *graph)
{
    int joined = 1;
    size_t at = 0;
    for (Stream *stream; (stream = each(STREAM, &at)) != NULL;) {
        if (stream->capture != graph)
            continue;
        joined &= !stream->forked || stream->joined >= stream->captured;
        stream->capture = NULL;
    }
    return joined;
}

static void release_user(User *user, unsigned count)
{
    user->count -= count;
    if (user->count)
        return;
    user->destroy(user->pointer);
    free(user);
}

void end_graph(Graph *graph)
{
    for (size_t n = 0; n < graph->user_count; n++)
        release_user(graph->users[n], 1);
    for (Operation *what = graph->first, *next; what != NULL; what = next) {
        next = what->next;
        free_operation(what);
    }
    ended(graph);
}

/* End a capture whose stream goes. */
void drop_capture(Stream *stream)
{
    Graph *graph = stream->capture;
    leave(graph);
    end_graph(graph);
}

CUresult cuStreamEndCapture(uint64_t handle, Graph **result)
{
    BEGIN("cuStreamEndCapture", CURRENT, "%#llx", (unsigned long long)handle);
    Stream *stream = stream_of(handle);
    *result = NULL;
    if (stream == NULL)
        return done(INVALID_HANDLE);
    Graph *graph = stream->capture;
    if (graph == NULL)
        return done(401);
    if (graph->origin != stream)
        return done(CAPTURE_UNMATCHED);
    if (graph->mode != RELAXED && graph->thread != thread_number())
        return done(CAPTURE_WRONG_THREAD);
    CUresult code = leave(graph) ? SUCCESS : CAPTURE_UNJOINED;
    if (graph->invalid)
        code = CAPTURE_INVALIDATED;
    if (code)
        end_graph(graph);
    else
        *result = graph;
    return done(code);
}

CUresult cuStreamIsCapturing(uint64_t handle, int *status)
{
    BEGIN("cuStreamIsCapturing", CURRENT, "%#llx", (unsigned long long)handle);
    Stream *stream = stream_of(handle);
    if (stream == NULL)
        return done(INVALID_HANDLE);
    *status = stream->capture == NULL ? 0 : stream->capture->invalid ? 2 : 1;
    return done(SUCCESS);
}

CUresult cuStreamGetCaptureInfo_v3(uint64_t handle, int *status, uint64_t *number, Graph **graph,
                                   const void ***dependencies, const void **edges, size_t *count)
{
    BEGIN("cuStreamGetCaptureInfo", CURRENT, "%#llx", (unsigned long long)handle);
    Stream *stream = stream_of(handle);
    if (stream == NULL)
        return done(INVALID_HANDLE);
    Graph *own = stream->capture;
    *status = own == NULL ? 0 : own->invalid ? 2 : 1;
    if (own != NULL && number != NULL)
        *number = own->number;
    if (own != NULL && graph != NULL)
        *graph = own;
    if (dependencies != NULL)
        *dependencies = NULL;
    if (edges != NULL)
        *edges = NULL;
    if (count != NULL)
        *count = 0;
    return done(SUCCESS);
}

/* ---- graphs */

CUresult cuUserObjectCreate(User **result, void *pointer, void (*destroy)(void *), unsigned count,
                            unsigned flags)
{
    BEGIN("cuUserObjectCreate", STARTED, "%u, %u", count, flags);
    if (!count || flags != 1)
        return done(INVALID_VALUE);
    *result = calloc(1, sizeof(User));
    **result = (User){pointer, destroy, count};
    return done(SUCCESS);
}

CUresult cuGraphRetainUserObject(Graph *graph, User *user, unsigned count, unsigned flags)
{
    BEGIN("cuGraphRetainUserObject", STARTED, "%p, %u, %u", (void *)graph, count, flags);
    if (!alive(GRAPH, graph) || count != 1 || flags > 1 || graph->user_count == MOST_USERS)
        return done(INVALID_VALUE);
    graph->users[graph->user_count++] = user;
    if (!flags) /* 1 moves a reference of the caller's */
        user->count++;
    return done(SUCCESS);
}

CUresult cuGraphGetNodes(Graph *graph, void **nodes, size_t *count)
{
    BEGIN("cuGraphGetNodes", STARTED, "%p", (void *)graph);
    if (!alive(GRAPH, graph))
        return done(INVALID_VALUE);
    if (nodes != NULL)
        return done(NOT_SUPPORTED);
    *count = graph->count;
    return done(SUCCESS);
}

CUresult cuGraphDestroy(Graph *graph)
{
    BEGIN("cuGraphDestroy", STARTED, "%p", (void *)graph);
    if (!alive(GRAPH, graph))
        return done(INVALID_VALUE);
    end_graph(graph);
    return done(SUCCESS);
}

static Operation *copied(const Operation *what)
{
    Operation *copy = operation(what->what);
    *copy = *what;
    if (what->launch) {
        copy->launch = malloc(sizeof *copy->launch);
        *copy->launch = *what->launch;
    }
    return copy;
}

CUresult cuGraphInstantiateWithFlags(Graph **executable, Graph *graph, unsigned long long flags)
{
    BEGIN("cuGraphInstantiate", CURRENT, "%p, %llu", (void *)graph, flags);
    if (!alive(GRAPH, graph))
        return done(INVALID_VALUE);
    Graph *made_now = made(EXECUTABLE, sizeof(Graph));
    for (Operation *what = graph->first; what != NULL; what = what->next) {
        Operation *copy = copied(what);
        copy->next = NULL;
        if (made_now->last)
            made_now->last->next = copy;
        else
            made_now->first = copy;
        made_now->last = copy;
    }
    made_now->count = graph->count;
    made_now->context = current();
    made_now->user_count = graph->user_count;
    for (size_t n = 0; n < graph->user_count; n++) {
        made_now->users[n] = graph->users[n];
        graph->users[n]->count++;
    }
    *executable = made_now;
    return done(SUCCESS);
}

CUresult cuGraphLaunch(Graph *executable, uint64_t handle)
{
    BEGIN("cuGraphLaunch", CURRENT, "%p, %#llx", (void *)executable, (unsigned long long)handle);
    Stream *stream = stream_of(handle);
    if (stream == NULL)
        return done(INVALID_HANDLE);
    if (!alive(EXECUTABLE, executable))
        return done(INVALID_VALUE);
    CUresult code = SUCCESS;
    for (Operation *what = executable->first; what != NULL && !code; what = what->next) {
        Operation *copy = copied(what);
        if (copy->launch)
            copy->launch->stream = handle;
        code = enqueue(stream, copy);
    }
    return done(code);
}

CUresult cuGraphExecDestroy(Graph *executable)
{
    BEGIN("cuGraphExecDestroy", STARTED, "%p", (void *)executable);
    if (!alive(EXECUTABLE, executable))
        return done(INVALID_VALUE);
    end_graph(executable);
    return done(SUCCESS);
}
