// Two coordinates: arrows of the drift where there are data, noise as ellipses, or a map; pointed at, told in numbers.

import { h, svg, replace, number } from "./dom.js";
import { linear, ticks, extent } from "./scale.js";

const MARGIN = { left: 58, right: 12, top: 8, bottom: 40 };
const VIEWS = [["drift", "Drift"], ["noise", "Noise"], ["first", "Drift, first"], ["second", "Drift, second"]];

export class Plane {
  constructor(found) {
    this.found = found;
    this.shown = "drift";
    this.chosen = null;
    const [first, second] = found.names;
    const names = { first: `Drift of ${first}`, second: `Drift of ${second}` };
    const group = `plane${Math.random().toString(36).slice(2)}`;
    this.choices = h("fieldset", { class: "choices" }, h("legend", { class: "unseen" }, "What the plane shows"),
      VIEWS.map(([key, label]) => h("label", null,
        h("input", { type: "radio", name: group, checked: key === "drift", onchange: () => { this.shown = key; this.draw(); } }), ` ${names[key] ?? label}`)));
    this.svg = svg("svg", { role: "application", tabindex: 0, "aria-roledescription": "chart",
      "aria-label": `Drift and noise over ${first} and ${second}. Arrow keys move the read-off, plus and minus zoom, 0 shows all.` });
    this.out = h("output", { class: "readoff" }, "\u00a0");
    this.spoken = h("div", { class: "unseen", "aria-live": "polite" });
    const button = (label, sign, act) => h("button", { type: "button", class: "small", "aria-label": `${label}: plane`, title: label, onclick: act }, sign);
    const tools = h("div", { class: "tools" }, button("Zoom in", "+", () => this.zoom(0.6)), button("Zoom out", "−", () => this.zoom(1 / 0.6)), button("Show all", "All", () => this.all()));
    this.element = h("figure", { class: "chart wide" }, h("figcaption", null, h("span", { class: "chart-title" }, "In the plane"), tools), this.choices, this.svg, this.out, this.spoken);
    this.whole = [0, 1].map((k) => {
      const [low, high] = extent([found.axes[k]]);
      return [low - 0.05 * (high - low), high + 0.05 * (high - low)];
    });
    this.view = this.whole.map((ends) => [...ends]);
    this._listen();
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  all() {
    this.view = this.whole.map((ends) => [...ends]);
    this.draw();
  }

  zoom(factor, about = null) {
    const middle = about ?? (this.chosen !== null ? this.found.points[this.chosen] : this.view.map(([a, b]) => (a + b) / 2));
    this.view = this.view.map(([a, b], k) => {
      const ends = [middle[k] - (middle[k] - a) * factor, middle[k] + (b - middle[k]) * factor];
      return [Math.max(ends[0], this.whole[k][0]), Math.min(ends[1], this.whole[k][1])];
    });
    this.draw();
  }

  draw() {
    const width = this.element.clientWidth;
    if (!width) return;
    const height = Math.min(Math.max(width * 0.72, 260), 460);
    this.box = { left: MARGIN.left, right: width - MARGIN.right, top: MARGIN.top, bottom: height - MARGIN.bottom };
    this.x = linear(this.view[0], [this.box.left, this.box.right]);
    this.y = linear(this.view[1], [this.box.bottom, this.box.top]);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.setAttribute("height", height);
    this.front = svg("g", null);
    const { left, right, top, bottom } = this.box;
    replace(this.svg,
      svg("clipPath", { id: "planeclip" }, svg("rect", { x: left, y: top, width: right - left, height: bottom - top })),
      this._axes(), svg("g", { "clip-path": "url(#planeclip)" }, this._dots(), this._content()), this.front);
    if (this.chosen !== null) this._tell(this.chosen);
  }

  _axes() {
    const { left, right, top, bottom } = this.box, parts = [];
    for (const value of ticks(...this.view[0], Math.max(2, Math.floor((right - left) / 75)))) {
      const x = this.x(value);
      parts.push(svg("line", { class: "grid", x1: x, x2: x, y1: top, y2: bottom }), svg("text", { class: "tick", x, y: bottom + 15, "text-anchor": "middle" }, number(value)));
    }
    for (const value of ticks(...this.view[1], 6)) {
      const y = this.y(value);
      parts.push(svg("line", { class: "grid", x1: left, x2: right, y1: y, y2: y }), svg("text", { class: "tick", x: left - 6, y: y + 4, "text-anchor": "end" }, number(value)));
    }
    const [first, second] = this.found.names;
    parts.push(svg("text", { class: "axis", x: (left + right) / 2, y: bottom + 33, "text-anchor": "middle" }, first),
      svg("text", { class: "axis", transform: `translate(12 ${(top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, second));
    return svg("g", { "aria-hidden": "true" }, parts);
  }

  _dots() {
    return svg("g", { class: "dots muted" }, this.found.dots.map(([x, y]) => svg("circle", { cx: this.x(x).toFixed(1), cy: this.y(y).toFixed(1), r: 1.1 })));
  }

  _content() {
    if (this.shown === "noise") return this._ellipses();
    if (this.shown !== "drift") return this._map(this.shown === "first" ? 0 : 1);
    const arrows = [this._arrows(this.found.drift, (i) => (this._known(i) ? "fit" : "muted"))];
    if (this.found.truth) arrows.push(this._arrows(this.found.truth, () => "truth"));
    return arrows;
  }

  /** Whether the data tell the direction: a band of either coordinate is clear of zero. */
  _known(i) {
    return [0, 1].some((k) => this.found.lower[i][k] > 0 || this.found.upper[i][k] < 0);
  }

  _every() {
    return this.box.right - this.box.left < 420 ? 2 : 1;
  }

  /** Points that are drawn: all, or every second row and column where there is little room. */
  _some() {
    const { points, axes } = this.found, every = this._every();
    const index = (k, value) => axes[k].indexOf(value);
    return points.map((_, i) => i).filter((i) => every === 1 || (index(0, points[i][0]) % every === 0 && index(1, points[i][1]) % every === 0));
  }

  _arrows(values, colour) {
    const { points, spread, axes } = this.found, some = this._some();
    const sizes = some.map((i) => Math.hypot(values[i][0] / spread[0], values[i][1] / spread[1])).sort((a, b) => a - b);
    const longest = sizes[Math.floor(0.95 * (sizes.length - 1))] || 1;
    const room = 0.95 * this._every() * Math.min(Math.abs(this.x(axes[0][1]) - this.x(axes[0][0])), Math.abs(this.y(axes[1][1]) - this.y(axes[1][0])));
    const unit = [Math.abs(this.x(spread[0]) - this.x(0)), Math.abs(this.y(spread[1]) - this.y(0))];
    return svg("g", { class: "arrows" }, some.map((i) => {
      // along the drift as it is on the page
      const dx = (values[i][0] / spread[0]) * unit[0], dy = (-values[i][1] / spread[1]) * unit[1];
      const size = Math.min(Math.hypot(values[i][0] / spread[0], values[i][1] / spread[1]) / longest, 1) * room;
      const length = Math.hypot(dx, dy) || 1, [ux, uy] = [(dx / length) * size, (dy / length) * size];
      const x = this.x(points[i][0]), y = this.y(points[i][1]), [tx, ty] = [x + ux, y + uy], head = Math.min(4, size * 0.4);
      const [px, py] = [(-uy / (size || 1)) * head * 0.6, (ux / (size || 1)) * head * 0.6], [bx, by] = [tx - (ux / (size || 1)) * head, ty - (uy / (size || 1)) * head];
      return svg("path", { class: `arrow ${colour(i)}`, d: `M${x.toFixed(1)} ${y.toFixed(1)}L${tx.toFixed(1)} ${ty.toFixed(1)}M${(bx + px).toFixed(1)} ${(by + py).toFixed(1)}L${tx.toFixed(1)} ${ty.toFixed(1)}L${(bx - px).toFixed(1)} ${(by - py).toFixed(1)}` });
    }));
  }

  _ellipses() {
    const { points, covariance, axes } = this.found, some = this._some().filter((_, k) => k % 2 === 0);
    const kx = Math.abs(this.x(1) - this.x(0)), ky = Math.abs(this.y(1) - this.y(0));
    const shapes = some.map((i) => {
      const [a, b, c] = covariance[i], [p, q, r] = [a * kx * kx, -b * kx * ky, c * ky * ky];
      const middle = (p + r) / 2, half = Math.hypot((p - r) / 2, q);
      return { i, long: Math.sqrt(middle + half), short: Math.sqrt(Math.max(middle - half, 0)), turn: (Math.atan2(2 * q, p - r) / 2) * (180 / Math.PI) };
    });
    const room = 0.9 * this._every() * Math.min(Math.abs(this.x(axes[0][1]) - this.x(axes[0][0])), Math.abs(this.y(axes[1][1]) - this.y(axes[1][0])));
    const scale = room / Math.max(...shapes.map((each) => each.long));
    return svg("g", { class: "ellipses" }, shapes.map(({ i, long, short, turn }) => svg("ellipse", { class: "fit", rx: long * scale, ry: short * scale,
      transform: `translate(${this.x(points[i][0]).toFixed(1)} ${this.y(points[i][1]).toFixed(1)}) rotate(${turn.toFixed(1)})` })));
  }

  _map(k) {
    const { points, drift, axes } = this.found, most = Math.max(...drift.map((each) => Math.abs(each[k]))) || 1;
    const wide = Math.abs(this.x(axes[0][1]) - this.x(axes[0][0])) + 0.5, tall = Math.abs(this.y(axes[1][1]) - this.y(axes[1][0])) + 0.5;
    return svg("g", { class: "map" }, points.map(([x, y], i) => svg("rect", { class: drift[i][k] >= 0 ? "up" : "down", "fill-opacity": (Math.abs(drift[i][k]) / most).toFixed(2),
      x: (this.x(x) - wide / 2).toFixed(1), y: (this.y(y) - tall / 2).toFixed(1), width: wide.toFixed(1), height: tall.toFixed(1) })));
  }

  _tell(i, speak = false) {
    this.chosen = i;
    const { points, drift, lower, upper, noise, names } = this.found;
    const parts = names.map((name, k) => `drift of ${name} ${number(drift[i][k], 3)} (${number(lower[i][k], 3)} to ${number(upper[i][k], 3)}), noise ${number(noise[i][k], 3)}`);
    const text = `${names[0]} = ${number(points[i][0], 3)}, ${names[1]} = ${number(points[i][1], 3)}: ${parts.join("; ")}`;
    this.out.textContent = text;
    if (speak) this.spoken.textContent = text;
    replace(this.front, svg("circle", { class: "spot fit", cx: this.x(points[i][0]), cy: this.y(points[i][1]), r: 5 }));
  }

  _nearest(x, y) {
    let best = null, least = Infinity;
    this.found.points.forEach(([a, b], i) => {
      const apart = Math.hypot(this.x(a) - x, this.y(b) - y);
      if (apart < least) [best, least] = [i, apart];
    });
    return best;
  }

  _listen() {
    const place = (event) => {
      const from = this.svg.getBoundingClientRect();
      return [event.clientX - from.left, event.clientY - from.top];
    };
    let begun = null;
    const marked = svg("rect", { class: "chosen" });
    const square = (event) => {
      const [x, y] = place(event);
      return { x: Math.min(x, begun[0]), y: Math.min(y, begun[1]), width: Math.abs(x - begun[0]), height: Math.abs(y - begun[1]) };
    };
    this.svg.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      if (event.pointerType === "mouse") {
        begun = place(event);
        this.svg.setPointerCapture(event.pointerId);
      }
      const at = this._nearest(...place(event));
      if (at !== null) this._tell(at);
    });
    this.svg.addEventListener("pointermove", (event) => {
      const at = this._nearest(...place(event));
      if (at !== null) this._tell(at);
      if (begun === null) return;
      for (const [name, value] of Object.entries(square(event))) marked.setAttribute(name, value);
      this.front.append(marked);
    });
    this.svg.addEventListener("pointerup", (event) => {
      if (begun === null) return;
      const { x, y, width, height } = square(event);
      begun = null;
      marked.remove();
      if (width < 8 || height < 8) return;
      this.view = [[this.x.back(x), this.x.back(x + width)], [this.y.back(y + height), this.y.back(y)]];
      this.draw();
    });
    this.svg.addEventListener("dblclick", () => this.all());
    this.svg.addEventListener("keydown", (event) => {
      const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      const act = { "+": () => this.zoom(0.6), "=": () => this.zoom(0.6), "-": () => this.zoom(1 / 0.6), 0: () => this.all() }[event.key];
      if (event.ctrlKey || event.metaKey || event.altKey || !(move || act)) return;
      event.preventDefault();
      if (act) return act();
      const { points, axes } = this.found, now = this.chosen ?? Math.floor(points.length / 2);
      const by = [Math.abs(this.x(axes[0][1]) - this.x(axes[0][0])), Math.abs(this.y(axes[1][1]) - this.y(axes[1][0]))];
      const at = this._nearest(this.x(points[now][0]) + move[0] * by[0], this.y(points[now][1]) + move[1] * by[1]);
      if (at !== null) this._tell(at, true);
    });
  }
}
