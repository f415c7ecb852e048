// Importance and the swarm of all rows, in one list; each feature's strip is drawn when it comes into view.

const STRIP_HEIGHT = 38;
const FIRST_FEATURES = 15;

class Overview {
  constructor(report) {
    this.report = report;
    this.body = document.querySelector("#swarm tbody");
    this.tip = byId("tip");
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
    this.scale = this.range(order);
    this.watch.disconnect();
    this.strips.clear();
    this.body.replaceChildren(
      ...shown.map((player) => {
        const canvas = make("canvas", { role: "img", "aria-label": this.inWords(player) });
        const strip = { player, canvas, dots: null, stale: true, visible: false };
        canvas.addEventListener("pointermove", (event) => this.point(strip, event));
        canvas.addEventListener("pointerleave", () => {
          this.tip.hidden = true;
        });
        canvas.addEventListener("click", (event) => {
          const hit = this.nearest(strip, event);
          if (hit >= 0) state.set("row", hit);
        });
        this.strips.set(canvas, strip);
        this.watch.observe(canvas);
        return make(
          "tr",
          { "data-player": player },
          make("th", { scope: "row" }, report.players[player]),
          make(
            "td",
            { "data-value": String(sizes[player]) },
            make(
              "div",
              { class: "size" },
              make("b", { style: { width: `${(100 * sizes[player]) / largest}%` } }),
              make("span", {}, figure(sizes[player])),
            ),
          ),
          make("td", {}, canvas),
        );
      }),
    );
    byId("swarm-axis").replaceChildren(
      ...ticks(this.scale).map((at) => make("span", { style: { left: `${100 * this.scale.at(at)}%` } }, short(at))),
    );
    this.more.hidden = order.length <= FIRST_FEATURES;
    this.more.textContent = this.all ? `Show only the first ${FIRST_FEATURES}` : `Show all ${order.length}`;
    this.more.setAttribute("aria-expanded", String(this.all));
  }

