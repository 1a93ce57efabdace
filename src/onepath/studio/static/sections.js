// The other parts of a fit: data, plane, what follows, forecast, diagnosis.

import { h, number, paragraph, table } from "./dom.js";
import { get } from "./net.js";
import { Chart, Link } from "./chart.js";
import { Plane } from "./plane.js";

const COLOURS = ["fit", "second", "green", "purple", "amber"];

/** Everything that was read, in time; a closer look is fetched as it is zoomed to. */
export function series(id, { series: all, dates, unit, records }) {
  const link = new Link(), names = [...new Set(all.map((each) => each.name))];
  const layers = ({ t, columns }, name) => all.filter((each) => each.name === name).flatMap((each) => {
    const of = (k) => columns[k - 1], hidden = each.kind === "hidden", out = [];
    if (hidden) out.push({ kind: "band", name: "90 % band", colour: "fit", x: t, lower: of(each.lower), upper: of(each.upper) });
    if (each.kind === "readings") out.push({ kind: "dots", name: "readings", colour: "muted", x: t, y: of(each.values), size: 1.6, read: "read" });
    else out.push({ kind: "line", name: hidden ? "state, given all readings" : name, colour: COLOURS[names.indexOf(name) % 5], x: t, y: of(each.values), read: hidden ? "state" : name });
    return out;
  });
  const place = h("div");
  get(`fits/${id}/view`).then((whole) => {
    const across = whole.rising ? (dates ? "" : `time, ${unit}`) : "row";
    for (const name of names) {
      const fetch = whole.rising ? async (from, to) => layers(await get(`fits/${id}/view?from=${from}&to=${to}`), name) : null;
      place.append(new Chart({ title: name, xLabel: across, yLabel: name, dates: dates && whole.rising, layers: layers(whole, name), link, fetch, height: names.length > 1 ? 190 : 230, range: ends(whole.t), wide: true }).element);
    }
    if (records > 1) place.append(paragraph(`${records} trajectories, one after another.`, "soft"));
  }, () => place.append(paragraph("The data are not there any more.", "soft")));
  return place;
}

const ends = (t) => [t[0], t[t.length - 1]];

export const plane = (found) => new Plane(found).element;

export function follows(found, curves) {
  const parts = [], name = curves?.names[0] ?? "x";
  if (found.potential) {
    const link = new Link();
    const chart = (title, yLabel, key, more, under = []) => new Chart({
      title, xLabel: name, yLabel, link, ...more,
      layers: [...under, { kind: "band", name: "90 % band", colour: "fit", x: found.x, lower: found[key].lower, upper: found[key].upper, read: "90 %" },
        { kind: "line", name: "learned", colour: "fit", x: found.x, y: found[key].median, read: "learned" },
        ...(found.truth ? [{ kind: "line", name: "truth", colour: "truth", dash: true, x: found.x, y: found.truth[key], read: "truth" }] : [])],
    });
    const data = { kind: "density", name: "data", colour: "muted", whole: true, ...found.data };
    parts.push(h("div", { class: "pair" }, chart("Potential", `${name}² ${curves?.per ?? ""}`, "potential", {}).element, chart("Stationary density", `per unit of ${name}`, "density", { floor: 0 }, [data]).element));
  }
  if (found.table.body.length) parts.push(table(found.table, "numbers"), found.notes.map((text) => paragraph(text, "soft")));
  return parts.length ? [h("h3", null, "What follows"), parts] : [];
}

