// The histogram of the predictions of the shown rows.

const HISTOGRAM_BARS = 40;

class Predictions {
  constructor(report) {
    this.report = report;
    byId("predictions").hidden = report.nShown < 2;
    state.on(["output"], () => this.build());
    state.on(["row"], () => this.mark());
    this.build();
  }

  build() {
    const { report } = this;
    const numbers = report.predictions[state.output];
    const finite = Float64Array.from(numbers.filter(Number.isFinite)).sort();
    this.scale = scaleOf(finite, 0.02, ...(finite.length ? [finite[0]] : [0]));
    const { low, high } = this.scale;
    const counts = new Uint32Array(HISTOGRAM_BARS);
    for (const number of finite)
      counts[Math.min(HISTOGRAM_BARS - 1, Math.floor(((number - low) / (high - low)) * HISTOGRAM_BARS))] += 1;
    const most = Math.max(1, ...counts);
    const edge = (bar) => low + (bar / HISTOGRAM_BARS) * (high - low);
    const bars = [...counts].map((n, bar) =>
      make("b", {
        "data-count": n,
        title: `${count(n, "row")} from ${figure(edge(bar))} to ${figure(edge(bar + 1))}`,
        style: {
          left: `${100 * this.scale.at(edge(bar))}%`,
          width: `${100 * (this.scale.at(edge(bar + 1)) - this.scale.at(edge(bar)))}%`,
          height: n ? `max((100% - 1.3rem) * ${n / most}, 2px)` : "0", // the name of the row stands above all bars
        },
      }),
    );
    const quartile = (share) => finite[Math.round(share * (finite.length - 1))];
    const says = finite.length
      ? `Half of the ${count(finite.length, "row")} shown lie between ${report.inUnit(quartile(0.25))} and ` +
        `${report.inUnit(quartile(0.75))}; the middle one is at ${report.inUnit(quartile(0.5))}.`
      : "No prediction is a finite number.";
    this.marks = make("div", { class: "marks" });
    byId("histogram").replaceChildren(...bars, this.marks);
    byId("histogram").setAttribute("aria-label", `How often each prediction occurs. ${says}`);
    byId("predictions-says").textContent = says;
    const below = report.converted(0) === null ? null : (at) => short(Number(report.converted(at).toPrecision(2)));
    byId("histogram-axis").replaceChildren(...axisTicks(this.scale, below));
    byId("histogram-axis").classList.toggle("two-lines", below !== null);
    byId("histogram-unit").textContent = report.unit.name + (below ? `, and the ${report.unit.becomes} below` : "");
    this.mark();
  }

  /** Mark the selected row and the base value. */
  mark() {
    const { report } = this;
    const at = (kind, name, value) => {
      const share = Math.min(1, Math.max(0, this.scale.at(value)));
      // The further right the mark, the further left its name, so that no name leaves the panel.
      const text = make("span", { style: { transform: `translateX(${-100 * share}%)` } }, name);
      return make("i", { class: kind, "data-value": String(value), style: { left: `${100 * share}%` } }, text);
    };
    this.marks.replaceChildren(
      at("base", report.base_name.toLowerCase(), report.baseOf(state.row)),
      at("row", report.nameOf(state.row), report.predictionOf(state.row)),
    );
  }
}
