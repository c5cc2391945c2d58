"""Random calls about streams and events, and what had to happen before what.

Kernels note their numbers in a log, in the order in which they execute. A model of CUDA's rules
says which of them are before each other, and which are done after a wait.
"""

import ctypes
import random
import sys
from itertools import count

c, cu = ctypes.CDLL("libcudart.so.13"), ctypes.CDLL("libcuda.so.1")
TEXT = b"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry notes(.param .u64 log, .param .u32 number, .param .u32 looks) {
.reg .b64 %rd<4>;
.reg .b32 %r<5>;
.reg .pred %more;
ld.param.u64 %rd1, [log];
ld.param.u32 %r1, [number];
ld.param.u32 %r2, [looks];
again:
ld.volatile.global.u32 %r3, [%rd1+8];
add.u32 %r2, %r2, %r3;
sub.u32 %r2, %r2, 1;
setp.ne.u32 %more, %r2, 0;
@%more bra again;
atom.global.add.u32 %r4, [%rd1], 1;
mul.wide.u32 %rd2, %r4, 4;
add.u64 %rd3, %rd1, %rd2;
st.global.u32 [%rd3+64], %r1;
ret;
}
"""
MOST, FEW = 4096, 7
SIZE = 64 + 4 * MOST
NOT_READY, INVALID_HANDLE = 600, 400
pointer = ctypes.c_void_p
word = ctypes.c_size_t(4)


def good(code):
    assert code == 0, code


log_at, copies_at, module, function = pointer(), pointer(), pointer(), pointer()
good(c.cudaMalloc(ctypes.byref(log_at), SIZE))
good(c.cudaMemset(log_at, 0, ctypes.c_size_t(SIZE)))
good(c.cudaMalloc(ctypes.byref(copies_at), SIZE))
good(cu.cuModuleLoadData(ctypes.byref(module), TEXT))
good(cu.cuModuleGetFunction(ctypes.byref(function), module, b"notes"))
# The device's memory is the host's.
log = (ctypes.c_uint32 * (16 + MOST)).from_address(log_at.value)
copies = (ctypes.c_uint32 * MOST).from_address(copies_at.value)


class Stream:
    def __init__(self, handle, blocks):
        self.handle, self.blocks, self.last = pointer(handle), blocks, frozenset()


class Event:
    def __init__(self, handle, timed):
        self.handle, self.timed, self.last = pointer(handle), timed, frozenset()
        self.recorded, self.waited = False, False


class Run:
    """A sequence of calls. "before" has, of each kernel and copy, those directly before it."""

    def __init__(self, seed, steps):
        self.random, self.numbers = random.Random(seed), count(1)
        self.default = Stream(0, True)
        self.streams, self.events = [self.default], []
        self.ended_streams, self.ended_events, self.ended_work = [], [], set()
        self.before, self.copied = {}, set()
        ctypes.memset(log_at.value, 0, SIZE)
        for _ in range(steps):
            getattr(self, self.random.choice(CALLS))()
        good(c.cudaDeviceSynchronize())
        self.check_order()
        for each in self.streams[1:]:
            good(c.cudaStreamDestroy(each.handle))
        for each in self.events:
            good(c.cudaEventDestroy(each.handle))

    # --- the model ---

    def work_of(self, stream):
        """What is before the next work of a stream."""
        if stream is self.default:
            lasts = (each.last for each in self.streams if each.blocks)
            return frozenset(self.ended_work).union(*lasts)
        return stream.last | self.default.last if stream.blocks else stream.last

    def append(self, stream):
        number = next(self.numbers)
        self.before[number] = self.work_of(stream)
        stream.last = frozenset([number])
        return number

    def with_all_before(self, numbers):
        found, left = set(), list(numbers)
        while left:
            each = left.pop()
            if each not in found:
                found.add(each)
                left.extend(self.before[each])
        return found

    def check_done(self, numbers):
        noted = set(log[16 : 16 + log[0]])
        assert self.with_all_before(numbers) <= noted | self.copied, "work is not done"

    def check_order(self):
        place = {log[16 + n]: n for n in range(log[0])}
        assert len(place) == log[0] == len(self.before) - len(self.copied), "work is lost"
        for number, before in self.before.items():
            for other in self.with_all_before(before) - self.copied:
                own = copies[number] if number in self.copied else place[number]
                assert place[other] < own, f"{number} before {other}"
            for other in self.with_all_before(before) & self.copied - {number}:
                assert number in self.copied or copies[other] <= place[number]

    # --- the calls ---

    def some(self):
        """A stream; seldom the default one, which waits for all others."""
        is_own = len(self.streams) > 1 and self.random.random() < 0.95
        return self.random.choice(self.streams[is_own:])

    def make_stream(self):
        made, flags = pointer(), self.random.randrange(2)
        if len(self.streams) < FEW:
            good(c.cudaStreamCreateWithFlags(ctypes.byref(made), flags))
            self.streams.append(Stream(made.value, not flags))

    def end_stream(self):
        if len(self.streams) > 2:
            found = self.streams.pop(self.random.randrange(1, len(self.streams)))
            good(c.cudaStreamDestroy(found.handle))
            self.ended_work |= found.last if found.blocks else set()
            self.ended_streams.append(found.handle)

    def make_event(self):
        made, flags = pointer(), self.random.randrange(4)
        if len(self.events) < FEW:
            good(c.cudaEventCreateWithFlags(ctypes.byref(made), flags))
            self.events.append(Event(made.value, not flags & 2))

    def end_event(self):
        if self.events:
            found = self.events.pop(self.random.randrange(len(self.events)))
            good(c.cudaEventDestroy(found.handle))
            self.ended_events.append(found.handle)

    def launch(self):
        looks = self.random.choice((1, 1, 1, 100, 10_000, 100_000, 3_000_000))
        self.launch_on(self.some(), looks)

    def launch_on(self, stream, looks):
        for _ in range(self.random.choice((1, 1, 2, 5))):
            given = log_at, ctypes.c_uint32(self.append(stream)), ctypes.c_uint32(looks)
            words = (pointer * 3)(*map(ctypes.addressof, given))
            shape = 1, 1, 1, 1, 1, 1, 0
            good(cu.cuLaunchKernel(function, *shape, stream.handle, words, None))
            looks = 1

    def copy(self):
        """How many kernels were before."""
        stream = self.some()
        number = self.append(stream)
        self.copied.add(number)
        to = pointer(copies_at.value + 4 * number)
        good(c.cudaMemcpyAsync(to, log_at, word, 3, stream.handle))

    def copy_out(self):
        """To pageable memory, for which the caller waits."""
        stream, value = self.some(), ctypes.c_uint32()
        number = self.append(stream)
        self.copied.add(number)
        good(c.cudaMemcpyAsync(ctypes.byref(value), log_at, word, 2, stream.handle))
        copies[number] = value.value
        self.check_done([number])

    def record(self):
        if self.events:
            self.record_on(self.some(), self.random.choice(self.events))

    def record_on(self, stream, event):
        good(c.cudaEventRecord(event.handle, stream.handle))
        event.last, event.recorded, event.waited = self.work_of(stream), True, False

    def follow(self):
        if self.events:
            self.follow_on(self.some(), self.random.choice(self.events))

    def follow_on(self, stream, event):
        good(c.cudaStreamWaitEvent(stream.handle, event.handle, 0))
        stream.last |= event.last

    def chain(self):
        """Launches behind others, which last longer, on other streams."""
        if self.events:
            event = self.random.choice(self.events)
            for _ in range(3):
                first, second = self.some(), self.some()
                self.launch_on(first, 100_000)
                self.record_on(first, event)
                self.follow_on(second, event)
                self.launch_on(second, 1)

    def wait(self):
        stream = self.some()
        good(c.cudaStreamSynchronize(stream.handle))
        self.check_done(self.work_of(stream))

    def wait_event(self):
        if self.events:
            event = self.random.choice(self.events)
            good(c.cudaEventSynchronize(event.handle))
            self.check_done(event.last)
            event.waited = True

    def wait_all(self):
        good(c.cudaDeviceSynchronize())
        self.check_done(self.before)
        for each in self.events:
            each.waited = True

    def query(self):
        stream = self.some()
        self.check_code(c.cudaStreamQuery(stream.handle), self.work_of(stream), False)

    def query_event(self):
        if self.events:
            event = self.random.choice(self.events)
            is_done = event.waited or not event.recorded
            self.check_code(c.cudaEventQuery(event.handle), event.last, is_done)

    def time(self):
        if not self.events:
            return
        both, value = self.random.choices(self.events, k=2), ctypes.c_float()
        first, last = (each.handle for each in both)
        code = c.cudaEventElapsedTime(ctypes.byref(value), first, last)
        if all(each.timed and each.recorded for each in both):
            self.check_code(code, both[0].last | both[1].last, all(each.waited for each in both))
        else:
            assert code == INVALID_HANDLE == c.cudaGetLastError(), code

    def check_code(self, code, numbers, is_done):
        assert code == 0 or (code == NOT_READY and not is_done), (code, is_done)
        if code == 0:
            self.check_done(numbers)

    def misuse(self):
        """Handles of what has ended are refused, and are no other's."""
        for old in self.ended_streams[-3:]:
            for name in ("cudaStreamQuery", "cudaStreamSynchronize", "cudaStreamDestroy"):
                assert getattr(c, name)(old) == INVALID_HANDLE == c.cudaGetLastError()
        stream = self.some()
        for old in self.ended_events[-3:]:
            for name in ("cudaEventQuery", "cudaEventSynchronize", "cudaEventDestroy"):
                assert getattr(c, name)(old) == INVALID_HANDLE == c.cudaGetLastError()
            assert c.cudaEventRecord(old, stream.handle) == INVALID_HANDLE
            assert c.cudaStreamWaitEvent(stream.handle, old, 0) == INVALID_HANDLE
            assert c.cudaGetLastError() == INVALID_HANDLE


CALLS = (
    ["launch", "chain"] * 6
    + ["record", "follow"] * 6
    + ["copy", "query", "query_event"] * 3
    + ["wait", "wait_event", "time", "copy_out", "make_stream", "make_event"]
    + ["end_stream", "end_event", "misuse"]
)

for seed in range(int(sys.argv[1]), int(sys.argv[2])):
    try:
        Run(seed, int(sys.argv[3]))
    except BaseException:
        print("seed", seed, flush=True)
        raise
print("well")
