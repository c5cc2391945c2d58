/* The runtime's side of a shared inbox: a thread that copies, checks and posts messages of
   peers. */
#ifdef __linux__
#include <stdlib.h>
#include <string.h>

#include "outside.h"

#define REST 100000000ull  /* nanoseconds between two polls where no bell rings */
#define SHORT 1000000ull   /* the same while a peer holds the next slot */
#define LOGICAL_LIMIT (1ull << 32)

/* ---- dead letters of slots that hold no message */

static void bury_nothing(gl_gate *gate, uint64_t word, uint32_t reason)
{
    gl_letter letter = {.destination = gate->actor->id, .clock = {.physical = gl_now()},
                        .source = GL_TO_OUTSIDE | gate->number << 16 | gl_seat_of(word)};
    gl_bury(gate->actor->engine, gate->actor->id, &letter, "", reason);
    atomic_fetch_add_explicit(reason == GL_ABANDONED ? &gate->abandoned : &gate->garbled, 1,
                              memory_order_relaxed);
}

/* ---- messages */

/* The reason why a message is refused, or 0. It is the gate's own copy. */
static uint32_t judge(const gl_gate *gate, const gl_header *header)
{
    uint64_t token = header->reserved[0] | (uint64_t)header->reserved[1] << 32;
    if (header->magic != GL_MAGIC || header->version != GL_VERSION
        || header->reply_to > gate->area.sizes.seats || header->correlation > GL_CALLS
        || !header->reply_to != !header->correlation)
        return GL_GARBLED;
    if (token != gate->token)
        return GL_WRONG_TOKEN;
    if (header->type != gate->type)
        return GL_WRONG_TYPE;
    if (header->payload_bytes != gate->area.sizes.payload_bytes)
        return GL_GARBLED;
    return header->clock.logical > LOGICAL_LIMIT ? GL_DRIFTED : 0;
}

void gl_gate_refuse(gl_gate *gate, const gl_letter *letter, const void *payload, uint32_t reason)
{
    gl_bury(gate->actor->engine, gate->actor->id, letter, payload, reason);
    atomic_fetch_add_explicit(&gate->refused, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&gate->actor->control->dead, 1, memory_order_relaxed);
    if (letter->reply_to)
        gl_gate_answer(gate->actor->engine, letter->reply_to, letter->correlation, &letter->clock,
                       NULL, 0, reason);
}

/* Post, and wait for room. Meanwhile peers' messages wait in the ring, or find it full. */
static void deliver(gl_gate *gate, const gl_letter *letter, const void *payload)
{
    int result;
    for (uint32_t tries = 0;; tries++) {
        result = gl_post(gate->actor, letter, payload, 0);
        if (result != GL_IS_FULL || atomic_load_explicit(&gate->stop, memory_order_relaxed))
            break;
        gl_back_off(tries, 200, 20000, 1280000);
    }
    if (result == GL_POSTED)
        atomic_fetch_add_explicit(&gate->received, 1, memory_order_relaxed);
    else
        gl_gate_refuse(gate, letter, payload, result == GL_IS_FULL ? GL_STOPPED : (uint32_t)result);
}

/* Copy the message of a slot before any check, then free the slot. */
void gl_gate_copy(gl_gate *gate, const gl_header *slot, gl_letter *letter, uint32_t *reason)
{
    gl_header *header = (gl_header *)gate->copy;
    memcpy(gate->copy, (const uint8_t *)slot, sizeof *header + gate->area.sizes.payload_bytes);
    __asm__ volatile("" ::: "memory"); /* later code reads the copy */
    *reason = judge(gate, header);
    *letter = (gl_letter){.type = header->type, .destination = gate->actor->id,
                          .clock = header->clock, .deadline = header->deadline,
                          .payload_bytes = gate->area.sizes.payload_bytes};
    if (*reason == GL_GARBLED || !header->reply_to)
        return;
    uint64_t seat = header->reply_to - 1;
    letter->reply_to = GL_TO_OUTSIDE | gate->number << 16 | seat;
    letter->correlation = header->correlation;
    pthread_mutex_lock(&gate->actor->engine->gates_mutex);
    gate->calls[seat] = header->correlation;
    pthread_mutex_unlock(&gate->actor->engine->gates_mutex);
}

