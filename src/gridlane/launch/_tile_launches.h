/* Launches of tile programs over a grid that the call gives: kernel[grid](*args, **keywords).
   launcher_tiles.py has the same in Python. Included by _native.c, behind its Launcher. */

#define MOST_NAMED 512 /* parameters and options */

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    Launcher *launcher;
    PyObject *grid;
} Over;

static PyObject *name_over;
static PyTypeObject *over_type;

/* Whether profiles may serve a call: no hook is to be called, and what the code was made for is
   still the value of each name. */
static int is_ready(Launcher *self)
{
    if (!self->count || self->names == NULL || PyList_GET_SIZE(self->hooks))
        return 0;
    PyObject *guards = Py_XNewRef(self->guards);
    for (Py_ssize_t n = 0; guards != NULL && n < PyTuple_GET_SIZE(guards); n++) {
        PyObject *guard = PyTuple_GET_ITEM(guards, n), *owner = PyTuple_GET_ITEM(guard, 0);
        PyObject *name = PyTuple_GET_ITEM(guard, 1), *have;
        if (PyDict_Check(owner))
            have = Py_XNewRef(PyDict_GetItemWithError(owner, name));
        else
            have = PyCell_Check(owner) ? PyCell_Get(owner) : PyObject_GetAttr(owner, name);
        int same = have == PyTuple_GET_ITEM(guard, 2);
        Py_XDECREF(have);
        if (!same) {
            PyErr_Clear();
            Py_DECREF(guards);
            return 0;
        }
    }
    Py_XDECREF(guards);
    return 1;
}

/* The place of a name, or -1. Names of calls are interned, but for those of dictionaries. */
static Py_ssize_t place_of(PyObject *names, PyObject *name)
{
    Py_ssize_t count = PyTuple_GET_SIZE(names);
    for (Py_ssize_t n = 0; n < count; n++)
        if (PyTuple_GET_ITEM(names, n) == name)
            return n;
    for (Py_ssize_t n = 0; n < count; n++)
        if (PyUnicode_Compare(PyTuple_GET_ITEM(names, n), name) == 0)
            return n;
    return -1;
}

/* The value of each parameter and option, borrowed; 0 for a call that the slow path explains. */
static int bind(const Launcher *self, PyObject *const *args, Py_ssize_t given, PyObject *keywords,
                PyObject **values)
{
    Py_ssize_t count = PyTuple_GET_SIZE(self->defaults);
    if (given > self->positional)
        return 0;
    for (Py_ssize_t n = 0; n < count; n++)
        values[n] = n < given ? args[n] : NULL;
    for (Py_ssize_t n = 0; keywords != NULL && n < PyTuple_GET_SIZE(keywords); n++) {
        Py_ssize_t place = place_of(self->names, PyTuple_GET_ITEM(keywords, n));
        if (place < 0 || (place < count && values[place] != NULL))
            return 0;
        if (place < count) /* else an option without effect */
            values[place] = args[given + n];
    }
    for (Py_ssize_t n = 0; n < count; n++)
        if (values[n] == NULL && (values[n] = PyTuple_GET_ITEM(self->defaults, n)) == self->absent)
            return 0;
    return 1;
}

/* The numbers of programs; 0 for a grid that the slow path explains. -1 with an exception. */
static int read_grid(PyObject *grid, const unsigned *most, unsigned *numbers)
{
    PyObject *const *items = &grid;
    Py_ssize_t count = 1;
    if (PyTuple_CheckExact(grid) || PyList_CheckExact(grid)) {
        items = PySequence_Fast_ITEMS(grid);
        count = PySequence_Fast_GET_SIZE(grid);
    }
    if (count < 1 || count > 3)
        return 0;
    numbers[1] = numbers[2] = 1;
    for (Py_ssize_t n = 0; n < count; n++) {
        int overflow;
        /* The __index__ of another number may change a list. */
        PyObject *whole = PyLong_Check(items[n])   ? Py_NewRef(items[n])
                          : PyList_CheckExact(grid) ? NULL
                                                    : PyNumber_Index(items[n]);
        if (whole == NULL) {
            PyErr_Clear();
            return 0;
        }
        long long number = PyLong_AsLongLongAndOverflow(whole, &overflow);
        Py_DECREF(whole);
        if (overflow || number < 0 || number > most[n])
            return 0;
        numbers[n] = (unsigned)number;
    }
    return 1;
}

