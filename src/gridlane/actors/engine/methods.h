/* The methods and attributes of the engine's types, one row each, and what lies between Python and
   their functions in C: prototypes, the parsing of arguments, the tables of the types. The rows are
   read by scripts/engine_stub.py too, which writes _engine.pyi.

   A row is METHOD(type, state, result, name, parameters). Its function in C is `type_name`; it
   takes the object and the parameters, and returns what `result` says.

   state       `open`: it is not called after a fork or an end; `any`: it may be
   result      `none`: void; `flag`: a truth, as an int; `u64`: a number; `object(type of Python)`:
               a new reference, or NULL with an exception
   parameter   `kind(name)`; for `object`, `list` and `payload` with the type of Python: `kind(name,
               type)`; a buffer is released after the call */
#ifndef GRIDLANE_ACTORS_METHODS_H
#define GRIDLANE_ACTORS_METHODS_H

#define ACTOR_METHODS(METHOD, METHOD_O)                                                            \
    METHOD(Actor, any, object(None), bind, u64(launch), u64(plan), bytes(params))                  \
    METHOD(Actor, open, none, schedule)                                                            \
    METHOD(Actor, open, u64, begin)                                                                \
    METHOD(Actor, open, none, end, i32(code))                                                      \
    METHOD(Actor, open, flag, hold, f64(timeout))                                                  \
    METHOD(Actor, open, none, release)                                                             \
    METHOD(Actor, open, flag, stop, u64(since))                                                    \
    METHOD(Actor, open, u64, drain, u32(reason))                                                   \
    METHOD(Actor, any, none, recover)                                                              \
    METHOD(Actor, any, object(tuple[list[bytes], list[bytes], int, int]), queued)                  \
    METHOD(Actor, open, object(None), connect, object(keep, object), u64(inbox), u64(out),         \
           u64(answers), u64(orders), u64(status), u64(control), u64(latencies), u32(shift),       \
           u32(chunks), u32(slot_bytes), u32(out_shift), u32(out_slot), u32(answer_bytes))         \
    METHOD(Actor, open, none, resides, u64(raised))                                                \
    METHOD(Actor, any, none, ends)                                                                 \
    METHOD(Actor, any, none, leaves)                                                               \
    METHOD(Actor, open, flag, give_up, u64(since))                                                 \
    METHOD(Actor, any, none, tables, u32(version))                                                 \
    METHOD(Actor, open, flag, refuse, bytes(chunks), u64(ticket), u32(reason))                     \
    METHOD(Actor, open, none, ended)                                                               \
    METHOD(Actor, any, none, retire, bytes(shut))                                                  \
    METHOD(Actor, open, none, fail, u32(code))                                                     \
    METHOD(Actor, open, u64, skip, u32(reason))                                                    \
    METHOD(Actor, any, none, set_clock, u64(physical), u64(logical), u64(node))                    \
    METHOD(Actor, open, flag, pause, f64(timeout))                                                 \
    METHOD(Actor, any, object(tuple[list[bytes], int, bytes, int, int]), held_back)                \
    METHOD(Actor, open, object(None), load, list(inbox, list[bytes]), list(outbox, list[bytes]),   \
           list(outputs, list[bytes]), u32(handled), bytes(headers), u64(subscriber), i32(code),   \
           u64(inbox_high), u64(outbox_high))                                                      \
    METHOD(Actor, open, none, dam, i32(by))                                                        \
    METHOD(Actor, open, object(int), keep)                                                         \
    METHOD(Actor, any, object(list[tuple[int, bytes]]), kept)                                      \
    METHOD(Actor, any, object(list[bytes]), ring, buffer(slots), u64(head))                        \
    METHOD_O(Actor, open, object(None), put, object(message, bytes))                               \
    METHOD(Actor, open, object(None), put_kept, u32(kind), payload(message, bytes))                \
    METHOD_O(Actor, any, object(None), note_call, object(nanoseconds, int))

