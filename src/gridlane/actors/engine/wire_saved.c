/* Read resident kernels' messages for a checkpoint, and restore new ones from it.

   While an actor is dammed, nothing that its kernel sends is delivered. `keep` takes it out of the
   kernel's ring. The ring then has room, so a kernel that waits for room reaches its next order.
   Kept messages are delivered before later ones. */
#include <stdlib.h>
#include <string.h>

#include "objects.h"
#include "wire.h"

/* The end of the list of kept messages; the thread of resident kernels is locked out. */
static int append(gl_wire *wire, const void *letter, size_t bytes)
{
    gl_kept *kept = malloc(sizeof *kept + bytes), **last = &wire->kept;
    if (!kept)
        return -1;
    kept->next = NULL;
    kept->bytes = (uint32_t)bytes;
    memcpy(kept->letter, letter, bytes);
    while (*last)
        last = &(*last)->next;
    *last = kept;
    atomic_fetch_add(&wire->kept_count, 1);
    return 0;
}

void gl_wire_forget(gl_wire *wire)
{
    while (wire->kept) {
        gl_kept *next = wire->kept->next;
        free(wire->kept);
        wire->kept = next;
    }
}

/* dam(by): by 1, deliver nothing that the kernel sends, until -1 */
void Actor_dam(ActorObject *self, int by)
{
    Py_BEGIN_ALLOW_THREADS
    pthread_mutex_lock(&self->actor->engine->wire_mutex);
    self->actor->wire->dams += (uint32_t)by;
    pthread_mutex_unlock(&self->actor->engine->wire_mutex);
    Py_END_ALLOW_THREADS
}

/* A message that the kernel has not handled is a dead letter, which needs no room. */
static void bury(gl_actor *actor, const gl_wire_header *header)
{
    gl_letter letter;
    gl_wire_letter(&letter, header);
    letter.destination = actor->id;
    gl_wire_refuse(actor, &letter, actor->wire->letter + sizeof *header, header->flags >> GL_REASON_SHIFT);
}

/* keep(): take what the kernel has sent out of its ring; returns the number of kept messages */
PyObject *Actor_keep(ActorObject *self)
{
    gl_wire *wire = self->actor->wire;
    int poor = 0;
    Py_BEGIN_ALLOW_THREADS
    pthread_mutex_lock(&self->actor->engine->wire_mutex);
    while (!poor && gl_wire_read(wire)) {
        gl_wire_header header;
        memcpy(&header, wire->letter, sizeof header);
        if ((gl_kind_of(&header)) == GL_UNHANDLED)
            bury(self->actor, &header);
        else
            poor = append(wire, wire->letter, sizeof header + header.bytes);
        if (!poor)
            atomic_store_explicit(&wire->orders->out_head, ++wire->out_head, memory_order_release);
    }
    pthread_mutex_unlock(&self->actor->engine->wire_mutex);
    Py_END_ALLOW_THREADS
    return poor ? PyErr_NoMemory() : PyLong_FromUnsignedLong(atomic_load(&wire->kept_count));
}

/* A message in the host's form: its full header, and its payload. */
static PyObject *message_of(const gl_actor *actor, const uint8_t *letter)
{
    gl_wire_header from;
    memcpy(&from, letter, sizeof from);
    PyObject *made = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(sizeof(gl_header) + from.bytes));
    if (!made)
        return NULL;
    gl_header header = {.magic = GL_MAGIC, .version = GL_VERSION, .flags = from.flags & 0xFFu,
                        .type = from.type, .source = from.source, .destination = actor->id,
                        .correlation = from.correlation, .reply_to = from.reply_to,
                        .payload_bytes = from.bytes, .tier = actor->tier, .clock = from.clock,
                        .deadline = from.deadline, .topic = from.topic, .hops = from.hops,
                        .attempt = from.attempt, .trace = from.trace, .span = from.span};
    memcpy(PyBytes_AS_STRING(made), &header, sizeof header);
    memcpy(PyBytes_AS_STRING(made) + sizeof header, letter + sizeof from, from.bytes);
    return made;
}

/* Append an item, which may be NULL with an exception, to a list, and drop its reference. */
static int add(PyObject *list, PyObject *item)
{
    int failed = !item || PyList_Append(list, item);
    Py_XDECREF(item);
    return failed;
}

/* kept(): (kind, message) of each kept message. Its source field names the receiver: the key of a
   name or topic, or the number of the caller. It is dammed. */
