// From one prediction to another, step by step: each bar starts where the previous one ended.

const FIRST_STEPS = 12;

class Waterfall {
  /** `table` is the element to fill; `more` is the button that shows the small steps; `unit` names the numbers. */
  constructor(table, more, unit) {
    Object.assign(this, { table, more, unit, all: false });
    more.addEventListener("click", () => {
      this.all = !this.all;
      this.build();
    });
  }

  /** `from` and `to` are { name, value, beside }; `steps` are { name, cells: [text], value }; `headings` name the cells. */
  show(from, to, steps, headings) {
    Object.assign(this, { from, to, headings });
    this.steps = steps.slice().sort((p, q) => Math.abs(q.value) - Math.abs(p.value));
    this.build();
  }

  build() {
    const { from, to, headings } = this;
    const some = this.all ? this.steps : this.steps.slice(0, FIRST_STEPS);
    const rest = this.steps.slice(some.length);
    const steps = rest.length
      ? [
          ...some,
          {
            name: count(rest.length, "other"),
            cells: headings.map(() => ""),
            value: rest.reduce((sum, step) => sum + step.value, 0),
          },
        ]
      : some;
    const stops = [from.value];
    for (const step of steps) stops.push(stops[stops.length - 1] + step.value);
    const scale = linear(Math.min(...stops, to.value), Math.max(...stops, to.value), 0.02);
    const percent = (value) => `${100 * scale.at(value)}%`;
    const end = ({ name, value, beside }) =>
      make(
        "tr",
        { class: "ends" },
        make("th", { scope: "row", colspan: 1 + headings.length }, name),
        make("td", {}, make("div", { class: "track" }, make("i", { style: { left: percent(value) } }))),
        make("td", { class: "num", "data-value": String(value) }, figure(value), beside ? make("small", {}, beside) : null),
      );
    const bars = steps.map((step, i) => {
      const [start, stop] = [Math.min(stops[i], stops[i + 1]), Math.max(stops[i], stops[i + 1])];
      const bar = make("b", {
        class: step.value < 0 ? "down" : "up",
        style: { left: percent(start), width: `${100 * (scale.at(stop) - scale.at(start))}%` },
      });
      return make(
        "tr",
        {},
        make("th", { scope: "row" }, step.name),
        step.cells.map((cell, i) =>
          make(
            "td",
            { class: "cell", title: cell.length > 40 ? cell : null, "data-heading": headings[i] },
            clipped(cell, 60),
          ),
        ),
        make("td", {}, make("div", { class: "track" }, step.value === 0 ? null : bar)),
        numberCell(step.value, signed(step.value), gainOrLoss(step.value)),
      );
    });
    this.table.replaceChildren(
      make("caption", { class: "quiet" }, `From ${from.name} to ${to.name}`),
      make(
        "thead",
        {},
        make(
          "tr",
          {},
          ["Feature", ...headings, "Step"].map((text) => make("th", { scope: "col" }, text)),
          make("th", { scope: "col", class: "num" }, `Change, ${this.unit}`),
        ),
      ),
      make("tbody", {}, end(from), bars, end(to)),
    );
    this.more.hidden = this.steps.length <= FIRST_STEPS;
    this.more.textContent = this.all ? `Show only the largest ${FIRST_STEPS}` : `Show all ${this.steps.length}`;
    this.more.setAttribute("aria-expanded", String(this.all));
  }
}