export function forecast(found, curves, ask, ready) {
  const link = new Link(), across = found.dates ? "" : "time", steps = h("input", { type: "number", min: 1, max: 5000, value: found.steps, name: "steps", id: "ahead" });
  const charts = found.names.map((name, i) => {
    const [low, lower, middle, upper, high] = found.quantiles[i], x = found.t;
    return new Chart({
      title: name, xLabel: across, yLabel: name, dates: found.dates, link, height: 220, wide: true,
      layers: [{ kind: "band", name: "90 %", colour: "second", x, lower: low, upper: high, read: "90 %" }, { kind: "band", name: "50 %", colour: "second", x, lower, upper },
        { kind: "line", name: "median", colour: "second", x, y: middle, read: "median" }],
    }).element;
  });
  const form = h("form", {
    class: "row", onsubmit: async (event) => {
      event.preventDefault();
      if (!ready()) return;
      button.disabled = true;
      await ask(Number(steps.value));
      button.disabled = false;
    },
  }, h("label", { for: "ahead" }, "Steps ahead"), steps);
  const button = h("button", { type: "submit", class: "plain" }, "Forecast");
  form.append(button);
  return [charts, paragraph(found.told), form];
}

export function diagnosis({ questions, picture }) {
  const several = picture.names.length > 1, of = (i) => (several ? picture.names[i] : "");
  const across = picture.correlations[0].map((_, i) => i + 1), limit = across.map((_, k) => 1.645 * Math.max(...picture.errors.map((each) => each[k])));
  const memory = new Chart({
    title: "Residuals' autocorrelation", xLabel: "steps apart", yLabel: "correlation", zero: true, height: 210, range: [0.3, across.length + 0.7],
    layers: [{ kind: "band", name: "where 90 % would lie", colour: "muted", x: across, lower: limit.map((v) => -v), upper: limit },
      ...picture.correlations.map((y, i) => ({ kind: "bars", name: of(i) || "correlation", colour: COLOURS[i % 5], x: across, y, read: of(i) || "correlation" }))],
  });
  const count = picture.ordered[0].length, normal = Array.from({ length: count }, (_, i) => quantile((i + 0.5) / count));
  const tails = new Chart({
    title: "Residuals against the normal law", xLabel: "normal quantile", yLabel: "residual", height: 210,
    layers: [{ kind: "line", name: "normal", colour: "truth", dash: true, x: ends(normal), y: ends(normal) },
      ...picture.ordered.map((y, i) => ({ kind: "dots", name: of(i) || "residuals", colour: COLOURS[i % 5], x: normal, y, size: 1.8, read: of(i) || "residual", decides: true }))],
  });
  const time = new Chart({
    title: "Residuals in time", xLabel: picture.dates ? "" : "time", yLabel: "residual", height: 190, dates: picture.dates, wide: true,
    layers: picture.z.map((y, i) => ({ kind: "dots", name: of(i), colour: COLOURS[i % 5], x: picture.t, y, size: 1.6, read: of(i) || "residual", decides: true })),
  });
  const answers = questions.map((each) => h("li", { class: each.flagged ? "flagged" : null }, h("strong", null, each.name), h("span", { class: "unseen" }, each.flagged ? " (flagged)" : " (fine)"), `: ${each.answer}`, each.p === null ? null : h("span", { class: "soft" }, ` p = ${number(each.p, 2)}`)));
  return [h("ul", { class: "answers" }, answers), h("details", null, h("summary", null, "Pictures of the residuals"), h("div", { class: "pair" }, memory.element, tails.element), time.element)];
}

/** Of the standard normal law, by Acklam's rational approximation, right to nine digits. */
function quantile(p) {
  const a = [-39.69683028665376, 220.9460984245205, -275.9285104469687, 138.357751867269, -30.66479806614716, 2.506628277459239];
  const b = [-54.47609879822406, 161.5858368580409, -155.6989798598866, 66.80131188771972, -13.28068155288572];
  const c = [-0.007784894002430293, -0.3223964580411365, -2.400758277161838, -2.549732539343734, 4.374664141464968, 2.938163982698783];
  const d = [0.007784695709041462, 0.3224671290700398, 2.445134137142996, 3.754408661907416];
  const poly = (x, terms) => terms.reduce((sum, term) => sum * x + term, 0);
  if (p > 0.5) return -quantile(1 - p);
  if (p < 0.02425) {
    const q = Math.sqrt(-2 * Math.log(p));
    return poly(q, c) / (poly(q, d) * q + 1);
  }
  const q = p - 0.5, r = q * q;
  return (poly(r, a) * q) / (poly(r, b) * r + 1);
}
