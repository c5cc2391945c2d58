/* The only entry from C into gridlane's Python.
 *
 * The library links no libpython. In a process that has CPython, the entry uses that Python's
 * PyGILState_Ensure. In any other process the first call opens the libpython that the library was
 * installed with. That Python is never finalized: destructors that run after main may still call. A
 * process may finalize its own CPython earlier; calls return DEINITIALIZED from then on. */
#define _GNU_SOURCE
#include "bridge.h"
#include "threads.h"

#include <dlfcn.h>
#include <errno.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#ifndef GL_LIBPYTHON
#error "GL_LIBPYTHON is the libpython to open, GL_PROGRAM its program, GL_VERSION, GL_SITE its packages, GL_CODECS a file that it begins with"
#endif

typedef struct object object; /* PyObject */

/* The functions of CPython that the entry uses. */
static struct {
    int (*ensure)(void);
    void (*release)(int);
    void *(*this_thread)(void);
    int (*is_initialized)(void);
    void (*initialize)(int);
    void *(*save_thread)(void);
    void (*restore_thread)(void *);
    void (*clear_thread)(void *);
    void (*delete_thread)(void);
    void *(*current)(void);
    int (*at_end)(void (*)(void));
    int *ignores_environment;
    void (*set_program)(const wchar_t *);
    const unsigned long *version;
    object *(*import)(const char *);
    object *(*call_method)(object *, const char *, const char *, ...);
    object *(*new_tuple)(intptr_t);
    int (*set_item)(object *, intptr_t, object *);
    object *(*of_u64)(unsigned long long);
    unsigned long long (*to_u64)(object *);
    object *(*call)(object *, object *, object *);
    object *(*occurred)(void);
    void (*clear)(void);
    void (*fetch)(object **, object **, object **);
    void (*restore)(object *, object *, object *);
    void (*print)(void);
    object *(*text)(object *);
    const char *(*utf8)(object *);
    void (*drop)(object *);
} py;

static const struct { const char *name; void **place; } names[] = {
    { "PyGILState_Ensure", (void **)&py.ensure },
    { "PyGILState_Release", (void **)&py.release },
    { "PyGILState_GetThisThreadState", (void **)&py.this_thread },
    { "Py_IsInitialized", (void **)&py.is_initialized },
    { "Py_InitializeEx", (void **)&py.initialize },
    { "PyEval_SaveThread", (void **)&py.save_thread },
    { "PyEval_RestoreThread", (void **)&py.restore_thread },
    { "PyThreadState_Clear", (void **)&py.clear_thread },
    { "PyThreadState_DeleteCurrent", (void **)&py.delete_thread },
    { "Py_AtExit", (void **)&py.at_end },
    { "Py_IgnoreEnvironmentFlag", (void **)&py.ignores_environment },
    { "Py_SetProgramName", (void **)&py.set_program },
    { "Py_Version", (void **)&py.version },
    { "PyImport_ImportModule", (void **)&py.import },
    { "PyObject_CallMethod", (void **)&py.call_method },
    { "PyTuple_New", (void **)&py.new_tuple },
    { "PyTuple_SetItem", (void **)&py.set_item },
    { "PyLong_FromUnsignedLongLong", (void **)&py.of_u64 },
    { "PyLong_AsUnsignedLongLong", (void **)&py.to_u64 },
    { "PyObject_Call", (void **)&py.call },
    { "PyErr_Occurred", (void **)&py.occurred },
    { "PyErr_Clear", (void **)&py.clear },
    { "PyErr_Fetch", (void **)&py.fetch },
    { "PyErr_Restore", (void **)&py.restore },
    { "PyErr_Print", (void **)&py.print },
    { "PyObject_Str", (void **)&py.text },
    { "PyUnicode_AsUTF8", (void **)&py.utf8 },
    { "Py_DecRef", (void **)&py.drop },
};

/* See bridge.h. */
__asm__(".pushsection .data\n"
        ".balign 64\n"
        ".weak gl_process\n"
        ".type gl_process, %gnu_unique_object\n"
        ".size gl_process, 192\n"
        "gl_process: .zero 192\n" /* a mutex that is free, and zeros */
        ".popsection\n");
_Static_assert(sizeof(struct gl_process) <= 192, "the size that the assembler is told");

static pthread_mutex_t finding = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t at_end_of_thread;
static object *entry;      /* the module gridlane.abi.library.entry */
static int ready;          /* 1 when entered, -1 when it cannot be entered */
static uint64_t refusal = GL_NO_PYTHON; /* the result of calls where Python cannot be entered */

