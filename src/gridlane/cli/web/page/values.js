// Numbers as kernels have them: the types of arguments, and the text of what kernels print.

// A scalar type by numpy's name: its bytes, the typed array of its elements, and how a number goes
// into a DataView. `bits` is an integer's width, negative for a signed one.
const integer = (bytes, array, put, signed) => ({
  bytes, array, put: (view, at, x) => view[put](at, x, true), bits: signed ? -8 * bytes : 8 * bytes,
});
const float = (bytes, array, put) => ({ bytes, array, put });

export const SCALARS = {
  bool: { bytes: 1, array: Uint8Array, put: (view, at, x) => view.setUint8(at, x ? 1 : 0) },
  int8: integer(1, Int8Array, "setInt8", true),
  int16: integer(2, Int16Array, "setInt16", true),
  int32: integer(4, Int32Array, "setInt32", true),
  int64: integer(8, BigInt64Array, "setBigInt64", true),
  uint8: integer(1, Uint8Array, "setUint8", false),
  uint16: integer(2, Uint16Array, "setUint16", false),
  uint32: integer(4, Uint32Array, "setUint32", false),
  uint64: integer(8, BigUint64Array, "setBigUint64", false),
  float16: float(2, globalThis.Float16Array ?? Uint16Array, (view, at, x) =>
    view.setUint16(at, halfBits(x), true)),
  bfloat16: float(2, Uint16Array, (view, at, x) => view.setUint16(at, brainBits(x), true)),
  float32: float(4, Float32Array, (view, at, x) => view.setFloat32(at, x, true)),
  float64: float(8, Float64Array, (view, at, x) => view.setFloat64(at, x, true)),
};

// The elements of arrays: a complex number is two floats, a record its bytes.
export function elementOf(name) {
  if (name === "complex64") return { bytes: 8, array: Float32Array };
  if (name === "complex128") return { bytes: 16, array: Float64Array };
  const record = /^record of ([1-9]\d*) bytes$/.exec(name);
  if (record) return { bytes: Number(record[1]), array: Uint8Array };
  const known = Object.hasOwn(SCALARS, name) ? SCALARS[name] : null;
  if (!known) throw new TypeError(`there is no type ${JSON.stringify(name)}`);
  return known;
}

// The type of a typed array's elements, where the user names none.
export function dtypeOf(data) {
  if (data instanceof Uint8ClampedArray) return "uint8";
  for (const [name, { array }] of Object.entries(SCALARS)) {
    if (name !== "bool" && data.constructor === array) return name;
  }
  throw new TypeError(`${data?.constructor?.name ?? typeof data} is no typed array`);
}

// Why a value is no number of a type, or "".
export function objection(value, name) {
  if (name === "bool") return typeof value === "boolean" ? "" : "is no boolean";
  const { bits } = SCALARS[name];
  if (bits === undefined) return typeof value === "number" ? "" : "is no number";
  const whole = typeof value === "bigint" || Number.isSafeInteger(value);
  if (!whole) return typeof value === "number" ? "is no safe integer" : "is no integer";
  const width = Math.abs(bits), exact = BigInt(value);
  const fits = bits < 0 ? BigInt.asIntN(width, exact) : BigInt.asUintN(width, exact);
  return fits === exact ? "" : `does not fit into ${width} bits`;
}

// Writes a number that has no objection.
export function putScalar(view, at, name, value) {
  const { bits, bytes, put } = SCALARS[name];
  if (bits === undefined) put(view, at, value);
  else put(view, at, bytes === 8 ? BigInt(value) : Number(value));
}

// ---- 16-bit floats, rounded to the nearest, ties to even

const word = new DataView(new ArrayBuffer(8));