PyObject *Actor_kept(ActorObject *self)
{
    PyObject *list = PyList_New(0);
    for (gl_kept *each = self->actor->wire->kept; list && each; each = each->next) {
        gl_wire_header header;
        memcpy(&header, each->letter, sizeof header);
        PyObject *message = message_of(self->actor, each->letter);
        if (add(list, message ? Py_BuildValue("iN", gl_kind_of(&header), message) : NULL))
            Py_CLEAR(list);
    }
    return list;
}

/* ring(slots, head): the messages of a ring of this actor's, from a ticket on */
PyObject *Actor_ring(ActorObject *self, const Py_buffer *slots, uint64_t head)
{
    const gl_wire *wire = self->actor->wire;
    PyObject *list = PyList_New(0);
    uint64_t count = 1ull << wire->shift;
    uint8_t flat[GL_FLAT];
    if (list && (uint64_t)slots->len < count * wire->slot_bytes) {
        PyErr_SetString(PyExc_ValueError, "the ring is another actor's");
        Py_CLEAR(list);
    }
    for (uint64_t n = 0; list && n < count; n++, head++) {
        const gl_chunk *slot = gl_place_of(slots->buf, head, wire->shift, wire->slot_bytes);
        if (!gl_peek(slot, flat, wire->chunks, gl_sequence_of(head, wire->shift)))
            break;
        if (add(list, message_of(self->actor, flat)))
            Py_CLEAR(list);
    }
    return list;
}

/* The header and payload of a message, whose caller exists in no process any more; -1 with an
   exception. */
static int read_message(PyObject *item, size_t most, gl_letter *letter, const uint8_t **payload)
{
    gl_header header;
    size_t bytes = (size_t)PyBytes_GET_SIZE(item);
    if (bytes >= sizeof header)
        memcpy(&header, PyBytes_AS_STRING(item), sizeof header);
    if (bytes < sizeof header || header.magic != GL_MAGIC || header.version != GL_VERSION
        || sizeof header + header.payload_bytes != bytes || header.payload_bytes > most) {
        PyErr_SetString(PyExc_ValueError, "a message does not fit the actor");
        return -1;
    }
    gl_forget_caller(&header);
    gl_letter_of(letter, &header);
    *payload = (uint8_t *)PyBytes_AS_STRING(item) + sizeof header;
    return 0;
}

/* put(message): put a message into the inbox of a new actor */
PyObject *Actor_put(ActorObject *self, PyObject *item)
{
    gl_actor *a = self->actor;
    gl_letter letter;
    const uint8_t *payload;
    if (!PyBytes_Check(item)
        || read_message(item, a->wire->chunks * GL_PIECE - sizeof(gl_wire_header), &letter, &payload)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "a message is bytes");
        return NULL;
    }
    if (letter.type != a->type || gl_wire_put(a, &letter, payload, NULL) != GL_POSTED) {
        PyErr_SetString(PyExc_ValueError, "the number of messages does not fit the actor");
        return NULL;
    }
    Py_RETURN_NONE;
}

/* Bytes of the largest message that the kernel sends. */
static size_t most_of(const gl_wire *wire)
{
    size_t room = wire->letter_bytes - sizeof(gl_wire_header);
    return room < 16384 ? room : 16384;
}

/* put_kept(kind, message): restore a message that a new actor has sent, as of kept(). It is
   dammed. */
PyObject *Actor_put_kept(ActorObject *self, uint32_t kind, PyObject *message)
{
    gl_actor *a = self->actor;
    gl_letter letter;
    const uint8_t *payload;
    uint8_t flat[sizeof(gl_wire_header) + 16384];
    if (read_message(message, most_of(a->wire), &letter, &payload))
        return NULL;
    if (kind < GL_REPLY || kind > GL_PUBLISH) {
        PyErr_SetString(PyExc_ValueError, "an output does not fit the actor");
        return NULL;
    }
    gl_wire_header header = {
        .type = letter.type, .source = letter.source, .correlation = letter.correlation,
        .reply_to = letter.reply_to, .clock = letter.clock, .trace = letter.trace,
        .span = letter.span, .bytes = (uint16_t)letter.payload_bytes,
        .flags = (uint16_t)(letter.flags | kind << GL_KIND_SHIFT), .hops = (uint16_t)letter.hops};
    memcpy(flat, &header, sizeof header);
    memcpy(flat + sizeof header, payload, letter.payload_bytes);
    pthread_mutex_lock(&a->engine->wire_mutex);
    int poor = append(a->wire, flat, sizeof header + letter.payload_bytes);
    pthread_mutex_unlock(&a->engine->wire_mutex);
    if (poor)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* posted: how many messages the host has posted */
uint64_t Actor_posted(const ActorObject *self)
{
    return atomic_load(&self->actor->wire->tail);
}
