// Runs WGSL by core/shader_abi.py: a heap, a parameter block, launch words.

let device = null;

const octets = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

function text(bytes) {
  let letters = "";
  for (let at = 0; at < bytes.length; at += 4096) {
    letters += String.fromCharCode(...bytes.subarray(at, at + 4096));
  }
  return btoa(letters);
}

export async function open() {
  const adapter = await navigator.gpu?.requestAdapter();
  if (!adapter) throw new Error("no adapter of WebGPU");
  const most = adapter.limits.maxComputeWorkgroupStorageSize;
  const requiredLimits = { maxComputeWorkgroupStorageSize: most };
  device = await adapter.requestDevice({ requiredLimits });
  return adapter.info.architecture;
}

// A text as a module, and what Tint says against it or null.
async function understood(code) {
  const module = device.createShaderModule({ code });
  const said = (await module.getCompilationInfo()).messages;
  const wrong = said.filter((message) => message.type === "error");
  const lines = wrong.map(({ lineNum, message }) => `line ${lineNum}: ${message}`);
  return { module, error: lines.join("\n") || null };
}

export async function judge(code) {
  device.pushErrorScope("validation");
  const found = understood(code);
  const [{ error }, failure] = await Promise.all([found, device.popErrorScope()]);
  return error ?? failure?.message ?? null;
}

function pipeline(module, entryPoint, constants) {
  const types = ["storage", "read-only-storage", "read-only-storage"];
  const entries = types.map((type, binding) => ({
    binding, visibility: GPUShaderStage.COMPUTE, buffer: { type },
  }));
  const group = device.createBindGroupLayout({ entries });
  const layout = device.createPipelineLayout({ bindGroupLayouts: [group] });
  const compute = { module, entryPoint, constants };
  return { made: device.createComputePipeline({ layout, compute }), group };
}

function filled(bytes, usage) {
  const buffer = device.createBuffer({ size: bytes.length, usage });
  device.queue.writeBuffer(buffer, 0, bytes);
  return buffer;
}

// The heap behind the grid, or what is wrong.
export async function run({ source, entry, constants, grid, blocks }) {
  const { module, error } = await understood(source);
  if (error) return { error };
  device.pushErrorScope("validation");
  const { made, group } = pipeline(module, entry, constants);
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
  const buffers = blocks.map((block) => filled(octets(block), usage));
  const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
  const [heap] = buffers;
  const readable = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;
  const answer = device.createBuffer({ size: heap.size, usage: readable });
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(made);
  pass.setBindGroup(0, device.createBindGroup({ layout: group, entries }));
  pass.dispatchWorkgroups(...grid);
  pass.end();
  encoder.copyBufferToBuffer(heap, 0, answer, 0, heap.size);
  device.queue.submit([encoder.finish()]);
  const failure = await device.popErrorScope();
  if (failure) return { error: failure.message };
  await answer.mapAsync(GPUMapMode.READ);
  const result = text(new Uint8Array(answer.getMappedRange()));
  for (const buffer of [...buffers, answer]) buffer.destroy();
  return { heap: result };
}
