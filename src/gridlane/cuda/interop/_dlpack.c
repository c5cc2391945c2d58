/* DLPack's capsules, made and taken. A consumer may delete a tensor on any thread, with or without
   the GIL, while an exception is on its way, and after the interpreter has ended; so what it calls
   is here and not in Python. dlpack_python.py has the same, and says what the two functions do. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <structmember.h>

#define MOST_AXES 64
#define PLAIN "dltensor"
#define VERSIONED "dltensor_versioned"

typedef struct {
    void *data;
    int32_t device_type, device_id, ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} Described;

typedef struct Plain {
    Described tensor;
    void *context;
    void (*deleter)(struct Plain *);
} Plain;

typedef struct Versioned {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct Versioned *);
    uint64_t flags;
    Described tensor;
} Versioned;

/* ---- exported tensors */

static int finalizing(void)
{
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsFinalizing();
#else
    return _Py_IsFinalizing();
#endif
}

/* Let an owner go. One whose interpreter has ended, or ends on another thread, stays. */
static void let_go(PyObject *owner)
{
    if (!Py_IsInitialized() || (finalizing() && !PyGILState_Check()))
        return;
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    Py_DECREF(owner);
    PyErr_Restore(type, value, traceback);
    PyGILState_Release(state);
}

static void delete_plain(Plain *managed)
{
    PyObject *owner = managed->context;
    free(managed);
    let_go(owner);
}

static void delete_versioned(Versioned *managed)
{
    PyObject *owner = managed->context;
    free(managed);
    let_go(owner);
}

/* A capsule that still has its first name was taken by nobody. */
static void destroy(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, PLAIN)) {
        delete_plain(PyCapsule_GetPointer(capsule, PLAIN));
    } else if (PyCapsule_IsValid(capsule, VERSIONED)) {
        delete_versioned(PyCapsule_GetPointer(capsule, VERSIONED));
    }
}

static int read_numbers(PyObject *tuple, int64_t *numbers)
{
    for (Py_ssize_t n = 0; n < PyTuple_GET_SIZE(tuple); n++) {
        numbers[n] = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, n));
        if (numbers[n] == -1 && PyErr_Occurred())
            return -1;
    }
    return 0;
}

static void *allocated(size_t size, Py_ssize_t ndim, int64_t **numbers)
{
    void *managed = calloc(1, size + 2 * (ndim + 1) * sizeof(int64_t));
    if (managed == NULL)
        PyErr_NoMemory();
    else
        *numbers = (int64_t *)((char *)managed + size);
    return managed;
}

static PyObject *export(PyObject *nothing, PyObject *args)
{
    PyObject *owner, *shape, *strides, *flags;
    unsigned long long address;
    int type, id;
    unsigned char code, bits;
    (void)nothing;
    if (!PyArg_ParseTuple(args, "OK(ii)(bb)O!O!O", &owner, &address, &type, &id, &code, &bits,
                          &PyTuple_Type, &shape, &PyTuple_Type, &strides, &flags))
        return NULL;
    Py_ssize_t ndim = PyTuple_GET_SIZE(shape);
    if (PyTuple_GET_SIZE(strides) != ndim || ndim > MOST_AXES) {
        PyErr_SetString(PyExc_ValueError, "not a shape and its strides");
        return NULL;
    }
    int plain = flags == Py_None;
    unsigned long long bitset = plain ? 0 : PyLong_AsUnsignedLongLong(flags);
    if (bitset == (unsigned long long)-1 && PyErr_Occurred())
        return NULL;
    int64_t *numbers;
    void *managed = allocated(plain ? sizeof(Plain) : sizeof(Versioned), ndim, &numbers);
    if (managed == NULL)
        return NULL;
    Described *tensor = plain ? &((Plain *)managed)->tensor : &((Versioned *)managed)->tensor;
    *tensor = (Described){(void *)(uintptr_t)address, type, id, (int32_t)ndim, code, bits, 1,
                          numbers, numbers + ndim + 1, 0};
    PyObject *capsule = NULL;
    if (read_numbers(shape, tensor->shape) == 0 && read_numbers(strides, tensor->strides) == 0)
        capsule = PyCapsule_New(managed, plain ? PLAIN : VERSIONED, destroy);
    if (capsule == NULL) {
        free(managed);
        return NULL;
    }
    if (plain) {
        ((Plain *)managed)->context = Py_NewRef(owner);
        ((Plain *)managed)->deleter = delete_plain;
    } else {
        Versioned *made = managed;
        made->major = 1;
        made->context = Py_NewRef(owner);
        made->deleter = delete_versioned;
        made->flags = bitset;
    }
    return capsule;
}

/* ---- taken tensors */

typedef struct {
    PyObject_HEAD
    void *managed; /* NULL until it is ours */
    int versioned, ours;
    unsigned major, minor;
    unsigned long long flags;
    Described tensor;
    PyObject *shape, *strides;
} Tensor;

static void give_back(Tensor *self)
{
    void *managed = self->managed;
    self->managed = NULL;
    if (managed == NULL)
        return;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (self->versioned) {
        if (((Versioned *)managed)->deleter)
            ((Versioned *)managed)->deleter(managed);
    } else if (((Plain *)managed)->deleter) {
        ((Plain *)managed)->deleter(managed);
    }
    PyErr_Restore(type, value, traceback);
}

