/* How threads leave a launch.
 *
 * A context holds the first reason for the end of its launch, and 0 until then. The thread that
 * writes the reason signals the other threads of the launch, and all leave the kernel by longjmp to
 * their frames. */
#include "pool.h"

/* Write why a launch ends; whether no other reason was there. */
int gl_end_launch(struct gl_context *context, int32_t reason)
{
    int32_t none = 0;
    return __atomic_compare_exchange_n(&context->stop, &none, reason, 0, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}

/* Signal every other thread that is in this launch. */
void gl_signal_all(struct gl_context *context)
{
    const uint64_t self = gl_self();
    for (struct gl_record *each = GL_LOAD(gl_records, ACQUIRE); each; each = each->next) {
        const struct gl_context *there = GL_LOAD(each->context, ACQUIRE);
        const uint64_t thread = GL_LOAD(each->thread, RELAXED);
        if (there == context && thread != self)
            pthread_kill((pthread_t)(uintptr_t)thread, SIGURG);
    }
}

/* The same, but in a program whose signals are its own. */
void gl_signal_if_ours(struct gl_context *context)
{
    if (gl_main_thread)
        gl_signal_all(context);
}

/* Leave the kernel of a frame. */
_Noreturn void gl_leave(struct gl_record *record, struct gl_frame *frame)
{
    GL_STORE(record->frame, NULL, RELAXED); /* before another signal may find it */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    _longjmp(frame->back, 1);
}

/* The same, in the handler of a signal, which stays blocked after a longjmp. */
_Noreturn void gl_leave_handler(struct gl_record *record, struct gl_frame *frame, int number)
{
    GL_STORE(record->frame, NULL, RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    gl_unblock(number);
    gl_leave(record, frame);
}

void gl_unblock(int number)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}
