/* Declarations that the engine's Python types share: two types, and waits of threads that have
   released the GIL. */
#ifndef GRIDLANE_ACTORS_OBJECTS_H
#define GRIDLANE_ACTORS_OBJECTS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "engine.h"

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

/* saved_object.c and wire_saved.c */
void gl_forget_caller(gl_header *header);
PyObject *Actor_pause(ActorObject *self, PyObject *args);
PyObject *Actor_held_back(ActorObject *self, PyObject *unused);
PyObject *Actor_load(ActorObject *self, PyObject *args);
PyObject *Actor_dam(ActorObject *self, PyObject *args);
PyObject *Actor_keep(ActorObject *self, PyObject *unused);
PyObject *Actor_kept(ActorObject *self, PyObject *unused);
PyObject *Actor_ring(ActorObject *self, PyObject *args);
PyObject *Actor_posted(ActorObject *self, void *closure);
PyObject *Actor_put(ActorObject *self, PyObject *item);
PyObject *Actor_put_kept(ActorObject *self, PyObject *args);
PyObject *Engine_adopt(EngineObject *self, PyObject *args);
PyObject *Engine_dead_letters(EngineObject *self, PyObject *unused);

/* telemetry_object.c */
PyObject *Actor_latencies(ActorObject *self, void *closure);
PyObject *Actor_note_call(ActorObject *self, PyObject *time);
PyObject *Engine_trace_begin(EngineObject *self, PyObject *args);
PyObject *Engine_trace_end(EngineObject *self, PyObject *unused);

/* messages_object.c, for wire_object.c */
gl_letter host_letter(gl_engine *engine, const gl_actor *actor, size_t bytes, uint64_t elapsed);
int again(EngineObject *self, uint64_t until);

/* wire_object.c */
PyObject *Actor_connect(ActorObject *self, PyObject *args);
PyObject *Actor_resides(ActorObject *self, PyObject *args);
PyObject *Actor_ends(ActorObject *self, PyObject *unused);
PyObject *Actor_leaves(ActorObject *self, PyObject *unused);
PyObject *Actor_give_up(ActorObject *self, PyObject *args);
PyObject *Actor_tables(ActorObject *self, PyObject *args);
PyObject *Actor_refuse(ActorObject *self, PyObject *args);
PyObject *Actor_ended(ActorObject *self, PyObject *unused);
PyObject *Actor_retire(ActorObject *self, PyObject *args);
PyObject *Actor_fail(ActorObject *self, PyObject *args);
PyObject *Actor_skip(ActorObject *self, PyObject *args);
PyObject *Actor_position(ActorObject *self, void *closure);
PyObject *Engine_time_calls(EngineObject *self, PyObject *args);
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

/* messages_object.c and waits_object.c */
PyObject *Engine_post(EngineObject *self, PyObject *args);
PyObject *Engine_post_many(EngineObject *self, PyObject *args);
PyObject *Engine_post_async(EngineObject *self, PyObject *args);
PyObject *Engine_cancel(EngineObject *self, PyObject *args);
PyObject *Engine_completed(EngineObject *self, PyObject *args);
PyObject *Engine_answer(EngineObject *self, PyObject *args);
PyObject *Engine_receive(EngineObject *self, PyObject *args);
PyObject *Engine_take(EngineObject *self, PyObject *args);
PyObject *Engine_failed(EngineObject *self, PyObject *args);
PyObject *Engine_dead(EngineObject *self, PyObject *unused);
PyObject *Engine_bury(EngineObject *self, PyObject *args);
PyObject *Engine_expire(EngineObject *self, PyObject *args);
PyObject *Engine_hung(EngineObject *self, PyObject *limit);
PyObject *Engine_facts(EngineObject *self, PyObject *unused);

/* c_interface.c */
int add_c_interface(PyObject *module);

/* gate_object.c, where there is shared memory */
PyObject *shared_bytes(PyObject *module, PyObject *args);
PyObject *start_of(PyObject *module, PyObject *process);

#endif
