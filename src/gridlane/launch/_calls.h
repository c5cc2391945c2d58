/* Calls that are like calls before: a look-up by the very arrays and numbers, and what the call does.
   launcher_calls.py says what an argument is compared by. Included by _native.c, behind Ready. */

#define MOST_CALLS 8
#define MOST_ARGUMENTS 64
#define MOST_AXES 8

enum part { OF_NUMPY, OF_DEVICE, OF_TENSOR, OF_GPU_TENSOR, OF_INTEGER, OF_REAL };

typedef struct {
    int kind;
    PyTypeObject *type; /* owned */
    PyObject *object;   /* the dtype, or what describes an array of a device; owned */
    unsigned long long address;
    int axes, flags;
    int64_t shape[MOST_AXES], strides[MOST_AXES];
    int64_t whole;
    double real;
} Part;

typedef struct {
    Py_ssize_t references;
    int selected; /* as of a launcher */
    Py_ssize_t count;
    Part *parts;       /* owned */
    PyObject *work;    /* makes the call, or a tuple of launches that are ready */
    PyObject *rest;    /* makes those behind some of them, or None */
    PyObject *streams; /* returns the stream that the call is in order of, or None */
    int is_direct;     /* whether the launches may be on that stream */
} Call;

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyTypeObject *of_numpy, *of_device;
    int count;
    Call *calls[MOST_CALLS];
} Calls;

static PyTypeObject *calls_type;
static PyObject *name_is_cpu, *name_get_device;

static void release_call(Call *call)
{
    if (--call->references)
        return;
    for (Py_ssize_t n = 0; n < call->count; n++) {
        Py_XDECREF((PyObject *)call->parts[n].type);
        Py_XDECREF(call->parts[n].object);
    }
    PyMem_Free(call->parts);
    Py_XDECREF(call->work);
    Py_XDECREF(call->rest);
    Py_XDECREF(call->streams);
    PyMem_Free(call);
}

/* What a tensor like torch's is compared by; 0 for one that is not plain memory, -1 with an
   exception that is no error of the tensor's. */
static int read_tensor(PyObject *value, Part *part)
{
    PyObject *where = part->kind == OF_TENSOR ? name_is_cpu : name_is_cuda;
    PyObject *shape = NULL, *strides = NULL, *address = NULL, *device = NULL;
    int fits;
    if ((fits = is_object(PyObject_GetAttr(value, where), Py_True)) <= 0 ||
        (fits = is_object(PyObject_GetAttr(value, name_requires_grad), Py_False)) <= 0 ||
        (fits = is_object(PyObject_CallMethodNoArgs(value, name_is_neg), Py_False)) <= 0 ||
        (fits = is_object(PyObject_CallMethodNoArgs(value, name_is_conj), Py_False)) <= 0)
        goto end;
    fits = -1;
    if ((shape = PyObject_GetAttr(value, name_shape)) == NULL || !PyTuple_Check(shape) ||
        (strides = PyObject_CallMethodNoArgs(value, name_stride)) == NULL ||
        (address = PyObject_CallMethodNoArgs(value, name_data_ptr)) == NULL ||
        (part->object = PyObject_GetAttr(value, name_dtype)) == NULL)
        goto end;
    part->axes = (int)PyTuple_GET_SIZE(shape);
    fits = part->axes <= MOST_AXES && numbers_in(shape, part->axes, 1, part->shape) &&
           numbers_in(strides, part->axes, 1, part->strides) &&
           address_in(address, &part->address);
    if (fits && part->kind == OF_GPU_TENSOR) {
        if ((device = PyObject_CallMethodNoArgs(value, name_get_device)) == NULL)
            fits = -1;
        else
            part->flags = (int)PyLong_AsLong(device);
    }
end:
    Py_XDECREF(shape);
    Py_XDECREF(strides);
    Py_XDECREF(address);
    Py_XDECREF(device);
    if (fits <= 0 && PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_Exception))
            return -1;
        PyErr_Clear();
        return 0;
    }
    return fits > 0;
}

/* What an argument of a kind is compared by; 0 if it is not of that kind, -1 with an exception. */
static int read_part(const Calls *self, PyObject *value, Part *part)
{
    int overflow = 0;
    switch (part->kind) {
    case OF_NUMPY: {
        const NumpyArray *array = (const NumpyArray *)value;
        if (Py_TYPE(value) != self->of_numpy || array->nd > MOST_AXES)
            return 0;
        part->object = Py_NewRef(array->descr);
        part->address = (unsigned long long)(uintptr_t)array->data;
        part->axes = array->nd;
        part->flags = array->flags & NUMPY_IN_PLACE;
        for (int n = 0; n < array->nd; n++) {
            part->shape[n] = array->dimensions[n];
            part->strides[n] = array->strides[n];
        }
        return 1;
    }
    case OF_DEVICE:
        if (Py_TYPE(value) != self->of_device)
            return 0;
        part->object = PyObject_GetAttr(value, name_launch);
        return part->object == NULL ? -1 : PyTuple_CheckExact(part->object) &&
               PyTuple_GET_SIZE(part->object) == 2 &&
               PyBytes_CheckExact(PyTuple_GET_ITEM(part->object, 1));
    case OF_TENSOR:
    case OF_GPU_TENSOR:
        return read_tensor(value, part);
    case OF_INTEGER:
        if (!PyLong_CheckExact(value))
            return 0;
        part->whole = PyLong_AsLongLongAndOverflow(value, &overflow);
        return !overflow;
    case OF_REAL:
        if (!PyFloat_CheckExact(value))
            return 0;
        part->real = PyFloat_AS_DOUBLE(value);
        return 1;
    }
    return 0;
}