static void tensor_dealloc(Tensor *self)
{
    PyTypeObject *type = Py_TYPE(self);
    give_back(self);
    Py_XDECREF(self->shape);
    Py_XDECREF(self->strides);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

/* Take a capsule's tensor; nobody can take it again. */
static int take(Tensor *self, PyObject *capsule)
{
    if (!PyCapsule_CheckExact(capsule)) {
        PyErr_Format(PyExc_BufferError, "__dlpack__ gave an object of type %s, and not a capsule",
                     Py_TYPE(capsule)->tp_name);
        return -1;
    }
    const char *name = PyCapsule_GetName(capsule);
    int versioned = name != NULL && strcmp(name, VERSIONED) == 0;
    if (name != NULL && strncmp(name, "used_" PLAIN, strlen("used_" PLAIN)) == 0) {
        PyErr_SetString(PyExc_BufferError, "the DLPack capsule was consumed before; a capsule is "
                                           "for one consumer, so call __dlpack__ again");
        return -1;
    }
    if (!versioned && (name == NULL || strcmp(name, PLAIN) != 0)) {
        PyErr_Format(PyExc_BufferError,
                     "a capsule named %s%s%s is not DLPack's; those are named \"" PLAIN
                     "\" and \"" VERSIONED "\"",
                     name ? "\"" : "", name ? name : "NULL", name ? "\"" : "");
        return -1;
    }
    void *managed = PyCapsule_GetPointer(capsule, name);
    if (managed == NULL ||
        PyCapsule_SetName(capsule, versioned ? "used_" VERSIONED : "used_" PLAIN) < 0)
        return -1;
    self->versioned = versioned;
    self->managed = managed;
    return 0;
}

static PyObject *numbers_of(const int64_t *numbers, int count)
{
    PyObject *tuple = PyTuple_New(count);
    for (int n = 0; tuple != NULL && n < count; n++) {
        PyObject *number = PyLong_FromLongLong(numbers[n]);
        if (number == NULL) {
            Py_CLEAR(tuple);
            break;
        }
        PyTuple_SET_ITEM(tuple, n, number);
    }
    return tuple;
}

static int read_tensor(Tensor *self)
{
    if (self->versioned) {
        Versioned *managed = self->managed;
        self->major = managed->major;
        self->minor = managed->minor;
        if (managed->major != 1) { /* nothing behind the deleter has a known place */
            PyErr_Format(PyExc_BufferError,
                         "the DLPack capsule is of version %u.%u, and 1 is read here; give "
                         "__dlpack__ max_version=(1, 0)",
                         managed->major, managed->minor);
            return -1;
        }
        self->flags = managed->flags;
        self->tensor = managed->tensor;
        self->ours = managed->deleter == delete_versioned;
    } else {
        Plain *managed = self->managed;
        self->tensor = managed->tensor;
        self->ours = managed->deleter == delete_plain;
    }
    const Described *tensor = &self->tensor;
    if (tensor->ndim < 0 || tensor->ndim > MOST_AXES) {
        PyErr_Format(PyExc_BufferError, "the DLPack tensor has %d axes; 0 to %d are possible",
                     (int)tensor->ndim, MOST_AXES);
        return -1;
    }
    if (tensor->ndim && tensor->shape == NULL) {
        PyErr_Format(PyExc_BufferError, "the DLPack tensor has %d axes and no shape",
                     (int)tensor->ndim);
        return -1;
    }
    self->shape = numbers_of(tensor->shape, tensor->ndim);
    self->strides = tensor->strides == NULL ? Py_NewRef(Py_None)
                                            : numbers_of(tensor->strides, tensor->ndim);
    return self->shape == NULL || self->strides == NULL ? -1 : 0;
}

static PyObject *tensor_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *capsule;
    (void)keywords;
    if (!PyArg_ParseTuple(args, "O", &capsule))
        return NULL;
    Tensor *self = (Tensor *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    if (take(self, capsule) < 0 || read_tensor(self) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

#define MEMBER(name, kind, field) {name, kind, offsetof(Tensor, field), READONLY, NULL}

static PyMemberDef tensor_members[] = {
    MEMBER("data", T_ULONGLONG, tensor.data),
    MEMBER("device_type", T_INT, tensor.device_type),
    MEMBER("device_id", T_INT, tensor.device_id),
    MEMBER("code", T_UBYTE, tensor.code),
    MEMBER("bits", T_UBYTE, tensor.bits),
    MEMBER("lanes", T_USHORT, tensor.lanes),
    MEMBER("byte_offset", T_ULONGLONG, tensor.byte_offset),
    MEMBER("shape", T_OBJECT_EX, shape),
    MEMBER("strides", T_OBJECT_EX, strides),
    MEMBER("flags", T_ULONGLONG, flags),
    MEMBER("versioned", T_INT, versioned),
    MEMBER("ours", T_INT, ours),
    {NULL},
};

static PyType_Slot tensor_slots[] = {
    {Py_tp_doc, "A tensor taken from a DLPack capsule; its deleter is called when this goes."},
    {Py_tp_new, tensor_new},
    {Py_tp_members, tensor_members},
    {Py_tp_dealloc, tensor_dealloc},
    {0, NULL},
};

static PyType_Spec tensor_spec = {
    "gridlane.cuda.interop._dlpack.Tensor",
    sizeof(Tensor),
    0,
    Py_TPFLAGS_DEFAULT,
    tensor_slots,
};

static PyMethodDef functions[] = {
    {"export", export, METH_VARARGS, "A capsule; see dlpack_python.py."},
    {NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "gridlane.cuda.interop._dlpack", "DLPack's capsules.", -1, functions,
};

PyMODINIT_FUNC PyInit__dlpack(void)
{
    PyObject *made = PyModule_Create(&module);
    if (made == NULL)
        return NULL;
    PyObject *type = PyType_FromSpec(&tensor_spec);
    if (type == NULL || PyModule_AddObject(made, "Tensor", type) < 0) {
        Py_XDECREF(type);
        Py_DECREF(made);
        return NULL;
    }
    return made;
}