/* What a grid's function returns for the arguments by name. */
static PyObject *called_grid(const Launcher *self, PyObject *grid, PyObject **values)
{
    PyObject *arguments = PyDict_New(), *shape = NULL;
    if (arguments == NULL)
        return NULL;
    for (Py_ssize_t n = 0; n < self->parameters; n++)
        if (PyDict_SetItem(arguments, PyTuple_GET_ITEM(self->names, n), values[n]) < 0)
            goto end;
    shape = PyObject_CallOneArg(grid, arguments);
end:
    Py_DECREF(arguments);
    return shape;
}

/* Launch by a function of Python: 1, 0 where the code is not for these arguments, or -1. */
static int run_target(const Profile *profile, const unsigned char *block, const unsigned *grid,
                      PyObject *const *values)
{
    PyObject *items[5] = {PyBytes_FromStringAndSize((const char *)block, profile->size),
                          PyLong_FromUnsignedLong(grid[0]), PyLong_FromUnsignedLong(grid[1]),
                          PyLong_FromUnsignedLong(grid[2]), PyTuple_New(profile->count)};
    PyObject *done = NULL;
    if (items[0] && items[1] && items[2] && items[3] && items[4]) {
        for (Py_ssize_t n = 0; n < profile->count; n++)
            PyTuple_SET_ITEM(items[4], n, Py_NewRef(values[n]));
        done = PyObject_Vectorcall(profile->target, items, 5, NULL);
    }
    for (int n = 0; n < 5; n++)
        Py_XDECREF(items[n]);
    if (done == NULL)
        return -1;
    Py_DECREF(done);
    return done != Py_NotImplemented;
}


/* Launch by a profile whose arguments match: 1, 0 where the slow path goes on, or -1. The result of
   a grid's function replaces `grid`. */
static int run_over(Launcher *self, Profile *profile, PyObject **values, PyObject **grid,
                    unsigned char *block)
{
    unsigned numbers[3];
    if (PyCallable_Check(*grid)) {
        PyObject *shape = called_grid(self, *grid, values);
        if (shape == NULL)
            return -1;
        Py_SETREF(*grid, shape);
    }
    int done = read_grid(*grid, profile->geometry, numbers);
    if (done <= 0 || !(numbers[0] && numbers[1] && numbers[2]))
        return done;
    if (profile->target != NULL)
        return note_slowly() < 0 ? -1 : run_target(profile, block, numbers, values);
    void *stream;
    int known = read_stream(self, profile, &stream);
    if (known <= 0)
        return known;
    if (profile->sound && !*profile->sound) /* a function may have ended it */
        return 0;
    if (!fill_maps(profile->maps, profile->map_count, profile->encode, block))
        return 0;
    int code = run(profile, block, numbers, stream);
    if (code == 0)
        return note_launch(self, profile, block, numbers) < 0 ? -1 : 1;
    PyObject *number = PyLong_FromLong(code), *told = NULL;
    if (number != NULL)
        told = PyObject_CallMethodObjArgs((PyObject *)self, name_failed, number, Py_None, NULL);
    Py_XDECREF(number);
    Py_XDECREF(told);
    return told == NULL ? -1 : 0;
}

static PyObject *launch_over(Launcher *self, PyObject **values, PyObject **grid)
{
    _Alignas(16) unsigned char block[MOST_PARAMETERS];
    for (int n = 0; n < self->count; n++) {
        Profile *profile = self->profiles[n];
        profile->references++;
        if (profile->gaps)
            memset(block, 0, profile->size);
        int fits = matches(profile, values, PyTuple_GET_SIZE(self->defaults), block);
        if (fits == 0) {
            release(profile);
            continue;
        }
        if (n && n < self->count && self->profiles[n] == profile) {
            memmove(self->profiles + 1, self->profiles, n * sizeof(Profile *));
            self->profiles[0] = profile;
        }
        int done = fits < 0 ? -1 : run_over(self, profile, values, grid, block);
        PyObject *result = done > 0 ? Py_NewRef(profile->result) : NULL;
        release(profile);
        return result;
    }
    return NULL;
}

/* The call on the slow path. */
static PyObject *over_slowly(Launcher *self, PyObject *grid, PyObject *const *args,
                             Py_ssize_t given, PyObject *keywords)
{
    PyObject *positional = PyTuple_New(given), *named = PyDict_New(), *result = NULL;
    if (positional == NULL || named == NULL || note_slowly() < 0)
        goto end;
    for (Py_ssize_t n = 0; n < given; n++)
        PyTuple_SET_ITEM(positional, n, Py_NewRef(args[n]));
    for (Py_ssize_t n = 0; keywords != NULL && n < PyTuple_GET_SIZE(keywords); n++)
        if (PyDict_SetItem(named, PyTuple_GET_ITEM(keywords, n), args[given + n]) < 0)
            goto end;
    result = PyObject_CallMethodObjArgs((PyObject *)self, name_over, grid, positional, named, NULL);
end:
    Py_XDECREF(positional);
    Py_XDECREF(named);
    return result;
}

