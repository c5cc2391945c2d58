/* The runtime's side of a shared inbox, as a Python type. */
#include "objects.h"

#ifdef __linux__
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "outside.h"

typedef struct {
    PyObject_HEAD
    ActorObject *actor; /* the receiver of the gate's posts, whose memory it keeps alive */
    gl_gate *gate;
} GateObject;

/* Gate(actor, file, capacity, seats, payload_bytes, reply_bytes, reply_type, space, lease, token,
   spins) */
static PyObject *Gate_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *actor;
    int file;
    gl_sizes sizes;
    unsigned long long reply_type, space, lease, token;
    unsigned int spins;
    (void)keywords;
    if (!PyArg_ParseTuple(args, "O!iIIIIKKKKI", &ActorType, &actor, &file, &sizes.capacity,
                          &sizes.seats, &sizes.payload_bytes, &sizes.reply_bytes, &reply_type,
                          &space, &lease, &token, &spins)
        || closed(((ActorObject *)actor)->owner))
        return NULL;
    GateObject *self = (GateObject *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    gl_gate *gate = self->gate = calloc(1, sizeof *gate);
    if (!gate) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    self->actor = (ActorObject *)Py_NewRef(actor);
    gate->actor = self->actor->actor;
    gate->token = token;
    gate->lease = lease;
    gate->type = gate->actor->type;
    gate->spins = spins;
    gl_shared facts = {.magic = GL_SHARED_MAGIC, .version = GL_VERSION, .host = (uint32_t)getpid(),
                       .host_start = gl_start_of(getpid()), .space = space, .type = gate->type,
                       .reply_type = reply_type, .payload_bytes = sizes.payload_bytes,
                       .reply_bytes = sizes.reply_bytes, .seats = sizes.seats, .lease = lease};
    if (gl_gate_open(gate, file, &sizes, &facts)) {
        PyErr_SetFromErrno(PyExc_OSError);
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static void Gate_close(GateObject *self)
{
    if (self->gate && self->gate->area.memory) {
        Py_BEGIN_ALLOW_THREADS
        gl_gate_close(self->gate);
        Py_END_ALLOW_THREADS
    }
}

/* abandon(): in the child of a fork the thread and the inbox belong to the parent. */
static void Gate_abandon(GateObject *self)
{
    if (self->gate)
        gl_gate_free(self->gate);
    self->gate = NULL; /* its few bytes leak, as the engine's do */
}

static PyObject *Gate_facts(GateObject *self)
{
    gl_gate *gate = self->gate;
    if (!gate) {
        PyErr_SetString(PyExc_RuntimeError, "the inbox is another process's");
        return NULL;
    }
    uint32_t peers = 0;
    for (uint32_t n = 0; n < gate->area.sizes.seats; n++)
        peers += atomic_load(&gate->area.seats[n].owner) != 0;
    return Py_BuildValue("{s:K,s:K,s:K,s:K,s:I}", "received",
                         (unsigned long long)atomic_load(&gate->received), "refused",
                         (unsigned long long)atomic_load(&gate->refused), "abandoned",
                         (unsigned long long)atomic_load(&gate->abandoned), "garbled",
                         (unsigned long long)atomic_load(&gate->garbled), "seats", peers);
}

static void Gate_dealloc(GateObject *self)
{
    if (self->gate) {
        if (self->gate->area.memory) {
            Py_BEGIN_ALLOW_THREADS
            gl_gate_close(self->gate);
            Py_END_ALLOW_THREADS
        }
        gl_gate_free(self->gate);
        free(self->gate);
    }
    Py_XDECREF(self->actor);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* shared_bytes(capacity, seats, payload_bytes, reply_bytes): of the memory; 0 for wrong sizes */
PyObject *shared_bytes(PyObject *module, PyObject *args)
{
    gl_sizes sizes;
    (void)module;
    if (!PyArg_ParseTuple(args, "IIII", &sizes.capacity, &sizes.seats, &sizes.payload_bytes,
                          &sizes.reply_bytes))
        return NULL;
    return PyLong_FromSize_t(gl_area_bytes(&sizes));
}

/* start_of(process): when it started, in ticks of its boot; 0 where it does not run */
PyObject *start_of(PyObject *module, PyObject *process)
{
    long number = PyLong_AsLong(process);
    (void)module;
    if (PyErr_Occurred())
        return NULL;
    return PyLong_FromUnsignedLongLong(gl_start_of((pid_t)number));
}

METHODS_OF(Gate, GATE_METHODS)

TYPE_OF(Gate, .tp_new = Gate_new, .tp_methods = Gate_methods)
#endif
