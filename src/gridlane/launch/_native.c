/* The launch path: from the arguments of a call to cuLaunchKernel, or to a device's hot function.

   A Launcher holds a few profiles, the latest used first. A profile says for each argument what it
   must be and where its bytes go in the parameter block; when all match, the kernel is launched.
   When none does, the hot function is called where there is one. When the driver refuses, or there
   is none, the Python method `_failed` or `_launch_slowly` goes on. launcher.py has the same in
   Python, and says what a profile is. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <structmember.h>

#include "_external_arrays.h"

#define INTERFACE 12 /* as in launcher.py: a build of another source is not used */
#define MOST_PROFILES 32
#define MOST_OVER 256 /* of a tile program, which has one launcher for all grids */
#define MOST_PARAMETERS 4096 /* bytes, the least that every device takes */

enum kind {
    ARRAY, INTEGER, REAL, BOOLEAN, NOTHING, NUMBER, FOREIGN, /* of kernels */
    CONSTANT, WHOLE, OWN, HOST, TENSOR, PARTS, FIT           /* of tile programs as well */
};

typedef struct Matcher {
    int kind;
    int size;         /* bytes in the parameter block */
    int offset;       /* there */
    int64_t most;     /* the largest magnitude of an integer; 0 for any */
    PyObject *wanted; /* the type key of an array, what is wanted of a foreign one; owned */
    PyTypeObject *type;
    Foreign *foreign; /* owned */

    /* Of a tile program; see _tile_arguments.h. Objects are borrowed of `wanted`. */
    long long low, high; /* of an integer */
    int64_t factor;      /* that it is multiplied by */
    int but_one;         /* whether 1 is another program's */
    int aligned;         /* of an address */
    long number;         /* of numpy's dtype */
    PyObject *key;       /* the type key, or the dtype */
    PyObject *where;     /* a tensor's attribute that is True */
    PyObject *names;     /* of attributes that are parts; NULL for items */
    PointerAttribute attribute;
    struct Matcher *parts; /* owned */
    Py_ssize_t count;      /* of these */
} Matcher;

typedef int (*Launch)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                      unsigned by, unsigned bz, unsigned shared, void *stream, void **params,
                      void **extra);

#include "_tensor_maps.h"

typedef struct {
    Py_ssize_t place; /* among the arguments */
    PyObject *wanted; /* borrowed of its matcher */
} Constant;

typedef struct {
    Py_ssize_t references; /* of launchers, running calls and launches that are ready */
    Py_ssize_t ready;      /* of these, those of the latter */
    int dropped;           /* whether its launcher does without it */
    Py_ssize_t count;
    Matcher *matchers;
    size_t size; /* of the parameter block */
    size_t gaps; /* its bytes that no argument fills */
    Launch launch;
    void *function, *stream;
    unsigned geometry[6]; /* of the grid and of the block; of a tile program the largest grid */
    unsigned shared;
    unsigned char *flag;        /* set at each launch */
    const unsigned char *sound; /* 0 once this must not be used any more */
    PyObject *keep;             /* what the code and the stream belong to */
    PyObject *target;           /* launches in place of `launch`, or NULL; see _recording.h */
    PyObject *result;           /* of a call of a tile program */
    PyObject *streams;          /* returns what replaces `stream`, or NULL */
    Constant *constants;        /* the matchers of constants, which most profiles differ by */
    Py_ssize_t constant_count;
    TensorMap *maps; /* owned; in the parameter block */
    Py_ssize_t map_count;
    Encode encode;
    int *offsets; /* owned; of the parameters of a kernel with maps, in the block */
    Py_ssize_t offset_count;
} Profile;

typedef struct {
    PyObject_HEAD
    int selected; /* the device of the thread that made it */
    int count, room;
    Profile **profiles;
    PyObject *hot;    /* what takes the launcher and the arguments, or NULL */
    PyObject *others; /* the same launch on other devices, by their numbers, or NULL */

    /* Of a tile program; see _tile_launches.h. */
    PyObject *names, *defaults, *absent, *hooks, *guards;
    Py_ssize_t parameters, positional;
} Launcher;

#include "_threads.h"

static PyObject *name_launch, *name_slowly, *name_by_name, *name_failed, *name_elsewhere;

#include "_profiles.h"

static int within(const Matcher *matcher, int64_t number)
{
    return !matcher->most || (number >= -matcher->most && number <= matcher->most);
}

#include "_tile_arguments.h"

