// Arrays of numbers with two axes, as pictures.

const MOST = 4096; // pixels of a side
const WIDTH = 512; // of the page's, that a small picture is enlarged to

export function isDrawable(type, sizes) {
  const numbers = !/^(complex|record)/.test(type.element) && type.element !== "bfloat16";
  return numbers && sizes.length === 2 && sizes.every((n) => n > 1 && n <= MOST);
}

// A canvas with a pixel for each element, black at the least and white at the most; values that are
// no numbers are red. `data` is in the order of the memory, "F" for columns first.
export function picture(data, [height, width], layout) {
  const values = Float64Array.from(data, Number);
  let least = Infinity, most = -Infinity;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (value < least) least = value;
    if (value > most) most = value;
  }
  const scale = most > least ? 255 / (most - least) : 0;
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  const context = canvas.getContext("2d"), pixels = context.createImageData(width, height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const value = values[layout === "F" ? x * height + y : y * width + x];
      const grey = Math.round((value - least) * scale);
      const colour = Number.isFinite(value) ? [grey, grey, grey, 255] : [220, 0, 40, 255];
      pixels.data.set(colour, 4 * (y * width + x));
    }
  }
  context.putImageData(pixels, 0, 0);
  canvas.style.width = `${Math.max(WIDTH, width)}px`;
  canvas.style.maxWidth = "100%";
  canvas.style.imageRendering = "pixelated";
  return { canvas, least, most };
}
