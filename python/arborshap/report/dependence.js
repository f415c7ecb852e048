// One feature's cells against its values: a dot per row, coloured by the feature that it interacts with most.

const DEPENDENCE_HEIGHT = 340;
const FEW_NUMBERS = 10;
const MOST_LEVEL_TICKS = 12;

class Dependence {
  constructor(report) {
    this.report = report;
    [this.choice, this.partner] = [byId("dependence-column"), byId("dependence-colour")];
    const canvas = byId("dependence-dots");
    this.dots = new Dots(
      canvas,
      DEPENDENCE_HEIGHT,
      (width) => this.plan(width),
      (row) => `${report.nameOf(row)}\n${report.playerInWords(row, this.player)}${this.partnerInWords(row)}`,
    );
    this.choice.addEventListener("change", () => this.build());
    this.partner.addEventListener("change", () => this.repaint());
    new ResizeObserver(() => this.repaint()).observe(canvas);
    state.on(["output"], () => this.fillChoice());
    state.on(["row"], () => this.dots.paint());
    byId("dependence").hidden = false;
    this.fillChoice();
  }

  /** Offer every column, in the order of importance of their players. */
  fillChoice() {
    const { report } = this;
    const kept = this.choice.value;
    this.choice.replaceChildren(
      ...report.order().flatMap((player) =>
        report.columnsOf[player].map((column) => {
          const { name } = report.columns[column];
          const text = report.columnsOf[player].length > 1 ? `${report.players[player]}: ${name}` : name;
          return make("option", { value: column }, clipped(text, 60));
        }),
      ),
    );
    if (kept !== "") this.choice.value = kept;
    this.build();
  }

  build() {
    const { report } = this;
    this.column = Number(this.choice.value);
    this.player = report.columns[this.column].player;
    const strongest = this.strongestPartner();
    const others = [...report.columns.keys()].filter((column) => column !== this.column && report.hasOrder(column));
    const named = (column) => make("option", { value: column }, clipped(report.columns[column].name, 60));
    this.partner.replaceChildren(make("option", { value: "" }, "nothing"), ...others.map(named));
    const coloured = strongest === null ? undefined : report.columnsOf[strongest].find((k) => report.hasOrder(k));
    this.partner.value = coloured === undefined ? "" : String(coloured);
    byId("dependence-partner").textContent = this.partnerSays(strongest, coloured);
    this.axis = cellAxis(report, this.column);
    this.scale = scaleOf(report.valuesOf(this.player), 0.06, 0);
    byId("dependence-x").replaceChildren(...this.axis.labels());
    byId("dependence-y").replaceChildren(
      ...ticks(this.scale).map((at) =>
        make("span", { style: { top: `${100 * (1 - this.scale.at(at))}%` } }, short(at)),
      ),
    );
    byId("dependence-name").textContent = report.columns[this.column].name;
    byId("dependence-unit").textContent = report.value_name;
    this.dots.canvas.setAttribute("aria-label", this.inWords());
    this.repaint();
  }

  repaint() {
    const { report } = this;
    const column = this.partner.value === "" ? null : Number(this.partner.value);
    byId("dependence-legend").hidden = column === null;
    if (column !== null) byId("dependence-high").textContent = `high ${report.columns[column].name}`;
    this.dots.picture = null;
    this.dots.paint();
  }

  partnerSays(strongest, coloured) {
    if (strongest === null) return "";
    if (coloured !== undefined) return `This feature interacts most with ${this.report.columns[coloured].name}.`;
    return `This feature interacts most with ${this.report.players[strongest]}, whose texts have no colours here.`;
  }

  /** Return the player with the largest mean effect together with this one, or null. */
  strongestPartner() {
    const { report, player } = this;
    if (!report.interactions) return null;
    const sizes = report.interactions.sizes.subarray((state.output * report.nPlayers + player) * report.nPlayers);
    const found = [...report.players.keys()]
      .filter((other) => other !== player && sizes[other] > 0)
      .sort((p, q) => sizes[q] - sizes[p]);
    return found.length ? found[0] : null;
  }

  partnerInWords(row) {
    if (this.partner.value === "") return "";
    const column = Number(this.partner.value);
    return `\n${this.report.columns[column].name} = ${this.report.cellText(row, column)}`;
  }

