// The device's memory: one buffer, the heap, of which arrays are pieces. An address is a number of
// bytes from its start, and 0 is the null pointer.

import { dtypeOf, elementOf } from "./values.js";

const ALIGNMENT = 256;
const FIRST = 256;
const SMALLEST = 1 << 20;
const ADDRESSES = 2 ** 32 - ALIGNMENT;

const upTo = (size, step) => Math.ceil(size / step) * step;

export class Heap {
  // `moved` is called when the buffer is another one.
  constructor(device, moved) {
    this.device = device;
    this.moved = moved;
    const { maxBufferSize, maxStorageBufferBindingSize } = device.limits;
    this.most = Math.min(maxBufferSize, maxStorageBufferBindingSize, ADDRESSES);
    this.free = []; // [start, size], in order, no two of them neighbours
    this.live = new Map(); // from the start of a piece to its size
    this.buffer = null;
    this.size = FIRST;
    this.resize(Math.min(SMALLEST, this.most));
  }

  // The address of so many bytes. Memory that was used before is not cleared.
  allocate(bytes) {
    const size = upTo(Math.max(bytes, 1), ALIGNMENT);
    let at = this.free.findIndex(([, have]) => have >= size);
    if (at < 0) {
      this.grow(size);
      at = this.free.findIndex(([, have]) => have >= size);
    }
    const [start, have] = this.free[at];
    if (have === size) this.free.splice(at, 1);
    else this.free[at] = [start + size, have - size];
    this.live.set(start, size);
    return start;
  }

  release(start) {
    const size = this.live.get(start);
    this.live.delete(start);
    this.give(start, size);
  }

  give(start, size) {
    const before = this.free.findLastIndex(([at]) => at < start);
    this.free.splice(before + 1, 0, [start, size]);
    for (const at of [before + 1, before]) {
      const [here, next] = [this.free[at], this.free[at + 1]];
      if (here && next && here[0] + here[1] === next[0]) {
        this.free.splice(at, 2, [here[0], here[1] + next[1]]);
      }
    }
  }

  grow(size) {
    const last = this.free.at(-1);
    const tail = last && last[0] + last[1] === this.size ? last[1] : 0;
    const needed = this.size - tail + size;
    if (needed > this.most) {
      const used = [...this.live.values()].reduce((sum, each) => sum + each, 0);
      throw new RangeError(
        `${size} bytes, with ${used} in use: all arrays share one buffer, which has ` +
          `${this.most} bytes at most on this device; free() arrays that are not needed`,
      );
    }
    this.resize(Math.min(this.most, Math.max(needed, 2 * this.size)));
  }

  // A larger buffer, with what the other one held.
  resize(size) {
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
    const whole = Math.floor(size / ALIGNMENT) * ALIGNMENT;
    const made = this.device.createBuffer({ size: whole, usage });
    if (this.buffer) {
      const encoder = this.device.createCommandEncoder();
      encoder.copyBufferToBuffer(this.buffer, 0, made, 0, this.size);
      this.device.queue.submit([encoder.finish()]);
      this.buffer.destroy();
    }
    this.give(this.size, whole - this.size);
    this.buffer = made;
    this.size = whole;
    this.moved();
  }

  // Bytes to an address. A last word that is not full is filled up with zeros.
  write(address, octets) {
    const whole = octets.byteLength & ~3;
    this.device.queue.writeBuffer(this.buffer, address, octets, 0, whole);
    if (whole < octets.byteLength) {
      const rest = new Uint8Array(4);
      rest.set(octets.subarray(whole));
      this.device.queue.writeBuffer(this.buffer, address + whole, rest);
    }
  }

  clear(address, bytes) {
    const encoder = this.device.createCommandEncoder();
    encoder.clearBuffer(this.buffer, address, upTo(bytes, 4));
    this.device.queue.submit([encoder.finish()]);
  }

  // A promise of the bytes at an address behind the work so far. `behind` encodes what follows.
  async read(address, bytes, behind = () => {}) {
    const size = upTo(Math.max(bytes, 4), 4);
    const usage = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;
    const answer = this.device.createBuffer({ size, usage });
    const encoder = this.device.createCommandEncoder();
    encoder.copyBufferToBuffer(this.buffer, address, answer, 0, size);
    behind(encoder, this.buffer);
    this.device.queue.submit([encoder.finish()]);
    await answer.mapAsync(GPUMapMode.READ);
    const octets = answer.getMappedRange().slice(0, bytes);
    answer.destroy();
    return octets;
  }
}

// An array in the device's memory; gl.array and gl.zeros make them.
export class GridArray {
  constructor(gl, dtype, shape, order) {
    this.gl = gl;
    this.dtype = dtype;
    this.shape = sizes(shape);
    if (order !== "C" && order !== "F") throw new TypeError(`order ${order}: "C" or "F"`);
    this.order = order;
    this.element = elementOf(dtype);
    this.size = this.shape.reduce((product, size) => product * size, 1);
    this.bytes = this.size * this.element.bytes;
    this.address = gl.heap.allocate(this.bytes);
  }

  // Bytes from one element to the next along each axis.
  get strides() {
    const axes = this.shape.map((_, axis) => axis);
    const steps = [];
    let step = this.element.bytes;
    for (const axis of this.order === "C" ? axes.reverse() : axes) {
      steps[axis] = step;
      step *= this.shape[axis];
    }
    return steps;
  }

  // Copy a typed array to it, all of it.
  write(data) {
    this.gl.enter();
    this.check();
    const { array } = this.element;
    if (!(data instanceof array) && !(array === Uint8Array && data instanceof Uint8ClampedArray)) {
      const given = data?.constructor?.name ?? typeof data;
      throw new TypeError(`an array of ${this.dtype} takes a ${array.name}, not a ${given}`);
    }
    if (data.byteLength !== this.bytes) {
      const shape = `(${this.shape.join(", ")})`;
      throw new RangeError(
        `an array of shape ${shape} takes ${this.bytes / array.BYTES_PER_ELEMENT} values, ` +
          `not ${data.length}`,
      );
    }
    this.gl.heap.write(this.address, new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  }

  // A promise of a copy, behind the launches so far. It fails with what a kernel raised.
  async read() {
    this.gl.enter();
    this.check();
    const octets = this.gl.heap.read(this.address, this.bytes);
    await this.gl.finish([octets]);
    return new this.element.array(await octets);
  }

  // Give the memory back.
  free() {
    this.check();
    this.gl.heap.release(this.address);
    this.address = 0;
  }

  check() {
    if (!this.address) throw new Error("the array was freed");
  }
}

function sizes(shape) {
  const list = typeof shape === "number" ? [shape] : [...shape];
  for (const size of list) {
    if (!Number.isSafeInteger(size) || size < 0) throw new RangeError(`shape ${list}: ${size}`);
  }
  return list;
}

// The array's dtype and shape for a typed array, where the user does not say.
export function described(data, { dtype = dtypeOf(data), shape, order = "C" }) {
  const each = elementOf(dtype).bytes / data.BYTES_PER_ELEMENT;
  return { dtype, order, shape: shape ?? [data.length / each] };
}
