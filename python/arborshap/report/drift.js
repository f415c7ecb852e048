// The page of a drift: the course of the mean, one change in detail, and all numbers.

/** The page's data, with the contributions of one output by period. */
class DriftData {
  constructor(data) {
    Object.assign(this, data);
    const shown = (name) => aside(clipped(name, LONGEST_NAME));
    this.players = this.players.map(shown);
    this.periods = this.periods.map(shown);
  }

  /** The contributions to the change to period t, or their standard errors. */
  line(numbers, output, t) {
    const [n, steps] = [this.players.length, this.periods.length - 1];
    const start = (output * steps + t - 1) * n;
    return [...numbers.subarray(start, start + n)];
  }

  mean(output, t) {
    return this.means[output * this.periods.length + t];
  }

  /** The contributions since the first period, by period. */
  course(output) {
    const lines = [this.players.map(() => 0)];
    for (let t = 1; t < this.periods.length; t++) {
      const line = this.line(this.values, output, t);
      lines.push(this.since === "first" ? line : line.map((value, j) => value + lines[t - 1][j]));
    }
    return lines;
  }

  before(t) {
    return this.since === "first" ? 0 : t - 1;
  }
}

function card(name, value, small = null) {
  return make("div", {}, make("dt", {}, name), make("dd", {}, value, small === null ? null : make("small", {}, small)));
}

function glance(drift) {
  const last = drift.periods.length - 1;
  const [first, final] = [drift.mean(state.output, 0), drift.mean(state.output, last)];
  const line = drift.course(state.output)[last];
  const most = line.reduce((best, value, j) => (Math.abs(value) > Math.abs(line[best]) ? j : best), 0);
  byId("lead").textContent =
    `From ${drift.periods[0]} to ${drift.periods[last]}, the mean ${drift.unit} moved from ${figure(first)} to ` +
    `${figure(final)} (${signed(final - first)}).`;
  byId("cards").replaceChildren(
    card("Periods", String(drift.periods.length)),
    card("Rows", count(drift.rows.reduce((sum, n) => sum + n, 0), "row")),
    card(`Mean of ${drift.periods[0]}`, figure(first), count(drift.rows[0], "row")),
    card(`Mean of ${drift.periods[last]}`, figure(final), count(drift.rows[last], "row")),
    card("Moved it most", drift.players[most], `${signed(line[most])} since ${drift.periods[0]}`),
  );
}

/** A bar from zero to a value, with its interval as a thin line. */
function barWithError(value, error, scale) {
  const percent = (at) => 100 * scale.at(at);
  const [from, to] = [Math.min(0, value), Math.max(0, value)].map(percent);
  const bar = { left: `${from}%`, width: `${Math.max(to - from, 0.15)}%`, background: value < 0 ? "var(--down)" : "var(--up)" };
  const parts = [make("span", { class: "drift-bar", style: bar })];
  if (error !== null) {
    const [low, high] = [value - 1.96 * error, value + 1.96 * error].map(percent);
    parts.push(make("span", { class: "drift-error", style: { left: `${low}%`, width: `${high - low}%` } }));
  }
  return make("div", { class: "drift-strip", "aria-hidden": "true" }, ...parts);
}

function oneChange(drift) {
  const t = state.period;
  const values = drift.line(drift.values, state.output, t);
  const line = drift.errors ? drift.line(drift.errors, state.output, t) : null;
  const errors = line && !line.some(Number.isNaN) ? line : null;
  const order = values.map((_, j) => j).sort((a, b) => Math.abs(values[b]) - Math.abs(values[a]));
  const ends = values.flatMap((value, j) => (errors ? [value - 1.96 * errors[j], value + 1.96 * errors[j]] : [value]));
  const scale = scaleOf(ends, 0.04, 0);
  const before = drift.before(t);
  const change = drift.mean(state.output, t) - drift.mean(state.output, before);
  byId("period").value = String(t);
  byId("change-says").textContent =
    `From ${drift.periods[before]} to ${drift.periods[t]}, the mean ${drift.unit} changed by ${signed(change)}.` +
    (errors ? "" : " How sure these numbers are is not known, because a period has a single row or was counted without error bars.");
  document.querySelector("#contributions tbody").replaceChildren(
    ...order.map((j) =>
      make(
        "tr",
        {},
        make("th", { scope: "row" }, drift.players[j]),
        numberCell(values[j], signed(values[j]), gainOrLoss(values[j])),
        errors ? numberCell(errors[j], `± ${figure(errors[j], 2)}`) : make("td", { class: "num" }, "not known"),
        make("td", {}, barWithError(values[j], errors ? errors[j] : null, scale)),
      ),
    ),
  );
  byId("contributions-axis").replaceChildren(...axisTicks(scale));
  byId("contributions-unit").textContent = drift.value_name;
}

