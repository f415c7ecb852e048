// One row from the base value to its prediction, and two rows from the prediction of one to that of the other.

function oneRow(report) {
  new RowPicker(report, byId("row-picker"), "row", "Row", [...Array(report.nShown).keys()]);
  const fall = new Waterfall(byId("row-fall"), byId("row-more"), report.unit.name);
  const headings = report.data ? ["Value"] : [];
  const build = () => {
    const { row } = state;
    const steps = report.players.map((name, player) => ({
      name,
      cells: headings.map(() => report.cellsText(row, player)),
      value: report.valuesOf(player)[row],
    }));
    const base = report.baseOf(row);
    const total = steps.reduce((sum, step) => sum + step.value, base);
    const beside = (becomes) => (becomes === null ? "" : `${report.unit.becomes} ${figure(becomes, 3)}`);
    const end = report.additivity
      ? { value: report.predictionOf(row), beside: beside(report.becomesOf(row)) }
      : { value: total, beside: report.adds_up ? beside(report.converted(total)) : "" };
    fall.show(
      { name: report.base_name, value: base, beside: beside(report.converted(base)) },
      { name: report.end_name, ...end },
      steps,
      headings,
    );
    byId("row-picked").textContent =
      `${report.nameOf(row)}: ${report.unit.name} ${report.predictionInWords(row)}, ` +
      `${report.base_name.toLowerCase()} ${report.inUnit(base)}`;
  };
  state.on(["row", "output"], build);
  build();
}

/** Return the mean slope between two rows of what is explained over the raw prediction: 1 if they are the same. */
function slopeBetween(report, a, b) {
  if (!report.rescaled) return 1;
  const at = (numbers, row) => numbers[state.output * report.nShown + row];
  const { margin, slope } = report.rescaled;
  const step = at(margin, a) - at(margin, b);
  // Between almost equal margins, the quotient would lose its digits.
  return Math.abs(step) > 1e-5
    ? (report.predictionOf(a) - report.predictionOf(b)) / step
    : (at(slope, a) + at(slope, b)) / 2;
}

function contrasts(report, trees) {
  const { contrasts: ready } = report;
  const rows = ready ? ready.rows : [...Array(report.nShown).keys()];
  byId("contrast-hint").append(`${report.contrast_says} ${report.values_in}`);
  if (ready)
    byId("contrast-hint").append(` ${ready.why}, so ${rows.length} rows were compared with each other in advance.`);
  if (report.index === "banzhaf") byId("contrast-hint").append(" These are Shapley values, not Banzhaf values.");
  byId("contrast").hidden = false;
  new RowPicker(report, byId("a-picker"), "a", "A, the row to explain", rows);
  new RowPicker(report, byId("b-picker"), "b", "B, the row to compare with", rows);
  byId("swap").addEventListener("click", () => {
    const { a, b } = state;
    state.set("a", b);
    state.set("b", a);
  });
  const size = report.nPlayers;
  const compute = (a, b) => {
    if (!ready) {
      const slope = slopeBetween(report, a, b);
      return trees.contrast(a, b).map((value) => slope * value);
    }
    const start = ((state.output * rows.length + rows.indexOf(a)) * rows.length + rows.indexOf(b)) * size;
    return ready.values.subarray(start, start + size);
  };
  const fall = new Waterfall(byId("contrast-fall"), byId("contrast-more"), report.unit.name);
  const headings = report.data ? ["A has", "B has"] : [];
  const end = (letter, row) => ({
    name: `${letter}: ${report.nameOf(row)}`,
    value: report.predictionOf(row),
    beside: report.becomesOf(row) === null ? "" : `${report.unit.becomes} ${figure(report.becomesOf(row), 3)}`,
  });
  const build = () => {
    const { a, b } = state;
    const phi = compute(a, b);
    const steps = report.players.map((name, player) => ({
      name,
      cells: headings.map((_, i) => report.cellsText(i ? b : a, player)),
      value: phi[player],
    }));
    fall.show(end("B", b), end("A", a), steps, headings);
    byId("contrast-picked").textContent =
      `A, ${report.nameOf(a)}: ${report.unit.name} ${report.predictionInWords(a)}; ` +
      `B, ${report.nameOf(b)}: ${report.predictionInWords(b)}; ` +
      `difference ${signed(report.predictionOf(a) - report.predictionOf(b))}`;
  };
  state.on(["a", "b", "output"], build);
  build();
}
