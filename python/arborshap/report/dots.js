// A canvas with one dot per row: point at a dot to read it, click to select its row.

class Dots {
  /** `plan(width)` returns { x, y, radius, inks, under }: places, colours, and what to draw first. */
  constructor(canvas, height, plan, describe) {
    Object.assign(this, { canvas, height, plan, describe, picture: null, x: null });
    const tip = byId("tip");
    canvas.addEventListener("pointermove", (event) => this.point(tip, event));
    canvas.addEventListener("pointerleave", () => {
      tip.hidden = true;
    });
    canvas.addEventListener("click", (event) => {
      const hit = this.nearest(event);
      if (hit >= 0) state.set("row", hit);
    });
  }

  /** Draw the dots if they are not drawn yet, and the ring around the selected row. */
  paint() {
    const width = this.canvas.clientWidth;
    if (width === 0) return;
    const ratio = window.devicePixelRatio || 1;
    this.picture ??= this.drawn(width, ratio);
    this.canvas.width = this.picture.width;
    this.canvas.height = this.picture.height;
    const pen = this.canvas.getContext("2d");
    pen.drawImage(this.picture, 0, 0);
    pen.scale(ratio, ratio);
    pen.strokeStyle = colour("ring");
    pen.lineWidth = 2;
    pen.beginPath();
    pen.arc(this.x[state.row], this.y[state.row], this.radius + 2.5, 0, 7);
    pen.stroke();
  }

  /** Draw the dots of all rows on a separate canvas, one colour after another, which is fast for thousands. */
  drawn(width, ratio) {
    const picture = make("canvas");
    picture.width = Math.round(width * ratio);
    picture.height = Math.round(this.height * ratio);
    const pen = picture.getContext("2d");
    pen.scale(ratio, ratio);
    const { x, y, radius, inks, under } = this.plan(width);
    Object.assign(this, { x, y, radius });
    under(pen);
    pen.globalAlpha = x.length > 300 ? 0.75 : 0.9;
    for (const [ink, rows] of inks) {
      pen.fillStyle = ink;
      pen.beginPath();
      for (const row of rows) {
        pen.moveTo(x[row] + radius, y[row]);
        if (radius < 2) pen.rect(x[row] - 1.4, y[row] - 1.4, 2.8, 2.8);
        else pen.arc(x[row], y[row], radius, 0, 7);
      }
      pen.fill();
    }
    return picture;
  }

  nearest(event) {
    if (!this.x) return -1;
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let best = -1;
    let least = 144;
    for (let row = 0; row < this.x.length; row++) {
      const distance = (this.x[row] - x) ** 2 + (this.y[row] - y) ** 2;
      if (distance < least) [best, least] = [row, distance];
    }
    return best;
  }

  point(tip, event) {
    const row = this.nearest(event);
    tip.hidden = row < 0;
    if (row < 0) return;
    tip.textContent = this.describe(row);
    const furthest = window.innerWidth - tip.offsetWidth - 8;
    tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, furthest))}px`;
    tip.style.top = `${event.clientY + 18}px`;
  }
}

/** Choose the radius of dots by how many there are. */
const dotRadius = (n) => (n > 1500 ? 1.6 : n > 300 ? 2.4 : 3.2);
