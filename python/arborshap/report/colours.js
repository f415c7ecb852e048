// Colours of rows, by the place of a cell between the lowest and the highest of its column.

/** Return a colour of the style sheet, for the canvases. */
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** Interpolate 64 colours between three. */
function colourRamp(stops) {
  const channels = stops.map((stop) => [1, 3, 5].map((at) => parseInt(stop.slice(at, at + 2), 16)));
  return Array.from({ length: 64 }, (_, i) => {
    const at = (i / 63) * 2;
    const from = Math.min(1, Math.floor(at));
    const mixed = channels[from].map((value, k) => Math.round(value + (at - from) * (channels[from + 1][k] - value)));
    return `rgb(${mixed.join(" ")})`;
  });
}

/** Group the rows by the colour of their cell in a column; without a column that has an order, all are of one colour. */
function rowsByColour(report, column, otherwise = "missing") {
  const all = [...Array(report.nShown).keys()];
  if (column === null || !report.hasOrder(column)) return [[colour(otherwise), all]];
  const cells = report.cellsOf(column);
  const sorted = Float64Array.from(cells.filter(Number.isFinite)).sort();
  const grey = [colour("missing"), []];
  if (sorted.length === 0) return [[grey[0], all]];
  let [low, high] = [sorted[Math.floor(0.05 * (sorted.length - 1))], sorted[Math.ceil(0.95 * (sorted.length - 1))]];
  if (low === high) [low, high] = [sorted[0], sorted[sorted.length - 1]];
  const ramp = colourRamp([colour("down"), colour("middle"), colour("up")]).map((ink) => [ink, []]);
  for (const row of all) {
    // Halve the numbers, because their difference may overflow; infinite cells are at the ends.
    const share =
      high > low
        ? Math.min(1, Math.max(0, (cells[row] / 2 - low / 2) / (high / 2 - low / 2)))
        : 0.5 + 0.5 * Math.sign(cells[row] - low);
    (Number.isNaN(cells[row]) ? grey : ramp[Math.round(63 * share)])[1].push(row);
  }
  return [grey, ...ramp].filter(([, rows]) => rows.length);
}
