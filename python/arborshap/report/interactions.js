// The matrix of pairs as a table whose cells are shaded by size, and its strongest pairs as a list.

const HEAT_PLAYERS = 10;
const STRONGEST_PAIRS = 10;

class Interactions {
  constructor(report) {
    this.report = report;
    const { index, rows } = report.interactions;
    const what = index === "taylor" ? "Shapley-Taylor indices" : "Shapley interaction indices";
    const which =
      rows === report.n_rows
        ? `all ${count(rows, "row")}`
        : `${count(rows, "row")} spread evenly over the ${report.n_rows.toLocaleString("en")}`;
    byId("interactions-hint").textContent =
      `${what}, mean size over ${which}. On the diagonal stands what a feature does alone; ` +
      "off it, half of what two do together and neither does alone.";
    byId("interactions").hidden = false;
    state.on(["output"], () => this.build());
    this.build();
  }

  size(p, q) {
    const { nPlayers, interactions } = this.report;
    return interactions.sizes[(state.output * nPlayers + p) * nPlayers + q];
  }

  build() {
    const { players, nPlayers } = this.report;
    const pairs = [];
    const total = new Float64Array(nPlayers);
    for (let p = 0; p < nPlayers; p++) {
      for (let q = 0; q < nPlayers; q++) {
        total[p] += this.size(p, q);
        if (q > p && this.size(p, q) > 0) pairs.push([p, q]);
      }
    }
    pairs.sort((one, other) => this.size(...other) - this.size(...one));
    const shown = [...players.keys()].sort((p, q) => total[q] - total[p] || p - q).slice(0, HEAT_PLAYERS);
    const largest = Math.max(...shown.flatMap((p) => shown.map((q) => this.size(p, q)))) || 1;
    byId("heat").replaceChildren(
      make(
        "caption",
        {},
        nPlayers > shown.length
          ? `The ${shown.length} features with most in the matrix, of ${nPlayers}`
          : "All features",
      ),
      make(
        "thead",
        {},
        make(
          "tr",
          {},
          make("td"),
          shown.map((q) => make("th", { scope: "col", title: players[q] }, make("span", {}, players[q]))),
        ),
      ),
      make(
        "tbody",
        {},
        shown.map((p) =>
          make(
            "tr",
            {},
            make("th", { scope: "row", title: players[p] }, players[p]),
            shown.map((q) => this.cell(p, q, largest)),
          ),
        ),
      ),
    );
    byId("pairs").replaceChildren(
      make(
        "caption",
        {},
        pairs.length ? "Strongest pairs: both halves together" : "No two features interact in these rows",
      ),
      pairs.length
        ? make(
            "thead",
            {},
            make(
              "tr",
              {},
              make("th", { scope: "col" }, "Pair"),
              make("th", { scope: "col", class: "num" }, "Mean size"),
            ),
          )
        : (null ?? ""),
      make(
        "tbody",
        {},
        pairs
          .slice(0, STRONGEST_PAIRS)
          .map(([p, q]) =>
            make(
              "tr",
              {},
              make("th", { scope: "row" }, `${players[p]} × ${players[q]}`),
              numberCell(2 * this.size(p, q)),
            ),
          ),
      ),
    );
  }

  cell(p, q, largest) {
    const value = this.size(p, q);
    const strength = Math.sqrt(value / largest);
    return make(
      "td",
      { "data-value": String(value), style: { backgroundColor: `rgb(var(--heat) / ${(0.75 * strength).toFixed(3)})` } },
      value === 0 ? "·" : figure(value, 2),
    );
  }
}
