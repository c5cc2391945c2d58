/* The interface of actors for C; gridlane_actors.h is its public header. */
#include <stdlib.h>
#include <string.h>

#include "gridlane_actors.h"
#include "objects.h"

#define EXPORTED __attribute__((visibility("default")))
#define LAUNCHED 1u
#define TERMINATED 6u

/* Lifetime: a handle owns a reference to the actor's Python object, and so its memory and the
   engine's. */
struct gridlane_actor {
    _Atomic uint64_t users;
    ActorObject *object;
    gl_actor *actor;
    gl_engine *engine;
    gridlane_actor_facts facts;
    uint32_t forks;
};

/* The number of forks behind this process: a child has the memory of actors, but not their
   threads. */
static _Atomic uint32_t forks;

static void count_fork(void) { atomic_fetch_add(&forks, 1); }

/* ---- lifetime */

static int drop_object(void *object)
{
    Py_DECREF((PyObject *)object);
    return 0;
}

EXPORTED void gridlane_actor_keep(gridlane_actor *handle) { atomic_fetch_add(&handle->users, 1); }

EXPORTED void gridlane_actor_release(gridlane_actor *handle)
{
    if (atomic_fetch_sub(&handle->users, 1) != 1)
        return;
    /* This thread may not hold the GIL, so the main thread drops the reference. The object leaks
       where it cannot: Python has ended, or its list of such calls is full. */
    Py_AddPendingCall(drop_object, handle->object);
    free(handle);
}

static int is_closed(const gridlane_actor *handle)
{
    return atomic_load(&handle->engine->stop)
           || atomic_load(&handle->actor->control->state) == TERMINATED
           || atomic_load(&forks) != handle->forks;
}

EXPORTED void gridlane_actor_classes(const gridlane_actor *handle, gridlane_actor_facts *facts)
{
    *facts = handle->facts;
}

/* ---- messages */

static uint64_t until_after(uint64_t timeout)
{
    uint64_t now = gl_elapsed();
    return timeout > UINT64_MAX - now ? UINT64_MAX : now + timeout;
}

static int result_of(const gridlane_actor *handle, int posted)
{
    if (posted == GL_IS_FULL)
        return GRIDLANE_TIMEOUT;
    if (posted == GL_INACTIVE && is_closed(handle))
        return GRIDLANE_CLOSED;
    return posted == GL_NO_MEMORY ? GRIDLANE_NO_MEMORY : posted;
}

static gl_letter letter_of(const gridlane_actor *handle, uint64_t events)
{
    return (gl_letter){.type = handle->actor->type,
                       .payload_bytes = (uint32_t)handle->facts.message_bytes,
                       .clock = gl_host_clock(handle->engine, events, gl_elapsed())};
}

EXPORTED int gridlane_actor_post(gridlane_actor *handle, const void *message, size_t bytes,
                                 uint64_t timeout)
{
    if (is_closed(handle))
        return GRIDLANE_CLOSED;
    if (bytes != handle->facts.message_bytes)
        return GRIDLANE_WRONG_SIZE;
    gl_letter letter = letter_of(handle, 1);
    return result_of(handle, gl_post_until(handle->actor, &letter, message, until_after(timeout)));
}

EXPORTED int gridlane_actor_post_many(gridlane_actor *handle, const void *messages, size_t count,
                                      size_t bytes, int alone, uint64_t timeout, size_t *posted)
{
    uint64_t done = 0, until = until_after(timeout);
    int result = GL_POSTED;
    if (posted)
        *posted = 0;
    if (is_closed(handle))
        return GRIDLANE_CLOSED;
    if (bytes != handle->facts.message_bytes)
        return GRIDLANE_WRONG_SIZE;
    if (!count)
        return GRIDLANE_OK;
    gl_letter letter = letter_of(handle, count);
    result = gl_post_run_until(handle->actor, &letter, messages, count, alone, until, &done);
    if (posted)
        *posted = done;
    return result_of(handle, result);
}

static int wait_for(gridlane_actor *handle, uint64_t ticket, uint64_t spin, uint64_t until)
{
    gl_engine *engine = handle->engine;
    for (;;) {
        uint64_t now = gl_elapsed();
        uint64_t slice = until > now && until - now > SLICE ? now + SLICE : until;
        if (gl_wait(engine, ticket, spin, slice))
            return GRIDLANE_OK;
        if (is_closed(handle)) /* its last answers may have arrived since */
            return gl_wait(engine, ticket, 0, 0) ? GRIDLANE_OK : GRIDLANE_CLOSED;
        if (gl_elapsed() >= until)
            return GRIDLANE_TIMEOUT;
        spin = 0;
    }
}

