// Drift and diffusion: with bands, the truth where it is known, other fits beside, and the data at a lag.

import { h, replace, number, paragraph, table } from "./dom.js";
import { get } from "./net.js";
import { Chart, Link } from "./chart.js";
import { describe } from "./options.js";

const BESIDE = ["green", "purple", "amber"];

export class Functions {
  constructor(view) {
    this.view = view;
    this.found = view.parts.curves;
    this.others = new Map();
    this.lag = 1;
    this.dots = true;
    const { along, noise, per, per_root, truth, equation } = this.found;
    this.pairs = along.map((each, i) => {
      const link = new Link(), several = along.length > 1, xLabel = several ? `${each.name}, others at their median` : each.name;
      const chart = (title, yLabel, more) => new Chart({ title, xLabel, yLabel, link, layers: [], ...more });
      const pair = { drift: chart(several ? `Drift of ${each.of} along ${each.name}` : "Drift", per, { zero: true }), noise: chart(several ? `${capital(noise)} of ${each.of} along ${each.name}` : capital(noise), per_root, { floor: 0 }), i };
      return pair;
    });
    this.equations = h("div");
    this.compare = h("div");
    this.slider = h("div");
    this.told = h("div");
    this.element = h("div", null, h("h3", null, "Drift and diffusion"), h("div", { class: "equation" }, equation),
      truth ? paragraph(`Simulated from ${truth}: the truth is dashed.`, "soft") : null, this.equations, this.compare,
      this.pairs.map((pair) => h("div", { class: "pair" }, pair.drift.element, pair.noise.element)), this.slider, this.told);
    this.draw();
    this.beside();
  }

  draw() {
    for (const { drift, noise, i } of this.pairs) {
      drift.show(this._layers(i, "drift"));
      noise.show(this._layers(i, "noise"));
    }
  }

  _layers(i, name) {
    const one = this.found.along[i], curve = one[name], x = one.at, layers = [];
    layers.push({ kind: "density", name: "data", colour: "muted", ...one.data });
    layers.push({ kind: "band", name: "90 % band", colour: "fit", x, lower: curve.lower, upper: curve.upper, read: "90 %" });
    for (const [id, { found, colour }] of this.others) {
      const other = found.along[i];
      layers.push({ kind: "band", colour, x: other.at, lower: other[name].lower, upper: other[name].upper });
      layers.push({ kind: "line", name: `fit ${id}`, colour, x: other.at, y: other[name].mean, read: `fit ${id}` });
    }
    layers.push({ kind: "line", name: "learned", colour: "fit", x, y: curve.mean, read: "learned" });
    if (one.truth) layers.push({ kind: "line", name: "truth", colour: "truth", dash: true, x, y: one.truth[name], read: "truth" });
    const lagged = this.dots ? this.lagged?.along[i]?.[this.lagged.steps.indexOf(this.lag)] : null;
    if (lagged) {
      layers.push({ kind: "dots", name: `data at lag ${this.lag}`, colour: "second", x: lagged.at, y: lagged[name], error: lagged[`${name}_error`], read: `at lag ${this.lag}`, size: 2.6 });
      if (lagged.grid.length) layers.push({ kind: "line", name: this.found.along.length > 1 ? "learned, on average over the same data" : `the model at lag ${this.lag}`, colour: "second", dash: true, x: lagged.grid, y: lagged[`${name}_implied`] });
    }
    return layers;
  }

