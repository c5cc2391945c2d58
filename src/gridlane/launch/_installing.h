/* How a launcher gets a profile: from the tuples that launcher.py makes. Included by _native.c. */

static int read_matcher(Matcher *matcher, PyObject *item, size_t size)
{
    PyObject *type, *wanted;
    if (!PyArg_ParseTuple(item, "iOOii", &matcher->kind, &type, &wanted, &matcher->offset,
                          &matcher->size))
        return -1;
    int known = matcher->kind >= ARRAY && matcher->kind <= FIT;
    int foreign = matcher->kind == FOREIGN, of_tiles = matcher->kind >= CONSTANT;
    int pointer = matcher->kind >= OWN && matcher->kind <= TENSOR;
    int simple = (matcher->kind != ARRAY && matcher->kind != NUMBER && !foreign && !of_tiles) ||
                 matcher->kind == CONSTANT || matcher->kind == WHOLE || matcher->kind == FIT;
    int bounded = matcher->kind == INTEGER || matcher->kind == NUMBER;
    if (bounded && wanted != Py_None) {
        matcher->most = PyLong_AsLongLong(wanted);
        if (matcher->most == -1 && PyErr_Occurred())
            return -1;
        if (matcher->most <= 0 || matcher->size != 8)
            known = 0;
    }
    if (foreign) {
        matcher->foreign = PyMem_Calloc(1, sizeof(Foreign));
        if (matcher->foreign == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        known = read_foreign(matcher->foreign, wanted, matcher->size) == 0 &&
                matcher->size == 8 + 16 * matcher->foreign->ndim; /* nothing is left out */
        PyErr_Clear();
    }
    if (!known || matcher->offset < 0 || matcher->size < 0 || (simple && matcher->size > 8) ||
        (size_t)matcher->offset + (size_t)matcher->size > size ||
        (pointer && matcher->size != 8 && matcher->size != 0) || (!simple && !PyType_Check(type))) {
        PyErr_SetString(PyExc_ValueError, "not a matcher");
        return -1;
    }
    if (!simple)
        matcher->type = (PyTypeObject *)Py_NewRef(type);
    matcher->wanted = Py_NewRef(wanted);
    return of_tiles ? read_tile_matcher(matcher, size) : 0;
}

static PyObject *launcher_install(Launcher *self, PyObject *args)
{
    PyObject *matchers, *keep, *target = Py_None, *result = Py_None, *streams = Py_None;
    PyObject *maps = Py_None;
    Py_ssize_t size;
    unsigned long long launch, function, stream, flag, sound;
    unsigned g[6], shared;
    if (!PyArg_ParseTuple(args, "O!nKK(IIIIII)IKKKO|OOOO", &PyTuple_Type, &matchers, &size, &launch,
                          &function, &g[0], &g[1], &g[2], &g[3], &g[4], &g[5], &shared, &stream,
                          &flag, &sound, &keep, &target, &result, &streams, &maps))
        return NULL;
    if (size < 0 || size > MOST_PARAMETERS || (!launch && target == Py_None)) {
        PyErr_SetString(PyExc_ValueError, "not a profile");
        return NULL;
    }
    Profile *made = PyMem_Calloc(1, sizeof(Profile));
    if (made == NULL)
        return PyErr_NoMemory();
    made->references = 1;
    made->matchers = PyMem_Calloc(PyTuple_GET_SIZE(matchers) + 1, sizeof(Matcher));
    if (made->matchers == NULL) {
        release(made);
        return PyErr_NoMemory();
    }
    for (Py_ssize_t n = 0; n < PyTuple_GET_SIZE(matchers); n++) {
        made->count = n + 1;
        if (read_matcher(&made->matchers[n], PyTuple_GET_ITEM(matchers, n), size) < 0) {
            release(made);
            return NULL;
        }
    }
    if (read_maps(maps, size, &made->maps, &made->map_count, &made->encode, &made->offsets,
                  &made->offset_count) < 0) {
        release(made);
        return NULL;
    }
    made->size = made->gaps = size;
    for (Py_ssize_t n = 0; n < made->count; n++)
        made->gaps -= made->matchers[n].size;
    made->launch = (Launch)(uintptr_t)launch;
    made->function = (void *)(uintptr_t)function;
    made->stream = (void *)(uintptr_t)stream;
    memcpy(made->geometry, g, sizeof g);
    made->shared = shared;
    made->flag = (unsigned char *)(uintptr_t)flag;
    made->sound = (const unsigned char *)(uintptr_t)sound;
    made->keep = Py_NewRef(keep);
    made->target = target == Py_None ? NULL : Py_NewRef(target);
    made->result = Py_NewRef(result);
    made->streams = streams == Py_None ? NULL : Py_NewRef(streams);
    if (add_constants(made) < 0 || make_room(self) < 0) {
        release(made);
        return PyErr_NoMemory();
    }
    Profile *last = NULL;
    if (self->count == most_of(self))
        last = self->profiles[self->count - 1];
    else
        self->count++;
    memmove(self->profiles + 1, self->profiles, (self->count - 1) * sizeof(Profile *));
    self->profiles[0] = made;
    if (last)
        drop(last);
    Py_RETURN_NONE;
}
