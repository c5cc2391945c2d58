// Kernels that `gridlane export --web` wrote, on WebGPU.
//
//   const gl = await load("./manifest.json");
//   const x = gl.array(new Float32Array([1, 2, 3])), y = gl.zeros("float32", 3);
//   gl.kernels.scale.launch({ grid: [1] }, x, y, 3);
//   console.log(await y.read());
//
// Launches are in order, and begin at once. What a kernel raised is thrown by read() and finish().

import { isCompact, packed } from "./arguments.js";
import { GridArray, Heap, described } from "./memory.js";
import { textOf } from "./values.js";

const FORMAT = 1;
const LAUNCH_WORDS = 9; // core/shader_abi.py: first block, grid, report, shared memory, a zero
const SHARED_STEP = 16;
// core/gpu_abi.py: the report block.
const RECORDS = 64, CAPACITY = 36, HEAD = 32, PRINT_BYTES = 1 << 20;
const LIMITS = [
  "maxBufferSize",
  "maxStorageBufferBindingSize",
  "maxComputeWorkgroupStorageSize",
  "maxComputeInvocationsPerWorkgroup",
  "maxComputeWorkgroupSizeX",
  "maxComputeWorkgroupSizeY",
  "maxComputeWorkgroupSizeZ",
  "maxComputeWorkgroupsPerDimension",
];

// What a thread raised, as Python has it: `exception` and `text`, with where it was.
export class KernelError extends Error {
  constructor(kernel, site, thread, block) {
    const place = site.line ? ` (${site.file}, line ${site.line})` : "";
    const where = `thread ${thread} of block ${block}`;
    super(`${kernel}, ${where}: ${site.exception}: ${site.message}${place}`);
    Object.assign(this, { name: "KernelError", kernel, thread, block, text: site.message });
    Object.assign(this, { exception: site.exception, file: site.file, line: site.line });
  }
}

// The kernels of a manifest, on the browser's GPU or on a device that is given.
// `print` takes each line that kernels print.
export async function load(url, { device, print = console.log } = {}) {
  const base = new URL(url, globalThis.document?.baseURI ?? location.href); // or of a worker
  const manifest = JSON.parse(await fetched(base));
  if (manifest.format !== FORMAT) {
    throw new Error(`${url} has format ${manifest.format}, and this gridlane.js reads ${FORMAT}`);
  }
  const gl = new Gridlane(device ?? (await opened()), print);
  const made = manifest.kernels.map(async (kernel) => {
    const files = [kernel.wgsl, kernel.compact].filter((file) => file);
    const texts = files.map((file) => fetched(new URL(file, base)));
    const found = new Kernel(gl, kernel, await Promise.all(texts));
    await found.compile();
    return [kernel.name, found];
  });
  gl.kernels = Object.fromEntries(await Promise.all(made));
  return gl;
}