  range(order) {
    let low = 0;
    let high = 0;
    for (const player of order) {
      const values = this.report.valuesOf(player);
      for (let row = 0; row < values.length; row++) {
        if (values[row] < low) low = values[row];
        else if (values[row] > high) high = values[row];
      }
    }
    return linear(low, high, 0.03);
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
  repaint(dotsToo = true) {
    for (const strip of this.strips.values()) {
      if (dotsToo) strip.dots = null;
      strip.stale = true;
      if (strip.visible) this.paint(strip);
    }
  }

  paint(strip) {
    const { canvas } = strip;
    const width = canvas.clientWidth;
    if (width === 0) return;
    const ratio = window.devicePixelRatio || 1;
    strip.dots ??= this.dots(strip, width, ratio);
    canvas.width = strip.dots.width;
    canvas.height = strip.dots.height;
    const pen = canvas.getContext("2d");
    pen.drawImage(strip.dots, 0, 0);
    pen.scale(ratio, ratio);
    pen.strokeStyle = colour("ring");
    pen.lineWidth = 2;
    pen.beginPath();
    pen.arc(strip.x[state.row], strip.y[state.row], strip.radius + 2.5, 0, 7);
    pen.stroke();
    strip.stale = false;
  }

  /** Draw the dots of all rows on a separate canvas, one colour after another, which is fast for thousands. */
  dots(strip, width, ratio) {
    const picture = make("canvas");
    picture.width = Math.round(width * ratio);
    picture.height = Math.round(STRIP_HEIGHT * ratio);
    const pen = picture.getContext("2d");
    pen.scale(ratio, ratio);
    const values = this.report.valuesOf(strip.player);
    const many = values.length > 1500;
    strip.x = Float32Array.from(values, (value) => this.scale.at(value) * width);
    strip.y = swarm(strip.x, STRIP_HEIGHT);
    strip.radius = many ? 1.6 : values.length > 300 ? 2.2 : 3;
    pen.fillStyle = colour("line");
    pen.fillRect(this.scale.at(0) * width - 0.5, 0, 1, STRIP_HEIGHT);
    pen.globalAlpha = values.length > 300 ? 0.75 : 0.9;
    for (const [ink, rows] of this.rowsByColour(strip.player)) {
      pen.fillStyle = ink;
      pen.beginPath();
      for (const row of rows) {
        const [x, y] = [strip.x[row], strip.y[row]];
        pen.moveTo(x + strip.radius, y);
        if (many) pen.rect(x - 1.4, y - 1.4, 2.8, 2.8);
        else pen.arc(x, y, strip.radius, 0, 7);
      }
      pen.fill();
    }
    return picture;
  }

  /** Group rows by colour: the place of the cell between the feature's usual lowest and highest. */
  rowsByColour(player) {
    const { report } = this;
    const columns = report.columnsOf[player];
    const grey = [colour("missing"), []];
    const all = [...Array(report.nShown).keys()];
    if (!report.data || columns.length !== 1 || report.columns[columns[0]].levels) return [[grey[0], all]];
    const start = columns[0] * report.nShown;
    const cells = report.data.subarray(start, start + report.nShown);
    const sorted = Float64Array.from(cells.filter(Number.isFinite)).sort();
    if (sorted.length === 0) return [[grey[0], all]];
    let [low, high] = [sorted[Math.floor(0.05 * (sorted.length - 1))], sorted[Math.ceil(0.95 * (sorted.length - 1))]];
    if (low === high) [low, high] = [sorted[0], sorted[sorted.length - 1]];
    const ramp = colourRamp([colour("low"), colour("middle"), colour("high")]).map((ink) => [ink, []]);
    for (const row of all) {
      // Halve the numbers, because their difference may overflow; infinite cells are at the ends.
      const share =
        high > low
          ? Math.min(1, Math.max(0, (cells[row] / 2 - low / 2) / (high / 2 - low / 2)))
          : 0.5 + 0.5 * Math.sign(cells[row] - low);
      (Number.isNaN(cells[row]) ? grey : ramp[Math.round(63 * share)])[1].push(row);
    }
    return [grey, ...ramp].filter(([, rows]) => rows.length);
  }

  nearest(strip, event) {
    if (!strip.x) return -1;
    const box = strip.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let best = -1;
    let least = 144;
    for (let row = 0; row < strip.x.length; row++) {
      const distance = (strip.x[row] - x) ** 2 + (strip.y[row] - y) ** 2;
      if (distance < least) [best, least] = [row, distance];
    }
    return best;
  }

  point(strip, event) {
    const row = this.nearest(strip, event);
    this.tip.hidden = row < 0;
    if (row < 0) return;
    const { report } = this;
    const cells = report.cellsText(row, strip.player);
    const what = report.players[strip.player] + (cells ? ` = ${cells}` : "");
    this.tip.textContent = `${report.nameOf(row)}\n${what}: ${signed(report.valuesOf(strip.player)[row])}`;
    const furthest = window.innerWidth - this.tip.offsetWidth - 8;
    this.tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, furthest))}px`;
    this.tip.style.top = `${event.clientY + 18}px`;
  }
}

/** Make a linear scale from [low, high], with some room on both sides, to [0, 1]. */
function linear(low, high, room) {
  const span = high - low || 1;
  const start = low - room * span;
  const end = high + room * span;
  return { low, high, at: (value) => (value - start) / (end - start) };
}

/** Choose about five round numbers on a scale. */
function ticks(scale) {
  const rough = (scale.high - scale.low) / 4 || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const found = [];
  for (let k = Math.ceil(scale.low / step); k * step <= scale.high + 1e-9 * step; k++) found.push(k * step);
  return found;
}

/** Choose heights that keep dots with the same x apart, as far as the strip has room. */
function swarm(x, height) {
  const bins = new Map();
  const levels = new Uint16Array(x.length);
  for (let row = 0; row < x.length; row++) {
    const bin = Math.round(x[row] / 2.5);
    const level = bins.get(bin) ?? 0;
    levels[row] = level;
    bins.set(bin, level + 1);
  }
  const most = Math.max(1, ...bins.values());
  const step = Math.min(3.4, (height - 6) / most);
  return Float32Array.from(levels, (level) => height / 2 + (level % 2 ? 1 : -1) * Math.ceil(level / 2) * step);
}

/** Interpolate 64 colours between three. */
function colourRamp(stops) {
  const channels = stops.map((stop) => [1, 3, 5].map((at) => parseInt(stop.slice(at, at + 2), 16)));
  return Array.from({ length: 64 }, (_, i) => {
    const at = (i / 63) * 2;
    const from = Math.min(1, Math.floor(at));
    const mixed = channels[from].map((value, k) => Math.round(value + (at - from) * (channels[from + 1][k] - value)));
    return `rgb(${mixed.join(" ")})`;
  });
}
