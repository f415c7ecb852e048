// The trace: a recorded walk, shown step by step.

const MOST_DRAWN = 1000;

class TraceViewer {
  constructor(report, trees) {
    Object.assign(this, { report, trees });
    this.choice = byId("trace-tree");
    this.slider = byId("trace-step");
    this.view = byId("trace-view");
    this.choice.addEventListener("change", () => this.build());
    byId("trace-telling").addEventListener("click", () => {
      this.choice.value = String(this.mostTelling());
      this.build();
    });
    this.slider.addEventListener("input", () => this.show(Number(this.slider.value) - 1));
    const moves = { first: () => 0, back: () => this.current - 1, next: () => this.current + 1, last: () => Infinity };
    for (const [name, to] of Object.entries(moves))
      byId(`trace-${name}`).addEventListener("click", () => this.show(to()));
    byId("trace-fit").addEventListener("change", (event) => this.view.classList.toggle("fit", event.target.checked));
    this.view.addEventListener("keydown", (event) => this.pressed(event, moves));
    byId("trace-hint").append(` ${report.trace_in}`);
    if (!trees.complete)
      byId("trace-hint").append(
        ` The model has ${count(trees.n_trees, "tree")}; this page carries the first ${trees.numbers.length}.`,
      );
    byId("trace").hidden = false;
    state.on(["a", "b"], () => this.build());
    state.on(["output"], () => this.fillChoice());
    this.fillChoice();
  }

  fillChoice() {
    this.choice.replaceChildren(
      ...this.trees.ofOutput().map((tree) => make("option", { value: tree }, String(this.trees.numbers[tree]))),
    );
    this.build();
  }

  /** Return the tree with the largest Shapley values of the pair, in total. */
  mostTelling() {
    let [best, most] = [this.trees.ofOutput()[0], -1];
    for (const tree of this.trees.ofOutput()) {
      const phi = this.trees.addPair(tree, state.a, state.b, new Float64Array(this.report.nPlayers));
      const size = phi.reduce((sum, value) => sum + Math.abs(value), 0);
      if (size > most) [best, most] = [tree, size];
    }
    return best;
  }

  /** Walk the chosen tree and record every step. */
  walk() {
    const { trees } = this;
    const tree = Number(this.choice.value);
    const first = trees.offsets[tree];
    const steps = [];
    trees.walk(
      tree,
      state.a,
      state.b,
      (leaf) => {
        const weight = trees.weights(leaf);
        const value = trees.leafValue(leaf.node);
        const gains = [
          ...leaf.sX.map((player) => [player, weight.x * value]),
          ...leaf.sZ.map((player) => [player, -weight.z * value]),
        ];
        steps.push({ ...leaf, kind: "leaf", value, weight, gains });
      },
      (split) => {
        const edges = [split.left, split.right].map((child) => ({
          child,
          type: edgeType(child, split),
          followed: split.followed.includes(child),
          below: this.nodesBelow(child, first),
        }));
        const column = trees.feature[split.node];
        steps.push({
          ...split,
          kind: "split",
          edges,
          xText: trees.cellText(state.a, column),
          zText: trees.cellText(state.b, column),
        });
      },
    );
    return { number: trees.numbers[tree], steps, local: (node) => node - first };
  }

  nodesBelow(node, first) {
    let n = 0;
    const pending = [node];
    while (pending.length) {
      const at = pending.pop();
      n += 1;
      if (!this.trees.isLeaf(at)) pending.push(first + this.trees.left[at], first + this.trees.right[at]);
    }
    return n;
  }

  build() {
    this.steps = this.walk();
    const drawn = this.steps.steps.length <= MOST_DRAWN;
    const { picture, showTo } = drawn ? treePicture(this.trees, this.steps) : noPicture(this.steps.steps.length);
    this.showTo = showTo;
    this.view.replaceChildren(picture);
    this.slider.max = String(this.steps.steps.length);
    this.fillTable();
    this.show(Infinity, false);
    const root = this.showTo(0);
    this.showTo(this.current);
    this.view.scrollLeft = root.x - this.view.clientWidth / 2;
    this.view.scrollTop = 0;
  }

  show(step, follow = true) {
    const { steps } = this.steps;
    this.current = Math.max(0, Math.min(steps.length - 1, step));
    this.slider.value = String(this.current + 1);
    this.slider.setAttribute("aria-valuetext", `Step ${this.current + 1} of ${steps.length}`);
    const place = this.showTo(this.current);
    if (follow)
      this.view.scrollTo({ left: place.x - this.view.clientWidth / 2, top: place.y - this.view.clientHeight / 2 });
    for (const name of ["first", "back"]) byId(`trace-${name}`).disabled = this.current === 0;
    for (const name of ["next", "last"]) byId(`trace-${name}`).disabled = this.current === steps.length - 1;
    byId("trace-says").replaceChildren(
      ...this.inWords(steps[this.current]).map((line, i) =>
        make("p", {}, i ? null : make("b", {}, `Step ${this.current + 1} of ${steps.length}. `), line),
      ),
    );
    this.fillPhi();
  }

  names(set) {
    return `{${set.map((player) => this.report.players[player]).join(", ")}}`;
  }

