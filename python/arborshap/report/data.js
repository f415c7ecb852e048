// The data of the page: packed arrays become typed arrays.

const ARRAYS = {
  uint8: Uint8Array,
  int16: Int16Array,
  int32: Int32Array,
  float32: Float32Array,
  float64: Float64Array,
};

async function unpack(packed) {
  const text = atob(packed.data);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const array = new ARRAYS[packed.type](await new Response(stream).arrayBuffer());
  array.shape = packed.shape;
  return array;
}

/** Unpack every packed array at any depth. */
async function unpackAll(content) {
  if (content === null || typeof content !== "object") return content;
  if (typeof content.data === "string" && content.type in ARRAYS) return unpack(content);
  if (Array.isArray(content)) {
    return content.some((entry) => entry !== null && typeof entry === "object")
      ? Promise.all(content.map(unpackAll))
      : content;
  }
  const values = await Promise.all(Object.values(content).map(unpackAll));
  return Object.fromEntries(Object.keys(content).map((key, i) => [key, values[i]]));
}

/** Names may have any length, but the page shows at most this many characters. */
const LONGEST_NAME = 160;

const CURVES = {
  identity: (value) => value,
  logistic: (value) => 1 / (1 + Math.exp(-value)),
  exp: Math.exp,
  softplus: (value) => Math.max(value, 0) + Math.log1p(Math.exp(-Math.abs(value))),
  "signed square": (value) => value * Math.abs(value),
  square: (value) => value * value,
};

/** Evaluate a step of the curve that turns a raw prediction into the model's own, as python/arborshap/models/margin_functions.py. */
function evaluated([name, scale, shift, points, values], value) {
  const at = scale * value + shift;
  if (name !== "interpolation") return CURVES[name](at);
  const next = points.findIndex((point) => point > at);
  if (next <= 0) return next === 0 ? values[0] : values[values.length - 1];
  const share = (at - points[next - 1]) / (points[next] - points[next - 1]);
  return values[next - 1] + share * (values[next] - values[next - 1]);
}

/** The report's data, with methods that every section uses. */
class Report {
  constructor(data) {
    Object.assign(this, data);
    const shown = (name) => aside(clipped(name, LONGEST_NAME));
    const named = (names) => names?.map(shown) ?? null;
    [this.players, this.outputs, this.row_labels] = [data.players, data.outputs, data.row_labels].map(named);
    this.tree_columns = named(data.tree_columns);
    this.columns = data.columns.map((column) => ({
      ...column,
      name: shown(column.name),
      levels: column.levels?.map(aside) ?? null,
    }));
    this.nShown = this.row_numbers.length;
    this.nPlayers = this.players.length;
    this.columnsOf = this.players.map(() => []);
    this.columns.forEach((column, j) => this.columnsOf[column.player].push(j));
    this.predictions = this.outputs.map((_, output) => this.allPredictions(output));
  }

  /** Return a player's values in all shown rows, as a view. */
  valuesOf(player, output = state.output) {
    const start = (output * this.nPlayers + player) * this.nShown;
    return this.values.subarray(start, start + this.nShown);
  }

  baseOf(row, output = state.output) {
    return this.base[output * this.nShown + row];
  }

  predictionOf(row, output = state.output) {
    return this.predictions[output][row];
  }

  /** Return the model's predictions if the model is known, and otherwise the sums of the values. */
  allPredictions(output) {
    const start = output * this.nShown;
    if (this.margin) return this.margin.subarray(start, start + this.nShown);
    const sums = Float64Array.from(this.base.subarray(start, start + this.nShown));
    for (let player = 0; player < this.nPlayers; player++) {
      this.valuesOf(player, output).forEach((value, row) => (sums[row] += value));
    }
    return sums;
  }

  /** Return what a sum becomes, such as the probability of log-odds; null if one number alone does not tell. */
  converted(sum) {
    return this.unit.curve === null ? null : this.unit.curve.reduce((value, step) => evaluated(step, value), sum);
  }

  /** Return the probability or prediction that a row's sum becomes; null if it becomes nothing else. */
  becomesOf(row, output = state.output) {
    if (this.becomes) return this.becomes[output * this.nShown + row];
    return this.converted(this.predictionOf(row, output));
  }

  /** Write what a sum becomes in brackets. */
  inBrackets(becomes) {
    return becomes === null ? "" : ` (${this.unit.becomes} ${figure(becomes, 3)})`;
  }

  /** Write a number of the unit that is explained, with what it becomes in brackets. */
  inUnit(sum) {
    return figure(sum) + this.inBrackets(this.converted(sum));
  }

  /** Write a row's prediction, with what it becomes in brackets. */
  predictionInWords(row) {
    return figure(this.predictionOf(row)) + this.inBrackets(this.becomesOf(row));
  }

  /** Write what a player has in a row, and its value. */
  playerInWords(row, player) {
    const cells = this.cellsText(row, player);
    return `${this.players[player]}${cells ? ` = ${cells}` : ""}: ${signed(this.valuesOf(player)[row])}`;
  }

  nameOf(row) {
    return this.row_labels ? this.row_labels[row] : `Row ${this.row_numbers[row]}`;
  }

  cell(row, column) {
    return this.data[column * this.nShown + row];
  }

  /** Return a column's cells in all shown rows, as a view. */
  cellsOf(column) {
    return this.data.subarray(column * this.nShown, (column + 1) * this.nShown);
  }

  /** Whether a column's cells have an order: numbers, truth values, dates. */
  hasOrder(column) {
    return this.data !== null && (!this.columns[column].levels || this.columns[column].ordered);
  }

  cellText(row, column) {
    const value = this.cell(row, column);
    const levels = this.columns[column].levels;
    return levels && !Number.isNaN(value) ? levels[value] : short(value);
  }

  /** Return a player's cells in a row: one cell, or several with their names. */
  cellsText(row, player) {
    if (!this.data) return "";
    const columns = this.columnsOf[player];
    if (columns.length === 1) return this.cellText(row, columns[0]);
    const cells = columns.slice(0, 4).map((column) => `${this.columns[column].name} ${this.cellText(row, column)}`);
    return cells.join(", ") + (columns.length > 4 ? `, ${columns.length - 4} more` : "");
  }

  /** Return the players in descending order of importance for the output. */
  order() {
    const start = state.output * this.nPlayers;
    const size = (player) => this.importance[start + player];
    return [...this.players.keys()].sort((p, q) => size(q) - size(p) || p - q);
  }
}
