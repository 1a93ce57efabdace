// A chart of lines, bands and dots: drag to zoom, point to read off, or do both by the keyboard.

import { h, svg, replace, number, date } from "./dom.js";
import { linear, ticks, dateTicks, extent, nearest } from "./scale.js";

const MARGIN = { left: 58, right: 10, top: 8, bottom: 40 };
const CLOSEST = 1e-6; // share of the whole that can be zoomed to
const BASEMENT = 0.16; // share of the height that the data's density takes
let drawn = 0;

const KEYS = "Arrow keys move the read-off, plus and minus zoom, 0 shows all.";

/**
 * Layers are {kind: "line" | "band" | "dots" | "bars" | "density", name, colour, x, y | lower, upper | y, error |
 * edges, heights}; those with `read` are told by the read-off. `fetch(from, to)` may give other layers for a part.
 */
export class Chart {
  constructor({ title, xLabel, yLabel, layers, dates = false, zero = false, floor = null, height = 250, link = null, fetch = null, range = null, marks = [], wide = false }) {
    Object.assign(this, { title, xLabel, yLabel, layers, dates, zero, floor, height, link, fetch, range, marks });
    this.id = ++drawn;
    this.cursor = null;
    this.svg = svg("svg", { role: "application", tabindex: 0, "aria-roledescription": "chart", "aria-label": `${title}. ${KEYS}` });
    this.out = h("output", { class: "readoff" }, "\u00a0");
    this.spoken = h("div", { class: "unseen", "aria-live": "polite" });
    const button = (label, sign, act) => h("button", { type: "button", class: "small", "aria-label": `${label}: ${title}`, title: label, onclick: act }, sign);
    this.tools = h("div", { class: "tools" },
      button("Zoom in", "+", () => this.zoom(0.5)), button("Zoom out", "−", () => this.zoom(2)), button("Show all", "All", () => this.all()));
    this.legend = h("ul", { class: "legend" });
    this.element = h("figure", { class: wide ? "chart wide" : "chart" },
      h("figcaption", null, h("span", { class: "chart-title" }, title), this.tools), this.legend, this.svg, this.out, this.spoken);
    this._listen();
    link?.join(this);
    new ResizeObserver(() => this.draw()).observe(this.element);
    this.reset();
  }

  /** Other layers in the same place; what was zoomed to stays. */
  show(layers, marks = this.marks) {
    const first = !this.layers.length;
    this.layers = layers;
    this.marks = marks;
    if (first) this.reset();
    this.draw();
  }

  reset() {
    this.whole = this.range ?? extent(this.layers.filter((each) => each.kind !== "density").map((each) => each.x)) ?? [0, 1];
    if (this.whole[0] === this.whole[1]) this.whole = [this.whole[0] - 0.5, this.whole[1] + 0.5];
    this.view = [...this.whole];
  }

  all() {
    this._look([...this.whole]);
  }

  zoom(factor, about = null) {
    const [a, b] = this.view;
    const middle = about ?? (this.cursor !== null && this.cursor >= a && this.cursor <= b ? this.cursor : (a + b) / 2);
    const least = CLOSEST * (this.whole[1] - this.whole[0]);
    if (factor < 1 && (b - a) * factor < least) return;
    this._look([middle - (middle - a) * factor, middle + (b - middle) * factor]);
  }

  pan(share) {
    const [a, b] = this.view, by = share * (b - a);
    const shift = Math.max(this.whole[0] - a, Math.min(this.whole[1] - b, by));
    this._look([a + shift, b + shift]);
  }

  _look([a, b], told = false) {
    this.view = [Math.max(a, this.whole[0]), Math.min(b, this.whole[1])];
    if (!told) this.link?.look(this, this.view);
    this.draw();
    if (this.fetch) {
      clearTimeout(this.waiting);
      this.waiting = setTimeout(async () => {
        const view = [...this.view];
        const layers = await this.fetch(...view).catch(() => null);
        if (layers && view[0] === this.view[0] && view[1] === this.view[1]) this.show(layers);
      }, 80);
    }
  }