  /** Describe a step in lines, each a list of text and elements. */
  inWords(step) {
    const sets = [setName("X"), ` = ${this.names(step.sX)}, `, setName("Z"), ` = ${this.names(step.sZ)}`];
    const local = this.steps.local(step.node);
    if (step.kind === "leaf") {
      const gains = step.gains.map(([player, gain]) => `${this.report.players[player]} ${signed(gain)}`).join(", ");
      return [
        [`Leaf ${local} has the value ${figure(step.value)}.`],
        sets,
        [gains ? `It gives ${gains}.` : "Both sets are empty, so it gives nothing."],
      ];
    }
    const { name, test } = this.trees.question(step.node);
    const player = this.report.players[step.player];
    const way = (child) => (child === step.left ? "left" : "right");
    const inX = step.sX.includes(step.player);
    const scenario = {
      1: [`Scenario 1: both go ${way(step.xChild)}.`],
      2: [
        `Scenario 2: they part, but ${player} is already in `,
        setName(inX ? "X" : "Z"),
        `: the walk follows only ${inX ? "x" : "z"}, ${way(step.followed[0])}.`,
      ],
      3: [
        `Scenario 3: they part at ${player}, which is new: the walk follows first x, ${way(step.xChild)}, `,
        `then z, ${way(step.zChild)}.`,
      ],
    }[step.scenario];
    return [[`Node ${local} asks: ${name} ${test}? x has ${step.xText}, z has ${step.zText}.`], sets, scenario];
  }

  /** Show the sums over the leaves so far. */
  fillPhi() {
    const sums = new Map();
    for (const step of this.steps.steps.slice(0, this.current + 1)) {
      for (const [player, gain] of step.gains ?? []) sums.set(player, (sums.get(player) ?? 0) + gain);
    }
    const whole = this.current === this.steps.steps.length - 1;
    const total = [...sums.values()].reduce((sum, value) => sum + value, 0);
    byId("trace-phi").replaceChildren(
      make(
        "caption",
        {},
        whole
          ? `This tree's Shapley values of the pair; they sum to its h(x) − h(z)`
          : "Sum over the leaves so far",
      ),
      make(
        "tbody",
        {},
        [...sums]
          .sort(([, p], [, q]) => Math.abs(q) - Math.abs(p))
          .map(([player, value]) =>
            make(
              "tr",
              { "data-player": player },
              make("th", { scope: "row" }, this.report.players[player]),
              numberCell(value, signed(value), gainOrLoss(value)),
            ),
          ),
        make("tr", {}, make("th", { scope: "row" }, "Sum"), numberCell(total, signed(total))),
      ),
    );
  }

  fillTable() {
    const { steps, local } = this.steps;
    const edge = ({ type, followed }) => `${type}${followed ? "" : ", not followed"}`;
    const row = (step, number) => {
      const { name, test } = step.kind === "split" ? this.trees.question(step.node) : {};
      const what = step.kind === "leaf" ? `leaf, value ${figure(step.value)}` : `${name} ${test}?`;
      const gains = (step.gains ?? []).map(([player, gain], i) => [
        i ? ", " : "",
        make(
          "span",
          { "data-player": player, "data-value": String(gain) },
          `${this.report.players[player]} ${signed(gain)}`,
        ),
      ]);
      return make(
        "tr",
        {
          "data-node": local(step.node),
          "data-kind": step.kind,
          "data-scenario": step.scenario ?? null,
          "data-value": step.value ?? null,
        },
        make("td", {}, String(number + 1)),
        make("td", {}, String(local(step.node))),
        make("th", { scope: "row" }, what),
        make("td", {}, step.scenario ? String(step.scenario) : ""),
        make("td", {}, step.edges ? edge(step.edges[0]) : ""),
        make("td", {}, step.edges ? edge(step.edges[1]) : ""),
        make("td", {}, this.names(step.sX)),
        make("td", {}, this.names(step.sZ)),
        make("td", {}, gains.flat()),
      );
    };
    byId("trace-table").replaceChildren(
      make(
        "thead",
        {},
        make(
          "tr",
          {},
          ["Step", "Node", "What", "Scenario", "Left edge", "Right edge", setName("X"), setName("Z"), "Gives"].map(
            (text) => make("th", { scope: "col" }, text),
          ),
        ),
      ),
      make("tbody", {}, steps.map(row)),
    );
  }

  pressed(event, moves) {
    const keys = { ArrowLeft: moves.back, ArrowRight: moves.next, Home: moves.first, End: moves.last };
    if (!(event.key in keys)) return;
    event.preventDefault();
    this.show(keys[event.key]());
  }
}

/** Return a text instead of a picture that is too large to read. */
function noPicture(n) {
  const text = `This walk reaches ${n.toLocaleString("en")} nodes, too many to draw. The table below lists them all.`;
  return { picture: make("p", { class: "note" }, text), showTo: () => ({ x: 0, y: 0 }) };
}

/** Make the name of one of the two sets, as the paper writes it. */
const setName = (row) => make("span", {}, "S", make("sub", {}, row));

/** Return the type of an edge: which rows flow through it. */
function edgeType(child, { xChild, zChild }) {
  if (child === xChild) return child === zChild ? "F" : "X";
  return child === zChild ? "Z" : "B";
}
