// Runs the threads of one threadgroup as fibers, the threadgroups one after the other.
//
// Fibers run until they wait. Lanes of a simdgroup that wait for an exchange go on together with
// those that wait at the same line, the first line first, so that lanes which took different ways
// meet again behind. A barrier lets all go on; that some have ended or wait elsewhere is an error.
#include "metal_stdlib"

#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <random>
#include <ucontext.h>
#include <vector>

namespace machine {
enum State { READY, AT_BARRIER, AT_EXCHANGE, ENDED };
struct Fiber {
    ucontext_t context;
    std::vector<char> stack = std::vector<char>(256 * 1024);
    Lane lane;
    State state;
    int line;
    bool made = false;  // its context is that of a body that has ended, or has not begun
};
typedef void (*Entry)(void* const* buffers, void* const* groups, const Lane&);
enum { GROUPS = 31 };  // threadgroup(n) arguments; the kernel's own arrays are numbered from here

Lane* current;
static std::vector<Fiber*> fibers;
static Fiber* running;
static ucontext_t scheduler;
static Entry entry;
static void* const* buffers;
static void* groups[GROUPS];
static std::vector<std::vector<char>> shared;
static char error[200];
static uintptr_t fault;  // the address that a kernel may not touch
static sigjmp_buf failed;
static thread_local bool inside;  // this thread is the one that runs kernels
static struct sigaction before_fault, before_bus;

static void fail(const char* text, int first = 0, int second = 0) {
    snprintf(error, sizeof error, text, first, second);
    siglongjmp(failed, 1);
}

static void trap(int) { fail("undefined behaviour of C++"); }

static void touch(int signal, siginfo_t* info, void*) {
    if (!inside) {  // somebody else's: the access faults again, under the handler of before
        sigaction(signal, signal == SIGSEGV ? &before_fault : &before_bus, nullptr);
        return;
    }
    fault = (uintptr_t)info->si_addr;
    snprintf(error, sizeof error, "page fault at %p", info->si_addr);
    siglongjmp(failed, 1);
}

static void wait_in(State state, int line) {
    running->state = state;
    running->line = line;
    swapcontext(&running->context, &scheduler);
}

void wait_for_block(int line) { wait_in(AT_BARRIER, line); }
void exchange(int line) { wait_in(AT_EXCHANGE, line); }

void* shared_array(int number, ulong bytes) {
    if (shared.size() <= (size_t)number) shared.resize(number + 1);
    auto& array = shared[number];
    if (array.empty()) array.assign(bytes + 16, (char)0xA5);
    return (void*)(((uintptr_t)array.data() + 15) & ~(uintptr_t)15);
}

static void body() {
    for (;;) {  // a fiber does one thread of a threadgroup after the other
        entry(buffers, groups, *current);
        wait_in(ENDED, 0);
    }
}

static void place(Lane& lane, uint number, const uint* shape, const uint* block) {
    uint index[3] = {number % shape[0], number / shape[0] % shape[1], number / (shape[0] * shape[1])};
    memcpy(lane.thread_index, index, sizeof index);
    memcpy(lane.block_index, block, sizeof index);
    memcpy(lane.block_shape, shape, sizeof index);
    lane.lane = number % 32;
}

static void start(Fiber& fiber, uint number, const uint* shape, const uint* block) {
    place(fiber.lane, number, shape, block);
    fiber.state = READY;
    if (fiber.made) return;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.data();
    fiber.context.uc_stack.ss_size = fiber.stack.size();
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, body, 0);
    fiber.made = true;
}

static bool run_ready(std::vector<uint>& order) {
    bool any = false;
    for (uint n : order) {
        if (fibers[n]->state != READY) continue;
        any = true;
        running = fibers[n];
        current = &running->lane;
        swapcontext(&scheduler, &running->context);
    }
    return any;
}

static void release_exchange(uint base, uint count) {
    int line = 0;
    for (uint n = base; n < base + count; n++)
        if (fibers[n]->state == AT_EXCHANGE && (!line || fibers[n]->line < line)) line = fibers[n]->line;
    if (!line) return;
    uint together = 0;
    ulong seen[32];
    memset(seen, 0xA5, sizeof seen);
    for (uint n = base; n < base + count; n++)
        if (fibers[n]->state == AT_EXCHANGE && fibers[n]->line == line) {
            together |= 1u << (n - base);
            seen[n - base] = fibers[n]->lane.value;
        }
    for (uint n = base; n < base + count; n++)
        if (together >> (n - base) & 1) {
            fibers[n]->lane.together = together;
            memcpy(fibers[n]->lane.seen, seen, sizeof seen);
            fibers[n]->state = READY;
        }
}

