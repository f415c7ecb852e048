// A list to select a row from. Only the options in view exist, so thousands of rows cost nothing.

const OPTION_HEIGHT = 32;

class RowPicker {
  /** `key` names what it sets in the state; `rows` are the rows to choose from. */
  constructor(report, container, key, label, rows) {
    Object.assign(this, { report, key, rows, found: rows });
    this.search = make("input", {
      type: "search",
      id: `${key}-search`,
      autocomplete: "off",
      placeholder: "Find by name or number",
      oninput: () => this.filter(),
    });
    this.sort = make(
      "select",
      { id: `${key}-sort`, onchange: () => this.filter() },
      [
        ["given", "as given"],
        ["high", "highest prediction first"],
        ["low", "lowest prediction first"],
      ].map(([value, text]) => make("option", { value }, text)),
    );
    this.sheet = make("div", { role: "presentation" });
    this.list = make(
      "div",
      {
        class: "list",
        role: "listbox",
        tabindex: 0,
        id: `${key}-list`,
        "aria-label": label,
        onscroll: () => this.render(),
        onclick: (event) => this.clicked(event),
      },
      this.sheet,
    );
    this.count = make("p", { class: "found", role: "status" });
    container.classList.add("picker");
    container.append(
      make(
        "div",
        { class: "narrow-down" },
        make("div", {}, make("label", { for: this.search.id }, label), this.search),
        make("div", {}, make("label", { for: this.sort.id }, "Order"), this.sort),
      ),
      this.list,
      make(
        "div",
        { class: "ends" },
        make(
          "button",
          { type: "button", onclick: () => this.move(-1), "aria-label": `${label}: previous` },
          "Previous",
        ),
        make("button", { type: "button", onclick: () => this.move(1), "aria-label": `${label}: next` }, "Next"),
      ),
      this.count,
    );
    for (const element of [this.list, this.search]) element.addEventListener("keydown", (event) => this.pressed(event));
    state.on([key], () => this.show());
    state.on(["output"], () => this.filter());
    this.filter();
  }

  filter() {
    const query = this.search.value.trim().toLowerCase();
    const { report } = this;
    this.found = this.rows.filter(
      (row) => report.nameOf(row).toLowerCase().includes(query) || String(report.row_numbers[row]) === query,
    );
    // A number finds the row at that position first, before rows with the number in their names.
    this.found.sort((p, q) => (String(report.row_numbers[q]) === query) - (String(report.row_numbers[p]) === query));
    if (this.sort.value !== "given") {
      const way = this.sort.value === "high" ? -1 : 1;
      this.found.sort((p, q) => way * (report.predictionOf(p) - report.predictionOf(q)) || p - q);
    }
    this.sheet.replaceChildren(); // options far down in the old list would keep the new list long
    this.sheet.style.height = `${this.found.length * OPTION_HEIGHT}px`;
    const n = count(this.found.length, "row");
    this.count.textContent = `${query ? `${n} found` : n}, each with its ${report.unit.name}`;
    this.list.scrollTop = 0;
    if (query) this.render();
    else this.show();
  }

  show() {
    const at = this.found.indexOf(state[this.key]);
    if (at >= 0) {
      const top = at * OPTION_HEIGHT;
      const { scrollTop, clientHeight } = this.list;
      const beyond = Math.max(scrollTop - top, top + OPTION_HEIGHT - scrollTop - clientHeight);
      if (beyond > 2 * OPTION_HEIGHT) this.list.scrollTop = top - clientHeight / 2; // far away: into the middle
      else if (beyond > 0) this.list.scrollTop += top < scrollTop ? -beyond : beyond;
    }
    this.render();
  }

  render() {
    const first = Math.max(0, Math.floor(this.list.scrollTop / OPTION_HEIGHT) - 3);
    const last = Math.min(this.found.length, first + Math.ceil((this.list.clientHeight || 320) / OPTION_HEIGHT) + 6);
    const options = [];
    let active = "";
    for (let at = first; at < last; at++) {
      const row = this.found[at];
      const selected = row === state[this.key];
      const id = `${this.key}-option-${row}`;
      if (selected) active = id;
      options.push(
        make(
          "div",
          {
            class: "option",
            role: "option",
            id,
            "data-row": row,
            "aria-selected": String(selected),
            "aria-setsize": this.found.length,
            "aria-posinset": at + 1,
            style: { top: `${at * OPTION_HEIGHT}px` },
          },
          make("span", {}, this.report.nameOf(row)),
          make("span", { title: this.report.predictionInWords(row) }, figure(this.report.predictionOf(row))),
        ),
      );
    }
    this.sheet.replaceChildren(...options);
    if (active) this.list.setAttribute("aria-activedescendant", active);
    else this.list.removeAttribute("aria-activedescendant");
  }

  clicked(event) {
    const option = event.target.closest(".option");
    if (option) state.set(this.key, Number(option.dataset.row));
  }

  move(by) {
    if (this.found.length === 0) return;
    const at = this.found.indexOf(state[this.key]);
    const next = at < 0 ? 0 : Math.min(this.found.length - 1, Math.max(0, at + by));
    state.set(this.key, this.found[next]);
  }

  pressed(event) {
    const all = this.found.length;
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 };
    if (event.currentTarget === this.list) Object.assign(steps, { Home: -all, End: all });
    if (!(event.key in steps)) return;
    event.preventDefault();
    this.move(steps[event.key]);
  }
}