  /** The slider, once longer steps have been looked at. */
  lags(found) {
    this.lagged = found;
    if (!found.steps.length) return;
    this.ratio = new Chart({
      title: "σ² against the step", range: [0.4, found.steps.at(-1) + 0.6], xLabel: "steps", yLabel: "σ² over that shown", height: 200, layers: found.names.flatMap((name, k) => {
        const colour = ["fit", "second", "green", "purple"][k % 4], of = found.names.length > 1 ? name : "σ² at this lag, 90 % range";
        return [{ kind: "line", colour: "muted", x: found.steps, y: found.steps.map(() => 1) }, { kind: "dots", name: of, colour, x: found.steps, y: found.ratios[k], error: found.errors[k], read: name, decides: true }];
      }),
    });
    const input = h("input", { type: "range", min: 0, max: found.steps.length - 1, step: 1, value: 0, id: `lag${this.view.fit.id}`, "aria-describedby": `lagsaid${this.view.fit.id}` });
    const said = h("output", { id: `lagsaid${this.view.fit.id}`, for: input.id });
    const shown = h("input", { type: "checkbox", checked: true, onchange: () => { this.dots = shown.checked; this.draw(); } });
    const tell = () => {
      this.lag = found.steps[Number(input.value)];
      const length = found.along[0]?.[Number(input.value)]?.length;
      const ratios = found.names.map((name, k) => `${number(found.ratios[k][Number(input.value)], 3)}${found.names.length > 1 ? ` of ${name}` : ""}`);
      const text = `Lag of ${this.lag} step${this.lag > 1 ? "s" : ""}${length ? ` (${number(length)} ${found.unit})` : ""}: σ² is ${ratios.join(", ")} times that shown, the drift within a step accounted for.`;
      input.setAttribute("aria-valuetext", `${this.lag} steps`);
      said.textContent = text;
      this.ratio.show(this.ratio.layers, [this.lag]);
      this.draw();
    };
    input.addEventListener("input", tell);
    replace(this.slider, h("div", { class: "lag" }, h("label", { for: input.id }, h("strong", null, "Lag"), " of the increments that the dots are estimated from"), input, said,
      found.along.length ? h("p", null, h("label", null, shown, " Show the data at this lag")) : null,
      h("details", null, h("summary", null, "What this shows"), paragraph("Dots are means and standard deviations of increments over so many steps, per time and root of time, in bins of the state, with their 90 % ranges; the dashed line is what the learned equation says of them, of several coordinates at short lags. Of the true state both tend to drift and diffusion at short lags; where dots of the diffusion rise or fall towards short lags beside the dashed line, readings are in error or blurred, or something is hidden.")), this.ratio.element));
    tell();
  }

  words({ equations, values, others, noise, inputs, readings, disturbance, parameters, made, summary }) {
    replace(this.equations, equations.map((line) => h("div", { class: "equation" }, line)));
    replace(this.told, [...readings, ...inputs].map((text) => paragraph(text)), disturbance.map(([name, text]) => paragraph(`${name}: ${text}`)),
      h("details", null, h("summary", null, "Values with their bands"), table(values, "numbers"), others ? paragraph(others) : null, noise.map((text) => paragraph(text))),
      h("details", null, h("summary", null, "How it was learned"), table(made), parameters.map((text) => paragraph(text)), h("pre", { tabindex: 0, role: "group", "aria-label": "Summary" }, summary)));
  }

  /** Other fits of the same coordinates, to be drawn beside. */
  beside() {
    const { fit, studio } = this.view;
    const there = studio.fits.filter((each) => each.id !== fit.id && each.made.includes("curves"));
    const boxes = there.map((each) => h("label", null, h("input", { type: "checkbox", checked: this.others.has(each.id), onchange: (event) => this._beside(each, event.target) }), ` Fit ${each.id}, ${each.name}${Object.keys(each.asked).length ? `: ${describe(each.asked, studio.form)}` : ""}`));
    this.table ??= h("div");
    replace(this.compare, boxes.length ? h("details", { open: this.others.size > 0 }, h("summary", null, "Other fits beside"), h("div", { class: "choices" }, boxes), this.table) : null);
  }

  async _beside(fit, box) {
    if (!box.checked) this.others.delete(fit.id);
    else {
      const found = await get(`fits/${fit.id}/curves`).catch(() => null);
      const free = BESIDE.find((colour) => ![...this.others.values()].some((each) => each.colour === colour));
      const same = found && found.along.length === this.found.along.length;
      if (!same || !free) {
        box.checked = false;
        this.view.studio.trouble(new Error(same ? "Three fits can be shown beside this one." : "That fit has other coordinates."));
        return;
      }
      this.others.set(fit.id, { found, colour: free, fit, verdict: await get(`fits/${fit.id}/verdict`).catch(() => null) });
    }
    this.draw();
    const row = (id, found, made, verdict) => [`Fit ${id}`, describe(made.asked, this.view.studio.form) || "as it comes", verdict ? (verdict.fits ? "fits" : "does not fit") : "…", made.file === this.view.fit.file ? number(found.score, 6) : "other data", number(found.seconds, 2)];
    const rows = [row(this.view.fit.id, this.found, this.view.fit, this.view.parts.verdict), ...[...this.others.values()].map((each) => row(each.fit.id, each.found, each.fit, each.verdict))];
    replace(this.table, this.others.size ? table({ head: ["", "options", "verdict", "log evidence a step", "seconds"], body: rows }, "numbers") : null);
  }
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);
