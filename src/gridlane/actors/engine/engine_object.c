/* The engine as a Python type: its lifetime, its actors, routes and topics. Python checks arguments
   first; those that could crash are checked here too. */
#include <stdlib.h>
#include <string.h>

#include "objects.h"

void raise_forked(void)
{
    PyObject *errors = PyImport_ImportModule("gridlane.actors.errors");
    PyObject *error = errors ? PyObject_GetAttrString(errors, "ActorError") : NULL;
    if (error)
        PyErr_SetString(error, "the runtime is another process's, from before a fork: make one in "
                               "this process");
    Py_XDECREF(error);
    Py_XDECREF(errors);
}

static void engine_free(gl_engine *engine)
{
    gl_dead *dead = engine->dead_first;
    while (dead) {
        gl_dead *next = dead->next;
        free(dead);
        dead = next;
    }
    gl_routes_free(atomic_load(&engine->routes));
    gl_topics_free(atomic_load(&engine->topics));
    if (engine->waiters)
        for (uint32_t n = 0; n < GL_WAITERS; n++)
            free(engine->waiters[n].payload);
    free(engine->waiters);
    free(engine->completed);
    free(engine->host_ready);
    free(engine->run);
    free(engine->threads);
    free(engine->inside);
    free(engine->wires);
    for (uint32_t n = 0; n < engine->ring_count; n++)
        free(engine->rings[n]);
    free(engine->rings);
    free(engine);
}

/* Engine(workers, spins, node, drift, dead_limit, stop_thread) */
static PyObject *Engine_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    unsigned int workers, spins;
    unsigned long long node, drift, limit, stop;
    (void)keywords;
    if (!PyArg_ParseTuple(args, "IIKKKK", &workers, &spins, &node, &drift, &limit, &stop))
        return NULL;
    EngineObject *self = (EngineObject *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    self->actors = PySet_New(NULL);
    gl_engine *engine = NULL;
    if (!self->actors || posix_memalign((void **)&engine, 64, sizeof *engine))
        goto poor;
    memset(engine, 0, sizeof *engine);
    engine->run = calloc(GL_RUN_QUEUE, sizeof *engine->run);
    engine->host_ready = calloc(GL_RUN_QUEUE, sizeof *engine->host_ready);
    engine->waiters = calloc(GL_WAITERS, sizeof *engine->waiters);
    engine->completed = calloc(GL_COMPLETED, sizeof *engine->completed);
    pthread_mutex_init(&engine->mutex, NULL);
    pthread_mutex_init(&engine->answer_mutex, NULL);
    pthread_mutex_init(&engine->dead_mutex, NULL);
    pthread_mutex_init(&engine->clock_mutex, NULL);
    pthread_mutex_init(&engine->wire_mutex, NULL);
    pthread_mutex_init(&engine->gates_mutex, NULL);
    gl_cond_init(&engine->work);
    gl_cond_init(&engine->host);
    gl_cond_init(&engine->events);
    gl_cond_init(&engine->answered);
    gl_cond_init(&engine->answers);
    gl_cond_init(&engine->taken);
    self->engine = engine;
    if (!engine->run || !engine->host_ready || !engine->waiters || !engine->completed)
        goto poor;
    for (uint32_t n = 0; n < GL_WAITERS; n++)
        engine->waiters[n].next = n + 1 < GL_WAITERS ? n + 1 : UINT32_MAX;
    engine->node = engine->clock.node = node;
    engine->drift = drift;
    engine->dead_limit = limit;
    engine->worker_spins = spins;
    engine->stop_thread = (void (*)(pthread_t, int))(uintptr_t)stop;
    if (gl_engine_start(engine, workers))
        goto poor;
    return (PyObject *)self;
poor:
    if (self->engine) {
        gl_engine_stop(self->engine);
        engine_free(self->engine);
        self->engine = NULL;
    }
    Py_DECREF(self);
    return PyErr_NoMemory();
}

/* close(): end the workers. Actors stay readable until they are dropped. */
void Engine_close(EngineObject *self)
{
    if (self->engine && !atomic_load(&self->engine->stop)) {
        Py_BEGIN_ALLOW_THREADS
        gl_engine_stop(self->engine);
        Py_END_ALLOW_THREADS
        gl_routes_free(atomic_exchange(&self->engine->routes, NULL));
        gl_topics_free(atomic_exchange(&self->engine->topics, NULL));
    }
    PySet_Clear(self->actors);
}

