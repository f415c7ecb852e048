// The shape of a feature: how the mean prediction depends on its value. A small picture beside its swarm.

const SHAPE = { width: 150, height: 40, room: 4, lane: 14 };

/** Make the scale of the heights of all shapes, so that they can be compared. */
function shapeScale(report) {
  const all = Object.values(report.shapes).flatMap(({ heights, cells }) =>
    Array.from(heights.subarray(state.output * cells.length, (state.output + 1) * cells.length)),
  );
  return scaleOf(all, 0, 0);
}

/** Draw the shape of a player; null if the player has several columns. */
function shapeOf(report, player, scale) {
  const shape = report.shapes?.[player];
  if (!shape) return null;
  const { cells } = shape;
  const heights = shape.heights.subarray(state.output * cells.length, (state.output + 1) * cells.length);
  const column = report.columnsOf[player][0];
  const { width, height, room, lane } = SHAPE;
  const levels = report.columns[column].levels;
  const present = [...cells.keys()].filter((i) => Number.isFinite(cells[i]));
  const gone = [...cells.keys()].filter((i) => Number.isNaN(cells[i]));
  const start = gone.length ? lane : 0;
  const across = scaleOf(cells, 0);
  const up = (value) => room + (height - 2 * room) * (1 - scale.at(value));
  const place = (i) =>
    start + room + (width - start - 2 * room) * (levels ? (cells[i] + 0.5) / levels.length : across.at(cells[i]));
  const zero = draw("line", { class: "zero", x1: 0, x2: width, y1: up(0), y2: up(0) });
  const marks = gone.map((i) => dash(room + 4, up(heights[i]), "gone"));
  if (levels) marks.push(...present.map((i) => dash(place(i), up(heights[i]), "level")));
  else marks.push(draw("path", { class: "steps", d: steps(present.map((i) => [place(i), up(heights[i])])) }));
  return draw(
    "svg",
    {
      class: "shape",
      viewBox: `0 0 ${width} ${height}`,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": shapeInWords(report, player, present, cells, heights, levels),
      "data-cells": JSON.stringify(Array.from(cells)),
      "data-heights": JSON.stringify(Array.from(heights)),
    },
    zero,
    ...marks,
  );
}

const dash = (x, y, kind) => draw("line", { class: kind, x1: x - 3, x2: x + 3, y1: y, y2: y });

/** Go up or down halfway between two places, because trees predict in steps. */
function steps(places) {
  return places
    .map(([x, y], i) => {
      if (i === 0) return `M${x} ${y}`;
      return `H${(x + places[i - 1][0]) / 2}V${y}H${x}`;
    })
    .join("");
}

function shapeInWords(report, player, present, cells, heights, levels) {
  const name = report.players[player];
  if (present.length === 0) return `Shape of ${name}: all cells are missing`;
  const text = (i) => (levels ? levels[cells[i]] : short(cells[i]));
  const best = (sign) => present.reduce((found, i) => (sign * heights[i] > sign * heights[found] ? i : found));
  const [low, high] = [best(-1), best(1)];
  return `Shape of ${name}: lowest, ${signed(heights[low])}, at ${text(low)}; highest, ${signed(heights[high])}, at ${text(high)}`;
}
