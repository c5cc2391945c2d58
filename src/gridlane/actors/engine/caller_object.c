/* Calls of one actor from Python: the base class of references to actors.

   The call packs the message, posts it, waits, and unpacks the answer here. The Python class
   reports why there is no answer: `_refused_call(message)` before a message is posted,
   `_unanswered(found)` after it. Both return an exception. */
#include <string.h>

#include "objects.h"

#define LAUNCHED 1u
#define FOREVER 1e10
#define LITTLE 512 /* bytes of messages that are packed on the stack */

typedef struct {
    PyObject_HEAD
    EngineObject *engine;
    ActorObject *actor;
    PyTypeObject *message;
    PyObject *pack, *unpack; /* each a Form, or a function of Python's; `unpack` may be None */
    uint64_t spin;
} CallerObject;

/* Caller(engine, actor, message, pack, unpack, spin) */
static int Caller_init(CallerObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *engine, *actor, *message, *pack, *unpack;
    unsigned long long spin;
    if (keywords && PyDict_GET_SIZE(keywords)) {
        PyErr_SetString(PyExc_TypeError, "Caller(engine, actor, message, pack, unpack, spin)");
        return -1;
    }
    if (self->engine) { /* whether a call may proceed */
        PyErr_SetString(PyExc_RuntimeError, "a reference to an actor is initialised once");
        return -1;
    }
    if (!PyArg_ParseTuple(args, "O!O!O!OOK", &EngineType, &engine, &ActorType, &actor, &PyType_Type,
                          &message, &pack, &unpack, &spin)
        || !actor_of((EngineObject *)engine, actor))
        return -1;
    self->engine = (EngineObject *)Py_NewRef(engine);
    self->actor = (ActorObject *)Py_NewRef(actor);
    self->message = (PyTypeObject *)Py_NewRef(message);
    self->pack = Py_NewRef(pack);
    self->unpack = Py_NewRef(unpack);
    self->spin = spin;
    return 0;
}

static int Caller_traverse(CallerObject *self, visitproc visit, void *arg)
{
    Py_VISIT(self->engine);
    Py_VISIT(self->actor);
    Py_VISIT(self->message);
    Py_VISIT(self->pack);
    Py_VISIT(self->unpack);
    return 0;
}

static int Caller_clear(CallerObject *self)
{
    Py_CLEAR(self->engine);
    Py_CLEAR(self->actor);
    Py_CLEAR(self->message);
    Py_CLEAR(self->pack);
    Py_CLEAR(self->unpack);
    return 0;
}

static void Caller_dealloc(CallerObject *self)
{
    PyObject_GC_UnTrack(self);
    Caller_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* Raise the exception that a method of the class returns. */
static PyObject *raise_from(CallerObject *self, const char *method, PyObject *given)
{
    PyObject *error = PyObject_CallMethod((PyObject *)self, method, "O", given);
    if (error)
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_XDECREF(error);
    return NULL;
}

/* Seconds of an argument, 0 or more; -1 with an exception. */
static double seconds(const char *name, PyObject *given)
{
    double found = PyFloat_AsDouble(given);
    if (found >= 0)
        return found;
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "%s=%R is no number of seconds, of 0 or more", name, given);
    return -1;
}

/* The arguments of call, by position or by name; 0, or -1 with an exception. */
static int arguments(PyObject *const *args, Py_ssize_t count, PyObject *names, PyObject *found[3])
{
    static const char *const known[] = {"message", "timeout", "spin"};
    Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
    if (count > 3) {
        PyErr_Format(PyExc_TypeError, "call() takes a message, timeout and spin, not %zd arguments",
                     count);
        return -1;
    }
    for (Py_ssize_t n = 0; n < count; n++)
        found[n] = args[n];
    for (Py_ssize_t n = 0; n < named; n++) {
        PyObject *name = PyTuple_GET_ITEM(names, n);
        int place = 0;
        while (place < 3 && PyUnicode_CompareWithASCIIString(name, known[place]))
            place++;
        if (place == 3 || found[place]) {
            PyErr_Format(PyExc_TypeError, place == 3
                             ? "call() got an unexpected keyword argument '%U'"
                             : "call() got multiple values for argument '%U'", name);
            return -1;
        }
        found[place] = args[count + n];
    }
    if (!found[0]) {
        PyErr_SetString(PyExc_TypeError, "call() missing 1 required positional argument: 'message'");
        return -1;
    }
    return 0;
}