#define ACTOR_ATTRIBUTES(ATTRIBUTE)                                                                \
    ATTRIBUTE(Actor, object(memoryview), control)                                                  \
    ATTRIBUTE(Actor, object(tuple[int, int, int, int]), places)                                    \
    ATTRIBUTE(Actor, u64, since)                                                                   \
    ATTRIBUTE(Actor, flag, working)                                                                \
    ATTRIBUTE(Actor, flag, listed)                                                                 \
    ATTRIBUTE(Actor, flag, blocked)                                                                \
    ATTRIBUTE(Actor, object(tuple[int, int, int, int]), lengths)                                   \
    ATTRIBUTE(Actor, object(memoryview), latencies)                                                \
    ATTRIBUTE(Actor, object(tuple[int, int, int]), clock)                                          \
    ATTRIBUTE(Actor, u64, report)                                                                  \
    ATTRIBUTE(Actor, u64, posted)                                                                  \
    ATTRIBUTE(Actor, object(tuple[int, int, int, int, int, int, int, int]), position)

#define ENGINE_METHODS(METHOD, METHOD_O)                                                           \
    METHOD(Engine, any, none, close)                                                               \
    METHOD(Engine, any, none, abandon)                                                             \
    METHOD(Engine, open, object(Actor), actor, u64(id), u64(type), u32(tier), u32(capacity),       \
           u32(outbox), u32(reply_tier), u32(batch), u32(outputs), u32(output_bytes), i32(full),   \
           i32(by_host))                                                                           \
    METHOD(Engine, open, flag, quiet, f64(timeout))                                                \
    METHOD_O(Engine, any, object(None), unblock, object(actor, Actor))                             \
    METHOD_O(Engine, any, object(bool), forget, object(actor, Actor))                              \
    METHOD(Engine, open, object(None), set_route, u64(key), object(to, Actor | None))              \
    METHOD_O(Engine, open, object(None), set_topics,                                               \
             object(topics, list[tuple[int, list[Actor]]]))                                        \
    METHOD_O(Engine, any, object(list[int]), hung, object(limit, int))                             \
    METHOD(Engine, open, none, free_routes)                                                        \
    METHOD(Engine, any, object(bytes), time_calls, actor(actor), bytes(payload), size(count),      \
           u64(pause))                                                                             \
    METHOD(Engine, any, object(int), post, actor(actor), buffer(payload), f64(timeout),            \
           u64(reply), u64(deadline), u64(topic), u64(correlation), u32(attempt), i32(flags),      \
           i32(bury))                                                                              \
    METHOD(Engine, any, object(tuple[int, int]), post_many, actor(actor), buffer(payloads),        \
           u32(size), f64(timeout), i32(reply), i32(alone))                                        \
    METHOD(Engine, any, object(tuple[int, int]), post_async, actor(actor), buffer(payload))        \
    METHOD(Engine, open, none, cancel, u64(ticket))                                                \
    METHOD(Engine, open, object(int | None), completed, f64(timeout))                              \
    METHOD(Engine, open, object(tuple[int, bytes] | None), answer, u64(ticket))                    \
    METHOD(Engine, any, object(bytes | None), receive, actor(actor), f64(timeout))                 \
    METHOD(Engine, open, object(int | None), take, f64(timeout))                                   \
    METHOD(Engine, open, object(int | None), failed, f64(timeout))                                 \
    METHOD(Engine, open, object(tuple[int, bytes] | None), dead)                                   \
    METHOD(Engine, open, object(None), bury, u64(actor), bytes(message), u32(reason))              \
    METHOD(Engine, open, none, adopt, u64(physical), u64(logical), u64(dead_lost),                 \
           u64(dead_total))                                                                        \
    METHOD(Engine, open, object(bytes), dead_letters)                                              \
    METHOD(Engine, open, object(None), trace_begin, u64(size))                                     \
    METHOD(Engine, open, object(tuple[bytes, int]), trace_end)                                     \
    METHOD(Engine, open, u64, expire, u64(limit))                                                  \
    METHOD(Engine, open, object(dict[str, int]), facts)

#define FORM_METHODS(METHOD, METHOD_O)                                                             \
    METHOD_O(Form, any, object(bytes), pack, object(value, Any))                                   \
    METHOD_O(Form, any, object(Any), unpack, object(data, Any))

#define HANDLE_ATTRIBUTES(ATTRIBUTE) ATTRIBUTE(Handle, object(int), address)