static PyObject *over_call(Over *self, PyObject *const *args, size_t flags, PyObject *keywords)
{
    Py_ssize_t given = PyVectorcall_NARGS(flags);
    Launcher *launcher = self->launcher;
    PyObject *grid = Py_NewRef(self->grid), *result = NULL;
    if (launcher->selected != selected)
        launcher = (Launcher *)other_launcher(launcher);
    else
        Py_INCREF(launcher);
    if (launcher != NULL && is_ready(launcher)) {
        PyObject *values[MOST_NAMED];
        if (bind(launcher, args, given, keywords, values))
            result = launch_over(launcher, values, &grid);
    }
    if (result == NULL && !PyErr_Occurred())
        result = over_slowly(launcher, grid, args, given, keywords);
    Py_DECREF(grid);
    Py_XDECREF(launcher);
    return result;
}

/* `_name(names, defaults, parameters, positional, absent, hooks)`; see launcher_tiles.py. */
static PyObject *launcher_name(Launcher *self, PyObject *args)
{
    PyObject *names, *defaults, *absent, *hooks;
    Py_ssize_t parameters, positional;
    if (!PyArg_ParseTuple(args, "O!O!nnOO!", &PyTuple_Type, &names, &PyTuple_Type, &defaults,
                          &parameters, &positional, &absent, &PyList_Type, &hooks))
        return NULL;
    Py_ssize_t slots = PyTuple_GET_SIZE(defaults), count = PyTuple_GET_SIZE(names);
    int fits = self->names == NULL && slots <= MOST_NAMED && slots <= count && parameters >= 0 &&
               parameters <= slots && positional >= 0 && positional <= parameters;
    for (Py_ssize_t n = 0; n < count && fits; n++)
        fits = PyUnicode_CheckExact(PyTuple_GET_ITEM(names, n));
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "not the names of a launch");
        return NULL;
    }
    self->names = Py_NewRef(names);
    self->defaults = Py_NewRef(defaults);
    self->absent = Py_NewRef(absent);
    self->hooks = Py_NewRef(hooks);
    self->parameters = parameters;
    self->positional = positional;
    Py_RETURN_NONE;
}

static PyObject *launcher_guard(Launcher *self, PyObject *guards)
{
    int fits = PyTuple_CheckExact(guards);
    for (Py_ssize_t n = 0; fits && n < PyTuple_GET_SIZE(guards); n++) {
        PyObject *guard = PyTuple_GET_ITEM(guards, n);
        fits = PyTuple_CheckExact(guard) && PyTuple_GET_SIZE(guard) == 3 &&
               (PyCell_Check(PyTuple_GET_ITEM(guard, 0)) ||
                PyUnicode_CheckExact(PyTuple_GET_ITEM(guard, 1)));
    }
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "not guards");
        return NULL;
    }
    Py_XSETREF(self->guards, Py_NewRef(guards));
    Py_RETURN_NONE;
}

static PyObject *launcher_over(Launcher *self, PyObject *grid)
{
    Over *made = PyObject_GC_New(Over, over_type);
    if (made == NULL)
        return NULL;
    made->call = (vectorcallfunc)over_call;
    made->launcher = (Launcher *)Py_NewRef(self);
    made->grid = Py_NewRef(grid);
    PyObject_GC_Track(made);
    return (PyObject *)made;
}

static int over_traverse(Over *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->launcher);
    Py_VISIT(self->grid);
    return 0;
}

static void over_dealloc(Over *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->launcher);
    Py_XDECREF(self->grid);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyMemberDef over_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Over, call), READONLY, NULL},
    {NULL},
};

static PyType_Slot over_slots[] = {
    {Py_tp_doc, "A tile program over a grid; see launcher_tiles.py."},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, over_members},
    {Py_tp_traverse, over_traverse},
    {Py_tp_dealloc, over_dealloc},
    {0, NULL},
};

static PyType_Spec over_spec = {
    "gridlane.launch._native.Over",
    sizeof(Over),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
        Py_TPFLAGS_DISALLOW_INSTANTIATION,
    over_slots,
};