async function fetched(url) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${answer.statusText}`);
  return answer.text();
}

async function opened() {
  if (!globalThis.isSecureContext) {
    throw new Error("browsers have WebGPU on pages of https and of localhost only");
  }
  if (!navigator.gpu) throw new Error("this browser has no WebGPU");
  const adapter = await navigator.gpu.requestAdapter({ powerPreference: "high-performance" });
  if (!adapter) throw new Error("WebGPU finds no GPU here that it trusts");
  const requiredLimits = Object.fromEntries(LIMITS.map((name) => [name, adapter.limits[name]]));
  return adapter.requestDevice({ requiredLimits });
}

export class Gridlane {
  constructor(device, print) {
    this.device = device;
    this.print = print;
    this.kernels = {};
    this.told = new Set(); // kernels whose reports are not read yet
    this.lost = null;
    this.failure = null;
    device.lost.then(({ reason, message }) => {
      const why = "a kernel that runs for seconds may be the reason";
      this.lost = new Error(`the browser took the GPU away: ${message || reason} (${why})`);
    });
    device.addEventListener("uncapturederror", ({ error }) => (this.failure ??= error));
    const types = ["storage", "read-only-storage", "read-only-storage"];
    const entries = types.map((type, binding) => ({
      binding, visibility: GPUShaderStage.COMPUTE, buffer: { type },
    }));
    this.group = device.createBindGroupLayout({ entries });
    this.layout = device.createPipelineLayout({ bindGroupLayouts: [this.group] });
    this.version = 0; // of the heap's buffer
    this.heap = new Heap(device, () => (this.version += 1));
  }

  // An array with the values of a typed array: { shape, dtype, order: "C" or "F" }.
  array(data, options = {}) {
    this.enter();
    const { dtype, shape, order } = described(data, options);
    const made = new GridArray(this, dtype, shape, order);
    try {
      made.write(data);
    } catch (error) {
      made.free();
      throw error;
    }
    return made;
  }

  // An array of zeros.
  zeros(dtype, shape, { order = "C" } = {}) {
    this.enter();
    const made = new GridArray(this, dtype, shape, order);
    this.heap.clear(made.address, made.bytes);
    return made;
  }

  // Wait for all launches; throws what a kernel raised, or what went wrong with the device.
  async finish(others = []) {
    this.enter();
    const told = [...this.told];
    this.told.clear();
    const reports = told.map((kernel) => kernel.told());
    const done = await Promise.allSettled([
      this.device.queue.onSubmittedWorkDone(), ...others, ...reports,
    ]);
    const failed = done.find(({ status }) => status === "rejected");
    if (failed) await Promise.race([this.device.lost, new Promise((r) => setTimeout(r, 200))]);
    this.enter();
    if (failed) throw failed.reason;
    const raised = await Promise.all(reports);
    for (const error of raised) if (error) throw error;
  }

  // Throws what keeps the device from being used.
  enter() {
    if (this.lost) throw this.lost;
    if (!this.failure) return;
    const { message } = this.failure;
    this.failure = null;
    throw new Error(`WebGPU: ${message}`);
  }
}

// A kernel's text, and its pipelines by bytes of dynamic shared memory.
class Code {
  constructor(kernel, file, text) {
    Object.assign(this, { kernel, file, text, pipelines: new Map(), made: null });
  }

  get module() {
    this.made ??= this.kernel.gl.device.createShaderModule({ code: this.text });
    return this.made;
  }

  async compile() {
    const { kernel } = this;
    const { messages } = await this.module.getCompilationInfo();
    const wrong = messages.find(({ type }) => type === "error");
    if (wrong) throw new Error(`${this.file}, line ${wrong.lineNum}: ${wrong.message}`);
    if (kernel.dynamicShared) return;
    const compute = { module: this.module, entryPoint: kernel.entry };
    const { device, layout } = kernel.gl;
    try {
      this.pipelines.set(0, await device.createComputePipelineAsync({ layout, compute }));
    } catch (error) {
      throw new Error(`${kernel.name}: ${error.message}`);
    }
  }

  pipeline(shared) {
    const { dynamicShared, entry, gl } = this.kernel;
    const room = dynamicShared ? Math.ceil(shared / SHARED_STEP) * SHARED_STEP : 0;
    if (!this.pipelines.has(room)) {
      const constants = dynamicShared ? { dynamic_words: room / 4 } : {};
      const compute = { module: this.module, entryPoint: entry, constants };
      const made = gl.device.createComputePipeline({ layout: gl.layout, compute });
      this.pipelines.set(room, made);
    }
    return this.pipelines.get(room);
  }
}

class Kernel {
  // `texts`: the code for any launch, and that for compact ones where it is another.
  constructor(gl, made, [text, compact]) {
    Object.assign(this, made);
    this.gl = gl;
    this.code = new Code(this, this.wgsl, text);
    this.compactCode = compact === undefined ? this.code : new Code(this, this.compact, compact);
    this.reports = made.errors.length > 0 || made.prints.length > 0;
    this.reportBytes = RECORDS + (made.prints.length ? PRINT_BYTES : 0);
    this.reportAddress = 0;
    this.bound = null;
    this.version = 0;
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST;
    // The constants have the parameters' place in front of them.
    const constants = Uint8Array.from(atob(made.constants), (c) => c.charCodeAt(0));
    const size = Math.max(8, made.paramBytes, constants.length);
    this.params = gl.device.createBuffer({ size, usage });
    if (constants.length) gl.device.queue.writeBuffer(this.params, 0, constants);
    this.words = gl.device.createBuffer({ size: 4 * LAUNCH_WORDS, usage });
  }

  // Most launches are compact; the other code is compiled when one is not.
  async compile() {
    const { gl } = this;
    this.checkLimits(gl.device.limits);
    await this.compactCode.compile();
    if (this.reports) {
      this.reportAddress = gl.heap.allocate(this.reportBytes);
      gl.heap.clear(this.reportAddress, this.reportBytes);
      const capacity = new Uint32Array([this.reportBytes - RECORDS]);
      gl.heap.write(this.reportAddress + CAPACITY, new Uint8Array(capacity.buffer));
    }
  }

  checkLimits(limits) {
    const { name, block } = this;
    const most = ["X", "Y", "Z"].map((axis) => limits[`maxComputeWorkgroupSize${axis}`]);
    const threads = block[0] * block[1] * block[2];
    const all = limits.maxComputeInvocationsPerWorkgroup;
    if (threads > all || block.some((size, axis) => size > most[axis])) {
      const have = `${all} threads and (${most.join(", ")})`;
      throw new RangeError(`${name}: blocks of (${block.join(", ")}); this device has ${have}`);
    }
    this.mostShared = limits.maxComputeWorkgroupStorageSize;
    this.mostBlocks = limits.maxComputeWorkgroupsPerDimension;
    this.checkShared(0);
  }

  checkShared(dynamic) {
    if (!Number.isSafeInteger(dynamic) || dynamic < 0) {
      throw new RangeError(`${this.name}, shared: ${dynamic} is no number of bytes`);
    }
    const needed = this.sharedBytes + dynamic;
    if (needed > this.mostShared) {
      const have = `this device has ${this.mostShared}`;
      throw new RangeError(`${this.name}: ${needed} bytes of shared memory; ${have}`);
    }
  }

  // Begin a launch: { grid: blocks along each axis, block: as exported, shared: bytes }.
  launch({ grid, block = this.block, shared = 0 }, ...values) {
    const { gl, name } = this;
    gl.enter();
    const blocks = this.triple(grid, "grid");
    if (this.triple(block, "block").some((size, axis) => size !== this.block[axis])) {
      const made = `was exported for blocks of (${this.block.join(", ")})`;
      throw new RangeError(`${name} ${made}, not (${block}); export it with --block`);
    }
    const params = packed(this, values, gl);
    this.checkShared(shared);
    const small = isCompact(this, params, blocks);
    const pipeline = (small ? this.compactCode : this.code).pipeline(shared);
    if (this.version !== gl.version) this.bind();
    if (params.length) gl.device.queue.writeBuffer(this.params, 0, params);
    const most = this.mostBlocks;
    for (let z = 0; z < blocks[2]; z += most) {
      for (let y = 0; y < blocks[1]; y += most) {
        for (let x = 0; x < blocks[0]; x += most) {
          this.dispatch(pipeline, [x, y, z], blocks, shared);
        }
      }
    }
    if (this.reports) gl.told.add(this);
  }

  triple(sizes, what) {
    const list = typeof sizes === "number" ? [sizes] : [...(sizes ?? [])];
    const whole = list.every((size) => Number.isSafeInteger(size) && size > 0 && size < 2 ** 31);
    if (list.length < 1 || list.length > 3 || !whole) {
      throw new RangeError(`${this.name}, ${what} [${list}]: one to three numbers from 1 on`);
    }
    return [...list, 1, 1].slice(0, 3);
  }

  bind() {
    const { device, group, heap } = this.gl;
    const buffers = [heap.buffer, this.params, this.words];
    const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
    this.bound = device.createBindGroup({ layout: group, entries });
    this.version = this.gl.version;
  }

  // Some of a grid's blocks, from `first` on, as many as the device takes at once.
  dispatch(pipeline, first, grid, shared) {
    const { device } = this.gl;
    const words = new Uint32Array([...first, ...grid, this.reportAddress, shared, 0]);
    device.queue.writeBuffer(this.words, 0, words);
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, this.bound);
    const rest = grid.map((size, axis) => Math.min(this.mostBlocks, size - first[axis]));
    pass.dispatchWorkgroups(...rest);
    pass.end();
    device.queue.submit([encoder.finish()]);
  }

  // Launch with typed arrays in place of arrays of one axis, and copy those back.
  async run(options, ...values) {
    const made = new Map();
    try {
      const given = values.map((value) => {
        if (!ArrayBuffer.isView(value)) return value;
        if (!made.has(value)) made.set(value, this.gl.array(value));
        return made.get(value);
      });
      this.launch(options, ...given);
      const copies = [...made].map(async ([to, from]) => to.set(await from.read()));
      await Promise.all([this.gl.finish(), ...copies]);
    } finally {
      for (const array of made.values()) if (!this.gl.lost) array.free();
    }
  }

  // Read and reset the report: what a thread raised, as an error, or null. Prints what was printed.
  async told() {
    const { heap } = this.gl;
    const at = this.reportAddress, records = this.reportBytes - RECORDS;
    const octets = await heap.read(at, this.reportBytes, (encoder, buffer) => {
      encoder.clearBuffer(buffer, at, CAPACITY);
      if (records) encoder.clearBuffer(buffer, at + RECORDS, records);
    });
    const view = new DataView(octets);
    this.printed(view, records);
    const code = view.getUint32(4, true);
    if (!code) return null;
    const triple = (from) => [0, 4, 8].map((n) => view.getUint32(from + n, true));
    return new KernelError(this.name, this.errors[code - 1], triple(8), triple(20));
  }

  printed(view, records) {
    const head = view.getUint32(HEAD, true);
    let at = 0;
    while (at + 8 <= Math.min(head, records)) {
      const site = view.getUint32(RECORDS + at, true);
      if (!site) break; // the record that did not fit, and all behind it
      const { parts, dtypes } = this.prints[site - 1];
      let cell = RECORDS + at + 8, n = 0;
      const texts = parts.map((part) => {
        if (part !== null) return part;
        const text = textOf(view, cell, dtypes[n++]);
        cell += 8;
        return text;
      });
      this.gl.print(texts.join(""));
      at += 8 + 8 * dtypes.length;
    }
    if (head > at) {
      const lost = `${head - at} bytes more than the ${records} that are kept`;
      console.warn(`gridlane: ${this.name} printed ${lost} between two looks; they are lost`);
    }
  }
}
