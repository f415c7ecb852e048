// What was explained, in a line and on cards, and how it was computed.

function describe(list, facts) {
  list.replaceChildren(...facts.flatMap(([term, text]) => [make("dt", {}, term), make("dd", {}, text)]));
}

const factOf = (facts, name) => facts?.find(([term]) => term === name)?.[1];

/** Describe the page in a line. */
function lead(report) {
  const players = count(report.nPlayers, report.columns.length > report.nPlayers ? "player" : "feature");
  const library = factOf(report.model, "Read from");
  const trees = factOf(report.model, "Trees");
  const model = library ? `, model of ${trees} ${trees === "1" ? "tree" : "trees"} from ${library}` : "";
  const output = report.outputs.length === 1 && report.outputs[0] ? `, output ${report.outputs[0]}` : "";
  return `${count(report.n_rows, "row")} explained by ${players}${model}${output}`;
}

/** Fill the cards: what was explained, and between which predictions; last, whether the values add up. */
function summary(report) {
  const groups = report.columns.length > report.nPlayers;
  const before = [
    ["Rows", report.n_rows.toLocaleString("en"), "explained"],
    [
      groups ? "Players" : "Features",
      report.nPlayers.toLocaleString("en"),
      groups ? `of ${report.columns.length} columns` : "each a player",
    ],
    ["Unit", report.unit.name, report.unit.becomes ? `with the ${report.unit.becomes} in brackets` : "of all values"],
  ];
  const after = report.additivity
    ? [["Largest gap", figure(report.additivity.sizes[0], 3), "between base plus values and the prediction"]]
    : [];
  const build = () => {
    const base = report.baseOf(state.row);
    const becomes = report.converted(base);
    const same = becomes === null ? "" : `; at this number, the ${report.unit.becomes} is ${figure(becomes, 3)}`;
    const expected = [report.base_name, figure(base), `what the values start from${same}`, base];
    byId("cards").replaceChildren(
      ...[...before, expected, rangeCard(report), ...after].map(([term, text, more, value]) =>
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

function rangeCard(report) {
  const rows = [...report.predictions[state.output].keys()];
  const extreme = (way) => rows.reduce((best, row) => (way * report.predictionOf(row) > way * report.predictionOf(best) ? row : best));
  const [low, high] = [extreme(-1), extreme(1)];
  const becomes = [low, high].map((row) => report.becomesOf(row));
  const more = becomes[0] === null ? "" : `; ${report.unit.becomes} ${figure(becomes[0], 3)} to ${figure(becomes[1], 3)}`;
  const [from, to] = [low, high].map((row) => figure(report.predictionOf(row), 3));
  return [`Range of ${report.predicted}s`.replace("losss", "losses"), `${from} to ${to}`, `${report.unit.name} of the rows shown${more}`];
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
      `; the largest absolute prediction is ${figure(largest)} (${report.unit.name}).`,
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
  if (report.has_no_pairs)
    sentences.push(`No interactions: they are not computed for the ${report.unit.name} of a softmax.`);
  if (!report.trees) sentences.push(`No trees, so no contrasts and no trace: ${report.no_walk}.`);
  else if (report.nShown === 1) sentences.push("Only one row, so no contrasts and no trace.");
  else if (!report.trees.complete)
    sentences.push(`The first ${count(report.trees.numbers.length, "tree")} of ${text(report.trees.n_trees)}.`);
  else if (report.contrasts) sentences.push("All trees, for the trace.");
  else sentences.push("All trees: this page computes contrasts and traces itself.");
  return [...sentences, "This page loads nothing and sends nothing."];
}
