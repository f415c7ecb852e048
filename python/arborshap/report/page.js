// Elements, numbers and the page's state. Text from the data becomes text nodes, never markup.

const byId = (id) => document.getElementById(id);

/** Make an element; children may be text, elements or null. */
function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Make an SVG element. */
function draw(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "style") Object.assign(element.style, value);
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null));
  return element;
}

/** Format a number of the data with at most four significant digits. */
function short(value) {
  if (!Number.isFinite(value)) return figure(value);
  return Number.isInteger(value) && Math.abs(value) < 1e7
    ? figure(value, 8)
    : figure(value)
        .replace(/(\.\d*?)0+($|e)/, "$1$2")
        .replace(/\.($|e)/, "$1");
}

/** Format a computed number with this many significant digits; `data-value` carries the exact number. */
function figure(value, digits = 4) {
  if (Number.isNaN(value)) return "missing";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1e7 || size < 1e-4)
    return value
      .toExponential(digits - 2)
      .replace("-", "−")
      .replace("e-", "e−")
      .replace("e+", "e");
  const text =
    Number.isInteger(value) || size >= 10 ** (digits - 1)
      ? Math.round(value).toLocaleString("en")
      : value.toPrecision(digits);
  return text.replace("-", "−");
}

const signed = (value) => (value > 0 ? "+" : "") + figure(value);

/** Shorten a text to at most this length, without splitting a surrogate pair. */
const clipped = (text, length) =>
  text.length > length ? `${text.slice(0, length - 1).replace(/[\uD800-\uDBFF]$/, "")}…` : text;

/** Shorten a text in its middle, because names that begin alike differ at their ends. */
function clippedInside(text, length) {
  const letters = [...text];
  if (letters.length <= length) return text;
  const tail = Math.floor((length - 1) / 2);
  return `${letters.slice(0, length - 1 - tail).join("")}…${letters.slice(letters.length - tail).join("")}`;
}

/** Shorten a text to its beginning and what stands at a position, from the beginning of the word there. */
function clippedAround(text, at, length) {
  const letters = [...text];
  const head = Math.floor((length - 2) / 3);
  let start = at;
  while (start > Math.max(head, at - 6) && /[\p{L}\p{N}]/u.test(letters[start - 1])) start -= 1;
  const room = length - head - 1;
  const rest = letters.slice(start);
  return `${letters.slice(0, head).join("")}…${rest.length > room ? `${rest.slice(0, room - 1).join("")}…` : rest.join("")}`;
}

/** Return the number of letters with which all texts begin. */
function sharedStart(texts) {
  const [first, ...others] = texts.map((text) => [...text]);
  const end = first.findIndex((letter, k) => others.some((other) => other[k] !== letter));
  return end < 0 ? first.length : end;
}

/** Shorten names, by name; long ones that would look alike are shortened around where they begin to differ. */
function shortNames(names, length) {
  const alike = new Map();
  for (const name of new Set(names)) {
    const text = clippedInside(name, length);
    alike.set(text, [...(alike.get(text) ?? []), name]);
  }
  const short = new Map();
  for (const [text, those] of alike) {
    const at = those.length > 1 ? sharedStart(those) : null;
    for (const name of those) short.set(name, at === null ? text : clippedAround(name, at, length));
  }
  return short;
}

/** Isolate a text of the data: remove direction marks and isolate right-to-left letters, so no other text is turned. */
function aside(text) {
  const plain = text.replace(/[\u202A-\u202E\u2066-\u2069]/g, "");
  return /[\u0590-\u08FF\uFB1D-\uFEFC]/.test(plain) ? `\u2068${plain}\u2069` : plain;
}

const count = (n, what) => `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;

/** Make a table cell with a number that can be read back exactly. */
function numberCell(value, text = figure(value), kind = "") {
  return make("td", { class: `num ${kind}`, "data-value": String(value) }, text);
}

const gainOrLoss = (value) => (value > 0 ? "gain" : value < 0 ? "loss" : "");

/** What is selected now, and the listeners to its changes. */
const state = {
  output: 0,
  row: 0,
  a: 0,
  b: 0,
  listeners: {},
  on(names, listener) {
    for (const name of names) (this.listeners[name] ??= []).push(listener);
  },
  set(name, value) {
    if (this[name] === value) return;
    this[name] = value;
    for (const listener of this.listeners[name] ?? []) listener();
  },
};