/* Whether an argument is what a matcher wants; its bytes go to `block`. -1 with an exception. */
static int take(const Matcher *matcher, PyObject *value, unsigned char *block)
{
    unsigned char *place = block + matcher->offset;
    switch (matcher->kind) {
    case ARRAY: {
        if (Py_TYPE(value) != matcher->type)
            return 0;
        PyObject *pair = PyObject_GetAttr(value, name_launch);
        if (pair == NULL)
            return -1;
        int same = PyTuple_CheckExact(pair) && PyTuple_GET_SIZE(pair) == 2 &&
                   PyTuple_GET_ITEM(pair, 0) == matcher->wanted &&
                   PyBytes_CheckExact(PyTuple_GET_ITEM(pair, 1)) &&
                   PyBytes_GET_SIZE(PyTuple_GET_ITEM(pair, 1)) == matcher->size;
        if (same)
            memcpy(place, PyBytes_AS_STRING(PyTuple_GET_ITEM(pair, 1)), matcher->size);
        Py_DECREF(pair);
        return same;
    }
    case INTEGER: {
        if (!PyLong_CheckExact(value))
            return 0;
        int overflow;
        int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow);
        if (overflow || !within(matcher, number))
            return 0;
        memcpy(place, &number, matcher->size); /* little endian: the low bytes */
        return 1;
    }
    case REAL: {
        if (!PyFloat_CheckExact(value))
            return 0;
        double number = PyFloat_AS_DOUBLE(value);
        float narrow = (float)number;
        memcpy(place, matcher->size == 4 ? (void *)&narrow : (void *)&number, matcher->size);
        return 1;
    }
    case BOOLEAN: {
        if (!PyBool_Check(value))
            return 0;
        int64_t number = value == Py_True;
        memcpy(place, &number, matcher->size);
        return 1;
    }
    case NOTHING:
        return value == Py_None;
    case FOREIGN:
        return Py_TYPE(value) == matcher->type ? take_foreign(matcher->foreign, value, place) : 0;
    case NUMBER: {
        if (Py_TYPE(value) != matcher->type)
            return 0;
        Py_buffer view;
        if (PyObject_GetBuffer(value, &view, PyBUF_SIMPLE) < 0) {
            PyErr_Clear();
            return 0;
        }
        int same = view.len == matcher->size;
        if (same)
            memcpy(place, view.buf, matcher->size);
        PyBuffer_Release(&view);
        if (same && matcher->most) { /* of 64 bits, as read_matcher has seen to */
            int64_t number;
            memcpy(&number, place, sizeof number);
            same = within(matcher, number);
        }
        return same;
    }
    case CONSTANT:
        return same_constant(value, matcher->wanted);
    case WHOLE:
        return take_whole(matcher, value, place);
    case OWN:
        return take_own(matcher, value, place);
    case HOST:
        return take_host(matcher, value, place);
    case TENSOR:
        return take_tensor(matcher, value, place);
    case PARTS:
        return take_parts(matcher, value, block);
    case FIT:
        return fits_block(matcher, place);
    }
    return 0;
}

static int matches(const Profile *profile, PyObject *const *values, Py_ssize_t count,
                   unsigned char *block)
{
    if (count != profile->count || (profile->sound && !*profile->sound))
        return 0;
    for (Py_ssize_t n = 0; n < profile->constant_count; n++) {
        const Constant *constant = &profile->constants[n];
        int same = same_constant(values[constant->place], constant->wanted);
        if (same <= 0)
            return same;
    }
    for (Py_ssize_t n = 0; n < profile->count; n++) {
        if (profile->matchers[n].kind == CONSTANT)
            continue;
        int taken = take(&profile->matchers[n], values[n], block);
        if (taken <= 0)
            return taken;
    }
    return 1;
}

static int run(Profile *profile, unsigned char *block, const unsigned *grid, void *stream)
{
    void *extra[] = {(void *)1, block, (void *)2, &profile->size, (void *)0};
    void *params[MOST_OFFSETS];
    int apart = profile->offset_count > 0; /* each parameter by a pointer of its own */
    for (Py_ssize_t n = 0; n < profile->offset_count; n++)
        params[n] = block + profile->offsets[n];
    const unsigned *b = profile->geometry + 3;
    int code;
    if (profile->flag)
        *profile->flag = 1;
    /* The driver may wait for room in the queue, and for a host function that needs the GIL. */
    Py_BEGIN_ALLOW_THREADS
    code = profile->launch(profile->function, grid[0], grid[1], grid[2], b[0], b[1], b[2],
                           profile->shared, stream, apart ? params : NULL,
                           profile->size && !apart ? extra : NULL);
    Py_END_ALLOW_THREADS
    return code;
}

#include "_ready.h"
#include "_recording.h"

