// Puts the page together.

function describe(list, facts) {
  list.replaceChildren(...facts.flatMap(([term, text]) => [make("dt", {}, term), make("dd", {}, text)]));
}

/** Describe the page in a line. */
function lead(report) {
  const players = count(report.nPlayers, report.columns.length > report.nPlayers ? "player" : "feature");
  const library = report.model?.find(([term]) => term === "Read from")?.[1];
  const model = library ? `, model from ${library}` : "";
  const output = report.outputs.length === 1 && report.outputs[0] ? `, output ${report.outputs[0]}` : "";
  return `${count(report.n_rows, "row")} explained by ${players}${model}${output}`;
}

function summary(report) {
  const cards = [["Rows", report.n_rows.toLocaleString("en"), "explained"]];
  cards.push([
    report.columns.length > report.nPlayers ? "Players" : "Features",
    report.nPlayers.toLocaleString("en"),
    report.columns.length > report.nPlayers ? `of ${report.columns.length} columns` : "each a player",
  ]);
  const fact = (facts, name) => facts?.find(([term]) => term === name)?.[1];
  const trees = fact(report.model, "Trees");
  if (trees) cards.push(["Trees", trees, fact(report.model, "Read from")]);
  if (report.additivity)
    cards.push(["Largest gap", figure(report.additivity.sizes[0], 3), "between base plus values and the prediction"]);
  const build = () => {
    const base = report.baseOf(state.row);
    const expected = [report.base_name, figure(base), "what the values start from", base];
    const predicted = report.predictions[state.output];
    const [low, high] = predicted.reduce(
      ([least, most], value) => [Math.min(least, value), Math.max(most, value)],
      [Infinity, -Infinity],
    );
    const range = ["Predictions", `${figure(low, 3)} to ${figure(high, 3)}`, "of the rows shown"];
    byId("cards").replaceChildren(
      ...[...cards, expected, range].map(([term, text, more, value]) =>
        make(
          "div",
          {},
          make("dt", {}, term),
          make("dd", { "data-value": value === undefined ? null : String(value) }, text, make("small", {}, more)),
        ),
      ),
    );
  };
  state.on(["output", "row"], build);
  build();
}

function oneRow(report) {
  new RowPicker(report, byId("row-picker"), "row", "Row", [...Array(report.nShown).keys()]);
  const fall = new Waterfall(byId("row-fall"), byId("row-more"));
  const headings = report.data ? ["Value"] : [];
  const build = () => {
    const { row } = state;
    const steps = report.players.map((name, player) => ({
      name,
      cells: headings.map(() => report.cellsText(row, player)),
      value: report.valuesOf(player)[row],
    }));
    const total = steps.reduce((sum, step) => sum + step.value, report.baseOf(row));
    const end = { name: report.end_name, value: report.additivity ? report.predictionOf(row) : total };
    fall.show({ name: report.base_name, value: report.baseOf(row) }, end, steps, headings);
    byId("row-picked").textContent =
      `${report.nameOf(row)}: ${report.base_name.toLowerCase()} ${figure(report.baseOf(row))}, ` +
      `${report.predicted} ${figure(report.predictionOf(row))}`;
  };
  state.on(["row", "output"], build);
  build();
}

function contrasts(report, trees) {
  const { contrasts: ready } = report;
  const rows = ready ? ready.rows : [...Array(report.nShown).keys()];
  if (ready)
    byId("contrast-hint").append(
      ` There are too many trees for this page, so ${rows.length} rows were compared with each other in advance.`,
    );
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
    if (!ready) return trees.contrast(a, b);
    const start = ((state.output * rows.length + rows.indexOf(a)) * rows.length + rows.indexOf(b)) * size;
    return ready.values.subarray(start, start + size);
  };
  const fall = new Waterfall(byId("contrast-fall"), byId("contrast-more"));
  const headings = report.data ? ["A has", "B has"] : [];
  const build = () => {
    const { a, b } = state;
    const [ofA, ofB] = [report.predictionOf(a), report.predictionOf(b)];
    const phi = compute(a, b);
    const steps = report.players.map((name, player) => ({
      name,
      cells: headings.map((_, i) => report.cellsText(i ? b : a, player)),
      value: phi[player],
    }));
    fall.show(
      { name: `B: ${report.nameOf(b)}`, value: ofB },
      { name: `A: ${report.nameOf(a)}`, value: ofA },
      steps,
      headings,
    );
    byId("contrast-picked").textContent =
      `Prediction of A, ${report.nameOf(a)}: ${figure(ofA)}; ` +
      `of B, ${report.nameOf(b)}: ${figure(ofB)}; difference ${signed(ofA - ofB)}`;
  };
  state.on(["a", "b", "output"], build);
  build();
}

