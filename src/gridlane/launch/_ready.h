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
static int read_stream(const Profile *profile, void **stream);

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
    if (given) {
        stream = PyLong_AsVoidPtr(PyTuple_GET_ITEM(args, 0));
        if (stream == NULL && PyErr_Occurred())
            return NULL;
    } else if (read_stream(profile, &stream) < 0)
        return NULL;
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