function halfBits(value) {
  const size = Math.abs(value);
  const sign = Object.is(value, -0) || value < 0 ? 0x8000 : 0;
  if (Number.isNaN(value)) return 0x7e00;
  if (size >= 65520) return sign | 0x7c00;
  // The distance of the numbers around: 2**-24 for subnormal ones, of 10 bits more for others.
  const step = 2 ** (Math.max(-14, Math.floor(Math.log2(size || 1))) - 10);
  return sign | halfOf(evenly(size / step) * step);
}

// The bits of a number that float16 holds exactly.
function halfOf(value) {
  if (value < 2 ** -14) return value * 2 ** 24;
  word.setFloat32(0, value);
  const raw = word.getUint32(0);
  return ((raw >>> 13) - ((127 - 15) << 10)) & 0x7fff;
}

function evenly(value) {
  const below = Math.floor(value), rest = value - below;
  return below + (rest > 0.5 || (rest === 0.5 && below % 2 === 1) ? 1 : 0);
}

function brainBits(value) {
  word.setFloat32(0, value);
  const raw = word.getUint32(0);
  if (Number.isNaN(value)) return 0x7fc0;
  return ((raw + 0x7fff + ((raw >>> 16) & 1)) >>> 16) & 0xffff;
}

function fromHalf(raw) {
  const exponent = (raw >> 10) & 31, fraction = raw & 1023, sign = raw & 0x8000 ? -1 : 1;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? (1024 + fraction) * 2 ** (exponent - 25) : fraction * 2 ** -24);
}

function fromBrain(raw) {
  word.setUint32(0, raw << 16);
  return word.getFloat32(0);
}

// ---- the text of a number, as numpy's str has it

const READ = {
  bool: (view, at) => (view.getUint8(at) ? "True" : "False"),
  int8: (view, at) => String(view.getInt8(at)),
  int16: (view, at) => String(view.getInt16(at, true)),
  int32: (view, at) => String(view.getInt32(at, true)),
  int64: (view, at) => String(view.getBigInt64(at, true)),
  uint8: (view, at) => String(view.getUint8(at)),
  uint16: (view, at) => String(view.getUint16(at, true)),
  uint32: (view, at) => String(view.getUint32(at, true)),
  uint64: (view, at) => String(view.getBigUint64(at, true)),
  float16: (view, at) => shortest(fromHalf(view.getUint16(at, true)), roundHalf, 3),
  bfloat16: (view, at) => sixDigits(fromBrain(view.getUint16(at, true))),
  float32: (view, at) => shortest(view.getFloat32(at, true), Math.fround, 6),
  float64: (view, at) => shortest(view.getFloat64(at, true), (x) => x, 16),
};

const roundHalf = (value) => fromHalf(halfBits(value));

// The text of the scalar of a type at a place.
export function textOf(view, at, name) {
  return READ[name](view, at);
}

// A float with as few digits as tell it from others of its type, with an exponent below 1e-4 and
// from 10**most on.
function shortest(value, rounded, most) {
  if (!Number.isFinite(value)) return special(value);
  let digits = 1;
  while (rounded(Number(value.toExponential(digits - 1))) !== value) digits += 1;
  return laidOut(value, value.toExponential(digits - 1), most, ".0");
}

// As C's %g, which is how bfloat16 is shown.
function sixDigits(value) {
  if (!Number.isFinite(value)) return special(value);
  return laidOut(value, Number(value.toExponential(5)).toExponential(), 6, "");
}

function special(value) {
  return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

function laidOut(value, scientific, most, end) {
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  if (value === 0) return `${sign}0${end}`;
  const [fraction, power] = scientific.replace("-", value < 0 ? "" : "-").split("e");
  const exponent = Number(power), size = Math.abs(exponent);
  if (exponent < -4 || exponent >= most) {
    return `${sign}${fraction}e${exponent < 0 ? "-" : "+"}${size < 10 ? "0" : ""}${size}`;
  }
  const digits = fraction.replace(".", "");
  if (exponent < 0) return `${sign}0.${"0".repeat(size - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  const rest = digits.slice(exponent + 1);
  return `${sign}${whole}${rest ? `.${rest}` : end}`;
}
