/* Declarations that the engine's Python types share: two types, and waits of threads that have
   released the GIL. */
#ifndef GRIDLANE_ACTORS_OBJECTS_H
#define GRIDLANE_ACTORS_OBJECTS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "engine.h"
#include "methods.h"

typedef struct {
    PyObject_HEAD
    gl_engine *engine;
    PyObject *actors; /* the actors to which C may refer */
} EngineObject;

typedef struct {
    PyObject_HEAD
    EngineObject *owner;
    gl_actor *actor;
    PyObject *keep; /* owns memory that it shares with a kernel */
} ActorObject;

extern PyTypeObject ActorType, CallerType, EngineType, FormType, GateType, HandleType, PeerType;

#define SLICE 100000000ull /* nanoseconds between two checks for Python's signals */

/* Raise that an engine is another process's. */
void raise_forked(void);

static inline int closed(EngineObject *self)
{
    if (self->engine)
        return 0;
    raise_forked();
    return 1;
}

static inline uint64_t until_from(uint64_t now, double seconds)
{
    if (!(seconds > 0)) /* NaN as well */
        return now;
    return seconds > 1e9 ? UINT64_MAX : now + (uint64_t)(seconds * 1e9);
}

static inline uint64_t until_of(double seconds)
{
    return until_from(gl_elapsed(), seconds);
}

/* The end of a slice of a wait. */
static inline uint64_t slice_of(uint64_t until)
{
    uint64_t now = gl_elapsed();
    return until > now && until - now > SLICE ? now + SLICE : until;
}

/* The actor of an argument; NULL with an exception. */
gl_actor *actor_of(EngineObject *self, PyObject *object);
void actor_free(gl_actor *actor);
int actor_is_listed(const gl_actor *actor);

void gl_forget_caller(gl_header *header);

/* messages_object.c, for wire_object.c */
gl_letter host_letter(gl_engine *engine, const gl_actor *actor, size_t bytes, uint64_t elapsed);
int again(EngineObject *self, uint64_t until);

void wire_free(gl_actor *actor);

/* form.c: the bytes of messages of scalars */
typedef struct FormObject FormObject;
Py_ssize_t form_size(const FormObject *form);
int form_pack(const FormObject *form, PyObject *value, uint8_t *to);
PyObject *form_unpack(const FormObject *form, const void *from, size_t bytes);

/* messages_object.c: calls */
typedef PyObject *(*answer_maker)(void *context, const void *payload, size_t bytes);
typedef struct {
    gl_actor *actor;
    const void *payload;
    size_t bytes;
    uint64_t spin, begin, until; /* nanoseconds; times of gl_elapsed */
    answer_maker make;           /* makes the value of the answer, of this */
    void *context;
    int is_answer;               /* whether there is one; else the value is a reason or None */
} Asked;
PyObject *call_actor(EngineObject *self, Asked *asked);
int wire_call(EngineObject *self, Asked *asked, PyObject **result);

ACTOR_METHODS(PROTOTYPE, PROTOTYPE)
ACTOR_ATTRIBUTES(PROTOTYPE_OF_ATTRIBUTE)
ENGINE_METHODS(PROTOTYPE, PROTOTYPE)

/* c_interface.c */
int add_c_interface(PyObject *module);

/* gate_object.c, where there is shared memory */
PyObject *shared_bytes(PyObject *module, PyObject *args);
PyObject *start_of(PyObject *module, PyObject *process);

#endif
