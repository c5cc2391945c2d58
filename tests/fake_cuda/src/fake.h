/* A libcuda without a GPU: what the driver keeps books of, it keeps; kernels it only writes down.

   Device memory is the host's. Work of streams runs on the thread that enqueues it, at once, or, in
   late mode, not before somebody waits for it: the two ends of what a real device may do. A test
   tells the library what to do by the functions of control.c, by name as they are here.

   Names, numbers and layouts are those of the CUDA driver API. */

#ifndef FAKE_H
#define FAKE_H

#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef unsigned long long CUdeviceptr;
typedef int CUdevice;

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    PEER_UNSUPPORTED = 217,
    INVALID_PTX = 218,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_READY = 600,
    ILLEGAL_ADDRESS = 700,
    PEER_ALREADY = 704,
    PEER_NOT_ENABLED = 705,
    CONTEXT_DESTROYED = 709,
    ALREADY_REGISTERED = 712,
    NOT_REGISTERED = 713,
    COOPERATIVE_TOO_LARGE = 720,
    NOT_PERMITTED = 800,
    NOT_SUPPORTED = 801,
    CAPTURE_UNSUPPORTED = 900,
    CAPTURE_INVALIDATED = 901,
    CAPTURE_MERGE = 902,
    CAPTURE_UNMATCHED = 903,
    CAPTURE_UNJOINED = 904,
    CAPTURE_IMPLICIT = 906,
    CAPTURED_EVENT = 907,
    INVALID_CLUSTER = 912,
    CAPTURE_WRONG_THREAD = 908,
};

#define MOST_DEVICES 8
#define MOST_ATTRIBUTES 256
#define FOREVER UINT64_MAX

/* ---- objects; every one starts with its kind and is known to control.c while it lives */

enum kind { CONTEXT, STREAM, EVENT, MODULE, FUNCTION, BLOCK, POOL, GRAPH, EXECUTABLE, KINDS };

typedef struct {
    enum kind kind;
} Object;

typedef struct Stream Stream;
typedef struct Graph Graph;

typedef struct {
    Object object;
    int device;
    int sticky; /* what every call returns after a fault */
    Stream *legacy, *per_thread;
    int peers[MOST_DEVICES];
} Context;

typedef struct {
    int attributes[MOST_ATTRIBUTES];
    size_t total, used; /* bytes; used counts what pools keep */
    Context *primary;
    int retained;
    int peer_capable[MOST_DEVICES];
} Device;

enum memory { DEVICE_MEMORY, POOL_MEMORY, HOST_MEMORY, MANAGED_MEMORY, REGISTERED, GLOBAL };

typedef struct {
    Object object;
    size_t total, used, reserved, high, threshold;
    int device;
    int peers[MOST_DEVICES];
} Pool;

/* A range of memory. `promised` is its state in the order of calls, `real` in the order in which
   work ran: they differ while an allocation or a free waits in a stream. */
typedef struct {
    Object object;
    unsigned char *address;
    size_t size;
    enum memory memory;
    int mapped, promised, real;
    Context *context;
    Pool *pool;
    void *owner; /* the module of a global */
    char name[64];
} Block;

typedef struct {
    Object object;
    Context *context;
    char *text;
} Module;

typedef struct {
    Object object;
    Module *module;
    char name[256];
    size_t count, size; /* of parameters; bytes of all */
    size_t offsets[256], sizes[256];
    int static_shared, dynamic_shared, non_portable;
} Function;

/* A launch as tests read it; tests/fake_cuda/library.py has the same layout. */
typedef struct {
    char name[256];
    unsigned grid[3], block[3], cluster[3];
    unsigned shared;
    int cooperative, device;
    uint64_t stream; /* the handle that the caller gave */
    uint64_t size;
    unsigned char params[4096];
} Launch;

/* CUlaunchAttribute and CUlaunchConfig. */
typedef struct {
    unsigned id, unused;
    unsigned value[16];
} Attribute;

typedef struct {
    unsigned size[6], shared; /* of the grid and of a block */
    uint64_t stream;
    const Attribute *attributes;
    unsigned count;
} Config;

typedef struct {
    Object object;
    Context *context;
    int timing;
    Stream *stream; /* of the latest recording */
    uint64_t recorded, passed, time;
    Graph *captured;
    uint64_t captured_at; /* operations that its stream had captured by then */
} Event;

enum operation { COPY, STAGED, FILL, ALLOCATE, FREE, CALL, LAUNCH, RECORD, WAIT };

typedef struct Operation {
    struct Operation *next;
    enum operation what;
    uint64_t number; /* in the order of calls */
    unsigned char *target, *source;
    size_t size;
    int byte;
    Block *block;
    void (*function)(void *);
    void *data;
    Launch *launch;
    void *kernel; /* the function of a launch */
    Event *event;
    Stream *other;
    uint64_t until;
} Operation;

struct Stream {
    Object object;
    Context *context;
    unsigned flags;
    int priority, running;
    Operation *first, *last;
    Graph *capture;
    int forked;
    uint64_t captured, joined; /* operations captured on it; those that the origin waits for */
};

#define MOST_USERS 64

/* What a graph keeps for its users, and destroys with the last of them. */
typedef struct {
    void *pointer;
    void (*destroy)(void *);
    unsigned count;
} User;

struct Graph {
    Object object;
    User *users[MOST_USERS];
    size_t user_count;
    uint64_t number;
    Operation *first, *last;
    size_t count;
    Context *context;
    Stream *origin;
    int invalid, mode;
    uint64_t thread;
};

extern Device devices[MOST_DEVICES];
extern int device_count;
extern int late;
extern uint64_t clock_ns;

/* ---- control.c */

enum needs { NOTHING, STARTED, CURRENT };

/* Start a call: lock, write it down, and say what it must return at once, 0 if nothing. */
CUresult begin(const char *name, enum needs needs, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
CUresult done(CUresult code);

#define BEGIN(name, needs, ...)                                                                    \
    do {                                                                                           \
        CUresult code_ = begin(name, needs, __VA_ARGS__);                                          \
        if (code_)                                                                                 \
            return done(code_);                                                                    \
    } while (0)

void *made(enum kind kind, size_t size);
void ended(void *object);
int alive(enum kind kind, const void *object);
void *each(enum kind kind, size_t *at); /* the next living object from index *at, or NULL */
void forget_everything(void);
Context *current(void);
void set_current(Context *context);
void set_started(int yes);
void in_callback(int yes);
uint64_t thread_number(void);

/* ---- memory.c */

Block *block_at(const void *address, size_t size, int real);
int was_allocated(const unsigned char *address);
int reaches(Context *context, const Block *block);
Block *add_block(enum memory memory, void *address, size_t size);
void drop_block(Block *block);
void *zeroed(size_t size);

/* ---- stream.c */

Stream *stream_of(uint64_t handle);
Stream *new_stream(Context *context, unsigned flags, int priority);
Operation *operation(enum operation what);
CUresult enqueue(Stream *stream, Operation *operation);
void run_until(Stream *stream, uint64_t number);
void run_all(Context *context);
int pending(Stream *stream);
CUresult unsafe_in_capture(void);

/* ---- launch.c, graph.c, module.c, context.c */

void run_launch(Context *context, Launch *launch);
void forget_launches(void);
CUresult captured(Stream *stream, Operation *operation);
CUresult capture_implicit(Context *context, Stream *stream);
void free_operation(Operation *operation);
int is_fake_code(const void *image);
void end_context(Context *context);
void end_graph(Graph *graph);
void drop_capture(Stream *stream);

#endif
