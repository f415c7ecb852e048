// The matrix of pairs, with cells shaded by size, and a list of the strongest pairs.

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
        : `${count(rows, "row")} spread evenly over all ${report.n_rows.toLocaleString("en")}`;
    byId("interactions-hint").textContent =
      `${what}, mean size over ${which}. The diagonal shows the effect of each feature alone. ` +
      `Below it, each cell shows the joint effect of two features, beyond their effects alone. ${report.values_in}`;
    byId("interactions").hidden = false;
    state.on(["output"], () => this.build());
    this.build();
  }

  /** Return the mean size of a player's own effect, or of the effect of two players: both halves together. */
  size(p, q) {
    const { nPlayers, interactions } = this.report;
    return (p === q ? 1 : 2) * interactions.sizes[(state.output * nPlayers + p) * nPlayers + q];
  }

  build() {
    this.showMatrix();
    this.showPairs();
  }

  /** Fill the matrix of the features with the largest sums. */
  showMatrix() {
    const { players, nPlayers } = this.report;
    const all = [...players.keys()];
    const total = all.map((p) => all.reduce((sum, q) => sum + this.size(p, q), 0));
    const shown = all.sort((p, q) => total[q] - total[p] || p - q).slice(0, HEAT_PLAYERS);
    const largest = Math.max(...shown.flatMap((p) => shown.map((q) => this.size(p, q)))) || 1;
    const caption = nPlayers > shown.length ? `The ${shown.length} largest of ${nPlayers} features` : "All features";
    const labels = shortNames(
      shown.map((p) => players[p]),
      22,
    );
    const name = (tag, p, scope) => make(tag, { scope, title: players[p] }, make("span", {}, labels.get(players[p])));
    const line = (p, i) =>
      make(
        "tr",
        {},
        name("th", p, "row"),
        shown.map((q, j) => (j <= i ? this.cell(p, q, largest) : make("td"))),
      );
    // The names of the columns stand below, where every column has its last cell.
    byId("heat").replaceChildren(
      make("caption", {}, caption),
      make("tbody", {}, shown.map(line)),
      make("tfoot", {}, make("tr", {}, make("td"), shown.map((q) => name("th", q, "col")))),
    );
  }

  /** List the strongest pairs. */
  showPairs() {
    const { players } = this.report;
    const pairs = this.strongestPairs();
    const headings = make(
      "thead",
      {},
      make("tr", {}, make("th", { scope: "col" }, "Pair"), make("th", { scope: "col", class: "num" }, "Mean size")),
    );
    const line = ([p, q]) =>
      make("tr", {}, make("th", { scope: "row" }, `${players[p]} × ${players[q]}`), numberCell(this.size(p, q)));
    byId("pairs").replaceChildren(
      make("caption", {}, pairs.length ? "Strongest pairs" : "No features interact in these rows"),
      ...(pairs.length ? [headings] : []),
      make("tbody", {}, pairs.map(line)),
    );
  }

  strongestPairs() {
    const pairs = [];
    for (let p = 0; p < this.report.nPlayers; p++) {
      for (let q = p + 1; q < this.report.nPlayers; q++) if (this.size(p, q) > 0) pairs.push([p, q]);
    }
    return pairs.sort((one, other) => this.size(...other) - this.size(...one)).slice(0, STRONGEST_PAIRS);
  }

  cell(p, q, largest) {
    const value = this.size(p, q);
    const strength = Math.sqrt(value / largest);
    return make(
      "td",
      { "data-value": String(value), style: { backgroundColor: `color-mix(in srgb, var(--size) ${(55 * strength).toFixed(1)}%, transparent)` } },
      value === 0 ? "·" : figure(value, 2),
    );
  }
}