EXPORTED int gridlane_actor_call(gridlane_actor *handle, const void *message, size_t bytes,
                                 void *reply, size_t room, uint64_t spin, uint64_t timeout)
{
    if (is_closed(handle))
        return GRIDLANE_CLOSED;
    if (!handle->facts.reply_bytes)
        return GRIDLANE_NO_REPLIES;
    if (bytes != handle->facts.message_bytes || room != handle->facts.reply_bytes)
        return GRIDLANE_WRONG_SIZE;
    if (atomic_load(&handle->actor->control->state) <= LAUNCHED)
        return GRIDLANE_NOT_ACTIVE;
    uint64_t until = until_after(timeout);
    uint64_t ticket = gl_wait_begin(handle->engine, handle->actor->id, 0);
    if (!ticket)
        return GRIDLANE_TOO_MANY;
    gl_letter letter = letter_of(handle, 1);
    letter.reply_to = letter.correlation = ticket;
    int result = result_of(handle, gl_post_until(handle->actor, &letter, message, until));
    if (!result)
        result = wait_for(handle, ticket, spin, until);
    int answered = !result;
    if (answered) {
        const gl_waiter *waiter = gl_waiter_of(handle->engine, ticket);
        gl_host_merge(handle->engine, &waiter->clock, gl_elapsed());
        result = (int)(waiter->reason & 0xFF);
        if (!result && waiter->bytes != room)
            result = GRIDLANE_WRONG_SIZE;
        if (!result)
            memcpy(reply, waiter->payload, room);
    }
    gl_wait_end(handle->engine, ticket, answered);
    return result;
}

static const gridlane_actors_api API = {
    .version = GRIDLANE_ACTORS_VERSION,
    .bytes = sizeof(gridlane_actors_api),
    .post = gridlane_actor_post,
    .post_many = gridlane_actor_post_many,
    .call = gridlane_actor_call,
    .classes = gridlane_actor_classes,
    .keep = gridlane_actor_keep,
    .release = gridlane_actor_release,
};

/* ---- handles of Python */

typedef struct {
    PyObject_HEAD
    gridlane_actor *handle;
} HandleObject;

/* Handle(actor, message_bytes, reply_bytes, reply_type) */
static PyObject *Handle_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *actor;
    unsigned long long message_bytes, reply_bytes, reply_type;
    (void)keywords;
    if (!PyArg_ParseTuple(args, "O!KKK", &ActorType, &actor, &message_bytes, &reply_bytes,
                          &reply_type)
        || closed(((ActorObject *)actor)->owner))
        return NULL;
    HandleObject *self = (HandleObject *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    gridlane_actor *handle = self->handle = calloc(1, sizeof *handle);
    if (!handle) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    handle->users = 1;
    handle->object = (ActorObject *)Py_NewRef(actor);
    handle->actor = handle->object->actor;
    handle->engine = handle->actor->engine;
    handle->forks = atomic_load(&forks);
    handle->facts = (gridlane_actor_facts){.message_bytes = message_bytes,
                                           .reply_bytes = reply_bytes,
                                           .message_type = handle->actor->type,
                                           .reply_type = reply_type};
    return (PyObject *)self;
}

static PyObject *Handle_address(const HandleObject *self)
{
    return PyLong_FromVoidPtr(self->handle);
}

static void Handle_dealloc(HandleObject *self)
{
    gridlane_actor *handle = self->handle;
    if (handle && atomic_fetch_sub(&handle->users, 1) == 1) {
        Py_DECREF(handle->object);
        free(handle);
    }
    Py_TYPE(self)->tp_free((PyObject *)self);
}

ATTRIBUTES_OF(Handle, HANDLE_ATTRIBUTES)

TYPE_OF(Handle, .tp_new = Handle_new, .tp_getset = Handle_attributes)

/* Add the names that C programs look up; 0, or -1 with an exception. */
int add_c_interface(PyObject *module)
{
    static int is_ready;
    PyObject *capsule;
    int failed;
    if (PyType_Ready(&HandleType)
        || PyModule_AddObjectRef(module, "Handle", (PyObject *)&HandleType))
        return -1;
    if (!is_ready) {
        if (gl_at_fork(NULL, NULL, count_fork)) {
            PyErr_NoMemory();
            return -1;
        }
        is_ready = 1;
    }
    capsule = PyCapsule_New((void *)&API, "gridlane.actors._engine.C_API", NULL);
    failed = !capsule || PyModule_AddObjectRef(module, "C_API", capsule);
    Py_XDECREF(capsule);
    return failed ? -1 : 0;
}