static void move_on(gl_gate *gate, int which)
{
    gl_ring *ring = &gate->area.ring[which];
    gate->stuck_since[which] = 0;
    atomic_store(&ring->inbox->head, ++gate->head[which]);
}

static void take(gl_gate *gate, int which, gl_header *slot)
{
    gl_ring *ring = &gate->area.ring[which];
    gl_letter letter;
    uint32_t reason;
    gl_gate_copy(gate, slot, &letter, &reason);
    letter.source = GL_TO_OUTSIDE | gate->number << 16 | gl_seat_of(atomic_load(&slot->sequence));
    atomic_store(&slot->sequence,
                 gl_word(GL_SLOT_FREE, 0, (gate->head[which] >> ring->shift) + 1));
    move_on(gate, which);
    gate->passed[which] = 0;
    const void *payload = gate->copy + sizeof(gl_header);
    if (reason)
        gl_gate_refuse(gate, &letter, payload, reason);
    else if (which == GL_DEAD_ONES)
        gl_gate_refuse(gate, &letter, payload, GL_FULL);
    else
        deliver(gate, &letter, payload);
}

/* ---- slots whose owners stopped */

/* Free the seats of dead peers, and the slots that they hold. */
static void free_seat(gl_gate *gate, uint32_t number, uint64_t owner)
{
    gl_seat *seat = &gate->area.seats[number];
    for (int which = 0; which < GL_RINGS; which++) {
        gl_ring *ring = &gate->area.ring[which];
        for (uint64_t n = 0; n <= ring->mask; n++) {
            gl_header *slot = gl_ring_slot(ring, n);
            uint64_t word = atomic_load(&slot->sequence), lap = gl_lap_of(word);
            uint32_t kind = gl_kind(word);
            if (gl_seat_of(word) != number || (kind != GL_CLAIMED && kind != GL_ABANDONED_SLOT))
                continue;
            if (atomic_compare_exchange_strong(&slot->sequence, &word,
                                               gl_word(GL_RETURNED, number, lap))
                && kind == GL_CLAIMED)
                bury_nothing(gate, word, GL_ABANDONED);
        }
    }
    atomic_store(&seat->reply, 0);
    atomic_compare_exchange_strong(&seat->owner, &owner, 0);
}

static void sweep(gl_gate *gate)
{
    for (uint32_t n = 0; n < gate->area.sizes.seats; n++) {
        uint64_t owner = atomic_load(&gate->area.seats[n].owner);
        if (owner && !gl_owner_lives(owner))
            free_seat(gate, n, owner);
    }
    gate->next_sweep = gl_elapsed() + REST;
}

static uint64_t owner_of(const gl_gate *gate, uint64_t word)
{
    uint32_t number = gl_seat_of(word);
    return number < gate->area.sizes.seats ? atomic_load(&gate->area.seats[number].owner) : 0;
}

/* The slot at the head is claimed: 1 if its owner died or held it for longer than the lease. */
static int pass_claimed(gl_gate *gate, int which, gl_header *slot, uint64_t word)
{
    uint64_t now = gl_elapsed();
    if (!gate->stuck_since[which]) {
        gate->stuck_since[which] = now;
        return 0;
    }
    if (now - gate->stuck_since[which] < SHORT)
        return 0;
    uint64_t owner = owner_of(gate, word);
    if (owner && !gl_owner_lives(owner)) {
        free_seat(gate, gl_seat_of(word), owner);
        return 1; /* it is released now */
    }
    if (owner && now - gate->stuck_since[which] < gate->lease)
        return 0;
    /* A slot without an owner is free at once. Its former owner may still write to it. */
    uint64_t kind = owner ? GL_ABANDONED_SLOT : GL_RETURNED, held = word;
    if (atomic_compare_exchange_strong(&slot->sequence, &held,
                                       gl_word(kind, gl_seat_of(word), gl_lap_of(word))))
        bury_nothing(gate, word, GL_ABANDONED);
    return 1;
}