  draw() {
    const width = this.element.clientWidth;
    if (!width) return;
    const { left, right, top, bottom } = MARGIN;
    this.box = { left, top, right: width - right, bottom: this.height - bottom };
    this.x = linear(this.view, [left, width - right]);
    this.y = linear(this._heights(), [this.height - bottom, top]);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${this.height}`);
    this.svg.setAttribute("height", this.height);
    this.front = svg("g", { class: "front" });
    replace(this.svg,
      svg("clipPath", { id: `clip${this.id}` }, svg("rect", { x: left, y: top, width: Math.max(width - left - right, 1), height: this.height - top - bottom })),
      this._axes(width), svg("g", { "clip-path": `url(#clip${this.id})` }, this.layers.map((layer) => this._layer(layer)), this._marks()), this.front);
    const named = new Map(this.layers.filter((each) => each.name).map((each) => [each.name, each]));
    replace(this.legend, named.size > 1 ? [...named.values()].map((each) => h("li", { class: `${each.kind} ${each.colour}${each.dash ? " dashed" : ""}` }, each.name)) : []);
    if (this.cursor !== null) this._point(this.cursor);
  }

  /** What is in view, with some room; dots do not decide where there are lines. */
  _heights() {
    const [a, b] = this.view, lists = [], spare = [];
    for (const layer of this.layers) {
      if (layer.kind === "density") continue;
      const far = (sign) => layer.y.map((value, i) => (value === null ? null : value + sign * 1.645 * layer.error[i]));
      const parts = layer.kind === "band" ? [layer.lower, layer.upper] : layer.decides && layer.error ? [far(-1), far(1)] : [layer.y];
      const into = layer.kind === "dots" && !layer.decides ? spare : lists;
      for (const part of parts) into.push(part.filter((_, i) => layer.x[i] >= a && layer.x[i] <= b));
    }
    let [low, high] = extent(lists) ?? extent(spare) ?? [0, 1];
    if (this.zero) [low, high] = [Math.min(low, 0), Math.max(high, 0)];
    if (this.floor !== null) low = Math.min(this.floor, low);
    const room = (high - low || Math.abs(high) || 1) * 0.06;
    return [this.floor !== null && low === this.floor ? low : low - room, high + room];
  }

  _axes(width) {
    const { left, right, top, bottom } = this.box, [low, high] = [this.y.back(bottom), this.y.back(top)];
    const vertical = ticks(low, high, 5), parts = [];
    for (const value of vertical) {
      const y = this.y(value);
      parts.push(svg("line", { class: "grid", x1: left, x2: right, y1: y, y2: y }),
        svg("text", { class: "tick", x: left - 6, y: y + 4, "text-anchor": "end" }, number(value, 4)));
    }
    const about = Math.max(2, Math.floor((right - left) / (this.dates ? 90 : 75)));
    const across = this.dates ? dateTicks(...this.view, about) : ticks(...this.view, about).map((value) => [value, number(value, 6)]);
    for (const [value, text] of across) {
      const x = this.x(value);
      if (x < left - 1 || x > right + 1) continue;
      parts.push(svg("line", { class: "grid", x1: x, x2: x, y1: top, y2: bottom }),
        svg("text", { class: "tick", x, y: bottom + 15, "text-anchor": "middle" }, text));
    }
    if (this.zero && low < 0 && high > 0) parts.push(svg("line", { class: "zero", x1: left, x2: right, y1: this.y(0), y2: this.y(0) }));
    parts.push(svg("text", { class: "axis", x: (left + right) / 2, y: bottom + 33, "text-anchor": "middle" }, this.xLabel ?? ""));
    parts.push(svg("text", { class: "axis", transform: `translate(12 ${(top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, this.yLabel ?? ""));
    return svg("g", { "aria-hidden": "true" }, parts);
  }

  _marks() {
    return this.marks.map((value) => svg("line", { class: "mark", x1: this.x(value), x2: this.x(value), y1: this.box.top, y2: this.box.bottom }));
  }

  _layer(layer) {
    const kind = `${layer.kind} ${layer.colour ?? ""}${layer.dash ? " dashed" : ""}`;
    if (layer.kind === "line") return svg("path", { class: kind, d: this._path(layer.x, layer.y) });
    if (layer.kind === "band") return svg("path", { class: kind, d: this._band(layer) });
    if (layer.kind === "density") return svg("path", { class: kind, d: this._density(layer) });
    const base = this.y(0), places = layer.x.map((value, i) => [this.x(value), layer.y[i], layer.error?.[i]]);
    return svg("g", { class: kind }, places.map(([x, y, error]) => y === null ? null : [
      error ? svg("line", { class: "error", x1: x, x2: x, y1: this.y(y - 1.645 * error), y2: this.y(y + 1.645 * error) }) : null,
      layer.kind === "bars" ? svg("line", { class: "bar", x1: x, x2: x, y1: base, y2: this.y(y) }) : svg("circle", { cx: x, cy: this.y(y), r: layer.size ?? 3 }),
    ]));
  }

  _path(x, y) {
    let text = "", begins = true;
    for (let i = 0; i < x.length; i++) {
      if (y[i] === null || !Number.isFinite(y[i])) begins = true;
      else {
        text += `${begins ? "M" : "L"}${this.x(x[i]).toFixed(1)} ${this.y(y[i]).toFixed(1)}`;
        begins = false;
      }
    }
    return text;
  }

  _band({ x, lower, upper }) {
    let text = "", run = [];
    const close = () => {
      if (run.length > 1) {
        const there = run.map((i) => `${this.x(x[i]).toFixed(1)} ${this.y(upper[i]).toFixed(1)}`);
        const back = run.reverse().map((i) => `${this.x(x[i]).toFixed(1)} ${this.y(lower[i]).toFixed(1)}`);
        text += `M${there.join("L")}L${back.join("L")}Z`;
      }
      run = [];
    };
    for (let i = 0; i < x.length; i++) lower[i] === null || upper[i] === null ? close() : run.push(i);
    close();
    return text;
  }

  _density({ edges, heights, whole }) {
    const { top, bottom } = this.box, most = Math.max(...heights), tall = (whole ? 1 : BASEMENT) * (bottom - top);
    const place = (height) => (whole ? this.y(height) : bottom - (tall * height) / most);
    const foot = whole ? this.y(0) : bottom;
    const steps = heights.map((height, i) => `L${this.x(edges[i]).toFixed(1)} ${place(height).toFixed(1)}L${this.x(edges[i + 1]).toFixed(1)} ${place(height).toFixed(1)}`);
    return `M${this.x(edges[0]).toFixed(1)} ${foot}${steps.join("")}L${this.x(edges[edges.length - 1]).toFixed(1)} ${foot}Z`;
  }

  // reading off

  _point(value, { speak = false, told = false } = {}) {
    this.cursor = Math.max(this.view[0], Math.min(this.view[1], value));
    const parts = [], said = [];
    let at = null;
    for (const layer of this.layers) {
      if (!layer.read || !layer.x.length) continue;
      const i = nearest(layer.x, this.cursor), y = layer.kind === "band" ? null : layer.y[i];
      at ??= layer.x[i];
      if (layer.kind === "band") said.push(`${layer.read} ${number(layer.lower[i])} to ${number(layer.upper[i])}`);
      else if (y !== null) {
        said.push(`${layer.read} ${number(y)}`);
        parts.push(svg("circle", { class: `spot ${layer.colour}`, cx: this.x(layer.x[i]), cy: this.y(y), r: 4 }));
      }
    }
    const x = this.x(at ?? this.cursor);
    if (x < this.box.left - 1 || x > this.box.right + 1) parts.length = 0;
    replace(this.front, svg("line", { class: "cursor", x1: x, x2: x, y1: this.box.top, y2: this.box.bottom }), parts);
    const where = this.dates ? date(at ?? this.cursor, this.view[1] - this.view[0]) : number(at ?? this.cursor);
    const text = said.length ? `${this.dates ? "" : `${(this.xLabel ?? "x").split(",")[0]} = `}${where}: ${said.join(", ")}` : "\u00a0";
    this.out.textContent = text;
    if (speak) this.spoken.textContent = text;
    if (!told) this.link?.point(this, this.cursor);
  }

  _leave() {
    this.cursor = null;
    this.front?.replaceChildren();
    this.out.textContent = "\u00a0";
  }

  _step(by) {
    const layer = this.layers.find((each) => each.read && each.x.length);
    if (!layer) return;
    const shown = layer.x.filter((value) => value >= this.view[0] && value <= this.view[1]);
    if (!shown.length) return;
    const now = this.cursor === null ? (by > 0 ? -1 : shown.length) : nearest(shown, this.cursor);
    this._point(shown[Math.max(0, Math.min(shown.length - 1, now + by))], { speak: true });
  }

  _listen() {
    const place = (event) => this.x.back(event.clientX - this.svg.getBoundingClientRect().left);
    const fingers = new Map();
    let begun = null, apart = null;
    const marked = svg("rect", { class: "chosen" });
    this.svg.addEventListener("keydown", (event) => {
      const act = {
        ArrowLeft: () => (event.shiftKey ? this.pan(-0.25) : this._step(-1)), ArrowRight: () => (event.shiftKey ? this.pan(0.25) : this._step(1)),
        Home: () => this._step(-Infinity), End: () => this._step(Infinity),
        PageUp: () => this._step(-10), PageDown: () => this._step(10),
        "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), 0: () => this.all(), Escape: () => this._leave(),
      }[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act();
    });
    this.svg.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return; // the page scrolls as ever
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8, place(event));
    }, { passive: false });
    this.svg.addEventListener("dblclick", () => this.all());
    this.svg.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      fingers.set(event.pointerId, event.clientX);
      this.svg.setPointerCapture(event.pointerId);
      if (event.pointerType === "mouse") begun = event.clientX;
      else this._point(place(event));
      const [one, two] = [...fingers.values()];
      apart = two === undefined ? null : Math.abs(one - two);
    });
    this.svg.addEventListener("pointermove", (event) => {
      if (fingers.has(event.pointerId)) fingers.set(event.pointerId, event.clientX);
      if (apart !== null && fingers.size > 1) {
        const [one, two] = [...fingers.values()], now = Math.max(Math.abs(one - two), 8);
        const middle = this.x.back((one + two) / 2 - this.svg.getBoundingClientRect().left);
        this.zoom(apart / now, middle);
        apart = now;
        return;
      }
      this._point(place(event));
      if (begun !== null && Math.abs(event.clientX - begun) > 4) {
        const from = this.svg.getBoundingClientRect().left;
        const [a, b] = [begun - from, event.clientX - from].sort((p, q) => p - q).map((p) => Math.max(this.box.left, Math.min(this.box.right, p)));
        for (const [name, value] of Object.entries({ x: a, width: b - a, y: this.box.top, height: this.box.bottom - this.box.top })) marked.setAttribute(name, value);
        this.front.append(marked);
      }
    });
    const end = (event) => {
      fingers.delete(event.pointerId);
      if (fingers.size < 2) apart = null;
      if (begun === null) return;
      const from = this.svg.getBoundingClientRect().left;
      const [a, b] = [begun - from, event.clientX - from].sort((p, q) => p - q);
      begun = null;
      marked.remove();
      if (event.type === "pointerup" && b - a > 8) this._look([this.x.back(Math.max(a, this.box.left)), this.x.back(Math.min(b, this.box.right))]);
    };
    this.svg.addEventListener("pointerup", end);
    this.svg.addEventListener("pointercancel", end);
    this.svg.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse" && begun === null && document.activeElement !== this.svg) {
        this._leave();
        this.link?.leave(this);
      }
    });
  }
}

/** Charts that show the same stretch and are read off at the same place. */
export class Link {
  charts = [];
  join(chart) {
    this.charts.push(chart);
  }
  _others(of, act) {
    for (const chart of this.charts) if (chart !== of && chart.box) act(chart);
  }
  look(of, view) {
    this._others(of, (chart) => chart._look([...view], true));
  }
  point(of, value) {
    this._others(of, (chart) => chart._point(value, { told: true }));
  }
  leave(of) {
    this._others(of, (chart) => chart._leave());
  }
}