static PyObject *value_of(void *unpack, const void *payload, size_t bytes)
{
    if (Py_IS_TYPE((PyObject *)unpack, &FormType))
        return form_unpack(unpack, payload, bytes);
    return PyObject_CallFunction(unpack, "y#", payload, (Py_ssize_t)bytes);
}

static PyObject *call(CallerObject *self, gl_actor *actor, const void *payload, size_t bytes,
                      uint64_t spin, double limit)
{
    uint64_t begin = gl_elapsed();
    Asked asked = {.actor = actor, .payload = payload, .bytes = bytes, .spin = spin,
                   .begin = begin, .until = until_from(begin, limit), .make = value_of,
                   .context = self->unpack};
    PyObject *found = call_actor(self->engine, &asked);
    if (found && !asked.is_answer) {
        raise_from(self, "_unanswered", found);
        Py_CLEAR(found);
    }
    return found;
}

static PyObject *Caller_call(CallerObject *self, PyObject *const *args, Py_ssize_t count,
                             PyObject *names)
{
    PyObject *given[3] = {NULL, NULL, NULL};
    uint64_t spin = self->spin;
    double limit = FOREVER;
    if (arguments(args, count, names, given))
        return NULL;
    if (!self->engine) {
        PyErr_SetString(PyExc_RuntimeError, "a reference to an actor comes of Runtime.launch");
        return NULL;
    }
    gl_actor *actor = self->actor->actor;
    if (!Py_IS_TYPE(given[0], self->message) || Py_IsNone(self->unpack) || !self->engine->engine
        || atomic_load(&actor->control->state) <= LAUNCHED)
        return raise_from(self, "_refused_call", given[0]);
    if ((given[1] && !Py_IsNone(given[1]) && (limit = seconds("timeout", given[1])) < 0))
        return NULL;
    if (given[2] && !Py_IsNone(given[2])) {
        double wish = seconds("spin", given[2]);
        if (wish < 0)
            return NULL;
        spin = (uint64_t)((wish < 1e9 ? wish : 1e9) * 1e9);
    }
    const FormObject *form = (FormObject *)self->pack;
    uint8_t little[LITTLE];
    PyObject *bytes, *found = NULL;
    if (Py_IS_TYPE(self->pack, &FormType) && form_size(form) <= LITTLE)
        return form_pack(form, given[0], little)
                   ? NULL
                   : call(self, actor, little, (size_t)form_size(form), spin, limit);
    bytes = Py_IS_TYPE(self->pack, &FormType) ? PyObject_CallMethod(self->pack, "pack", "O", given[0])
                                              : PyObject_CallOneArg(self->pack, given[0]);
    if (bytes && !PyBytes_Check(bytes))
        PyErr_SetString(PyExc_TypeError, "a message packs to bytes");
    else if (bytes)
        found = call(self, actor, PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes), spin,
                     limit);
    Py_XDECREF(bytes);
    return found;
}

PyDoc_STRVAR(CALL, "call($self, message, timeout=None, spin=None)\n--\n\n"
"Post a message and wait for the reply to it; hot.\n\n"
"Args:\n"
"    timeout: seconds; None has no limit.\n"
"    spin: seconds to wait without parking the thread; the runtime's by default.\n\n"
"Raises:\n"
"    TimeoutError: there is no reply in time; a later one is a dead letter.\n"
"    MessageDead: it will not be handled.\n"
"    KernelError: (or its builtin twin) the handler raised this for it.\n"
"    TypeError: the message is of another class.\n");

static PyMethodDef Caller_methods[] = {
    {"call", (PyCFunction)(void (*)(void))Caller_call, METH_FASTCALL | METH_KEYWORDS, CALL},
    {NULL, NULL, 0, NULL},
};

PyTypeObject CallerType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "gridlane.actors._engine.Caller",
    .tp_basicsize = sizeof(CallerObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)Caller_init,
    .tp_traverse = (traverseproc)Caller_traverse,
    .tp_clear = (inquiry)Caller_clear,
    .tp_dealloc = (destructor)Caller_dealloc,
    .tp_methods = Caller_methods,
};