/* No honest peer leaves a free slot at the head with the tail beyond it, nor changes the head. Skip
   the slot, because messages may follow, and repair the rest. Returns whether a slot was
   skipped. */
static int mend(gl_gate *gate, int which)
{
    gl_ring *ring = &gate->area.ring[which];
    uint64_t head = gate->head[which], tail = atomic_load(&ring->inbox->tail);
    uint64_t lap = head >> ring->shift, empty = gl_word(GL_SLOT_FREE, 0, lap);
    gl_header *slot = gl_ring_slot(ring, head);
    if (atomic_load(&ring->inbox->head) != head)
        atomic_store(&ring->inbox->head, head);
    if (tail == head || atomic_load(&slot->sequence) != empty)
        return 0;
    if (tail - head > ring->mask + 1) {
        atomic_compare_exchange_strong(&ring->inbox->tail, &tail, head);
        return 0;
    }
    if (!atomic_compare_exchange_strong(&slot->sequence, &empty,
                                        gl_word(GL_SLOT_FREE, 0, lap + 1)))
        return 0; /* a peer has claimed it meanwhile */
    move_on(gate, which);
    return 1;
}

/* Process the slot at the head; returns whether there was work. */
static int serve(gl_gate *gate, int which)
{
    gl_ring *ring = &gate->area.ring[which];
    gl_header *slot = gl_ring_slot(ring, gate->head[which]);
    uint64_t lap = gate->head[which] >> ring->shift & GL_LAPS;
    uint64_t word = atomic_load_explicit(&slot->sequence, memory_order_acquire);
    uint64_t next = gl_word(GL_SLOT_FREE, 0, lap + 1);
    uint32_t kind = gl_kind(word);
    if (word == gl_word(GL_SLOT_FREE, 0, lap))
        return 0;
    if (kind == GL_PUBLISHED && gl_lap_of(word) == lap) {
        take(gate, which, slot);
        return 1;
    }
    if (kind == GL_CLAIMED && gl_lap_of(word) == lap)
        return pass_claimed(gate, which, slot, word);
    if (kind == GL_ABANDONED_SLOT && owner_of(gate, word)) {
        if (gate->passed[which]++ > ring->mask) {
            gate->passed[which] = 0;
            return 0; /* peers hold all slots */
        }
        move_on(gate, which);
        return 1;
    }
    if (kind != GL_RETURNED && kind != GL_ABANDONED_SLOT)
        bury_nothing(gate, word, GL_GARBLED);
    if (atomic_compare_exchange_strong(&slot->sequence, &word, next))
        move_on(gate, which);
    return 1;
}

/* ---- the thread */

static int serve_all(gl_gate *gate)
{
    int found = serve(gate, GL_DEAD_ONES);
    for (int n = 0; n < 64 && serve(gate, GL_MESSAGES); n++)
        found = 1;
    return found;
}

static void rest(gl_gate *gate)
{
    gl_shared *shared = gate->area.shared;
    uint32_t seen = atomic_load(&shared->bell);
    atomic_store(&shared->asleep, 1);
    atomic_thread_fence(memory_order_seq_cst);
    for (int which = 0; which < GL_RINGS; which++)
        for (uint64_t n = 0; n <= gate->area.ring[which].mask && mend(gate, which); n++)
            ;
    if (!serve_all(gate) && !atomic_load(&gate->stop))
        gl_sleep_on(&shared->bell, seen,
                    gate->stuck_since[0] || gate->stuck_since[1] ? SHORT : REST);
    atomic_store(&shared->asleep, 0);
}

void *gl_gate_serve(void *argument)
{
    gl_gate *gate = argument;
    uint32_t idle = 0;
    while (!atomic_load(&gate->stop)) {
        if (gl_elapsed() >= gate->next_sweep)
            sweep(gate);
        if (serve_all(gate)) {
            idle = 0;
        } else if (++idle < gate->spins) {
            gl_pause();
        } else {
            rest(gate);
            idle = 0;
        }
    }
    return NULL;
}
#else
typedef int gl_no_gates;
#endif