/* The call by the first profile that fits; NULL without an exception where none does. */
static PyObject *call_profile(Launcher *self, PyObject *args)
{
    _Alignas(16) unsigned char block[MOST_PARAMETERS];
    for (int n = 0; n < self->count; n++) {
        Profile *profile = self->profiles[n];
        /* Looking at an argument may run Python code, which may change the profiles. */
        profile->references++;
        if (profile->gaps) /* no bytes of the stack go to a device */
            memset(block, 0, profile->size);
        int fits = matches(profile, PySequence_Fast_ITEMS(args), PyTuple_GET_SIZE(args), block);
        if (fits > 0 && profile->target != NULL && self->names == NULL)
            fits = record(profile, args, block);
        if (fits <= 0) {
            release(profile);
            if (fits < 0)
                return NULL;
            continue;
        }
        if (n && n < self->count && self->profiles[n] == profile) {
            memmove(self->profiles + 1, self->profiles, n * sizeof(Profile *));
            self->profiles[0] = profile;
        }
        if (profile->target != NULL && self->names == NULL) {
            release(profile);
            return note_slowly() < 0 ? NULL : submit_where_full();
        }
        void *stream;
        int known = read_stream(self, profile, &stream);
        if (known <= 0 || (profile->sound && !*profile->sound)) {
            release(profile);
            if (known < 0)
                return NULL;
            continue;
        }
        int code = run(profile, block, profile->geometry, stream);
        int status = code ? note_slowly() : note_launch(self, profile, block, profile->geometry);
        release(profile);
        if (status < 0)
            return NULL;
        if (code == 0)
            Py_RETURN_NONE;
        PyObject *number = PyLong_FromLong(code);
        if (number == NULL)
            return NULL;
        PyObject *result =
            PyObject_CallMethodObjArgs((PyObject *)self, name_failed, number, args, NULL);
        Py_DECREF(number);
        return result;
    }
    return NULL;
}

/* The same launch on the device that this thread has selected; a new reference. */
static PyObject *other_launcher(Launcher *self)
{
    PyObject *number = PyLong_FromLong(selected), *other = NULL;
    if (number == NULL)
        return NULL;
    if (self->others != NULL)
        other = Py_XNewRef(PyDict_GetItemWithError(self->others, number));
    if (other == NULL && !PyErr_Occurred()) {
        other = PyObject_CallMethodNoArgs((PyObject *)self, name_elsewhere);
        if (other != NULL && self->others == NULL)
            self->others = PyDict_New();
        if (other != NULL &&
            (self->others == NULL || PyDict_SetItem(self->others, number, other) < 0))
            Py_CLEAR(other);
    }
    Py_DECREF(number);
    return other;
}

/* A call of a thread that has selected another device than the launcher's. */
static PyObject *call_elsewhere(Launcher *self, PyObject *args)
{
    PyObject *other = other_launcher(self), *result = NULL;
    if (other != NULL)
        result = PyObject_Call(other, args, NULL);
    Py_XDECREF(other);
    return result;
}

static PyObject *launcher_call(Launcher *self, PyObject *args, PyObject *keywords)
{
    if (keywords != NULL && PyDict_GET_SIZE(keywords))
        return PyObject_CallMethodObjArgs((PyObject *)self, name_by_name, args, keywords, NULL);
    if (self->selected != selected)
        return call_elsewhere(self, args);
    if (self->count) {
        PyObject *done = call_profile(self, args);
        if (done != NULL || PyErr_Occurred())
            return done;
    }
    if (note_slowly() < 0)
        return NULL;
    if (self->hot != NULL) {
        PyObject *both[] = {(PyObject *)self, args}, *hot = Py_NewRef(self->hot);
        PyObject *result = PyObject_Vectorcall(hot, both, 2, NULL);
        Py_DECREF(hot);
        return result;
    }
    return PyObject_CallMethodOneArg((PyObject *)self, name_slowly, args);
}

#include "_installing.h"

static int launcher_clear(Launcher *self)
{
    drop_profiles(self);
    Py_CLEAR(self->hot);
    Py_CLEAR(self->others);
    return 0;
}

static PyObject *launcher_forget(Launcher *self, PyObject *unused)
{
    drop_profiles(self);
    Py_RETURN_NONE;
}

static PyObject *launcher_go(Launcher *self, PyObject *hot)
{
    Py_XSETREF(self->hot, Py_NewRef(hot));
    Py_RETURN_NONE;
}

static PyObject *launcher_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    Launcher *made = (Launcher *)type->tp_alloc(type, 0);
    if (made != NULL)
        made->selected = selected;
    return (PyObject *)made;
}

static int launcher_traverse(Launcher *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->hot);
    Py_VISIT(self->others);
    Py_VISIT(self->names);
    Py_VISIT(self->defaults);
    Py_VISIT(self->absent);
    Py_VISIT(self->hooks);
    Py_VISIT(self->guards);
    for (int n = 0; n < self->count; n++) {
        Profile *profile = self->profiles[n];
        if (profile->references > 1 + profile->ready)
            continue; /* a call holds it as well; what is ready holds this launcher */
        Py_VISIT(profile->keep);
        Py_VISIT(profile->target);
        Py_VISIT(profile->result);
        Py_VISIT(profile->streams);
        int status = visit_matchers(profile->matchers, profile->count, visit, arg);
        if (status)
            return status;
    }
    return 0;
}

