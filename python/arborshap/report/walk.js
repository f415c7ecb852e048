// The paper's walk of one tree for a pair of rows (x, z), as src/engine/traversal/walk.rs has it.

const FLAG = {
  lessEqual: 1,
  float32: 2,
  defaultLeft: 4,
  nanIsZero: 8,
  zeroIsMissing: 16,
  categorical: 32,
  membersLeft: 64,
  negativeFractionIsZero: 128,
};
const ZERO = Math.fround(1e-35);

class Trees {
  constructor(report) {
    Object.assign(this, report.trees);
    this.report = report;
    this.rows = report.tree_rows ?? report.data;
    this.players = report.tree_players;
    this.width = this.leaf_values.shape[1];
    this.number();
  }

  /** Number the leaves, and the sets of categories, over all trees. */
  number() {
    this.ordinal = new Int32Array(this.left.length);
    let leaves = 0;
    let sets = 0;
    for (let node = 0; node < this.left.length; node++) {
      if (this.left[node] < 0) this.ordinal[node] = leaves++;
      else if (this.flags[node] & FLAG.categorical) this.ordinal[node] = sets++;
    }
  }

  isLeaf(node) {
    return this.left[node] < 0;
  }

  /** Return the positions of the trees that add to the chosen output. */
  ofOutput(output = state.output) {
    return [...this.numbers.keys()].filter((tree) => this.output[tree] < 0 || this.output[tree] === output);
  }

  leafValue(node, output = state.output) {
    return this.leaf_values[this.ordinal[node] * this.width + (this.width > 1 ? output : 0)];
  }

  members(node) {
    const { offsets, members } = this.categories;
    return members.subarray(offsets[this.ordinal[node]], offsets[this.ordinal[node] + 1]);
  }

  /** Whether a row goes left at a split: the definition of src/forest/split.rs. */
  goesLeft(node, row) {
    const flags = this.flags[node];
    let value = this.rows[this.feature[node] * this.report.nShown + row];
    if (flags & FLAG.float32) value = Math.fround(value);
    if (Number.isNaN(value)) {
      if (!(flags & FLAG.nanIsZero)) return Boolean(flags & FLAG.defaultLeft);
      value = 0;
    } else if (flags & FLAG.zeroIsMissing && Math.abs(value) <= ZERO) {
      return Boolean(flags & FLAG.defaultLeft);
    }
    if (!(flags & FLAG.categorical))
      return flags & FLAG.lessEqual ? value <= this.threshold[node] : value < this.threshold[node];
    const inRange = value >= 0 || (flags & FLAG.negativeFractionIsZero && value > -1);
    const inside = Boolean(inRange) && this.members(node).includes(Math.trunc(value) + 0);
    return inside === Boolean(flags & FLAG.membersLeft);
  }

  /** Walk a tree for x and z; call the functions with each node, counted over all trees, its parent, depth and sets. */
  walk(tree, x, z, atLeaf, atSplit = () => {}) {
    const first = this.offsets[tree];
    const pending = [{ node: first, parent: -1, depth: 0, sX: [], sZ: [] }];
    while (pending.length) {
      const at = pending.pop();
      const { node, sX, sZ } = at;
      if (this.isLeaf(node)) {
        atLeaf(at);
        continue;
      }
      const player = this.players[this.feature[node]];
      const child = (left) => first + (left ? this.left[node] : this.right[node]);
      const xChild = child(this.goesLeft(node, x));
      const zChild = child(this.goesLeft(node, z));
      const go = (to, newX, newZ) => pending.push({ node: to, parent: node, depth: at.depth + 1, sX: newX, sZ: newZ });
      let scenario = 3;
      let followed = [xChild, zChild];
      if (xChild === zChild) {
        // Scenario 1: both flow the same way; the other edge is of type B.
        [scenario, followed] = [1, [xChild]];
        go(xChild, sX, sZ);
      } else if (sX.includes(player)) {
        // Scenario 2: only x's way keeps the sets disjoint.
        [scenario, followed] = [2, [xChild]];
        go(xChild, sX, sZ);
      } else if (sZ.includes(player)) {
        // Scenario 2: only z's way keeps the sets disjoint.
        [scenario, followed] = [2, [zChild]];
        go(zChild, sX, sZ);
      } else {
        // Scenario 3: a new player; x's way is walked first.
        go(zChild, sX, [...sZ, player]);
        go(xChild, [...sX, player], sZ);
      }
      atSplit({ ...at, player, scenario, followed, xChild, zChild, left: child(true), right: child(false) });
    }
  }

