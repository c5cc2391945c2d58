/* Faults of running kernels.
 *
 * A kernel that reads or writes memory that the process does not have raises SIGSEGV or SIGBUS in
 * its thread. The handler stops the launch: its context keeps the instruction and the address, and
 * the thread leaves the kernel by longjmp, which owns nothing. Only faults of a kernel's own code
 * are handled: the thread is in a kernel, and the instruction, or the caller of the function that
 * it is in, lies in that kernel's code. All others go to the handler from before, as it would have
 * been called, or end the process as if there were none.
 *
 * Threads that have no stack for handlers get one with their record, so that a thread whose stack
 * is full has its fault reported by the program's own handler. A program that sets a handler of
 * these signals after the first launch replaces this one. Linux alone has it: elsewhere a fault
 * ends the process. */
#include "pool.h"

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))

#include <stdlib.h>
#include <ucontext.h>

enum { DEEPEST = 8 << 20, NEAR = 1 << 16 }; /* bytes of a stack */

static struct sigaction old_segv, old_bus;

/* A thread that has a stack keeps it. */
void gl_begin_fault_stack(struct gl_record *record)
{
    stack_t old;
    sigaltstack(NULL, &old);
    if (!(old.ss_flags & SS_DISABLE))
        return;
    if (!record->stack)
        record->stack = malloc(GL_FAULT_STACK);
    if (!record->stack)
        return;
    const stack_t own = { .ss_sp = record->stack, .ss_size = GL_FAULT_STACK };
    sigaltstack(&own, NULL);
}

/* Before another thread gets the record, and its stack. */
void gl_end_fault_stack(struct gl_record *record)
{
    stack_t old;
    if (!record->stack)
        return;
    sigaltstack(NULL, &old);
    if (old.ss_sp != record->stack)
        return;
    old.ss_flags = SS_DISABLE;
    sigaltstack(&old, NULL);
}

/* Call the handler from before, as the system would have. */
static void pass_on(int number, siginfo_t *info, void *ucontext)
{
    struct sigaction *old = number == SIGSEGV ? &old_segv : &old_bus;
    const struct sigaction action = *old;
    if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) {
        /* The instruction raises the signal again; one that was sent is sent again, after this
         * handler. */
        sigaction(number, old, NULL);
        if (info->si_code <= 0)
            pthread_kill(pthread_self(), number);
        return;
    }
    if (action.sa_flags & (int)SA_RESETHAND)
        old->sa_handler = SIG_DFL;
    if (action.sa_flags & SA_NODEFER)
        gl_unblock(number);
    if (action.sa_flags & SA_SIGINFO)
        action.sa_sigaction(number, info, ucontext);
    else
        action.sa_handler(number);
}

static int is_in_code(const struct gl_plan_of_kernel *plan, uint64_t address)
{
    return address - plan->code < plan->code_end - plan->code;
}

#if defined(__x86_64__)
static uint64_t counter_of(const ucontext_t *at)
{
    return (uint64_t)at->uc_mcontext.gregs[REG_RIP];
}

static uint64_t stack_of(const ucontext_t *at)
{
    return (uint64_t)at->uc_mcontext.gregs[REG_RSP];
}

/* Where a callee that has pushed nothing returns to. */
static uint64_t return_of(const ucontext_t *at)
{
    return *(const uint64_t *)(uintptr_t)stack_of(at);
}
#else
static uint64_t counter_of(const ucontext_t *at)
{
    return at->uc_mcontext.pc;
}

static uint64_t stack_of(const ucontext_t *at)
{
    return at->uc_mcontext.sp;
}

static uint64_t return_of(const ucontext_t *at)
{
    return at->uc_mcontext.regs[30];
}
#endif

/* The kernel's instruction of a fault, or 0 for a fault that is none of the kernel's. */
static uint64_t instruction_of(const struct gl_frame *frame, const ucontext_t *at, uint64_t address)
{
    const uint64_t counter = counter_of(at), stack = stack_of(at);
    if (is_in_code(frame->plan, counter))
        return counter;
    /* The stack of the thread must be readable: its end is where a full one faults. */
    const uint64_t depth = (uint64_t)(uintptr_t)frame - stack;
    if (depth > DEEPEST || address - (stack - NEAR) < 2 * NEAR)
        return 0;
    const uint64_t caller = return_of(at);
    return is_in_code(frame->plan, caller) ? caller : 0;
}

static void on_fault(int number, siginfo_t *info, void *ucontext)
{
    struct gl_record *record = gl_this_record();
    struct gl_frame *frame = record ? GL_LOAD(record->frame, RELAXED) : NULL;
    const uint64_t address = (uint64_t)(uintptr_t)info->si_addr;
    /* One with a code of 0 or less was sent by somebody. */
    const uint64_t at =
        frame && info->si_code > 0 ? instruction_of(frame, ucontext, address) : 0;
    if (!at) {
        pass_on(number, info, ucontext);
        return;
    }
    struct gl_context *context = frame->context;
    if (gl_end_launch(context, GL_FAULTED)) {
        context->why.place[0] = at - frame->plan->code;
        context->why.place[1] = address;
        gl_signal_if_ours(context);
    }
    gl_leave_handler(record, frame, number);
}

/* Once in a process. */
void gl_catch_faults(void)
{
    struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &old_segv);
    sigaction(SIGBUS, &action, &old_bus);
}

/* The kernel's instruction in which a signal reached a thread; 0 if the thread is in none. */
__attribute__((no_sanitize("address"))) static uint64_t place_of(const struct gl_frame *frame,
                                                                 const ucontext_t *at)
{
    const uint64_t counter = counter_of(at), caller = return_of(at);
    if (is_in_code(frame->plan, counter))
        return counter;
    if (is_in_code(frame->plan, caller))
        return caller;
    /* Some function below the kernel's: its caller is the first address of the code on the stack. */
    const uint64_t top = (uint64_t)(uintptr_t)frame;
    for (uint64_t word = stack_of(at); word + 8 < top; word += 8) {
        const uint64_t value = *(const uint64_t *)(uintptr_t)word;
        if (is_in_code(frame->plan, value))
            return value;
    }
    return 0;
}

/* Write where a thread leaves a launch whose time is over, if it is the first that knows. */
void gl_note_place(struct gl_frame *frame, void *ucontext)
{
    struct gl_context *context = frame->context;
    if (GL_LOAD(context->stop, ACQUIRE) != GL_TIMED_OUT)
        return;
    const uint64_t at = place_of(frame, ucontext);
    uint64_t none = 0;
    if (at)
        __atomic_compare_exchange_n(&context->why.place[0], &none, at - frame->plan->code + 1, 0,
                                    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

#else /* Contexts of signals are not known here. */

void gl_begin_fault_stack(struct gl_record *record)
{
    (void)record;
}

void gl_end_fault_stack(struct gl_record *record)
{
    (void)record;
}

void gl_catch_faults(void)
{
}

void gl_note_place(struct gl_frame *frame, void *ucontext)
{
    (void)frame;
    (void)ucontext;
}

#endif
