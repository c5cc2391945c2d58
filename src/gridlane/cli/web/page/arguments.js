// The arguments of a launch, checked against the types that a kernel was compiled for, as the
// parameter block that its code reads.

import { GridArray } from "./memory.js";
import { objection, putScalar } from "./values.js";

// What is wrong with a value for a type, or "".
const WRONG = {
  none: (type, value) => (value === null ? "" : "takes null"),
  scalar: (type, value) => {
    const why = objection(value, type.dtype);
    return why && `${shown(value)} ${why}; it is of type ${type.dtype}`;
  },
  complex: (type, value) => {
    const pair = Array.isArray(value) && value.length === 2;
    return pair && value.every((x) => typeof x === "number") ? "" : "takes [real, imaginary]";
  },
  tuple: ({ items }, value) => {
    if (!Array.isArray(value) || value.length !== items.length) {
      return `takes a list of ${items.length}`;
    }
    for (const [n, item] of items.entries()) {
      const why = WRONG[item.kind](item, value[n]);
      if (why) return `item ${n}: ${why}`;
    }
    return "";
  },
  array: wrongArray,
};

function wrongArray({ element, ndim, layout }, value) {
  if (!(value instanceof GridArray)) {
    return `takes an array of ${element}, made by gl.array or gl.zeros, not ${shown(value)}`;
  }
  if (!value.address) return "the array was freed";
  if (value.dtype !== element) return `takes an array of ${element}, not of ${value.dtype}`;
  const axes = value.shape.length;
  if (axes !== ndim) return `takes an array of ${ndim} axes, not of ${axes}`;
  if (axes > 1 && layout !== "A" && layout !== value.order) {
    return `takes an array in order ${layout}, not ${value.order}`;
  }
  return "";
}

function shown(value) {
  if (ArrayBuffer.isView(value)) return `a ${value.constructor.name}`;
  if (typeof value === "string") return JSON.stringify(value);
  return typeof value === "object" && value !== null ? "an object" : `${value}`;
}

function check(kernel, values, gl) {
  const { name, arguments: wanted } = kernel;
  const signature = `${name}(${wanted.map((each) => each.name).join(", ")})`;
  if (values.length !== wanted.length) {
    throw new TypeError(`${signature} takes ${wanted.length} arguments, not ${values.length}`);
  }
  for (const [n, { name: parameter, type }] of wanted.entries()) {
    const why = WRONG[type.kind](type, values[n]);
    if (why) throw new TypeError(`${signature}, argument ${parameter}: ${why}`);
  }
  for (const array of values.flat(Infinity)) {
    if (array instanceof GridArray && array.gl !== gl) {
      throw new TypeError(`${signature}: an array of another device`);
    }
  }
}

// The scalar that a slot's path leads to.
function scalarAt(value, path) {
  const steps = { data: ({ address }) => address, real: ([real]) => real, imag: ([, imag]) => imag };
  for (let n = 0; n < path.length; n += 1) {
    const step = path[n];
    if (step === "shape" || step === "strides") return value[step][path[n + 1]];
    value = typeof step === "number" ? value[step] : steps[step](value);
  }
  return value;
}

// The parameter block of a kernel, as bytes.
export function packed(kernel, values, gl) {
  check(kernel, values, gl);
  const view = new DataView(new ArrayBuffer(kernel.paramBytes));
  for (const { argument, path, offset, dtype } of kernel.slots) {
    const value = scalarAt(values[argument], path);
    putScalar(view, offset, dtype ?? "uint64", value);
  }
  return new Uint8Array(view.buffer);
}

// core/compact.py: the most threads of a grid along an axis, bytes from an array's first to its last
// element, and magnitude of an integer of 64 bits; the most blocks along an axis.
const LIMIT = 2 ** 30, MOST_BLOCKS = 2 ** 21;

// Whether a launch with a parameter block keeps to these.
export function isCompact({ block, slots }, params, blocks) {
  const fits = (count, axis) => count <= MOST_BLOCKS && count * block[axis] <= LIMIT;
  if (!blocks.every(fits)) return false;
  const view = new DataView(params.buffer, params.byteOffset, params.byteLength);
  const numbers = new Map();
  const key = (argument, path) => [argument, ...path].join(" ");
  for (const { argument, path, offset, dtype } of slots) {
    if (dtype !== "int64") continue;
    const number = Number(view.getBigInt64(offset, true));
    if (Math.abs(number) > LIMIT) return false;
    numbers.set(key(argument, path), number);
  }
  const reaches = new Map();
  for (const { argument, path } of slots) {
    const axis = path.at(-1), array = key(argument, path.slice(0, -2));
    if (path.at(-2) !== "strides") continue;
    const length = numbers.get(key(argument, [...path.slice(0, -2), "shape", axis]));
    const stride = numbers.get(key(argument, path));
    reaches.set(array, (reaches.get(array) ?? 0) + Math.abs((length - 1) * stride));
  }
  return [...reaches.values()].every((reach) => reach <= LIMIT);
}
