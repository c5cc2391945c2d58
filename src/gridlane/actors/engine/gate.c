/* The lifetime of a shared inbox in its runtime, and the answers to its callers. */
#ifdef __linux__
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "outside.h"

/* After the thread's end: published messages become dead letters. Peers that come later find the
   gate closed. */
static void drain(gl_gate *gate)
{
    for (int which = 0; which < GL_RINGS; which++) {
        gl_ring *ring = &gate->area.ring[which];
        for (uint64_t n = 0; n <= ring->mask; n++) {
            gl_header *slot = gl_ring_slot(ring, gate->head[which] + n);
            uint64_t word = atomic_load(&slot->sequence);
            gl_letter letter;
            uint32_t reason;
            if (gl_kind(word) != GL_PUBLISHED)
                continue;
            gl_gate_copy(gate, slot, &letter, &reason);
            if (atomic_compare_exchange_strong(&slot->sequence, &word, gl_word(GL_RETURNED, 0, 0)))
                gl_gate_refuse(gate, &letter, gate->copy + sizeof(gl_header), reason ? reason : GL_STOPPED);
        }
    }
}

int gl_gate_open(gl_gate *gate, int file, const gl_sizes *sizes, const gl_shared *facts)
{
    gl_engine *engine = gate->actor->engine;
    if (gl_area_map(&gate->area, file, sizes))
        return -1;
    for (int which = 0; which < GL_RINGS; which++) {
        gl_ring *ring = &gate->area.ring[which];
        ring->inbox->capacity = (uint32_t)ring->mask + 1;
        ring->inbox->slot_bytes = ring->slot_bytes;
        ring->inbox->token = gate->token;
        ring->inbox->version = GL_VERSION;
    }
    memcpy(gate->area.shared, facts, sizeof *facts);
    gate->calls = calloc(sizes->seats, sizeof *gate->calls);
    gate->copy = calloc(1, gate->area.ring[0].slot_bytes);
    if (!gate->calls || !gate->copy) {
        errno = ENOMEM;
        return -1;
    }
    pthread_mutex_lock(&engine->gates_mutex);
    gate->number = engine->next_gate++;
    gate->next = engine->gates;
    engine->gates = gate;
    pthread_mutex_unlock(&engine->gates_mutex);
    errno = gl_start_thread(&gate->thread, gl_gate_serve, gate);
    if (!errno)
        return 0;
    atomic_store(&gate->stop, 2); /* no thread is waited for */
    return -1;
}

void gl_gate_close(gl_gate *gate)
{
    gl_engine *engine = gate->actor->engine;
    gl_shared *shared = gate->area.shared;
    uint32_t was = atomic_exchange(&gate->stop, 1);
    if (was == 1)
        return;
    atomic_store(&shared->closed, 1);
    atomic_store(&shared->asleep, 1);
    gl_ring_bell(&shared->bell, &shared->asleep);
    if (!was)
        pthread_join(gate->thread, NULL);
    drain(gate);
    pthread_mutex_lock(&engine->gates_mutex);
    for (gl_gate **at = &engine->gates; *at; at = &(*at)->next)
        if (*at == gate) {
            *at = gate->next;
            break;
        }
    pthread_mutex_unlock(&engine->gates_mutex);
    for (uint32_t n = 0; n < gate->area.sizes.seats; n++) {
        gl_seat *seat = &gate->area.seats[n];
        gl_ring_bell(&seat->bell, &seat->asleep);
    }
}

void gl_gate_free(gl_gate *gate)
{
    gl_area_unmap(&gate->area);
    free(gate->calls);
    free(gate->copy);
}

/* ---- answers */

static int write_answer(gl_gate *gate, uint64_t seat, uint64_t call, const gl_clock *clock,
                        const void *payload, uint32_t bytes, uint32_t reason)
{
    gl_seat *at = &gate->area.seats[seat];
    uint64_t waiting = gl_reply_word(GL_CALLING, call);
    if (bytes > gate->area.sizes.reply_bytes) {
        reason = GL_TOO_LARGE;
        bytes = 0;
    }
    if (bytes)
        memcpy(gate->area.replies + seat * gate->area.reply_step, payload, bytes);
    at->bytes = bytes;
    at->reason = reason;
    at->clock = *clock;
    if (!atomic_compare_exchange_strong(&at->reply, &waiting, gl_reply_word(GL_REPLIED, call)))
        return GL_LATE;
    gl_ring_bell(&at->bell, &at->asleep);
    return 0;
}

int gl_gate_answer(gl_engine *engine, uint64_t reply_to, uint64_t call, const gl_clock *clock,
                   const void *payload, uint32_t bytes, uint32_t reason)
{
    uint64_t number = (reply_to & ~GL_TO_OUTSIDE) >> 16, seat = reply_to & 0xFFFF;
    int result = GL_LATE;
    pthread_mutex_lock(&engine->gates_mutex);
    for (gl_gate *gate = engine->gates; gate; gate = gate->next) {
        if (gate->number != number)
            continue;
        /* Only the answer to the present call of the seat may be written there. */
        if (seat < gate->area.sizes.seats && gate->calls[seat] == call) {
            gate->calls[seat] = 0;
            result = write_answer(gate, seat, call, clock, payload, bytes, reason);
        }
        break;
    }
    pthread_mutex_unlock(&engine->gates_mutex);
    return result;
}
#else
#include "engine.h"

int gl_gate_answer(gl_engine *engine, uint64_t reply_to, uint64_t call, const gl_clock *clock,
                   const void *payload, uint32_t bytes, uint32_t reason)
{
    (void)engine, (void)reply_to, (void)call, (void)clock;
    (void)payload, (void)bytes, (void)reason;
    return GL_LATE;
}
#endif