static int same_axes(const Part *one, const Part *other)
{
    size_t bytes = one->axes * sizeof(int64_t);
    return one->axes == other->axes && one->address == other->address &&
           one->flags == other->flags && one->object == other->object &&
           memcmp(one->shape, other->shape, bytes) == 0 &&
           memcmp(one->strides, other->strides, bytes) == 0;
}

static int same_described(PyObject *one, PyObject *other)
{
    if (one == other)
        return 1;
    PyObject *bytes = PyTuple_GET_ITEM(one, 1), *others = PyTuple_GET_ITEM(other, 1);
    return PyTuple_GET_ITEM(one, 0) == PyTuple_GET_ITEM(other, 0) &&
           PyBytes_GET_SIZE(bytes) == PyBytes_GET_SIZE(others) &&
           memcmp(PyBytes_AS_STRING(bytes), PyBytes_AS_STRING(others),
                  PyBytes_GET_SIZE(bytes)) == 0;
}

/* Whether an argument is what it was. -1 with an exception. */
static int is_same_part(const Calls *self, const Part *part, PyObject *value)
{
    if (Py_TYPE(value) != part->type)
        return 0;
    Part have = {.kind = part->kind};
    int same = read_part(self, value, &have);
    if (same > 0)
        switch (part->kind) {
        case OF_INTEGER:
            same = have.whole == part->whole;
            break;
        case OF_REAL:
            same = memcmp(&have.real, &part->real, sizeof have.real) == 0;
            break;
        case OF_DEVICE:
            same = same_described(have.object, part->object);
            break;
        default:
            same = same_axes(&have, part);
        }
    Py_XDECREF(have.object);
    return same;
}

static int is_same_call(const Calls *self, const Call *call, PyObject *const *args,
                        Py_ssize_t count)
{
    if (call->count != count || call->selected != selected)
        return 0;
    for (Py_ssize_t n = 0; n < count; n++) {
        int same = is_same_part(self, &call->parts[n], args[n]);
        if (same <= 0)
            return same;
    }
    return 1;
}

/* Make the launches of a call: True, or False where none was made. */
static PyObject *make_launches(const Call *call, PyObject *const *args, Py_ssize_t count)
{
    PyObject *stream = NULL;
    if (call->streams != Py_None) {
        stream = PyObject_CallNoArgs(call->streams);
        long long handle = stream == NULL ? 0 : PyLong_AsLongLong(stream);
        if (PyErr_Occurred()) {
            Py_XDECREF(stream);
            return NULL;
        }
        if (handle == 0) /* the default one, or what a launch reads itself */
            Py_CLEAR(stream);
        else if (!call->is_direct) {
            Py_DECREF(stream);
            Py_RETURN_FALSE;
        }
    }
    Py_ssize_t done = 0, launches = PyTuple_GET_SIZE(call->work);
    for (; done < launches; done++) {
        PyObject *ready = PyTuple_GET_ITEM(call->work, done);
        PyObject *made = stream == NULL ? PyObject_CallNoArgs(ready)
                                        : PyObject_CallOneArg(ready, stream);
        if (made == NULL) {
            Py_XDECREF(stream);
            return NULL;
        }
        Py_DECREF(made);
        if (made != Py_True)
            break;
    }
    Py_XDECREF(stream);
    if (done == launches)
        Py_RETURN_TRUE;
    if (done == 0)
        Py_RETURN_FALSE;
    PyObject *given = PyTuple_New(count), *number = PyLong_FromSsize_t(done), *made = NULL;
    if (given != NULL && number != NULL) {
        for (Py_ssize_t n = 0; n < count; n++)
            PyTuple_SET_ITEM(given, n, Py_NewRef(args[n]));
        made = PyObject_CallFunctionObjArgs(call->rest, number, given, NULL);
    }
    Py_XDECREF(given);
    Py_XDECREF(number);
    if (made == NULL)
        return NULL;
    Py_DECREF(made);
    Py_RETURN_TRUE;
}

static PyObject *calls_call(Calls *self, PyObject *const *args, size_t flags, PyObject *keywords)
{
    Py_ssize_t given = PyVectorcall_NARGS(flags);
    if (keywords != NULL && PyTuple_GET_SIZE(keywords))
        Py_RETURN_FALSE;
    for (int n = 0; n < self->count; n++) {
        Call *call = self->calls[n];
        /* Looking at an argument may run Python code, which may change the calls. */
        call->references++;
        int same = is_same_call(self, call, args, given);
        if (same <= 0) {
            release_call(call);
            if (same < 0)
                return NULL;
            continue;
        }
        if (n && n < self->count && self->calls[n] == call) {
            memmove(self->calls + 1, self->calls, n * sizeof(Call *));
            self->calls[0] = call;
        }
        PyObject *done = PyTuple_CheckExact(call->work) ? make_launches(call, args, given)
                                                        : PyObject_CallNoArgs(call->work);
        release_call(call);
        return done;
    }
    Py_RETURN_FALSE;
}

