/* Primary contexts, and the one that is current on a thread. */

#include "fake.h"

static int exists(CUdevice device)
{
    return device >= 0 && device < device_count;
}

/* All that belongs to a context goes with it. */
void end_context(Context *context)
{
    static const enum kind kinds[] = {STREAM, EVENT, MODULE};
    Device *device = &devices[context->device];
    size_t at = 0;
    for (Block *block; (block = each(BLOCK, &at)) != NULL;)
        if (block->context == context)
            drop_block(block);
    at = 0;
    for (Pool *pool; (pool = each(POOL, &at)) != NULL;)
        if (pool->device == context->device)
            ended(pool);
    for (int n = 0; n < 3; n++) {
        at = 0;
        for (Object *object; (object = each(kinds[n], &at)) != NULL;) {
            Context *owner = kinds[n] == STREAM  ? ((Stream *)object)->context
                             : kinds[n] == EVENT ? ((Event *)object)->context
                                                 : ((Module *)object)->context;
            if (owner == context)
                ended(object);
        }
    }
    for (int kind = GRAPH; kind <= EXECUTABLE; kind++) {
        at = 0;
        for (Graph *graph; (graph = each(kind, &at)) != NULL;)
            if (graph->context == context)
                end_graph(graph);
    }
    at = 0;
    for (Function *function; (function = each(FUNCTION, &at)) != NULL;)
        if (function->module->context == context)
            ended(function);
    ended(context);
    device->primary = NULL;
    device->used = 0;
}

CUresult cuDevicePrimaryCtxRetain(Context **context, CUdevice device)
{
    BEGIN("cuDevicePrimaryCtxRetain", STARTED, "%d", device);
    if (!exists(device))
        return done(INVALID_DEVICE);
    Device *owner = &devices[device];
    if (owner->primary == NULL) {
        owner->primary = made(CONTEXT, sizeof(Context));
        owner->primary->device = device;
        owner->primary->legacy = new_stream(owner->primary, 0, 0);
        owner->primary->per_thread = new_stream(owner->primary, 0, 0);
    }
    owner->retained++;
    *context = owner->primary;
    return done(SUCCESS);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    BEGIN("cuDevicePrimaryCtxRelease", STARTED, "%d", device);
    if (!exists(device))
        return done(INVALID_DEVICE);
    Device *owner = &devices[device];
    if (!owner->retained)
        return done(INVALID_CONTEXT);
    if (!--owner->retained && owner->primary) {
        run_all(owner->primary);
        end_context(owner->primary);
    }
    return done(SUCCESS);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    BEGIN("cuDevicePrimaryCtxReset", STARTED, "%d", device);
    if (!exists(device))
        return done(INVALID_DEVICE);
    if (devices[device].primary)
        end_context(devices[device].primary);
    return done(SUCCESS);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
    BEGIN("cuDevicePrimaryCtxGetState", STARTED, "%d", device);
    if (!exists(device))
        return done(INVALID_DEVICE);
    *flags = 0;
    *active = devices[device].primary != NULL;
    return done(SUCCESS);
}

CUresult cuCtxSetCurrent(Context *context)
{
    BEGIN("cuCtxSetCurrent", STARTED, "%p", (void *)context);
    if (context != NULL && !alive(CONTEXT, context))
        return done(INVALID_CONTEXT);
    set_current(context);
    return done(SUCCESS);
}

CUresult cuCtxGetCurrent(Context **context)
{
    BEGIN("cuCtxGetCurrent", STARTED, "");
    *context = current();
    return done(SUCCESS);
}

CUresult cuCtxGetDevice(CUdevice *device)
{
    BEGIN("cuCtxGetDevice", CURRENT, "");
    *device = current()->device;
    return done(SUCCESS);
}

CUresult cuCtxSynchronize(void)
{
    BEGIN("cuCtxSynchronize", CURRENT, "");
    CUresult code = unsafe_in_capture();
    if (code)
        return done(code);
    run_all(current());
    return done(current()->sticky);
}

CUresult cuCtxEnablePeerAccess(Context *peer, unsigned flags)
{
    BEGIN("cuCtxEnablePeerAccess", CURRENT, "%p, %u", (void *)peer, flags);
    if (!alive(CONTEXT, peer) || peer == current())
        return done(INVALID_CONTEXT);
    if (!devices[current()->device].peer_capable[peer->device])
        return done(PEER_UNSUPPORTED);
    if (current()->peers[peer->device])
        return done(PEER_ALREADY);
    current()->peers[peer->device] = 1;
    return done(SUCCESS);
}

CUresult cuCtxDisablePeerAccess(Context *peer)
{
    BEGIN("cuCtxDisablePeerAccess", CURRENT, "%p", (void *)peer);
    if (!alive(CONTEXT, peer))
        return done(INVALID_CONTEXT);
    if (!current()->peers[peer->device])
        return done(PEER_NOT_ENABLED);
    current()->peers[peer->device] = 0;
    return done(SUCCESS);
}