static bool release_barrier(uint count) {
    uint waiting = 0, ended = 0;
    int line = 0;
    for (uint n = 0; n < count; n++) {
        Fiber& fiber = *fibers[n];
        ended += fiber.state == ENDED;
        if (fiber.state != AT_BARRIER) continue;
        if (line && line != fiber.line) fail("threads wait at the barriers of lines %d and %d", line, fiber.line);
        line = fiber.line;
        waiting++;
    }
    if (!waiting) return ended < count;
    if (waiting + ended < count) return true;  // others exchange first
    if (ended) fail("%d threads wait at a barrier, %d have ended", waiting, ended);
    for (uint n = 0; n < count; n++) fibers[n]->state = READY;
    return true;
}

static void shuffle(std::vector<uint>& order, std::mt19937& random) {
    for (uint n = order.size(); n > 1; n--) std::swap(order[n - 1], order[random() % n]);
}

static void run_block(std::vector<uint>& order, std::mt19937& random) {
    uint count = order.size();
    for (;;) {
        shuffle(order, random);
        if (run_ready(order)) continue;
        for (uint base = 0; base < count; base += 32) release_exchange(base, count - base < 32 ? count - base : 32);
        if (!release_barrier(count)) return;
    }
}

// A kernel whose threads never wait for each other needs no fibers.
static void run_alone(std::vector<uint>& order, std::mt19937& random, const uint* shape, const uint* block) {
    static Lane lane;
    current = &lane;
    shuffle(order, random);
    for (uint n : order) {
        place(lane, n, shape, block);
        entry(buffers, groups, lane);
    }
}

static void check_shared() {
    size_t bytes = 0;
    for (auto& array : shared) bytes += array.empty() ? 0 : array.size() - 16;
    if (bytes > 32768) fail("%d bytes of threadgroup memory", (int)bytes);
}

static void run_blocks(const uint* grid, const uint* shape, const uint* lengths, bool waits, uint seed) {
    std::mt19937 random(seed);
    std::vector<uint> order(shape[0] * shape[1] * shape[2]);
    for (uint n = 0; n < order.size(); n++) order[n] = n;
    for (uint z = 0; z < grid[2]; z++)
        for (uint y = 0; y < grid[1]; y++)
            for (uint x = 0; x < grid[0]; x++) {
                uint block[3] = {x, y, z};
                shared.clear();
                for (int n = 0; n < GROUPS; n++)
                    groups[n] = lengths[n] ? shared_array(n, lengths[n]) : nullptr;
                if (!waits) {
                    run_alone(order, random, shape, block);
                } else {
                    for (uint n = 0; n < order.size(); n++) start(*fibers[n], n, shape, block);
                    run_block(order, random);
                }
                check_shared();
            }
}
}

// Runs a grid; "" or what went wrong. ``lengths`` are the bytes of each threadgroup(n) argument;
// ``waits`` says whether threads wait for each other. ``touched`` gets the address of a page fault.
extern "C" const char* run_grid(machine::Entry entry, void* const* buffers, const uint* grid, const uint* shape,
                                const uint* lengths, int waits, uint seed, ulong* touched) {
    using namespace machine;
    uint count = shape[0] * shape[1] * shape[2];
    if (count > 1024) return "more than 1024 threads";
    while (fibers.size() < count) fibers.push_back(new Fiber);
    machine::entry = entry;
    machine::buffers = buffers;
    struct sigaction action = {}, before;
    action.sa_handler = trap;
    action.sa_flags = SA_NODEFER;
    sigaction(SIGILL, &action, &before);
    struct sigaction touching = {};
    touching.sa_sigaction = touch;
    touching.sa_flags = SA_NODEFER | SA_SIGINFO;
    sigaction(SIGSEGV, &touching, &before_fault);
    sigaction(SIGBUS, &touching, &before_bus);
    error[0] = 0;
    fault = 0;
    inside = true;
    if (!sigsetjmp(failed, 1)) run_blocks(grid, shape, lengths, waits, seed);
    else
        for (Fiber* fiber : fibers) fiber->made = false;  // they are somewhere in the middle
    inside = false;
    sigaction(SIGILL, &before, nullptr);
    sigaction(SIGSEGV, &before_fault, nullptr);
    sigaction(SIGBUS, &before_bus, nullptr);
    *touched = fault;
    return error;
}