  inWords() {
    const { report } = this;
    const values = report.valuesOf(this.player);
    const cells = report.cellsOf(this.column);
    const rows = [...cells.keys()].filter((row) => Number.isFinite(cells[row])).sort((p, q) => cells[p] - cells[q]);
    const mean = (some) => some.reduce((sum, row) => sum + values[row], 0) / Math.max(1, some.length);
    const third = Math.max(1, Math.floor(rows.length / 3));
    const name = report.columns[this.column].name;
    if (!report.hasOrder(this.column) || rows.length === 0) return `Values of ${report.players[this.player]} by ${name}`;
    return (
      `Values of ${report.players[this.player]} by ${name}: on average ${signed(mean(rows.slice(0, third)))} in the ` +
      `third of the rows with the lowest ${name}, ${signed(mean(rows.slice(-third)))} in the third with the highest`
    );
  }

  plan(width) {
    const { report, scale, axis } = this;
    const height = DEPENDENCE_HEIGHT;
    const values = report.valuesOf(this.player);
    const partner = this.partner.value === "" ? null : Number(this.partner.value);
    return {
      x: Float32Array.from(values, (_, row) => axis.at(row) * width),
      y: Float32Array.from(values, (value) => (1 - scale.at(value)) * height),
      radius: dotRadius(values.length),
      inks: rowsByColour(report, partner, "size"),
      under: (pen) => {
        pen.fillStyle = colour("track");
        if (axis.lane) pen.fillRect(axis.lane[0] * width, 0, (axis.lane[1] - axis.lane[0]) * width, height);
        pen.fillStyle = colour("line");
        for (const at of ticks(scale)) pen.fillRect(0, (1 - scale.at(at)) * height - 0.5, width, at === 0 ? 2 : 1);
      },
    };
  }
}

/** Place the cells of a column from 0 to 1: numbers on a scale, levels side by side, missing cells in a lane. */
function cellAxis(report, column) {
  const cells = report.cellsOf(column);
  const { levels } = report.columns[column];
  const anyMissing = cells.some((cell) => !Number.isFinite(cell));
  const start = anyMissing ? 0.12 : 0;
  const sideways = (row) => 2 * ((row * 0.6180339887) % 1) - 1; // evenly spread, and the same every time
  const lane = anyMissing ? [0.01, 0.09] : null;
  const inLane = (row) => 0.05 + 0.03 * sideways(row);
  const label = (at, text, name) => make("span", { style: { left: `${100 * at}%` }, title: name ?? null }, text);
  const missing = () => (anyMissing ? [label(0.05, "missing")] : []);
  if (levels) {
    const place = (code) => start + ((1 - start) * (code + 0.5)) / levels.length;
    const every = Math.ceil(levels.length / MOST_LEVEL_TICKS);
    const longest = Math.max(3, Math.floor(80 / Math.min(levels.length, MOST_LEVEL_TICKS)));
    return {
      lane,
      at: (row) =>
        Number.isFinite(cells[row])
          ? place(cells[row]) + (0.3 * (1 - start) * sideways(row)) / levels.length
          : inLane(row),
      labels: () => [
        ...missing(),
        ...levels
          .map((name, code) => [name, code])
          .filter(([, code]) => code % every === 0)
          .map(([name, code]) => label(place(code), clipped(name, longest), name)),
      ],
    };
  }
  const different = new Set();
  for (const cell of cells) {
    if (Number.isFinite(cell)) different.add(cell);
    if (different.size > FEW_NUMBERS) break;
  }
  const some = [...different].sort((p, q) => p - q);
  const few = some.length <= FEW_NUMBERS && cells.length > some.length;
  const gap = few ? Math.min(...some.slice(1).map((value, i) => value - some[i]), Infinity) : Infinity;
  const spread = Number.isFinite(gap) ? 0.2 * gap : 0;
  const scale = scaleOf(cells, few ? 0.08 : 0.03);
  const place = (value) => start + (1 - start) * scale.at(value);
  const apart = few && spread > 0 && 0.2 * 0.08 * (scale.high - scale.low) < spread;
  return {
    lane,
    at: (row) => (Number.isFinite(cells[row]) ? place(cells[row] + spread * sideways(row)) : inLane(row)),
    labels: () => [...missing(), ...(apart ? some : ticks(scale)).map((at) => label(place(at), short(at)))],
  };
}
