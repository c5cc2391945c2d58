/* Commands of Vulkan in one call each: a launch, a barrier, a submission, a wait that polls.
   commands.py has the same in Python, and says what the methods do. Handles and pointers are
   integers here, and the functions are those that the driver gave: this file needs no header of
   Vulkan and links to no loader. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#define COMPUTE_POINT 1    /* VK_PIPELINE_BIND_POINT_COMPUTE */
#define COMPUTE_STAGE 0x20 /* VK_SHADER_STAGE_COMPUTE_BIT */
#define LOST (-4)          /* VK_ERROR_DEVICE_LOST */

#ifdef _WIN32
#define CALL __stdcall /* VKAPI_PTR; the same as any other on 64 bits */
#else
#define CALL
#endif

typedef void(CALL *Bind)(uint64_t command, int point, uint64_t pipeline);
typedef void(CALL *Push)(uint64_t command, uint64_t layout, uint32_t stages, uint32_t at,
                         uint32_t size, const void *values);
typedef void(CALL *Dispatch)(uint64_t command, uint32_t x, uint32_t y, uint32_t z);
typedef void(CALL *Barrier)(uint64_t command, uint32_t from, uint32_t to, uint32_t flags,
                            uint32_t memories, uint64_t memory, uint32_t buffers, uint64_t buffer,
                            uint32_t images, uint64_t image);
typedef int(CALL *End)(uint64_t command);
typedef int(CALL *Submit)(uint64_t queue, uint32_t count, uint64_t info, uint64_t fence);
typedef int(CALL *Query)(uint64_t device, uint64_t semaphore, uint64_t *value);

/* codegen/spirv/gridops.py reads them. */
typedef struct {
    uint64_t parameters;
    uint32_t base[3], grid[3];
    uint64_t report, zero;
} Words;

typedef struct {
    PyObject_HEAD
    Bind bind;
    Push push;
    Dispatch dispatch;
    Barrier barrier;
    End end;
    Submit submit;
    Query query;
    uint64_t device, queue, layout, timeline, info;
    uint64_t *command, *value; /* that the VkSubmitInfo points to */
    int polling, ended;        /* changed with the GIL */
} Commands;

static int unsigned_of(PyObject *number, uint64_t *into)
{
    *into = PyLong_AsUnsignedLongLong(number);
    return *into == (uint64_t)-1 && PyErr_Occurred() ? -1 : 0;
}

static int all_unsigned(PyObject *const *args, uint64_t *into, Py_ssize_t count)
{
    for (Py_ssize_t n = 0; n < count; n++)
        if (unsigned_of(args[n], &into[n]) < 0)
            return -1;
    return 0;
}

static int counted(Py_ssize_t got, Py_ssize_t wanted)
{
    if (got == wanted)
        return 0;
    PyErr_Format(PyExc_TypeError, "%zd arguments, not %zd", got, wanted);
    return -1;
}

static PyObject *new_commands(PyTypeObject *type, PyObject *args, PyObject *named)
{
    enum { COUNT = 14 };
    uint64_t n[COUNT];
    if ((named != NULL && PyDict_GET_SIZE(named)) || counted(PyTuple_GET_SIZE(args), COUNT) < 0)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "no names are known");
    if (all_unsigned(&PyTuple_GET_ITEM(args, 0), n, COUNT) < 0)
        return NULL;
    Commands *self = (Commands *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->bind = (Bind)(uintptr_t)n[0];
    self->push = (Push)(uintptr_t)n[1];
    self->dispatch = (Dispatch)(uintptr_t)n[2];
    self->barrier = (Barrier)(uintptr_t)n[3];
    self->end = (End)(uintptr_t)n[4];
    self->submit = (Submit)(uintptr_t)n[5];
    self->query = (Query)(uintptr_t)n[6];
    self->device = n[7], self->queue = n[8], self->layout = n[9], self->timeline = n[10];
    self->info = n[11];
    self->command = (uint64_t *)(uintptr_t)n[12];
    self->value = (uint64_t *)(uintptr_t)n[13];
    return (PyObject *)self;
}

static int put_bytes(uint64_t pointer, PyObject *bytes)
{
    Py_buffer from;
    if (PyObject_GetBuffer(bytes, &from, PyBUF_SIMPLE) < 0)
        return -1;
    memcpy((void *)(uintptr_t)pointer, from.buf, (size_t)from.len);
    PyBuffer_Release(&from);
    return 0;
}

