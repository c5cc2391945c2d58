"""The work of all streams, recorded into command buffers of one queue.

Commands of one queue begin in recording order, and only a barrier makes one wait for another. A
barrier covers all commands before it, so barriers divide time into epochs: a command that depends
on one of its own epoch opens the next one. Independent streams share epochs, and their work runs
concurrently. A submission ends with a barrier for the host; after the default stream's work that
barrier opens the next epoch as well.

A submission signals its number in a timeline semaphore. A launch on an idle GPU is submitted at
once, alone, and its command buffer is kept: the next such launch, with other parameters, submits it
again. Other work is submitted when a thread waits or when the command buffer is full.
"""

from __future__ import annotations

from typing import Any

from gridlane.core.device_errors import lost_device
from gridlane.core.errors import DeviceError
from gridlane.memory.device_memory import DeviceMemory
from gridlane.memory.suballocator import Suballocation
from gridlane.runtime.drivers.vulkan.api import LOST, bindings, constant, new, number, struct
from gridlane.runtime.drivers.vulkan.batches import ARENA, Batches, Launch, VulkanBatch
from gridlane.runtime.drivers.vulkan.clock import Clock, Slot
from gridlane.runtime.drivers.vulkan.commands import WORDS, Submission
from gridlane.runtime.drivers.vulkan.context import PUSH_BYTES, Context
from gridlane.runtime.queues.host_driven_context import Ordered
from gridlane.runtime.queues.host_driven_recorder import Mark, Place, Recorder
from gridlane.runtime.reporting import ReportBlock

_ALIGNMENT = 16

Prepared = tuple[int, str]
"""The number of a pipeline, and the name of its kernel."""


