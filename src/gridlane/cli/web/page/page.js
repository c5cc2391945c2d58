// A page for any kernels: a form for each, filled with something to begin with.

import { load } from "./gridlane.js";
import { isDrawable, picture } from "./picture.js";
import { elementOf } from "./values.js";

const SHOWN = 12; // values of an array
const FILLS = {
  "0, 1, 2, …": (n) => n % 128,
  zeros: () => 0,
  ones: () => 1,
  random: () => Math.random(),
};
const status = document.getElementById("status");

function made(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

const numbers = (text) => text.split(",").map(Number);

// A value of a typed array: whole where its elements are.
function element(array, value) {
  if (array === BigInt64Array || array === BigUint64Array) return BigInt(Math.trunc(value));
  return value;
}

// The blocks that cover the largest array along each axis of the grid that the kernel reads. Which
// axis of the array is which of the grid is the kernel's own affair, so each gets the longest.
function guessedGrid(kernel, shapes) {
  const most = (found, sizes) => Math.max(found, ...sizes);
  const elements = shapes.map((sizes) => [sizes.reduce((product, n) => product * n, 1)]);
  const extent = (kernel.axes > 1 ? shapes : elements).reduce(most, 1);
  return kernel.block.slice(0, kernel.axes).map((threads) => Math.ceil(extent / threads)).join(", ");
}

// The row of an array: its shape and what it is filled with.
function arrayRow({ name, text, type }) {
  const usual = type.ndim === 1 ? "1024" : Array(type.ndim).fill("32").join(",");
  const shape = made("input", { value: usual, title: "the shape" });
  const fill = made("select", {}, ...Object.keys(FILLS).map((each) => made("option", {}, each)));
  const row = made("label", { title: text }, `${name}: ${text}`, shape, fill);
  const value = (gl) => {
    const { bytes, array } = elementOf(type.element);
    const sizes = numbers(shape.value), size = sizes.reduce((product, n) => product * n, 1);
    const count = (size * bytes) / array.BYTES_PER_ELEMENT;
    const data = array.from({ length: count }, (_, n) => element(array, FILLS[fill.value](n)));
    const order = type.layout === "F" ? "F" : "C";
    return gl.array(data, { dtype: type.element, shape: sizes, order });
  };
  return { row, value, shape, sizes: () => numbers(shape.value) };
}

// The row of anything else: a number, true, null, or a list of these.
function plainRow({ name, text, type }) {
  const first = { scalar: type.dtype === "bool" ? "false" : "1", complex: "[1, 0]", none: "null" };
  const input = made("input", { value: first[type.kind] ?? "[]" });
  const row = made("label", { title: text }, `${name}: ${text}`, input);
  const exact = /^u?int64$/.test(type.dtype);
  return { row, value: () => (exact ? BigInt(input.value) : JSON.parse(input.value)) };
}

function shown(name, data) {
  const values = [...data.subarray(0, SHOWN)].join(", ");
  return `${name} = ${values}${data.length > SHOWN ? ", …" : ""}`;
}

// What an array holds: a picture of two axes, the first values of all else.
function result({ name, type }, sizes, data) {
  const text = made("pre", { textContent: shown(name, data) });
  if (!isDrawable(type, sizes)) return [text];
  const { canvas, least, most } = picture(data, sizes, type.layout);
  canvas.title = name;
  const range = `${name}: ${least} is black, ${most} white`;
  return [text, made("p", { className: "note", textContent: range }), canvas];
}

function section(gl, kernel, lines) {
  const rows = kernel.arguments.map((each) =>
    each.type.kind === "array" ? arrayRow(each) : plainRow(each));
  const arrayRows = rows.filter(({ shape }) => shape);
  const guess = () => guessedGrid(kernel, arrayRows.map(({ sizes }) => sizes()));
  const grid = made("input", { value: guess() });
  let chosen = false; // by the reader, in the place of the guess
  grid.oninput = () => { chosen = true; };
  for (const { shape } of arrayRows) {
    shape.oninput = () => { if (!chosen) grid.value = guess(); };
  }
  const button = made("button", { textContent: "Run" });
  const output = made("pre", { hidden: true });
  const results = made("div");
  button.onclick = async () => {
    lines.length = 0;
    results.replaceChildren();
    const arrays = [];
    try {
      const values = rows.map(({ value }) => value(gl));
      for (const [n, value] of values.entries()) if (value?.address) arrays.push([n, value]);
      const start = performance.now();
      kernel.launch({ grid: numbers(grid.value) }, ...values);
      await gl.finish();
      lines.push(`${(performance.now() - start).toFixed(1)} ms`);
      for (const [n, array] of arrays) {
        results.append(...result(kernel.arguments[n], rows[n].sizes(), await array.read()));
      }
      output.className = "";
    } catch (error) {
      lines.push(String(error));
      output.className = "error";
    }
    for (const [, array] of arrays) array.free();
    output.textContent = lines.join("\n");
    output.hidden = false;
  };
  const block = `blocks of ${kernel.block.join(", ")} threads`;
  return made(
    "section", { id: kernel.name },
    made("h2", {}, kernel.name),
    made("p", { className: "note" }, [block, ...kernel.notes].join("; ")),
    ...rows.map(({ row }) => row),
    made("label", {}, "grid, in blocks", grid, button),
    output,
    results,
  );
}

try {
  const lines = [];
  const gl = await load("./manifest.json", { print: (line) => lines.push(line) });
  const kernels = Object.values(gl.kernels);
  document.getElementById("kernels").append(...kernels.map((each) => section(gl, each, lines)));
  const { vendor, architecture, description } = gl.device.adapterInfo ?? {};
  status.textContent = description || [vendor, architecture].filter(Boolean).join(" ");
} catch (error) {
  status.textContent = String(error);
  status.className = "error";
}
document.body.dataset.ready = "yes";
