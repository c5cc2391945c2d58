/* Stop a running launch: Ctrl-C, and requests for a thread.
 *
 * Kernels poll nothing. A signal of its own, SIGURG, reaches a thread in a kernel; the system and
 * libraries ignore it by default. Its handler may do more than other handlers, because the thread
 * is in a kernel's code, which holds no lock and owns nothing: it calls Python, and leaves the
 * kernel by longjmp.
 *
 * A monitor thread checks every GL_TICK whether Python's main thread is still in the launch of
 * the previous check. If so, the monitor signals it, and the handler runs Python's own signal
 * handlers, as Python does between two lines. If one raises, as that of Ctrl-C does, the launch
 * stops: its context records the exception, and the pool's workers in it are signalled. The monitor
 * parks when there are no launches; a launch wakes it.
 *
 * If another library has taken SIGURG since, no thread is signalled, and launches run to their end.
 * The same holds in a program in C, whose signals gridlane does not change (core/embedding.py). */
#include "pool.h"

struct gl_python gridlane_python;
static struct sigaction old_action;
enum { AWAKE, PARKED, NOT_STARTED };
static int32_t monitor_parked;
static pthread_mutex_t monitor_mutex;
static pthread_cond_t monitor_wake;

static void *monitor(void *unused);

/* A launch begins on this thread. The monitor counts on it, if the thread is Python's main one. */
void gl_count_launch(struct gl_record *record)
{
    if (record != GL_LOAD(gl_main_record, RELAXED))
        return;
    GL_ADD(record->begun, 1, SEQ_CST);
    if (!GL_LOAD(monitor_parked, SEQ_CST))
        return;
    pthread_mutex_lock(&monitor_mutex);
    if (monitor_parked == NOT_STARTED)
        gl_start_thread(NULL, monitor, NULL);
    GL_STORE(monitor_parked, AWAKE, SEQ_CST);
    pthread_cond_signal(&monitor_wake);
    pthread_mutex_unlock(&monitor_mutex);
}

/* The launch is to end, for the exception that Python has set on this thread, if any. */
static void take_exception(struct gl_context *context)
{
    void *dropped[3];
    void **into = gl_end_launch(context, GL_STOPPED) ? context->why.exception : dropped;
    gridlane_python.fetch(&into[0], &into[1], &into[2]);
}

/* Let Python's handlers of signals run. */
static void check_signals(struct gl_context *context)
{
    const int state = gridlane_python.ensure();
    if (gridlane_python.check_signals())
        take_exception(context);
    gridlane_python.release(state);
}

