/* A peer's side of a shared inbox, as a Python type. */
#include "objects.h"

#ifdef __linux__
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "outside.h"

typedef struct {
    PyObject_HEAD
    gl_peer peer;
    int is_open;
} PeerObject;

/* Peer(file, host, capacity, seats, payload_bytes, reply_bytes, type, token, node, first_call):
   `host` is a descriptor of the host's process, which the peer owns from now on */
static PyObject *Peer_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    int file, host;
    gl_sizes sizes;
    unsigned long long kind, token, node, first;
    (void)keywords;
    if (!PyArg_ParseTuple(args, "iiIIIIKKKK", &file, &host, &sizes.capacity, &sizes.seats,
                          &sizes.payload_bytes, &sizes.reply_bytes, &kind, &token, &node, &first))
        return NULL;
    PeerObject *self = (PeerObject *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    pthread_mutex_init(&self->peer.mutex, NULL);
    self->peer.host = -1;
    if (gl_area_map(&self->peer.area, file, &sizes)) {
        PyErr_SetFromErrno(PyExc_OSError);
        Py_DECREF(self);
        return NULL;
    }
    self->peer.host = host;
    self->peer.process = getpid();
    self->peer.token = token;
    self->peer.type = kind;
    self->peer.clock.node = node;
    atomic_store(&self->peer.next_call, first & GL_CALLS);
    self->is_open = 1;
    return (PyObject *)self;
}

static int usable(PeerObject *self, unsigned int seat)
{
    if (!self->is_open || self->peer.process != getpid()) {
        PyErr_SetString(PyExc_RuntimeError, "the connection is closed, or another process's");
        return 0;
    }
    if (seat >= self->peer.area.sizes.seats) {
        PyErr_SetString(PyExc_ValueError, "no such seat");
        return 0;
    }
    return 1;
}

static PyObject *Peer_sit(PeerObject *self)
{
    return usable(self, 0) ? PyLong_FromLong(gl_peer_sit(&self->peer)) : NULL;
}

static PyObject *Peer_leave(PeerObject *self, PyObject *seat)
{
    unsigned long number = PyLong_AsUnsignedLong(seat);
    if (PyErr_Occurred() || !usable(self, (unsigned int)number))
        return NULL;
    gl_peer_leave(&self->peer, (uint32_t)number);
    Py_RETURN_NONE;
}

static int Peer_lives(PeerObject *self)
{
    return self->is_open && gl_peer_host_lives(&self->peer);
}

/* Whether a post or a call continues after a slice: Python's signal handlers run in between. */
static int goes_on(uint64_t until)
{
    return PyErr_CheckSignals() ? -1 : gl_elapsed() < until;
}

/* Post, and wait for room until a time. Without the GIL. */
static int post_until(gl_peer *peer, uint32_t seat, int ring, const gl_letter *letter,
                      const void *payload, uint64_t call, uint64_t until)
{
    for (uint32_t tries = 0;; tries++) {
        int result = gl_peer_post(peer, seat, ring, letter, payload, call);
        if (result != GL_IS_FULL || gl_elapsed() >= until)
            return result;
        gl_back_off(tries, 50, 1000, 256000);
    }
}

static int payload_of(PeerObject *self, const Py_buffer *payload, Py_ssize_t count)
{
    if (payload->len == count * (Py_ssize_t)self->peer.area.sizes.payload_bytes)
        return 1;
    PyErr_SetString(PyExc_ValueError, "the payload has not the size of the inbox's class");
    return 0;
}

static gl_letter letter_of(PeerObject *self, uint64_t deadline, uint64_t events)
{
    return (gl_letter){.type = self->peer.type, .deadline = deadline,
                       .payload_bytes = self->peer.area.sizes.payload_bytes,
                       .clock = gl_peer_tick(&self->peer, events)};
}

