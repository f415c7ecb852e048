// Scales: where numbers are drawn, and which numbers are written beside them.

/** Make a linear scale from [low, high], with some room on both sides, to [0, 1]. */
function linear(low, high, room) {
  const [least, most] = low < high ? [low, high] : [low - 0.5, low + 0.5];
  const half = most / 2 - least / 2; // the whole may overflow
  return { low: least, high: most, half, at: (value) => ((value / 2 - least / 2) / half + room) / (1 + 2 * room) };
}

/** Make the scale of some numbers, of which infinite and missing ones do not count; it includes `also`. */
function scaleOf(numbers, room, ...also) {
  let [low, high] = [Math.min(...also), Math.max(...also)];
  for (let i = 0; i < numbers.length; i++) {
    if (!Number.isFinite(numbers[i])) continue;
    if (numbers[i] < low) low = numbers[i];
    if (numbers[i] > high) high = numbers[i];
  }
  return Number.isFinite(low) ? linear(low, high, room) : linear(0, 1, room);
}

/** Choose three to seven round numbers on a scale, or its ends if no round number fits between them. */
function ticks({ low, high, half }) {
  const power = 10 ** Math.floor(Math.log10(half));
  for (const factor of [10, 5, 2, 1, 0.5, 0.2, 0.1]) {
    const step = factor * power;
    const found = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step && found.length < 20; k++) found.push(k * step);
    if (new Set(found).size >= 3) return found;
  }
  return [low, high];
}

/** Make the numbers of a horizontal axis; `below` writes something else under each of them. */
function axisTicks(scale, below = null) {
  return ticks(scale).map((at) =>
    make(
      "span",
      { style: { left: `${100 * scale.at(at)}%` } },
      short(at),
      below ? make("small", {}, below(at)) : null,
    ),
  );
}
