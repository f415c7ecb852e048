// Importance and the swarm of all rows, in one list; each feature's strip is drawn when it comes into view.

const STRIP_HEIGHT = 40;
const FIRST_FEATURES = 15;

class Overview {
  constructor(report) {
    this.report = report;
    this.body = document.querySelector("#swarm tbody");
    this.more = byId("swarm-more");
    this.all = false;
    this.strips = new Map();
    this.watch = new IntersectionObserver(
      (entries) => {
        for (const entry of entries) {
          const strip = this.strips.get(entry.target);
          if (!strip) continue;
          strip.visible = entry.isIntersecting;
          if (strip.visible && strip.stale) this.paint(strip);
        }
      },
      { rootMargin: "150px" },
    );
    this.more.addEventListener("click", () => {
      this.all = !this.all;
      this.build();
    });
    byId("swarm-hint").append(` ${report.values_in}`);
    byId("swarm-shape").hidden = !report.shapes;
    byId("shape-hint").hidden = !report.shapes;
    byId("dot-legend").append(
      make("span", {}, "low", make("span", { class: "ramp" }), "high value of the feature"),
      make("span", {}, make("span", { class: "grey" }), "missing, text or several columns"),
    );
    new ResizeObserver(() => this.repaint()).observe(byId("swarm"));
    state.on(["output"], () => this.build());
    state.on(["row"], () => this.repaint(false));
    this.build();
  }

  build() {
    const { report } = this;
    const order = report.order();
    const shown = this.all ? order : order.slice(0, FIRST_FEATURES);
    const sizes = report.importance.subarray(state.output * report.nPlayers);
    const largest = sizes[order[0]] || 1;
    const ofOutput = report.nPlayers * report.nShown;
    this.scale = scaleOf(report.values.subarray(state.output * ofOutput, (state.output + 1) * ofOutput), 0.03, 0);
    this.shapeScale = report.shapes ? shapeScale(report) : null;
    this.watch.disconnect();
    this.strips.clear();
    this.body.replaceChildren(...shown.map((player) => this.line(player, sizes[player], largest)));
    byId("swarm-axis").replaceChildren(...axisTicks(this.scale));
    byId("swarm-unit").textContent = report.value_name;
    this.more.hidden = order.length <= FIRST_FEATURES;
    this.more.textContent = this.all ? `Show only the first ${FIRST_FEATURES}` : `Show all ${order.length}`;
    this.more.setAttribute("aria-expanded", String(this.all));
  }

  line(player, size, largest) {
    const { report } = this;
    const canvas = make("canvas", { role: "img", "aria-label": this.inWords(player) });
    const dots = new Dots(
      canvas,
      STRIP_HEIGHT,
      (width) => this.plan(player, width),
      (row) => `${report.nameOf(row)}\n${report.playerInWords(row, player)}`,
    );
    this.strips.set(canvas, { dots, stale: true, visible: false });
    this.watch.observe(canvas);
    return make(
      "tr",
      { "data-player": player },
      make("th", { scope: "row", title: report.players[player] }, report.players[player]),
      make(
        "td",
        { "data-value": String(size) },
        make(
          "div",
          { class: "size" },
          make("b", { style: { width: `${(100 * size) / largest}%` } }),
          make("span", {}, figure(size)),
        ),
      ),
      make("td", { class: "dots" }, canvas),
      report.shapes ? make("td", { class: "of-shape" }, shapeOf(report, player, this.shapeScale)) : null,
    );
  }

  inWords(player) {
    const values = this.report.valuesOf(player);
    let [low, high, raised] = [Infinity, -Infinity, 0];
    for (let row = 0; row < values.length; row++) {
      low = Math.min(low, values[row]);
      high = Math.max(high, values[row]);
      if (values[row] > 0) raised += 1;
    }
    const range = `Values of ${this.report.players[player]} from ${figure(low)} to ${figure(high)}`;
    return `${range}; above zero in ${raised} of ${values.length} rows`;
  }

  /** Redraw everything in view, or only the ring around the selected row if the dots did not change. */
  repaint(dotsToo = true, everything = false) {
    for (const strip of this.strips.values()) {
      if (dotsToo) strip.dots.picture = null;
      strip.stale = true;
      if (strip.visible || everything) this.paint(strip);
    }
  }

  paint(strip) {
    strip.dots.paint();
    strip.stale = strip.dots.picture === null;
  }

  plan(player, width) {
    const { report, scale } = this;
    const x = Float32Array.from(report.valuesOf(player), (value) => scale.at(value) * width);
    const columns = report.columnsOf[player];
    return {
      x,
      y: swarm(x, STRIP_HEIGHT),
      radius: dotRadius(x.length),
      inks: rowsByColour(report, columns.length === 1 ? columns[0] : null),
      under: (pen) => {
        pen.fillStyle = colour("line");
        pen.fillRect(scale.at(0) * width - 0.5, 0, 1, STRIP_HEIGHT);
      },
    };
  }
}

/** Choose heights that keep dots with the same x apart, as far as the strip has room. */
function swarm(x, height) {
  const bins = new Map();
  const levels = new Uint16Array(x.length);
  for (let row = 0; row < x.length; row++) {
    const bin = Math.round(x[row] / 3);
    const level = bins.get(bin) ?? 0;
    levels[row] = level;
    bins.set(bin, level + 1);
  }
  const most = Math.max(1, ...bins.values());
  const step = Math.min(4, (height - 6) / most);
  return Float32Array.from(levels, (level) => height / 2 + (level % 2 ? 1 : -1) * Math.ceil(level / 2) * step);
}