/* `keep(args, kinds, work, rest, streams, is_direct)`; see launcher_calls.py. */
static PyObject *calls_keep(Calls *self, PyObject *given)
{
    PyObject *args, *kinds, *work, *rest, *streams;
    int is_direct;
    if (!PyArg_ParseTuple(given, "O!O!OOOp", &PyTuple_Type, &args, &PyTuple_Type, &kinds, &work,
                          &rest, &streams, &is_direct))
        return NULL;
    Py_ssize_t count = PyTuple_GET_SIZE(args);
    if (count != PyTuple_GET_SIZE(kinds) || count > MOST_ARGUMENTS) {
        PyErr_SetString(PyExc_ValueError, "not the kinds of arguments");
        return NULL;
    }
    Call *made = PyMem_Calloc(1, sizeof(Call));
    if (made == NULL)
        return PyErr_NoMemory();
    made->references = 1;
    made->parts = PyMem_Calloc(count + 1, sizeof(Part));
    if (made->parts == NULL) {
        release_call(made);
        return PyErr_NoMemory();
    }
    for (Py_ssize_t n = 0; n < count; n++) {
        Part *part = &made->parts[n];
        PyObject *value = PyTuple_GET_ITEM(args, n);
        part->kind = (int)PyLong_AsLong(PyTuple_GET_ITEM(kinds, n));
        int fits = PyErr_Occurred() ? -1 : read_part(self, value, part);
        made->count = n + 1;
        part->type = (PyTypeObject *)Py_NewRef(Py_TYPE(value));
        if (fits <= 0) {
            release_call(made);
            if (fits < 0)
                return NULL;
            Py_RETURN_FALSE;
        }
    }
    made->selected = selected;
    made->work = Py_NewRef(work);
    made->rest = Py_NewRef(rest);
    made->streams = Py_NewRef(streams);
    made->is_direct = is_direct;
    Call *last = self->count == MOST_CALLS ? self->calls[--self->count] : NULL;
    memmove(self->calls + 1, self->calls, self->count * sizeof(Call *));
    self->calls[0] = made;
    self->count++;
    if (last)
        release_call(last);
    Py_RETURN_TRUE;
}

static int calls_clear(Calls *self)
{
    while (self->count)
        release_call(self->calls[--self->count]);
    return 0;
}

static PyObject *calls_forget(Calls *self, PyObject *unused)
{
    (void)unused;
    calls_clear(self);
    Py_RETURN_NONE;
}

static PyObject *calls_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *of_numpy, *of_device;
    (void)keywords;
    if (!PyArg_ParseTuple(args, "O!O!", &PyType_Type, &of_numpy, &PyType_Type, &of_device))
        return NULL;
    Calls *made = (Calls *)type->tp_alloc(type, 0);
    if (made == NULL)
        return NULL;
    made->call = (vectorcallfunc)calls_call;
    made->of_numpy = (PyTypeObject *)Py_NewRef(of_numpy);
    made->of_device = (PyTypeObject *)Py_NewRef(of_device);
    return (PyObject *)made;
}

static int calls_traverse(Calls *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->of_numpy);
    Py_VISIT(self->of_device);
    for (int n = 0; n < self->count; n++) {
        Call *call = self->calls[n];
        if (call->references > 1)
            continue; /* a call holds it as well */
        for (Py_ssize_t m = 0; m < call->count; m++) {
            Py_VISIT(call->parts[m].type);
            Py_VISIT(call->parts[m].object);
        }
        Py_VISIT(call->work);
        Py_VISIT(call->rest);
        Py_VISIT(call->streams);
    }
    return 0;
}

static void calls_dealloc(Calls *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    calls_clear(self);
    Py_XDECREF((PyObject *)self->of_numpy);
    Py_XDECREF((PyObject *)self->of_device);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyMethodDef calls_methods[] = {
    {"keep", (PyCFunction)calls_keep, METH_VARARGS, "Keep a call; see launcher_calls.py."},
    {"forget", (PyCFunction)calls_forget, METH_NOARGS, "Drop every call."},
    {NULL},
};

static PyMemberDef calls_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Calls, call), READONLY, NULL},
    {NULL},
};

static PyType_Slot calls_slots[] = {
    {Py_tp_doc, "Calls that are made again; see launcher_calls.py."},
    {Py_tp_new, calls_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_methods, calls_methods},
    {Py_tp_members, calls_members},
    {Py_tp_traverse, calls_traverse},
    {Py_tp_clear, calls_clear},
    {Py_tp_dealloc, calls_dealloc},
    {0, NULL},
};

static PyType_Spec calls_spec = {
    "gridlane.launch._native.Calls",
    sizeof(Calls),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    calls_slots,
};