static void launcher_dealloc(Launcher *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    launcher_clear(self);
    PyMem_Free(self->profiles);
    Py_XDECREF(self->names);
    Py_XDECREF(self->defaults);
    Py_XDECREF(self->absent);
    Py_XDECREF(self->hooks);
    Py_XDECREF(self->guards);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

#include "_tile_launches.h"
#include "_calls.h"

static PyMethodDef launcher_methods[] = {
    {"_select", (PyCFunction)launcher_select, METH_O | METH_STATIC,
     "Say which device this thread uses, -1 for the default one."},
    {"_record", (PyCFunction)launcher_record, METH_O | METH_STATIC,
     "Set what this thread's delayed launches are appended to; see launcher.py."},
    {"_redirect", (PyCFunction)launcher_redirect, METH_O | METH_STATIC,
     "Set the stream of this thread's launches, None for those that they name; see launcher.py."},
    {"_query_captures", (PyCFunction)launcher_query_captures, METH_O | METH_STATIC,
     "Set the address of cuStreamIsCapturing, or 0."},
    {"_note", (PyCFunction)launcher_note, METH_O | METH_STATIC,
     "Set what this thread's launches are noted in; see launcher.py."},
    {"_install", (PyCFunction)launcher_install, METH_VARARGS, "Add a profile; see launcher.py."},
    {"_forget", (PyCFunction)launcher_forget, METH_NOARGS, "Drop every profile."},
    {"_name", (PyCFunction)launcher_name, METH_VARARGS, "Set the names of a tile program's launch."},
    {"_guard", (PyCFunction)launcher_guard, METH_O, "Set what profiles hold for."},
    {"_over", (PyCFunction)launcher_over, METH_O, "The tile program over a grid."},
    {"_seen", (PyCFunction)launcher_seen, METH_O | METH_STATIC, "What is read of a numpy array."},
    {"_go", (PyCFunction)launcher_go, METH_O, "Set what is called where no profile fits."},
    {NULL},
};

static PyType_Slot launcher_slots[] = {
    {Py_tp_doc, "A callable that launches a kernel; see launcher.py."},
    {Py_tp_new, launcher_new},
    {Py_tp_call, launcher_call},
    {Py_tp_methods, launcher_methods},
    {Py_tp_traverse, launcher_traverse},
    {Py_tp_clear, launcher_clear},
    {Py_tp_dealloc, launcher_dealloc},
    {0, NULL},
};

static PyType_Spec launcher_spec = {
    "gridlane.launch._native.Launcher",
    sizeof(Launcher),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    launcher_slots,
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "gridlane.launch._native", "The native launch path.", -1, NULL,
};

PyMODINIT_FUNC PyInit__native(void)
{
    name_launch = PyUnicode_InternFromString("__gridlane_launch__");
    name_slowly = PyUnicode_InternFromString("_launch_slowly");
    name_by_name = PyUnicode_InternFromString("_launch_by_name");
    name_failed = PyUnicode_InternFromString("_failed");
    name_elsewhere = PyUnicode_InternFromString("_elsewhere");
    name_over = PyUnicode_InternFromString("_launch_over");
    name_num = PyUnicode_InternFromString("num");
    name_isnative = PyUnicode_InternFromString("isnative");
    name_is_cpu = PyUnicode_InternFromString("is_cpu");
    name_get_device = PyUnicode_InternFromString("get_device");
    PyObject *made = PyModule_Create(&module);
    if (made == NULL || !name_launch || !name_slowly || !name_by_name || !name_failed || !name_elsewhere ||
        !name_over || !name_num || !name_isnative || !name_is_cpu || !name_get_device ||
        intern_foreign_names() < 0)
        return NULL;
    if ((over_type = (PyTypeObject *)PyType_FromSpec(&over_spec)) == NULL ||
        (ready_type = (PyTypeObject *)PyType_FromSpec(&ready_spec)) == NULL ||
        (calls_type = (PyTypeObject *)PyType_FromSpec(&calls_spec)) == NULL ||
        PyModule_AddObjectRef(made, "Calls", (PyObject *)calls_type) < 0) {
        Py_DECREF(made);
        return NULL;
    }
    PyObject *type = PyType_FromSpec(&launcher_spec);
    if (type == NULL || PyModule_AddIntConstant(made, "INTERFACE", INTERFACE) < 0 ||
        PyModule_AddObject(made, "Launcher", type) < 0) {
        Py_XDECREF(type);
        Py_DECREF(made);
        return NULL;
    }
    return made;
}
