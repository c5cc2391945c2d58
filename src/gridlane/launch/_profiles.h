/* The profiles of a launcher: how they are kept, and freed. Included by _native.c, behind its
   Launcher. */

static void free_matchers(Matcher *matchers, Py_ssize_t count)
{
    for (Py_ssize_t n = 0; n < count; n++) {
        free_matchers(matchers[n].parts, matchers[n].count);
        Py_XDECREF(matchers[n].wanted);
        Py_XDECREF((PyObject *)matchers[n].type);
        PyMem_Free(matchers[n].foreign);
    }
    PyMem_Free(matchers);
}

static void release(Profile *profile)
{
    if (--profile->references)
        return;
    free_matchers(profile->matchers, profile->count);
    PyMem_Free(profile->constants);
    PyMem_Free(profile->maps);
    PyMem_Free(profile->offsets);
    Py_XDECREF(profile->keep);
    Py_XDECREF(profile->target);
    Py_XDECREF(profile->result);
    Py_XDECREF(profile->streams);
    PyMem_Free(profile);
}

static int most_of(const Launcher *self)
{
    return self->names != NULL ? MOST_OVER : MOST_PROFILES;
}

/* Room for one more profile, up to the most. */
static int make_room(Launcher *self)
{
    if (self->count < self->room || self->room == most_of(self))
        return 0;
    int room = self->room ? 2 * self->room : 4;
    Profile **made = PyMem_Realloc(self->profiles, room * sizeof(Profile *));
    if (made == NULL)
        return -1;
    self->profiles = made;
    self->room = room;
    return 0;
}

static int add_constants(Profile *made)
{
    made->constants = PyMem_Calloc(made->count + 1, sizeof(Constant));
    if (made->constants == NULL)
        return -1;
    for (Py_ssize_t n = 0; n < made->count; n++)
        if (made->matchers[n].kind == CONSTANT) {
            Constant *constant = &made->constants[made->constant_count++];
            constant->place = n;
            constant->wanted = made->matchers[n].wanted;
        }
    return 0;
}

/* Release a profile that its launcher does without from now on. */
static void drop(Profile *profile)
{
    profile->dropped = 1;
    release(profile);
}

static void drop_profiles(Launcher *self)
{
    while (self->count)
        drop(self->profiles[--self->count]);
}

static int visit_matchers(const Matcher *matchers, Py_ssize_t count, visitproc visit, void *arg)
{
    for (Py_ssize_t n = 0; n < count; n++) {
        Py_VISIT(matchers[n].wanted);
        Py_VISIT(matchers[n].type);
        int status = visit_matchers(matchers[n].parts, matchers[n].count, visit, arg);
        if (status)
            return status;
    }
    return 0;
}