static PyObject *launch(Commands *self, PyObject *const *args, Py_ssize_t count)
{
    enum { COMMAND, PIPELINE, POINTER, ADDRESS, X, Y, Z, REPORT, COUNT };
    uint64_t n[COUNT];
    if (counted(count, COUNT + 1) < 0 || all_unsigned(args, n, COUNT) < 0)
        return NULL;
    if (put_bytes(n[POINTER], args[COUNT]) < 0)
        return NULL;
    Words words = {.parameters = n[ADDRESS], .report = n[REPORT]};
    words.grid[0] = (uint32_t)n[X], words.grid[1] = (uint32_t)n[Y], words.grid[2] = (uint32_t)n[Z];
    if (n[PIPELINE])
        self->bind(n[COMMAND], COMPUTE_POINT, n[PIPELINE]);
    self->push(n[COMMAND], self->layout, COMPUTE_STAGE, 0, sizeof words, &words);
    self->dispatch(n[COMMAND], words.grid[0], words.grid[1], words.grid[2]);
    Py_RETURN_NONE;
}

static void put_barrier(const Commands *self, uint64_t command, uint64_t from, uint64_t to,
                        uint64_t memory)
{
    self->barrier(command, (uint32_t)from, (uint32_t)to, 0, 1, memory, 0, 0, 0, 0);
}

static PyObject *barrier(Commands *self, PyObject *const *args, Py_ssize_t count)
{
    uint64_t n[4];
    if (counted(count, 4) < 0 || all_unsigned(args, n, 4) < 0)
        return NULL;
    put_barrier(self, n[0], n[1], n[2], n[3]);
    Py_RETURN_NONE;
}

/* Without the GIL. */
static int put(const Commands *self, uint64_t command, uint64_t value)
{
    *self->value = value;
    *self->command = command;
    return self->submit(self->queue, 1, self->info, 0);
}

static PyObject *submit(Commands *self, PyObject *const *args, Py_ssize_t count)
{
    enum { COMMAND, VALUE, FROM, TO, MEMORY, COUNT };
    uint64_t n[COUNT];
    int result, submits = 0;
    if (counted(count, COUNT) < 0 || all_unsigned(args, n, COUNT) < 0)
        return NULL;
    put_barrier(self, n[COMMAND], n[FROM], n[TO], n[MEMORY]);
    Py_BEGIN_ALLOW_THREADS
    result = self->end(n[COMMAND]);
    if (result == 0) {
        submits = 1;
        result = put(self, n[COMMAND], n[VALUE]);
    }
    Py_END_ALLOW_THREADS
    if (result == 0)
        Py_RETURN_NONE;
    return Py_BuildValue("si", submits ? "vkQueueSubmit" : "vkEndCommandBuffer", result);
}

static PyObject *submit_again(Commands *self, PyObject *const *args, Py_ssize_t count)
{
    enum { COMMAND, VALUE, POINTER, COUNT };
    uint64_t n[COUNT];
    int result;
    if (counted(count, COUNT + 1) < 0 || all_unsigned(args, n, COUNT) < 0)
        return NULL;
    if (put_bytes(n[POINTER], args[COUNT]) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    result = put(self, n[COMMAND], n[VALUE]);
    Py_END_ALLOW_THREADS
    return PyLong_FromLong(result);
}

static uint64_t now(void)
{
    struct timespec at;
    timespec_get(&at, TIME_UTC);
    return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

static PyObject *poll(Commands *self, PyObject *const *args, Py_ssize_t count)
{
    uint64_t n[2], counter = 0;
    int result;
    if (counted(count, 2) < 0 || all_unsigned(args, n, 2) < 0)
        return NULL;
    if (self->ended)
        return PyLong_FromLong(LOST);
    self->polling++;
    Py_BEGIN_ALLOW_THREADS
    uint64_t start = now();
    do
        result = self->query(self->device, self->timeline, &counter);
    while (result == 0 && counter < n[0] && now() - start < n[1]);
    Py_END_ALLOW_THREADS
    self->polling--;
    return result ? PyLong_FromLong(result) : PyLong_FromUnsignedLongLong(counter);
}

static PyObject *finish(Commands *self, PyObject *nothing)
{
    (void)nothing;
    self->ended = 1;
    while (self->polling) {
        Py_BEGIN_ALLOW_THREADS
        Py_END_ALLOW_THREADS
        if (PyErr_CheckSignals() < 0)
            return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"launch", (PyCFunction)(void (*)(void))launch, METH_FASTCALL, NULL},
    {"barrier", (PyCFunction)(void (*)(void))barrier, METH_FASTCALL, NULL},
    {"submit", (PyCFunction)(void (*)(void))submit, METH_FASTCALL, NULL},
    {"submit_again", (PyCFunction)(void (*)(void))submit_again, METH_FASTCALL, NULL},
    {"poll", (PyCFunction)(void (*)(void))poll, METH_FASTCALL, NULL},
    {"end", (PyCFunction)finish, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject commands_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "gridlane.runtime.drivers.vulkan._commands.Commands",
    .tp_basicsize = sizeof(Commands),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = new_commands,
    .tp_methods = methods,
};

static PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "_commands", .m_size = -1};

PyMODINIT_FUNC PyInit__commands(void)
{
    PyObject *made = PyModule_Create(&module);
    if (made != NULL && PyModule_AddType(made, &commands_type) < 0)
        Py_CLEAR(made);
    return made;
}