function allNumbers(drift) {
  const steps = drift.periods.map((_, t) => t);
  const labels = shortNames(drift.players, 24);
  const cells = (t) => (t === 0 ? drift.players.map(() => null) : drift.line(drift.values, state.output, t));
  byId("table").replaceChildren(
    make(
      "thead",
      {},
      make(
        "tr",
        {},
        ...["Period", "Rows", `Mean ${drift.unit}`, ...drift.players].map((name, k) =>
          make("th", { scope: "col", class: k ? "num" : "", title: name }, labels.get(name) ?? name),
        ),
      ),
    ),
    make(
      "tbody",
      {},
      ...steps.map((t) =>
        make(
          "tr",
          {},
          make("th", { scope: "row" }, drift.periods[t]),
          numberCell(drift.rows[t], drift.rows[t].toLocaleString("en")),
          numberCell(drift.mean(state.output, t)),
          ...cells(t).map((value) =>
            value === null ? make("td", { class: "num" }, "") : numberCell(value, signed(value), gainOrLoss(value)),
          ),
        ),
      ),
    ),
  );
}

function reading(drift) {
  const since = drift.since === "first" ? "the first period" : "the period before it";
  const lines = [
    `Each period is compared with ${since}. Features of a coalition come from a row of the period, all others from a row ` +
      "of the reference, and the prediction is averaged over all pairs of rows.",
    drift.adds_up
      ? "The Shapley values of this game add up to the change in the mean prediction."
      : "Banzhaf values of this game need not add up to the change in the mean prediction.",
    "A contribution says through which feature the rows moved the mean, for this model. It does not say why the feature " +
      "changed, or whether the model is still right.",
    "A standard error says how far a contribution may be off because the rows of both periods are samples.",
  ];
  byId("reading").append(...lines.map((line) => make("li", {}, line)));
}

async function driftPage() {
  const drift = new DriftData(await unpackAll(JSON.parse(byId("report-data").textContent)));
  byId("report-data").remove();
  state.period = drift.periods.length - 1;
  const pick = (t) => state.set("period", Math.max(1, t));
  byId("period").append(...drift.periods.slice(1).map((name, k) => make("option", { value: k + 1 }, name)));
  byId("period").addEventListener("change", (event) => pick(Number(event.target.value)));
  if (drift.outputs.length > 1) {
    byId("output").append(...drift.outputs.map((name, i) => make("option", { value: i }, aside(clipped(name, LONGEST_NAME)))));
    byId("output").addEventListener("change", (event) => state.set("output", Number(event.target.value)));
    byId("output-choice").hidden = false;
  }
  byId("unit-says").textContent = drift.unit_says;
  const build = () => {
    glance(drift);
    byId("bands").replaceChildren(drawBands(drift, state.output, pick));
    oneChange(drift);
    allNumbers(drift);
  };
  state.on(["output"], build);
  state.on(["period"], () => oneChange(drift));
  theme(() => {});
  build();
  reading(drift);
  document.documentElement.dataset.ready = "true";
}

driftPage().catch((error) => {
  byId("failure").textContent = `This page could not be shown: ${error.message}. It needs a browser from 2023 or later.`;
  byId("failure").hidden = false;
  throw error;
});
