/* Launches that are made again with the bytes that they had. launcher.py has the same in Python.
   Included by _native.c, behind its run(). */

/* What this thread's launches are appended to, or NULL: a Ready, or None for one that takes more. */
static _Thread_local PyObject *noted = NULL;

typedef struct {
    PyObject_HEAD
    Launcher *launcher;
    Profile *profile;
    unsigned grid[3];
    void *block; /* owned */
} Ready;

static PyTypeObject *ready_type;

static PyObject *launcher_note(PyObject *nothing, PyObject *list)
{
    (void)nothing;
    if (list != Py_None && !PyList_CheckExact(list)) {
        PyErr_SetString(PyExc_ValueError, "not a list of launches");
        return NULL;
    }
    PyObject *before = noted;
    noted = list == Py_None ? NULL : Py_NewRef(list);
    if (before == NULL)
        Py_RETURN_NONE;
    return before;
}

/* Note a launch that Python has a part in. */
static int note_slowly(void)
{
    return noted == NULL ? 0 : PyList_Append(noted, Py_None);
}

/* Note a launch that was made. */
static int note_launch(Launcher *launcher, Profile *profile, const void *block,
                       const unsigned *grid)
{
    if (noted == NULL)
        return 0;
    Ready *made = PyObject_GC_New(Ready, ready_type);
    if (made == NULL)
        return -1;
    made->launcher = (Launcher *)Py_NewRef(launcher);
    made->profile = profile;
    profile->references++;
    profile->ready++;
    memcpy(made->grid, grid, sizeof made->grid);
    made->block = PyMem_Malloc(profile->size + 1);
    int status = made->block == NULL ? (PyErr_NoMemory(), -1) : 0;
    if (status == 0) {
        memcpy(made->block, block, profile->size);
        status = PyList_Append(noted, (PyObject *)made);
    }
    PyObject_GC_Track(made);
    Py_DECREF(made);
    return status;
}

static int is_ready(Launcher *self);

/* Whether a stream is captured: the driver's function, of CUDA's types, or NULL. */
static int (*capture_query)(void *stream, int *status) = NULL;

static PyObject *launcher_query_captures(PyObject *nothing, PyObject *address)
{
    (void)nothing;
    void *function = PyLong_AsVoidPtr(address);
    if (PyErr_Occurred())
        return NULL;
    memcpy(&capture_query, &function, sizeof function);
    Py_RETURN_NONE;
}

static int is_captured(void *stream)
{
    int status = 0;
    if ((uintptr_t)stream <= 2 || capture_query == NULL)
        return 0;
    return capture_query(stream, &status) == 0 && status;
}

/* The stream of a launch: 1; 0 where the launch is Python's, as the other library's current stream
   is captured; -1 with an exception. That is the stream of a tile program's launch too. */
static int read_stream(const Launcher *launcher, const Profile *profile, void **stream)
{
    *stream = is_redirected ? redirect : profile->stream;
    if (is_redirected || profile->streams == NULL)
        return 1;
    PyObject *number = PyObject_CallNoArgs(profile->streams);
    unsigned long long handle = number ? PyLong_AsUnsignedLongLong(number) : 0;
    Py_XDECREF(number);
    if (PyErr_Occurred())
        return -1;
    void *current = (void *)(uintptr_t)handle;
    if (is_captured(current))
        return 0;
    if (launcher->names != NULL)
        *stream = current;
    return 1;
}

static PyObject *ready_call(PyObject *own, PyObject *args, PyObject *keywords)
{
    Ready *self = (Ready *)own;
    Launcher *launcher = self->launcher;
    Profile *profile = self->profile;
    void *stream;
    Py_ssize_t given = PyTuple_GET_SIZE(args);
    if (given > 1 || (keywords != NULL && PyDict_GET_SIZE(keywords))) {
        PyErr_SetString(PyExc_TypeError, "a launch that is ready has a stream, or no argument");
        return NULL;
    }
    if (noted != NULL || launcher->selected != selected || profile->dropped ||
        (launcher->names != NULL && !is_ready(launcher)))
        Py_RETURN_FALSE;
    int known = 1;
    if (given) {
        stream = PyLong_AsVoidPtr(PyTuple_GET_ITEM(args, 0));
        if (stream == NULL && PyErr_Occurred())
            return NULL;
        known = !is_captured(stream);
    } else
        known = read_stream(launcher, profile, &stream);
    if (known <= 0)
        return known < 0 ? NULL : Py_NewRef(Py_False);
    /* The function of the stream may have ended it. */
    if (profile->dropped || (profile->sound && !*profile->sound))
        Py_RETURN_FALSE;
    return PyBool_FromLong(run(profile, self->block, self->grid, stream) == 0);
}

static int append_addresses(PyObject *list, const Matcher *matcher, const unsigned char *block)
{
    unsigned long long address;
    int place = matcher->offset + (matcher->kind == FOREIGN ? matcher->foreign->data : 0);
    switch (matcher->kind) {
    case PARTS:
        for (Py_ssize_t n = 0; n < matcher->count; n++)
            if (append_addresses(list, &matcher->parts[n], block) < 0)
                return -1;
        return 0;
    case ARRAY:
    case FOREIGN:
    case OWN:
    case HOST:
    case TENSOR:
        if (matcher->size < 8) /* the code does not read it */
            return 0;
        memcpy(&address, block + place, sizeof address);
        PyObject *number = PyLong_FromUnsignedLongLong(address);
        int status = number == NULL ? -1 : PyList_Append(list, number);
        Py_XDECREF(number);
        return status;
    }
    return 0;
}

static PyObject *ready_addresses(Ready *self, void *unused)
{
    (void)unused;
    PyObject *list = PyList_New(0);
    const Profile *profile = self->profile;
    for (Py_ssize_t n = 0; list != NULL && n < profile->count; n++)
        if (append_addresses(list, &profile->matchers[n], self->block) < 0)
            Py_CLEAR(list);
    return list;
}

static int ready_traverse(Ready *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->launcher);
    return 0;
}

static void ready_dealloc(Ready *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    self->profile->ready--;
    release(self->profile);
    Py_DECREF(self->launcher);
    PyMem_Free(self->block);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyGetSetDef ready_getset[] = {
    {"addresses", (getter)ready_addresses, NULL, "Those of the arrays of the launch.", NULL},
    {NULL},
};

static PyType_Slot ready_slots[] = {
    {Py_tp_doc, "A launch that is made again; see launcher.py."},
    {Py_tp_call, ready_call},
    {Py_tp_getset, ready_getset},
    {Py_tp_traverse, ready_traverse},
    {Py_tp_dealloc, ready_dealloc},
    {0, NULL},
};

static PyType_Spec ready_spec = {
    "gridlane.launch._native.Ready",
    sizeof(Ready),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    ready_slots,
};