#define GATE_METHODS(METHOD, METHOD_O)                                                             \
    METHOD(Gate, any, none, close)                                                                 \
    METHOD(Gate, any, none, abandon)                                                               \
    METHOD(Gate, any, object(dict[str, int]), facts)

#define PEER_METHODS(METHOD, METHOD_O)                                                             \
    METHOD(Peer, any, object(int), sit)                                                            \
    METHOD_O(Peer, any, object(None), leave, object(seat, int))                                    \
    METHOD(Peer, any, flag, lives)                                                                 \
    METHOD(Peer, any, object(tuple[int, int]), post, u32(seat), buffer(payloads), f64(timeout),    \
           u64(deadline), i32(dead))                                                               \
    METHOD(Peer, any, object(bytes | int | None), call, u32(seat), buffer(payload), u64(spin),     \
           f64(timeout))                                                                           \
    METHOD(Peer, any, none, close)

/* ---- kinds of parameters: (what is declared, the letter of PyArg_ParseTuple, the parameter of the
   function, the argument, a condition that must hold, the end, where it is parsed to) */

#define KIND_u64(n) (unsigned long long n;, "K", uint64_t n, n, 1, , &n)
#define KIND_u32(n) (unsigned int n;, "I", uint32_t n, n, 1, , &n)
#define KIND_i32(n) (int n;, "i", int n, n, 1, , &n)
#define KIND_f64(n) (double n;, "d", double n, n, 1, , &n)
#define KIND_size(n) (Py_ssize_t n;, "n", Py_ssize_t n, n, 1, , &n)
#define KIND_bytes(n) (Py_buffer n;, "y*", const Py_buffer *n, &n, 1, PyBuffer_Release(&n);, &n)
#define KIND_buffer(n) KIND_bytes(n)
#define KIND_object(n, ...) (PyObject *n;, "O", PyObject *n, n, 1, , &n)
#define KIND_list(n, ...) (PyObject *n;, "O!", PyObject *n, n, 1, , &PyList_Type, &n)
#define KIND_payload(n, ...) (PyObject *n;, "O!", PyObject *n, n, 1, , &PyBytes_Type, &n)
#define KIND_actor(n)                                                                              \
    (PyObject *n; gl_actor *n##_found;, "O", gl_actor *n, n##_found,                               \
     (n##_found = actor_of(self, n)), , &n)

#define DECLARED(declared, ...) declared
#define LETTER(declared, letter, ...) letter
#define TAKEN(declared, letter, taken, ...) , taken
#define PASSED(declared, letter, taken, passed, ...) , passed
#define HOLDS(declared, letter, taken, passed, holds, ...) &&holds
#define ENDED(declared, letter, taken, passed, holds, ended, ...) ended
#define PARSED_TO(declared, letter, taken, passed, holds, ended, ...) , __VA_ARGS__

/* USE(KIND_x) for each parameter. The macros rescan what they expand to, as one may not be within
   itself. */
#define EACH(USE, ...) __VA_OPT__(AGAIN(AGAIN(ONE(USE, __VA_ARGS__))))
#define ONE(USE, kind, ...) USE KIND_##kind __VA_OPT__(ONE_MORE PARENTHESES(USE, __VA_ARGS__))
#define ONE_MORE() ONE
#define PARENTHESES ()
#define AGAIN(...) AGAIN_(AGAIN_(AGAIN_(AGAIN_(__VA_ARGS__))))
#define AGAIN_(...) AGAIN__(AGAIN__(AGAIN__(__VA_ARGS__)))
#define AGAIN__(...) __VA_ARGS__

/* ---- results: (the type of the function, what keeps its value, how Python gets it) */

#define TYPE_none void
#define TYPE_flag int
#define TYPE_u64 uint64_t
#define TYPE_object(...) PyObject *
#define KEPT_none
#define KEPT_flag int kept =
#define KEPT_u64 uint64_t kept =
#define KEPT_object(...) PyObject *kept =
#define MADE_none Py_NewRef(Py_None)
#define MADE_flag PyBool_FromLong(kept)
#define MADE_u64 PyLong_FromUnsignedLongLong(kept)
#define MADE_object(...) kept

#define CLOSED_any(self) 0
#define CLOSED_open(self) closed(ENGINE_OF(self))
#define ENGINE_OF(self)                                                                            \
    _Generic(self, ActorObject *: ((ActorObject *)(void *)self)->owner,                            \
             default: (EngineObject *)(void *)self)

/* ---- what rows become */

/* Hidden, so that the compiler may put a function into its only caller. */
#define HIDDEN __attribute__((visibility("hidden")))
#define PROTOTYPE(Type, state, result, name, ...)                                                  \
    HIDDEN TYPE_##result Type##_##name(Type##Object *self EACH(TAKEN, __VA_ARGS__));
#define PROTOTYPE_OF_ATTRIBUTE(Type, result, name)                                                 \
    HIDDEN TYPE_##result Type##_##name(const Type##Object *self);

#define PARSED(Type, state, result, name, ...)                                                     \
    static PyObject *Type##_##name##_parsed(PyObject *object, PyObject *args)                      \
    {                                                                                              \
        Type##Object *self = (Type##Object *)object;                                               \
        EACH(DECLARED, __VA_ARGS__)                                                                \
        (void)args;                                                                                \
        if (CLOSED_##state(self)                                                                   \
            __VA_OPT__(|| !PyArg_ParseTuple(args, EACH(LETTER, __VA_ARGS__)                        \
                                                      EACH(PARSED_TO, __VA_ARGS__))))              \
            return NULL;                                                                           \
        if (!(1 EACH(HOLDS, __VA_ARGS__))) {                                                       \
            EACH(ENDED, __VA_ARGS__)                                                               \
            return NULL;                                                                           \
        }                                                                                          \
        KEPT_##result Type##_##name(self EACH(PASSED, __VA_ARGS__));                               \
        EACH(ENDED, __VA_ARGS__)                                                                   \
        return MADE_##result;                                                                      \
    }
#define PARSED_O(Type, state, result, name, parameter)                                             \
    static PyObject *Type##_##name##_parsed(PyObject *object, PyObject *argument)                  \
    {                                                                                              \
        Type##Object *self = (Type##Object *)object;                                               \
        if (CLOSED_##state(self))                                                                  \
            return NULL;                                                                           \
        KEPT_##result Type##_##name(self, argument);                                               \
        return MADE_##result;                                                                      \
    }
#define READ(Type, result, name)                                                                   \
    static PyObject *Type##_##name##_read(PyObject *object, void *unused)                          \
    {                                                                                              \
        (void)unused;                                                                              \
        KEPT_##result Type##_##name((const Type##Object *)object);                                 \
        return MADE_##result;                                                                      \
    }

#define LISTED(Type, state, result, name, ...)                                                     \
    {#name, Type##_##name##_parsed, METH_NOARGS __VA_OPT__(-METH_NOARGS + METH_VARARGS), NULL},
#define LISTED_O(Type, state, result, name, parameter)                                             \
    {#name, Type##_##name##_parsed, METH_O, NULL},
#define LISTED_ATTRIBUTE(Type, result, name) {#name, Type##_##name##_read, NULL, NULL, NULL},

/* The functions and tables of a type. */
#define METHODS_OF(Type, ROWS)                                                                     \
    ROWS(PARSED, PARSED_O)                                                                         \
    static PyMethodDef Type##_methods[] = {ROWS(LISTED, LISTED_O){NULL, NULL, 0, NULL}};
#define ATTRIBUTES_OF(Type, ROWS, ...)                                                             \
    ROWS(READ)                                                                                     \
    static PyGetSetDef Type##_attributes[] = {                                                     \
        __VA_ARGS__ ROWS(LISTED_ATTRIBUTE){NULL, NULL, NULL, NULL, NULL}};

/* A type with its name, size and methods. */
#define TYPE_OF(NAME, ...)                                                                         \
    PyTypeObject NAME##Type = {                                                                    \
        PyVarObject_HEAD_INIT(NULL, 0).tp_name = "gridlane.actors._engine." #NAME,                 \
        .tp_basicsize = sizeof(NAME##Object), .tp_flags = Py_TPFLAGS_DEFAULT,                      \
        .tp_dealloc = (destructor)NAME##_dealloc, __VA_ARGS__};

#endif