/* post(seat, payloads, timeout, deadline, dead): (number of posted payloads, result of the last) */
static PyObject *Peer_post(PeerObject *self, uint32_t seat, const Py_buffer *payloads,
                           double timeout, uint64_t deadline, int dead)
{
    int result = GL_POSTED, failed = 0;
    Py_ssize_t size = (Py_ssize_t)self->peer.area.sizes.payload_bytes, done = 0;
    if (!usable(self, seat) || !payload_of(self, payloads, size ? payloads->len / size : 0))
        return NULL;
    uint64_t until = until_of(timeout);
    Py_ssize_t total = payloads->len / size;
    gl_letter letter = letter_of(self, deadline, (uint64_t)total + !total);
    while (done < total) {
        uint64_t slice = slice_of(until);
        Py_BEGIN_ALLOW_THREADS
        do {
            result = post_until(&self->peer, seat, dead ? GL_DEAD_ONES : GL_MESSAGES, &letter,
                                (char *)payloads->buf + done * size, 0, slice);
            if (result != GL_POSTED)
                break;
            letter.clock.logical++;
        } while (++done < total && (done & 1023));
        Py_END_ALLOW_THREADS
        failed = goes_on(until);
        if (failed < 0 || (result && (result != GL_IS_FULL || !failed)))
            break;
    }
    if (failed < 0)
        return NULL;
    return Py_BuildValue("ni", done, result);
}

/* The answer in a seat: its bytes, or the reason of its refusal. */
static PyObject *answer_in(PeerObject *self, uint32_t number)
{
    gl_area *area = &self->peer.area;
    gl_seat *seat = &area->seats[number];
    uint32_t bytes = seat->bytes, reason = seat->reason;
    gl_clock clock = seat->clock;
    if (bytes > area->sizes.reply_bytes || reason >= GL_REASONS)
        return PyLong_FromLong(GL_GARBLED);
    pthread_mutex_lock(&self->peer.mutex);
    gl_clock_merge(&self->peer.clock, &clock, gl_now(), 60000000000u);
    pthread_mutex_unlock(&self->peer.mutex);
    if (reason)
        return PyLong_FromUnsignedLong(reason);
    return PyBytes_FromStringAndSize(
        (char *)area->replies + (size_t)number * area->reply_step, (Py_ssize_t)bytes);
}

/* call(seat, payload, spin, timeout): the payload of the answer, a reason, GL_IS_FULL or
   GL_HOST_GONE, or None at a timeout */
static PyObject *Peer_call(PeerObject *self, uint32_t seat, const Py_buffer *payload, uint64_t spin,
                           double timeout)
{
    int posted, done = 0, failed = 0;
    if (!usable(self, seat) || !payload_of(self, payload, 1))
        return NULL;
    gl_peer *peer = &self->peer;
    uint64_t until = until_of(timeout), call = gl_peer_begin_call(peer, seat);
    gl_letter letter = letter_of(self, 0, 1);
    do {
        uint64_t slice = slice_of(until);
        Py_BEGIN_ALLOW_THREADS
        posted = post_until(peer, seat, GL_MESSAGES, &letter, payload->buf, call, slice);
        Py_END_ALLOW_THREADS
    } while (posted == GL_IS_FULL && (failed = goes_on(until)) == 1);
    while (posted == GL_POSTED && !done && failed >= 0) {
        uint64_t slice = slice_of(until);
        Py_BEGIN_ALLOW_THREADS
        done = gl_peer_wait(peer, seat, call, spin, slice);
        Py_END_ALLOW_THREADS
        if (done || (failed = goes_on(until)) != 1)
            break;
        if (!gl_peer_host_lives(peer) && !(done = gl_peer_answered(peer, seat, call)))
            posted = GL_HOST_GONE;
    }
    PyObject *result = NULL;
    if (done)
        result = answer_in(self, seat);
    else if (failed >= 0)
        result = posted ? PyLong_FromLong(posted) : Py_NewRef(Py_None);
    atomic_store(&peer->area.seats[seat].reply, 0); /* a later answer has no caller */
    return result;
}

static void Peer_close(PeerObject *self)
{
    self->is_open = 0; /* the mapping stays until no thread is in a method */
}

static void Peer_dealloc(PeerObject *self)
{
    gl_area_unmap(&self->peer.area);
    if (self->peer.host >= 0)
        close(self->peer.host);
    pthread_mutex_destroy(&self->peer.mutex);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

METHODS_OF(Peer, PEER_METHODS)

TYPE_OF(Peer, .tp_new = Peer_new, .tp_methods = Peer_methods)
#endif