static void tell(const char *what, const char *why)
{
    fprintf(stderr, "gridlane: %s%s%s\n", what, why ? ": " : "", why ? why : "");
}

static void in_child(void)
{
    gl_process.forked = gl_process.begun;
    if (gl_process.forked) /* numbers that no thread has, or will get */
        gl_process.state = UINT64_MAX; /* all other numbers are then old as well */
}

/* Fork: another thread may fork while one makes the first call. */
__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

/* Registered once for all libraries, and not in the child of a fork. */
__attribute__((destructor)) static void report_unread(void)
{
    uint32_t *unread = __atomic_exchange_n(&gl_process.unread, NULL, __ATOMIC_ACQ_REL);
    uint32_t failed = unread && !gl_process.forked ? *unread : 0;
    if (failed)
        fprintf(stderr,
                "gridlane: %u launch%s of this program failed, and it asked for no error since "
                "(cudaGetLastError)\n",
                failed, failed > 1 ? "es" : "");
}

void gl_note_begun(void)
{
    __atomic_store_n(&gl_process.begun, 1, __ATOMIC_SEQ_CST);
}

/* The end of a Python that the process began itself. The process may begin another one; this
 * library never serves that one. */
static void at_end_of_python(void)
{
    gl_process.ended = 1;
}

static int is_alive(void)
{
    return !gl_process.ended && py.is_initialized();
}

/* PyGILState_Check returns true for every thread once there are interpreters beside the first. */
static int has_gil(void)
{
    void *current = py.current();
    return current && current == py.this_thread();
}

/* A thread of the program keeps one Python thread state from its first call to its end, so Python's
 * thread-local objects live as long as the thread. */
static void end_thread(void *state)
{
    gl_forget_thread();
    if (gl_process.forked || !is_alive())
        return;
    py.restore_thread(state);
    py.clear_thread(state);
    py.delete_thread();
}

/* The function by which C++ ends a thread's objects. It runs before the destructors of pthread
 * keys, of which one is Python's own, so Python still has the thread. Python's checks ("python -X
 * dev") abort a process whose thread it does not have. Not every libc has this function. */
extern int __cxa_thread_atexit_impl(void (*call)(void *), void *object, void *library)
    __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));
static __thread int has_ended;

static void end_first(void *state)
{
    has_ended = 1;
    end_thread(state);
}

static void begin_thread(void)
{
    if (py.this_thread())
        return;
    py.ensure();
    void *state = py.save_thread();
    /* Order: the objects of the first thread end before destructors that call after main. */
    int first = gettid() == getpid();
    if (first || has_ended || !__cxa_thread_atexit_impl ||
        __cxa_thread_atexit_impl(end_first, state, &__dso_handle))
        pthread_setspecific(at_end_of_thread, state);
}

/* The reason why the opened Python has no standard library; null if it has one. */
static const char *lacks_codecs(void)
{
    static const char codecs[] = GL_CODECS;
    return *codecs && access(codecs, R_OK) ? "there is no " GL_CODECS : NULL;
}

static int find_python(void)
{
    void *self = dlopen(NULL, RTLD_NOW);
    if (!dlsym(self, "PyGILState_Ensure")) {
        self = dlopen(GL_LIBPYTHON, RTLD_NOW | RTLD_GLOBAL);
        /* A Python that cannot begin would end the process. */
        const char *why = self ? lacks_codecs() : dlerror();
        if (why) {
            tell("no Python to compile kernels with", why);
            tell("run \"gridlane install\" again, with the Python that has gridlane", NULL);
            return 0;
        }
    }
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        *names[n].place = dlsym(self, names[n].name);
        if (!*names[n].place) {
            tell("this process has a CPython without", names[n].name);
            return 0;
        }
    }
    py.current = (void *(*)(void))dlsym(self, "PyThreadState_GetUnchecked"); /* from 3.13 on */
    if (!py.current)
        py.current = (void *(*)(void))dlsym(self, "_PyThreadState_UncheckedGet");
    if (!py.current) {
        tell("this process has a CPython without", "PyThreadState_GetUnchecked");
        return 0;
    }
    char version[32];
    snprintf(version, sizeof version, "%lu.%lu", *py.version >> 24, *py.version >> 16 & 0xff);
    if (strcmp(version, GL_VERSION)) {
        fprintf(stderr,
                "gridlane: this process has CPython %s, and the library was installed for "
                GL_VERSION ": run \"gridlane install\" with the Python of this process\n",
                version);
        return 0;
    }
    return 1;
}