/* abandon(): after a fork there are no workers, and locks may be held for ever: leave everything as
   it is. */
void Engine_abandon(EngineObject *self)
{
    self->engine = NULL;
}

static void Engine_dealloc(EngineObject *self)
{
    if (self->engine) {
        if (!atomic_load(&self->engine->stop))
            gl_engine_stop(self->engine);
        engine_free(self->engine);
    }
    Py_XDECREF(self->actors);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* actor(id, type, tier, capacity, outbox, reply_tier, batch, outputs, output_bytes, full, by_host) */
PyObject *Engine_actor(EngineObject *self, uint64_t id, uint64_t type, uint32_t tier,
                       uint32_t capacity, uint32_t outbox, uint32_t reply_tier, uint32_t batch,
                       uint32_t outputs, uint32_t output_bytes, int full, int by_host)
{
    if (!capacity || capacity & (capacity - 1) || !outbox || outbox & (outbox - 1)
        || tier % 64 || reply_tier % 64 || output_bytes % 32 || !batch) {
        PyErr_SetString(PyExc_ValueError, "capacities are powers of two, tiers multiples of 64");
        return NULL;
    }
    if (PySet_GET_SIZE(self->actors) >= GL_RUN_QUEUE) {
        PyErr_Format(PyExc_RuntimeError, "a runtime has %u actors at most", GL_RUN_QUEUE);
        return NULL;
    }
    ActorObject *made = PyObject_New(ActorObject, &ActorType);
    if (!made)
        return NULL;
    made->owner = NULL;
    made->keep = NULL;
    gl_actor *a = made->actor = calloc(1, sizeof *a);
    if (!a) {
        Py_DECREF(made);
        return PyErr_NoMemory();
    }
    pthread_mutex_init(&a->mutex, NULL);
    void *control = NULL, *info = NULL, *latencies = NULL;
    if (posix_memalign(&control, 128, sizeof(gl_control))
        || posix_memalign(&latencies, 64, sizeof(gl_latencies))
        || posix_memalign(&info, 64, GL_INFO_WORDS * 4)
        || gl_queue_init(&a->inbox, capacity, (uint32_t)sizeof(gl_header) + tier)
        || gl_queue_init(&a->outbox, outbox, (uint32_t)sizeof(gl_header) + reply_tier)
        || gl_outputs_init(a, outputs, output_bytes)) {
        free(control);
        free(latencies);
        free(info);
        Py_DECREF(made);
        return PyErr_NoMemory();
    }
    a->control = memset(control, 0, sizeof(gl_control));
    a->latencies = memset(latencies, 0, sizeof(gl_latencies));
    a->info = memset(info, 0, GL_INFO_WORDS * 4);
    a->engine = self->engine;
    a->id = a->control->actor = id;
    a->type = type;
    a->tier = tier;
    a->batch = batch;
    a->full = full;
    a->by_host = (uint32_t)by_host;
    a->clock.node = id;
    made->owner = (EngineObject *)Py_NewRef(self);
    if (PySet_Add(self->actors, (PyObject *)made)) {
        Py_DECREF(made);
        return NULL;
    }
    return (PyObject *)made;
}

gl_actor *actor_of(EngineObject *self, PyObject *object)
{
    if (closed(self))
        return NULL;
    if (!Py_IS_TYPE(object, &ActorType) || ((ActorObject *)object)->owner != self) {
        PyErr_SetString(PyExc_TypeError, "an actor of this engine is required");
        return NULL;
    }
    return ((ActorObject *)object)->actor;
}

/* quiet(timeout): whether every worker has left its present step, and no thread of Python is in
   one */
int Engine_quiet(EngineObject *self, double timeout)
{
    int left = 0;
    gl_engine *engine = self->engine;
    Py_BEGIN_ALLOW_THREADS
    uint64_t until = until_of(timeout);
    uint64_t *seen = malloc((engine->workers + 1) * sizeof *seen);
    if (seen) {
        atomic_thread_fence(memory_order_seq_cst);
        for (uint32_t n = 0; n < engine->workers; n++)
            seen[n] = atomic_load(&engine->inside[n * 8]);
        for (int visited = 1;;) {
            visited = visited && atomic_load(&engine->visitors);
            left = !visited;
            for (uint32_t n = 0; n < engine->workers; n++)
                if (seen[n] & 1 && atomic_load(&engine->inside[n * 8]) == seen[n])
                    left = 0;
            if (left || gl_elapsed() >= until)
                break;
            gl_nap(50000);
        }
        free(seen);
    }
    pthread_mutex_lock(&engine->wire_mutex); /* the thread of kernels holds it during a poll */
    pthread_mutex_unlock(&engine->wire_mutex);
    Py_END_ALLOW_THREADS
    return left;
}

/* unblock(actor): schedule the senders that wait for room in its inbox */
PyObject *Engine_unblock(EngineObject *self, PyObject *object)
{
    gl_actor *actor = actor_of(self, object);
    if (!actor)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    atomic_fetch_add(&actor->engine->visitors, 1);
    gl_unblock(actor);
    atomic_fetch_sub(&actor->engine->visitors, 1);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

/* forget(actor): free its memory. Required: no route leads to it, nothing runs or posts, it was in
   no list, and quiet() was true after that. False where it is still in a list. */
PyObject *Engine_forget(EngineObject *self, PyObject *object)
{
    gl_actor *actor = actor_of(self, object);
    if (!actor)
        return NULL;
    if (actor_is_listed(actor))
        Py_RETURN_FALSE;
    if (PySet_Discard(self->actors, object) < 0)
        return NULL;
    Py_RETURN_TRUE;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = (*(gl_actor *const *)a)->id, y = (*(gl_actor *const *)b)->id;
    return x < y ? -1 : x > y;
}

static int by_key(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* set_route(key, actor): route a name or number to an actor, or to none */
PyObject *Engine_set_route(EngineObject *self, uint64_t key, PyObject *to)
{
    gl_actor *actor = NULL;
    if (to != Py_None && !(actor = actor_of(self, to)))
        return NULL;
    if (!key || gl_set_route(self->engine, key, actor))
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* set_topics([(key, [actors])]): replace the topics */
PyObject *Engine_set_topics(EngineObject *self, PyObject *list)
{
    if (!PyList_Check(list))
        return NULL;
    gl_topics *topics = calloc(1, sizeof *topics);
    Py_ssize_t groups = PyList_GET_SIZE(list);
    if (!topics)
        return PyErr_NoMemory();
    topics->topic = calloc((size_t)groups + 1, sizeof *topics->topic);
    if (!topics->topic)
        goto poor;
    for (Py_ssize_t n = 0; n < groups; n++) {
        unsigned long long key;
        PyObject *there;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(list, n), "KO!", &key, &PyList_Type, &there))
            goto wrong;
        gl_topic *topic = &topics->topic[topics->count++];
        Py_ssize_t size = PyList_GET_SIZE(there);
        topic->key = key;
        topic->subscribers = calloc((size_t)size + 1, sizeof *topic->subscribers);
        if (!topic->subscribers)
            goto poor;
        for (Py_ssize_t m = 0; m < size; m++) {
            gl_actor *actor = actor_of(self, PyList_GET_ITEM(there, m));
            if (!actor)
                goto wrong;
            topic->subscribers[topic->count++] = actor;
        }
        qsort(topic->subscribers, topic->count, sizeof *topic->subscribers, by_number);
    }
    qsort(topics->topic, topics->count, sizeof *topics->topic, by_key);
    topics->older = atomic_load(&self->engine->topics);
    atomic_store(&self->engine->topics, topics);
    Py_RETURN_NONE;
poor:
    PyErr_NoMemory();
wrong:
    gl_topics_free(topics);
    return NULL;
}

/* free_routes(): free the older tables; after quiet() no thread reads them */
void Engine_free_routes(EngineObject *self)
{
    gl_routes *routes = atomic_load(&self->engine->routes);
    gl_topics *topics = atomic_load(&self->engine->topics);
    if (routes) {
        gl_routes_free(routes->older);
        routes->older = NULL;
    }
    if (topics) {
        gl_topics_free(topics->older);
        topics->older = NULL;
    }
}

METHODS_OF(Engine, ENGINE_METHODS)

TYPE_OF(Engine, .tp_new = Engine_new, .tp_methods = Engine_methods)