/* A thread has no frame while Python runs: a signal belongs to no kernel then. */
static void set_frame(struct gl_record *record, struct gl_frame *frame)
{
    GL_STORE(record->frame, frame, RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static void on_signal(int number, siginfo_t *info, void *ucontext)
{
    struct gl_record *record = gl_this_record();
    struct gl_frame *frame = record ? GL_LOAD(record->frame, RELAXED) : NULL;
    if (!frame) {
        /* Outside of kernels it is another's. */
        if (old_action.sa_handler != SIG_DFL && old_action.sa_handler != SIG_IGN)
            old_action.sa_sigaction(number, info, ucontext);
        return;
    }
    struct gl_context *context = frame->context;
    if (!GL_LOAD(context->stop, ACQUIRE)) {
        if (GL_LOAD(record->asked, ACQUIRE)) {
            GL_STORE(context->stop, GL_STOPPED, RELEASE);
        } else {
            if (record != GL_LOAD(gl_main_record, RELAXED))
                return;
            set_frame(record, NULL);
            gl_unblock(SIGURG);
            check_signals(context);
            set_frame(record, frame);
            if (!GL_LOAD(context->stop, ACQUIRE))
                return;
        }
        gl_signal_all(context);
    }
    gl_note_place(frame, ucontext);
    gl_leave_handler(record, frame, number);
}

void gridlane_stop(uint64_t thread, int32_t wish)
{
    struct gl_record *each = GL_LOAD(gl_records, ACQUIRE);
    while (each &&
           (GL_LOAD(each->thread, RELAXED) != thread || !GL_LOAD(each->taken, ACQUIRE)))
        each = each->next;
    if (!each)
        return;
    GL_STORE(each->asked, wish, RELEASE);
    if (wish)
        pthread_kill((pthread_t)(uintptr_t)thread, SIGURG);
}

/* A kernel calls Python, outside of its frame; an exception of it stops the launch. */
void gl_print(int32_t site, void *cells)
{
    struct gl_record *record = gl_this_record();
    struct gl_frame *frame = record->frame;
    struct gl_context *context = frame->context;
    const struct gl_python *python = &gridlane_python;
    set_frame(record, NULL);
    const int state = python->ensure();
    void *one = python->number(site), *other = python->number((long long)(intptr_t)cells);
    void *result = python->call(context->function, one, other, (void *)NULL);
    python->drop(one);
    python->drop(other);
    python->drop(result);
    if (!result)
        take_exception(context);
    python->release(state);
    set_frame(record, frame);
    if (!GL_LOAD(context->stop, ACQUIRE))
        return;
    gl_signal_all(context);
    gl_leave(record, frame);
}

/* --- the monitor --- */

int gl_handler_is_ours(void)
{
    struct sigaction now;
    return !sigaction(SIGURG, NULL, &now) && now.sa_sigaction == on_signal;
}

/* Sleep until the main thread begins another launch. */
static void park_monitor(const struct gl_record *record, uint64_t count)
{
    pthread_mutex_lock(&monitor_mutex);
    GL_STORE(monitor_parked, PARKED, SEQ_CST);
    while (GL_LOAD(record->begun, SEQ_CST) == count && GL_LOAD(monitor_parked, SEQ_CST))
        pthread_cond_wait(&monitor_wake, &monitor_mutex);
    GL_STORE(monitor_parked, AWAKE, SEQ_CST);
    pthread_mutex_unlock(&monitor_mutex);
}

static void *monitor(void *unused)
{
    uint64_t seen = 0;
    for (unsigned idle = 0;;) {
        gl_nap(GL_TICK);
        struct gl_record *record = GL_LOAD(gl_main_record, ACQUIRE);
        if (!record) {
            idle = 0;
            continue;
        }
        const uint64_t count = GL_LOAD(record->begun, SEQ_CST);
        const int is_running = GL_LOAD(record->frame, SEQ_CST) != NULL;
        if (count == seen && is_running) {
            if (gl_handler_is_ours())
                pthread_kill((pthread_t)(uintptr_t)GL_LOAD(record->thread, RELAXED), SIGURG);
            idle = 0;
        } else {
            idle = count == seen ? idle + 1 : 0;
            if (idle > GL_IDLE_TICKS) {
                park_monitor(record, count);
                idle = 0;
            }
        }
        seen = count;
    }
    return unused;
}

/* Calls of the system go on after it. */
static void take_signal(void)
{
    struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART };
    sigemptyset(&action.sa_mask);
    sigaction(SIGURG, &action, &old_action);
}

/* Make the process ready: once, and again in the child of a fork, whose only thread calls this. */
int gl_start_stopping(uint64_t main, int64_t limit)
{
    static int is_begun;
    const int is_first = !is_begun;
    gl_main_thread = main;
    monitor_parked = NOT_STARTED;
    pthread_mutex_init(&monitor_mutex, NULL);
    pthread_cond_init(&monitor_wake, NULL);
    gl_set_limit(limit);
    is_begun = 1;
    if (is_first) {
        gl_begin_records();
        gl_catch_faults();
        if (main || limit) /* a limit stops the kernels of programs in C as well */
            take_signal();
    } else {
        gl_forget_records();
    }
    return is_first;
}