/* Initialise Python in a process that had none. The process's signals and locale stay unchanged.
 * The environment's settings for Python are ignored: they are for another Python. Python finds its
 * files by its own program and does not read the working directory, which may be gone. */
static void initialize(void)
{
    static const wchar_t program[] = L"" GL_PROGRAM;
    char *kept = setlocale(LC_ALL, NULL);
    kept = kept ? strdup(kept) : NULL;
    *py.ignores_environment = 1;
    py.set_program(program);
    py.initialize(0);
    if (kept) {
        setlocale(LC_ALL, kept);
        free(kept);
    }
}

/* Signal safety: Python's signal module installs a handler of SIGINT at its first import, which
 * "begin" causes. Restore the old handler, unless another thread has set one meanwhile. */
static int is_of_python(const struct sigaction *handler)
{
    Dl_info own, python;
    return dladdr((void *)(uintptr_t)handler->sa_handler, &own) &&
           dladdr((void *)(uintptr_t)py.initialize, &python) && own.dli_fbase == python.dli_fbase;
}

static void restore_handler(const struct sigaction *before)
{
    struct sigaction now;
    if (!is_of_python(before) && !sigaction(SIGINT, NULL, &now) && is_of_python(&now))
        sigaction(SIGINT, before, NULL);
}

/* Print the text of Python's error, which stays set: most texts say what to do. */
static void tell_error(const char *what)
{
    object *type, *value, *trace;
    py.fetch(&type, &value, &trace);
    object *text = value ? py.text(value) : NULL;
    const char *why = text ? py.utf8(text) : NULL;
    tell(what, why && *why ? why : NULL);
    if (text)
        py.drop(text);
    py.clear(); /* an error of the text itself */
    py.restore(type, value, trace);
}

static int enter_first(void)
{
    int embedded = !py.is_initialized();
    struct sigaction before;
    sigset_t signals;
    sigaction(SIGINT, NULL, &before);
    if (embedded) {
        gl_block_signals(&signals); /* numpy's library starts threads */
        initialize();
    }
    int state = embedded ? 0 : py.ensure();
    object *site = py.import("site");
    if (site) {
        object *done = py.call_method(site, "addsitedir", "s", GL_SITE);
        if (done)
            py.drop(done);
        py.drop(site);
    }
    py.clear();
    entry = py.import("gridlane.abi.library.entry");
    if (entry) {
        object *done = py.call_method(entry, "begin", "iKs", embedded,
                                       (unsigned long long)(uintptr_t)gl_hot_table(), GL_MARK);
        if (done) {
            if (py.to_u64(done)) { /* it printed the reason */
                refusal = GL_MISMATCH;
                entry = NULL;
            }
            py.drop(done);
        }
    }
    if (py.occurred()) {
        tell_error("gridlane cannot be imported from " GL_SITE);
        if (getenv("GRIDLANE_TRACE"))
            py.print();
        py.clear();
        entry = NULL;
    }
    if (embedded) {
        restore_handler(&before);
        pthread_sigmask(SIG_SETMASK, &signals, NULL);
        py.save_thread();
    } else {
        py.at_end(at_end_of_python);
        py.release(state);
    }
    return entry != NULL;
}

static int found_python(void)
{
    static int found; /* -1 when there is none */
    pthread_mutex_lock(&finding);
    if (!found)
        found = find_python() ? 1 : -1;
    pthread_mutex_unlock(&finding);
    return found > 0;
}

/* C answers no more without Python: its state would miss the call that failed. */
static void end_ahead(void)
{
    uint64_t ahead = GL_AHEAD;
    __atomic_compare_exchange_n(&gl_process.state, &ahead, UINT64_MAX, 0, __ATOMIC_ACQ_REL,
                                __ATOMIC_ACQUIRE);
}

/* Read without the lock too: only the beginner can find its own number there. */
static int is_beginner(void)
{
    return __atomic_load_n(&gl_process.begins, __ATOMIC_ACQUIRE) &&
           pthread_equal(__atomic_load_n(&gl_process.beginner, __ATOMIC_RELAXED), pthread_self());
}

