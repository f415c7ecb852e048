// The picture of a walk: splits, leaves and typed edges; a triangle stands for a subtree that was not entered.

const SLOT = 82;
const LEVEL = 96;
const SPLIT_BOX = { width: 150, height: 42 };
const LEAF_BOX = { width: 72, height: 34 };

/** Draw the steps of a walk; return the picture, and a function that shows its state after some steps. */
function treePicture(trees, walk) {
  const places = layOut(walk);
  const width = Math.max(320, places.slots * SLOT + 80);
  const height = Math.max(...places.depth.values()) * LEVEL + 80;
  const where = (node) => ({
    x: (width - places.slots * SLOT) / 2 + (places.slot.get(node) + 0.5) * SLOT,
    y: 34 + places.depth.get(node) * LEVEL,
  });
  const edges = draw("g");
  const nodes = draw("g");
  const added = []; // { element, step }: what a step adds to the picture
  walk.steps.forEach((step, number) => {
    const at = where(step.node);
    if (step.kind === "leaf") {
      added.push({ element: leafBox(step, at), step: number, node: true });
    } else {
      for (const edge of step.edges) {
        const to = where(edge.child);
        const group = draw(
          "g",
          { "data-edge": `${walk.local(step.node)}-${walk.local(edge.child)}`, "data-type": edge.type },
          edgeShapes(edge, at, to),
        );
        edges.append(group);
        added.push({ element: group, step: number });
      }
      added.push({ element: splitBox(trees, step, at), step: number, node: true });
    }
    nodes.append(added[added.length - 1].element);
  });
  const picture = draw(
    "svg",
    {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": `Tree ${walk.number}: ${count(walk.steps.length, "node")} walked`,
    },
    edges,
    nodes,
  );
  const showTo = (current) => {
    for (const { element, step, node } of added) {
      element.classList.toggle("later", step > current);
      if (node) element.classList.toggle("now", step === current);
    }
    return where(walk.steps[current].node);
  };
  return { picture, showTo };
}

/** Give each leaf and folded subtree a place from left to right, and each split the middle of its children. */
function layOut(walk) {
  const [slot, depth] = [new Map(), new Map()];
  const steps = new Map(walk.steps.map((step) => [step.node, step]));
  let slots = 0;
  const pending = [{ node: walk.steps[0].node, level: 0, done: false }];
  while (pending.length) {
    const { node, level, done } = pending.pop();
    const step = steps.get(node);
    depth.set(node, level);
    if (!step || step.kind === "leaf") slot.set(node, slots++);
    else if (done) slot.set(node, (slot.get(step.edges[0].child) + slot.get(step.edges[1].child)) / 2);
    else {
      pending.push({ node, level, done: true });
      for (const edge of [step.edges[1], step.edges[0]])
        pending.push({ node: edge.child, level: level + 1, done: false });
    }
  }
  return { slot, depth, slots };
}

function edgeShapes(edge, from, to) {
  const [top, bottom] = [from.y + SPLIT_BOX.height / 2, to.y - (edge.followed ? LEAF_BOX.height / 2 : 12)];
  const middle = (top + bottom) / 2;
  const letter = onCurve(0.7, from.x, to.x, top, bottom); // near the child, because edges of wide trees are long
  const shapes = [
    draw("path", {
      class: `edge ${edge.type}${edge.followed ? "" : " skipped"}`,
      d: `M${from.x},${top} C${from.x},${middle} ${to.x},${middle} ${to.x},${bottom}`,
    }),
    draw(
      "g",
      { class: "letter" },
      draw("circle", { class: edge.type, cx: letter.x, cy: letter.y, r: 9 }),
      draw("text", { x: letter.x, y: letter.y + 4 }, edge.type),
    ),
  ];
  if (!edge.followed) {
    shapes.push(
      draw(
        "path",
        { class: "folded", d: `M${to.x},${bottom} l14,22 h-28 z` },
        draw("title", {}, `not entered: ${count(edge.below, "node")}`),
      ),
      draw("text", { class: "small", x: to.x, y: bottom + 35 }, count(edge.below, "node")),
    );
  }
  return shapes;
}

/** Return a point of an edge, which leaves its split and reaches the child vertically. */
function onCurve(t, fromX, toX, top, bottom) {
  const along = 3 * t ** 2 * (1 - t) + t ** 3;
  const down = 1.5 * t * (1 - t) + t ** 3;
  return { x: fromX + along * (toX - fromX), y: top + down * (bottom - top) };
}

function box(kind, size, at, title, lines) {
  return draw(
    "g",
    { class: kind },
    draw("title", {}, title),
    draw("rect", {
      x: at.x - size.width / 2,
      y: at.y - size.height / 2,
      width: size.width,
      height: size.height,
      rx: 8,
    }),
    lines.map((line, i) =>
      draw("text", { class: i ? "small" : "", x: at.x, y: at.y + (i ? 14 : lines.length > 1 ? -2 : 4) }, line),
    ),
  );
}

function splitBox(trees, step, at) {
  const { name, test } = trees.question(step.node);
  const room = Math.max(6, 18 - test.length);
  return box("node", SPLIT_BOX, at, `${name} ${test}?`, [
    `${trees.shortName(name, room)} ${clipped(test, 14)}`,
    `x ${clipped(step.xText, 8)} · z ${clipped(step.zText, 8)}`,
  ]);
}

function leafBox(step, at) {
  return box("node leaf", LEAF_BOX, at, `leaf with value ${step.value}`, [figure(step.value)]);
}