function how(report) {
  describe(byId("computed"), report.computed);
  if (report.model) {
    describe(byId("model"), report.model);
    byId("model-card").hidden = false;
  }
  if (report.additivity) {
    const {
      sizes: [gap, largest],
      rows,
    } = report.additivity;
    byId("additivity-says").append(
      `Over ${count(rows, "row")}, the largest difference between a prediction and `,
      "the expected value plus the row's values is ",
      make("b", { id: "gap", "data-value": String(gap) }, figure(gap, 3)),
      `; the largest absolute prediction is ${figure(largest)}.`,
    );
    byId("additivity").hidden = false;
  }
  byId("carried").replaceChildren(...whatIsCarried(report).map((text) => make("li", {}, text)));
}

function whatIsCarried(report) {
  const text = (n) => n.toLocaleString("en");
  const whole = report.additivity ? "Mean sizes and the additivity check" : "Mean sizes";
  const leftOut = `${text(report.n_rows - report.nShown)} of ${text(report.n_rows)} are left out`;
  const sentences = [
    report.nShown === report.n_rows
      ? `All ${count(report.n_rows, "row")}.`
      : `${count(report.nShown, "row")}, spread evenly; ${leftOut}. ${whole} are over all rows.`,
    report.exact ? "Values with full precision." : "Values with float32 precision, about seven digits.",
  ];
  if (!report.trees) sentences.push(`No trees, so no contrasts and no trace: ${report.no_walk}.`);
  else if (report.nShown === 1) sentences.push("Only one row, so no contrasts and no trace.");
  else if (report.trees.complete) sentences.push("All trees: this page computes contrasts and traces itself.");
  else sentences.push(`The first ${count(report.trees.numbers.length, "tree")} of ${text(report.trees.n_trees)}.`);
  return [...sentences, "This page loads nothing and sends nothing."];
}

function theme(repaint) {
  const button = byId("theme");
  const preference = window.matchMedia("(prefers-color-scheme: dark)");
  const use = (dark) => {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    button.setAttribute("aria-pressed", String(dark));
    repaint();
  };
  button.addEventListener("click", () => use(document.documentElement.dataset.theme !== "dark"));
  preference.addEventListener("change", () => use(preference.matches));
  use(preference.matches);
}

async function main() {
  const report = new Report(await unpackAll(JSON.parse(byId("report-data").textContent)));
  byId("report-data").remove();
  const predicted = report.predictions[0];
  const highest = predicted.reduce((best, value, row) => (value > predicted[best] ? row : best), 0);
  const lowest = predicted.reduce((best, value, row) => (value < predicted[best] ? row : best), 0);
  const among = report.contrasts?.rows;
  Object.assign(state, { a: among ? among[0] : highest, b: among ? among[among.length - 1] : lowest });
  if (report.outputs.length > 1) {
    byId("output").append(...report.outputs.map((name, i) => make("option", { value: i }, name)));
    byId("output").addEventListener("change", (event) => state.set("output", Number(event.target.value)));
    byId("output-choice").hidden = false;
  }
  byId("lead").textContent = lead(report);
  let overview = null;
  theme(() => overview?.repaint());
  summary(report);
  overview = new Overview(report);
  if (report.interactions) new Interactions(report);
  oneRow(report);
  if (report.trees && report.nShown > 1) {
    const trees = new Trees(report);
    contrasts(report, trees);
    new TraceViewer(report, trees);
  }
  how(report);
  const links = {
    summary: "Glance",
    importance: "Features",
    interactions: "Interactions",
    row: "One row",
    contrast: "A and B",
    trace: "Trace",
    how: "How",
  };
  for (const [id, text] of Object.entries(links)) {
    if (!byId(id).hidden) byId("sections").append(make("li", {}, make("a", { href: `#${id}` }, text)));
  }
  document.documentElement.dataset.ready = "true";
}

main().catch((error) => {
  byId("failure").textContent = `This page could not be shown: ${error.message}. It needs a browser of 2023 or later.`;
  byId("failure").hidden = false;
  throw error;
});