static int enter_once(void)
{
    /* A Python that cannot begin ends the process, and destructors that run then may call. */
    if (is_beginner())
        return 0;
    gl_note_begun();
    __atomic_store_n(&gl_process.entered, 1, __ATOMIC_SEQ_CST);
    int found = found_python();
    /* The beginner takes the GIL, so a thread that waits for the beginner must not hold it. */
    int held = found && is_alive() && has_gil();
    void *kept = held ? py.save_thread() : NULL;
    pthread_mutex_lock(&gl_process.beginning);
    if (!ready) {
        pthread_key_create(&at_end_of_thread, end_thread);
        __atomic_store_n(&gl_process.beginner, pthread_self(), __ATOMIC_RELAXED);
        __atomic_store_n(&gl_process.begins, 1, __ATOMIC_RELEASE);
        int entered = found && enter_first();
        __atomic_store_n(&gl_process.begins, 0, __ATOMIC_RELEASE);
        if (!entered)
            end_ahead();
        __atomic_store_n(&ready, entered ? 1 : -1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&gl_process.beginning);
    if (held)
        py.restore_thread(kept);
    return ready > 0;
}

static object *resolved(struct gl_slot *slot)
{
    if (!slot->call)
        slot->call = py.call_method(entry, "resolve", "s", slot->name);
    return slot->call;
}

__attribute__((weak)) void gl_before(gl_caller *enter)
{
    (void)enter;
}

__attribute__((weak)) void gl_after(gl_caller *call, uint64_t code)
{
    (void)call, (void)code;
}

__attribute__((weak)) void gl_forget_thread(void)
{
}

__attribute__((weak)) const void *gl_hot_table(void)
{
    return NULL;
}

int gl_holds_python(void)
{
    return __atomic_load_n(&ready, __ATOMIC_ACQUIRE) > 0 && is_alive() && has_gil();
}

/* Call a function of Python with the GIL held. */
static uint64_t call(struct gl_slot *slot, const uint64_t *arguments, int count)
{
    uint64_t code = GL_NO_PYTHON;
    object *function = resolved(slot), *given = function ? py.new_tuple(count) : NULL;
    if (given) {
        for (int n = 0; n < count; n++)
            py.set_item(given, n, py.of_u64(arguments[n]));
        object *made = py.call(function, given, NULL);
        if (made) {
            code = py.to_u64(made);
            py.drop(made);
        }
        py.drop(given);
    }
    if (py.occurred()) {
        if (getenv("GRIDLANE_TRACE"))
            py.print();
        py.clear();
        code = GL_UNKNOWN;
    }
    return code;
}

/* Acquire the GIL, and call. */
static uint64_t enter(struct gl_slot *slot, const uint64_t *arguments, int count)
{
    int known = __atomic_load_n(&ready, __ATOMIC_ACQUIRE);
    if (gl_process.ended)
        return GL_DEINITIALIZED;
    if (known < 0 || (!known && !enter_once()))
        return refusal;
    if (!py.is_initialized())
        return GL_DEINITIALIZED; /* the process finalized its own Python */
    begin_thread();
    int state = py.ensure();
    object *raised[3]; /* the caller's exception: destructors of extensions call while one is set */
    py.fetch(&raised[0], &raised[1], &raised[2]);
    uint64_t code = call(slot, arguments, count);
    if (slot->hot && gl_process.offers)
        gl_after(call, code);
    py.restore(raised[0], raised[1], raised[2]);
    py.release(state);
    return code;
}

/* Python applies to this thread the state that C gave it ahead of Python. */
static void take_over_thread(void)
{
#ifndef GL_OF_NVRTC
    static struct gl_slot slot = { "runtime:__take_over_thread", 0, 0 };
    if (!gl_process.is_keyed || !pthread_getspecific(gl_process.ahead))
        return;
    pthread_setspecific(gl_process.ahead, NULL);
    enter(&slot, NULL, 0);
#endif
}

uint64_t gl_enter(struct gl_slot *slot, const uint64_t *arguments, int count)
{
    if (gl_process.forked)
        return GL_NOT_INITIALIZED;
    int error = errno, cancels;
    fenv_t floats;
    fegetenv(&floats);
    fesetenv(FE_DFL_ENV); /* of a program at its start, for kernels on the host */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancels); /* Python's locks would stay held */
    gl_before(enter);
    take_over_thread();
    uint64_t code = enter(slot, arguments, count);
    pthread_setcancelstate(cancels, NULL);
    fesetenv(&floats);
    errno = error;
    return code;
}