class VulkanRecorder(Recorder[Context, VulkanBatch, Place, Prepared, Slot]):
    """Records, submits and waits. Methods that change it hold the context's lock.

    Args:
        memory: mapped memory for parameters.

    Attributes:
        at_once: whether a launch on an idle device is submitted at once. A software device takes
            several times as long to begin a submission as to run a small kernel.
    """

    always_at_once = False
    """For tests."""
    room = most = ARENA
    ahead = True
    fill_step = 4

    def __init__(self, context: Context, memory: DeviceMemory[Suballocation]) -> None:
        super().__init__(context)
        self.vk = context.vk
        self.at_once = self.always_at_once or not context.software
        self.clock = Clock(context)
        context.explain = self.fault
        self._batches = Batches(context, memory)
        self.release = self._batches.release
        self.submission = Submission(context)
        self.commands = self.submission.commands()
        self._epoch: int = 1
        self._default_epoch = 0
        self._fresh = False
        """Whether nothing is recorded in this epoch."""
        self._ended = False
        self._most = tuple(context.adapter.properties.properties.limits.maxComputeWorkGroupCount)
        self._whole = min(self._most)
        self._words = new(f"unsigned char[{PUSH_BYTES}]")
        self._words_view = bindings().ffi.buffer(self._words)
        self._compute = constant("VK_SHADER_STAGE_COMPUTE_BIT")
        compute = constant("VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT")
        self._stages = compute | constant("VK_PIPELINE_STAGE_TRANSFER_BIT")
        self._host = constant("VK_PIPELINE_STAGE_HOST_BIT")
        names = "SHADER_WRITE", "TRANSFER_WRITE", "SHADER_READ", "TRANSFER_READ"
        bits = [constant(f"VK_ACCESS_{name}_BIT") for name in names]
        written, all_ways = bits[0] | bits[1], sum(bits)
        read = constant("VK_ACCESS_HOST_READ_BIT")
        self._barriers = [
            struct("VkMemoryBarrier", srcAccessMask=written, dstAccessMask=each)
            for each in (all_ways, read, all_ways | read)
        ]
        self._between, self._to_host, self._to_all = map(number, self._barriers)

    # --- recording ---

    def begin(self, launch: Launch | None = None) -> VulkanBatch:
        """A command buffer that is submitted once, or as often as you like if of one launch."""
        if not self._batches.spare:
            self.collect()
        return self._batches.begin(launch)

    def launch(
        self,
        stream: Ordered,
        prepared: Prepared,
        params: bytes,
        grid: tuple[int, int, int],
        shared: int,
        block: ReportBlock | None,
        /,
    ) -> None:
        """Record a launch of a pipeline: see commands.py. Hot."""
        pipeline, name = prepared
        with self.lock:
            size, report = len(params), 0 if block is None else block.address
            if self.at_once and self._open is None and not self._flying and size <= ARENA:
                self._launch_alone(stream, name, pipeline, params, grid, report)
                return
            batch = self._behind(stream, size)
            bind, batch.pipeline = 0 if batch.pipeline == pipeline else pipeline, pipeline
            start = batch.at
            batch.at = start + size + _ALIGNMENT - 1 & -_ALIGNMENT
            self.suspects.add(name)
            pointer, address, (x, y, z) = batch.pointer + start, batch.address + start, grid
            whole = self._whole
            in_parts = x > whole or y > whole or z > whole
            if in_parts:
                x = 0  # this dispatch has no block
            self.commands.launch(batch.number, bind, pointer, address, x, y, z, report, params)
            if in_parts:
                self._in_parts(batch.command, address, grid, report)

    def _launch_alone(
        self,
        stream: Ordered,
        name: str,
        pipeline: int,
        params: bytes,
        grid: tuple[int, int, int],
        report: int,
    ) -> None:
        """Submit a launch alone, where nothing is in flight. Its barrier opens the next epoch."""
        context = self.context
        if context.fault is not None:  # it may have come since the caller entered
            context.raise_fault()
        epoch = self._epoch
        follows = stream.is_default or epoch in (stream.epoch, self._default_epoch)
        launch = Launch(pipeline, grid, report, follows and not self._fresh)
        batch = self._batches.take(launch) or self._recorded(launch)
        self.suspects.add(name)
        stream.epoch = epoch
        stream.point = self.last = batch.value = context.progress
        if stream.is_default:
            self._default_epoch, self.default_point = epoch, self.last
        self._epoch, self._fresh = epoch + 1, True
        context.progress += 1
        self._flying += (batch,)  # see submit
        result = self.commands.submit_again(batch.number, batch.value, batch.pointer, params)
        if result:
            context.check(result, "vkQueueSubmit")

    def _recorded(self, launch: Launch) -> VulkanBatch:
        """A command buffer of one launch, for any parameters."""
        batch, stages = self.begin(launch), self._stages
        number, (x, y, z) = batch.number, launch.grid
        if launch.follows:
            self.commands.barrier(number, stages, stages, self._between)
        in_parts = max(launch.grid) > self._whole
        x = 0 if in_parts else x
        where = batch.pointer, batch.address
        self.commands.launch(number, launch.pipeline, *where, x, y, z, launch.report, b"")
        if in_parts:
            self._in_parts(batch.command, batch.address, launch.grid, launch.report)
        self.commands.barrier(number, stages, self._host | stages, self._to_all)
        self.context.check(self.vk.vkEndCommandBuffer(batch.command), "vkEndCommandBuffer")
        return batch

    def _in_parts(self, command: Any, params: int, grid: tuple[int, int, int], report: int) -> None:
        """Record a grid that exceeds the limit of a dispatch, in parts."""
        mx, my, mz = self._most
        for z in range(0, grid[2], mz):
            for y in range(0, grid[1], my):
                for x in range(0, grid[0], mx):
                    WORDS.pack_into(self._words_view, 0, params, x, y, z, *grid, report, 0)
                    layout, constants = self.context.layout, self._words
                    self.vk.vkCmdPushConstants(
                        command, layout, self._compute, 0, PUSH_BYTES, constants
                    )
                    rest = min(mx, grid[0] - x), min(my, grid[1] - y), min(mz, grid[2] - z)
                    self.vk.vkCmdDispatch(command, *rest)

    def copy(
        self, stream: Ordered, target: Place, source: Place, size: int, keep: object = None
    ) -> None:
        """Record a copy of bytes that do not overlap."""
        (goal, to), (origin, start) = target, source
        with self.lock:
            batch = self._behind(stream)
            places = {"srcOffset": origin.skip + start, "dstOffset": goal.skip + to}
            region = new("VkBufferCopy *", {**places, "size": size})
            self.vk.vkCmdCopyBuffer(batch.command, origin.buffer, goal.buffer, 1, region)
            if keep is not None:
                batch.keep.append(keep)

    def fill(self, stream: Ordered, target: Place, size: int, byte: int) -> None:
        """Record a fill of words."""
        (arena, to), word = target, byte * 0x01010101
        with self.lock:
            command = self._behind(stream).command
            self.vk.vkCmdFillBuffer(command, arena.buffer, arena.skip + to, size, word)

    def new_stamp(self, owner: object) -> Slot:
        """A slot for a time stamp."""
        return self.clock.take(owner)

    def between_ms(self, first: Slot, second: Slot) -> float:
        """Milliseconds from one time stamp to another."""
        return self.clock.between_ms(first, second)

    def stamp(self, stream: Ordered, stamp: Slot) -> None:
        """Record a time stamp after all commands so far are done."""
        with self.lock:
            stage = constant("VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT")
            batch, self._fresh = self.ordered(stream), False
            self.vk.vkCmdWriteTimestamp(batch.command, stage, *stamp)

    def _set(self, stream: Ordered, mark: Mark) -> None:
        super()._set(stream, mark)
        epoch = self._epoch
        mark.epoch = epoch if stream.is_default else max(stream.epoch, self._default_epoch)

    def _behind(self, stream: Ordered, size: int = 0) -> VulkanBatch:
        """The batch for a command, after a barrier for its dependencies: for the default stream all
        work, for others their own and the default stream's."""
        batch = self.ordered(stream, size)
        epoch = self._epoch
        follows = stream.is_default or epoch in (stream.epoch, self._default_epoch)
        if follows and not self._fresh:
            stages = self._stages
            self.commands.barrier(batch.number, stages, stages, self._between)
            self._epoch = epoch = epoch + 1
        self._fresh = False
        stream.epoch = epoch
        if stream.is_default:
            self._default_epoch = epoch
        return batch

    # --- submitting and waiting ---

    def submit(self, batch: VulkanBatch) -> None:
        """Submit the open command buffer."""
        stages, context = self._stages, self.context
        until, barrier = self._host, self._to_host
        if self._default_epoch == self._epoch:  # the next command needs a barrier anyway
            until, barrier = until | stages, self._to_all
            self._epoch += 1
            self._fresh = True
        self._open = None
        batch.value = context.progress
        context.progress += 1
        # A signal handler may raise after any call: with one here, the number would be waited for
        # and never submitted.
        self._flying += (batch,)
        failed = self.commands.submit(batch.number, batch.value, stages, until, barrier)
        if failed is not None:
            context.check(failed[1], failed[0])

    def poll(self, number: int, /, ns: int = 0) -> bool:
        """Whether a submission is done, after ``ns`` at most. Hot, where a wait polls."""
        if self.done >= number:
            return True
        context = self.context
        if context.closed:
            context.raise_closed()
        if ns > self.spin_ns:
            self._block(number, ns)
            ns = 0
        done = self.commands.poll(number, ns)
        if done < 0:
            if self._ended:
                context.raise_closed()
            context.check(done, "vkGetSemaphoreCounterValue")
        if done >= context.progress:  # never submitted: of a lost device some drivers report this
            context.check(LOST, "vkGetSemaphoreCounterValue")
        self.done = done
        return done >= number

    def _block(self, value: int, ns: int) -> None:
        """Wait without polling."""
        wanted = new("uint64_t *", value)
        semaphore = new("VkSemaphore *", self.submission.timeline)
        info = struct(
            "VkSemaphoreWaitInfo", semaphoreCount=1, pSemaphores=semaphore, pValues=wanted
        )
        self.context.call("vkWaitSemaphores", info, ns)

    def fault(self, cause: str) -> DeviceError:
        """The exception of a lost device, which a function of the driver reports."""
        message = f"the device is lost (VK_ERROR_DEVICE_LOST, told by {cause})"
        return lost_device(message, ", ".join(sorted(self.suspects)), self.context.device_name)

    def end(self) -> None:
        """Destroy the recorder; nothing may be in flight."""
        self._ended = True
        self.clock.end()
        self.commands.end()
        self._batches.end()
        self.submission.end()