  /** Return the share of its value that a leaf gives to each player of S_X and takes from each player of S_Z. */
  weights({ sX, sZ }) {
    const [k, d] = [sX.length, sX.length + sZ.length];
    return { x: k > 0 ? shapleyWeight(k - 1, d) : 0, z: sZ.length > 0 ? shapleyWeight(k, d) : 0 };
  }

  /** Add one tree's Shapley values of the pair to `phi`. */
  addPair(tree, x, z, phi) {
    this.walk(tree, x, z, (leaf) => {
      const weight = this.weights(leaf);
      const value = this.leafValue(leaf.node);
      for (const player of leaf.sX) phi[player] += weight.x * value;
      for (const player of leaf.sZ) phi[player] -= weight.z * value;
    });
    return phi;
  }

  /** Return the Shapley values of the pair over all trees. */
  contrast(x, z) {
    const phi = new Float64Array(this.report.nPlayers);
    for (const tree of this.ofOutput()) this.addPair(tree, x, z, phi);
    return phi;
  }

  /** Return the question of a split in words; categories have names if a shown row has them. */
  question(node) {
    const column = this.feature[node];
    const name = this.nameOf(column);
    if (!(this.flags[node] & FLAG.categorical))
      return { name, test: `${this.flags[node] & FLAG.lessEqual ? "≤" : "<"} ${short(this.threshold[node])}` };
    const codes = [...this.members(node)];
    const texts = codes.slice(0, 5).map((code) => this.categoryName(column, code));
    const more = codes.length > 5 ? `, ${codes.length - 5} more` : "";
    return { name, test: `${this.flags[node] & FLAG.membersLeft ? "in" : "not in"} {${texts.join(", ")}${more}}` };
  }

  nameOf(column) {
    return this.report.tree_columns?.[column] ?? this.report.columns[column].name;
  }

  /** Return a column's name in few letters, different from those of other columns of the trees if possible. */
  shortName(name, length) {
    this.shortNames ??= new Map();
    if (!this.shortNames.has(length)) {
      const columns = this.report.tree_columns ?? this.report.columns.map((column) => column.name);
      this.shortNames.set(length, shortNames(columns, length));
    }
    return this.shortNames.get(length).get(name);
  }

  categoryName(column, code) {
    this.categoryNames ??= new Map();
    if (!this.categoryNames.has(column)) this.categoryNames.set(column, this.namesOfCodes(column));
    return this.categoryNames.get(column).get(code) ?? String(code);
  }

  namesOfCodes(column) {
    const { report } = this;
    const names = new Map();
    if (report.tree_columns || !report.columns[column].levels) return names;
    for (let row = 0; row < report.nShown; row++)
      names.set(this.rows[column * report.nShown + row], report.cellText(row, column));
    return names;
  }

  /** Return a row's cell in a column of the trees, as it was given if the page has it. */
  cellText(row, column) {
    const { report } = this;
    if (report.data && !report.tree_columns) return report.cellText(row, column);
    return short(this.rows[column * report.nShown + row]);
  }
}

/** Compute W(k, d) = k! (d - k - 1)! / d! without a factorial. */
function shapleyWeight(k, d) {
  let weight = 1 / d;
  for (let i = 1; i <= Math.min(k, d - 1 - k); i++) weight *= i / (d - i);
  return weight;
}
