// The course of the mean: one band per feature, stacked above and below zero, and their sum as a line.

const MOST_BANDS = 7;

/** Choose the features with the largest contributions; all others share the last band. */
function bandsOf(drift, output) {
  const largest = drift.players.map((_, j) => Math.max(...drift.course(output).map((line) => Math.abs(line[j]))));
  const order = drift.players.map((_, j) => j).sort((a, b) => largest[b] - largest[a]);
  const shown = order.length > MOST_BANDS ? order.slice(0, MOST_BANDS - 1) : order;
  const others = order.slice(shown.length);
  const bands = shown.map((j, k) => ({ name: drift.players[j], players: [j], colour: `var(--band-${k})` }));
  if (others.length) bands.push({ name: `${others.length} others together`, players: others, colour: "var(--missing)" });
  return bands;
}

/** Draw the bands of one output; `pick` is called with the period that is clicked. */
function drawBands(drift, output, pick) {
  const [width, height, left, right, top, bottom] = [1100, 380, 64, 16, 14, 58];
  const course = drift.course(output);
  const bands = bandsOf(drift, output);
  const sums = course.map((line) => line.reduce((sum, value) => sum + value, 0));
  const parts = bands.map((band) => course.map((line) => band.players.reduce((sum, j) => sum + line[j], 0)));
  const total = (choose) => course.map((_, t) => parts.reduce((sum, values) => sum + choose(values[t], 0), 0));
  const scale = scaleOf([...total(Math.max), ...total(Math.min)], 0.04, 0);
  const x = (t) => left + ((width - left - right) * t) / Math.max(1, drift.periods.length - 1);
  const y = (value) => top + (height - top - bottom) * (1 - scale.at(value));
  const areas = [];
  for (const choose of [Math.max, Math.min]) {
    let start = course.map(() => 0);
    bands.forEach((band, k) => {
      const end = start.map((value, t) => value + choose(parts[k][t], 0));
      const points = [...end.map((value, t) => [x(t), y(value)]), ...start.map((value, t) => [x(t), y(value)]).reverse()];
      const shape = { points: points.map((point) => point.map((at) => at.toFixed(1)).join(",")).join(" ") };
      areas.push(draw("polygon", { ...shape, fill: band.colour, "fill-opacity": 0.8 }));
      start = end;
    });
  }
  const labels = ticks(scale).map((at) => [
    draw("line", { x1: left, x2: width - right, y1: y(at), y2: y(at), stroke: "var(--line)" }),
    draw("text", { x: left - 8, y: y(at) + 4, "text-anchor": "end", fill: "var(--soft)", "font-size": 13 }, short(at)),
  ]);
  const step = Math.ceil(drift.periods.length / 14);
  const names = drift.periods.map((name, t) =>
    t % step
      ? null
      : draw(
          "text",
          {
            transform: `translate(${x(t)} ${height - bottom + 20}) rotate(-25)`,
            "text-anchor": "end",
            fill: "var(--soft)",
            "font-size": 13,
          },
          clipped(name, 14),
        ),
  );
  const line = sums.map((value, t) => `${x(t).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
  const dots = sums.map((value, t) =>
    draw(
      "circle",
      { cx: x(t), cy: y(value), r: 5, fill: "var(--text)", class: "period-dot", "data-value": String(value), onclick: () => pick(t) },
      draw("title", {}, `${drift.periods[t]}: ${signed(value)}`),
    ),
  );
  byId("bands-legend").replaceChildren(
    ...bands.map((band) => make("li", {}, make("i", { style: { borderTopColor: band.colour } }), clipped(band.name, 40))),
    make("li", {}, make("i", { style: { borderTopColor: "var(--text)" } }), "sum"),
  );
  const says = `The sum of all contributions since ${drift.periods[0]}, period by period: ${sums.map((value) => signed(value)).join(", ")}`;
  return draw(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width: "100%", role: "img", "aria-label": says },
    ...labels.flat(),
    ...areas,
    draw("line", { x1: left, x2: width - right, y1: y(0), y2: y(0), stroke: "var(--text)", "stroke-opacity": 0.6 }),
    draw("polyline", { points: line, fill: "none", stroke: "var(--text)", "stroke-width": 2.5 }),
    ...dots,
    ...names,
  );
}
