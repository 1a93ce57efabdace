// A fit: how far it is, and everything that was made of it, part by part as it comes.

import { h, replace, clock, paragraph, table, copied } from "./dom.js";
import { get, post } from "./net.js";
import { Options, describe } from "./options.js";
import * as sections from "./sections.js";
import { Functions } from "./functions.js";

const STEPS = [["curves", "Learning"], ["verdict", "Checking"], ["lags", "Longer steps"], ["follows", "What follows"], ["forecast", "Forecast"], ["model", "Model file"], ["report", "Report"]];
const ENDED = { stopped: "The fit was stopped.", refused: "These data cannot be fitted like this.", failed: "The fit broke off." };

export class FitView {
  constructor(fit, studio) {
    Object.assign(this, { fit, studio, parts: {}, asked: new Set() });
    this.places = Object.fromEntries(["progress", "verdict", "data", "functions", "plane", "follows", "forecast", "diagnosis", "take", "again"].map((name) => [name, h("section", { id: name === "verdict" ? "verdict" : null })]));
    const what = describe(fit.asked, studio.form);
    this.understood = h("p", { class: "understood" });
    this._understood();
    this.element = h("article", null, h("h2", null, fit.name), this.understood, what ? paragraph(`With ${what}.`, "soft") : null, Object.values(this.places));
    this.stopper = h("button", { type: "button", class: "stop", onclick: () => this.stop() }, "Stop");
    this.update(fit);
  }

  /** How the table was read, in a line. */
  async _understood() {
    const file = await get(`files/${this.fit.file}`).catch(() => null);
    const facts = file?.looked?.facts ?? [];
    replace(this.understood, facts.map(([name, text], i) => [i ? " · " : "", `${name.toLowerCase()} `, h("b", null, text)]), facts.length ? [" · ", h("a", { href: `#file-${this.fit.file}` }, "not right?")] : null);
  }

  get running() {
    return ["waiting", "running"].includes(this.fit.state);
  }

  /** New of what the server says of it. */
  update(fit) {
    const was = this.fit.state;
    this.fit = fit;
    this._progress();
    for (const name of fit.made) this._need(name);
    if (fit.ahead !== this.ahead && this.parts.forecast) this._need("forecast", true);
    this.ahead = fit.ahead;
    this._take();
    if (!this.running && !this.over) {
      this.over = true;
      if (was !== fit.state) this.studio.say(ENDED[fit.state] ?? "Everything is done.");
      this._again();
    }
  }

  shown() {
    for (const name of Object.keys(this.parts)) if (name === "curves") this.functions?.beside();
  }

  async stop() {
    this.stopper.disabled = true;
    await post(`fits/${this.fit.id}/stop`).catch((error) => this.studio.trouble(error));
    this.studio.look();
  }

  _progress() {
    const { state, doing, seconds, made, trouble } = this.fit, place = this.places.progress;
    clearInterval(this.ticking);
    if (ENDED[state]) {
      replace(place, h("div", { class: "ask" }, h("strong", null, ENDED[state]), trouble ? paragraph(trouble) : null));
      return;
    }
    if (state === "done") {
      replace(place);
      return;
    }
    const next = STEPS.findIndex(([name]) => !made.includes(name)), begun = performance.now() - 1000 * seconds;
    const time = h("span", { class: "soft" }), tick = () => (time.textContent = state === "waiting" ? "waiting for a free place" : clock((performance.now() - begun) / 1000));
    tick();
    this.ticking = setInterval(() => (place.isConnected ? tick() : clearInterval(this.ticking)), 500);
    const focused = document.activeElement === this.stopper;
    replace(place, h("div", { class: "progress" },
      h("div", { class: "row" }, h("strong", null, state === "waiting" ? "Waiting" : doing || "Starting"), time, this.stopper),
      h("progress", { max: STEPS.length, value: made.length ? next : null, "aria-label": "Progress of the fit" }),
      h("ol", { class: "steps" }, STEPS.map(([, label], i) => h("li", { class: i < next ? "done" : null, "aria-current": i === next ? "step" : null }, label)))));
    if (focused) this.stopper.focus();
  }

  /** Fetch a part once it is there, and show it. */
  async _need(name, again = false) {
    const show = { curves: 1, series: 1, verdict: 1, lags: 1, plane: 1, follows: 1, forecast: 1, tables: 1 }[name];
    if (!show || (this.asked.has(name) && !again)) return;
    this.asked.add(name);
    try {
      this.parts[name] = await get(`fits/${this.fit.id}/${name}`);
      this[`_${name}`]();
    } catch (error) {
      this.studio.trouble(error);
    }
  }

  _curves() {
    this.functions = new Functions(this);
    replace(this.places.functions, this.functions.element);
  }

  _series() {
    const found = this.parts.series;
    replace(this.places.data, h("h3", null, "The data"), sections.series(this.fit.id, found));
  }

  _verdict() {
    const found = this.parts.verdict, [, lead, rest] = found.verdict.match(/^([^.:]*[.:]?)([^]*)$/);
    const cures = found.cures.map((cure) => h("button", { type: "button", class: "plain cure", onclick: () => this.studio.fit(this.fit.file, this.fit.asked, cure.asked) }, cure.label));
    replace(this.places.verdict, h("div", { class: found.fits ? "verdict" : "verdict flagged", role: "status" }, h("strong", null, lead.replace(/[.:]$/, "")), paragraph(capital(rest.trim())), found.looked ? paragraph(`The diagnosis ${found.looked}.`, "soft") : null,
      found.caution ? paragraph(found.caution) : null),
      cures.length ? h("div", { class: "row cures" }, h("span", null, "Try: "), cures) : null);
    replace(this.places.diagnosis, h("h3", null, "Is this model right?"), sections.diagnosis(found));
  }

  _lags() {
    this.functions?.lags(this.parts.lags);
  }

  _plane() {
    replace(this.places.plane, sections.plane(this.parts.plane));
  }

  _follows() {
    replace(this.places.follows, sections.follows(this.parts.follows, this.parts.curves));
  }

  _forecast() {
    replace(this.places.forecast, h("h3", null, "Forecast"), sections.forecast(this.parts.forecast, this.parts.curves, (steps) => this._ahead(steps), () => this.fit.made.includes("model")));
  }

  async _ahead(steps) {
    try {
      await post(`fits/${this.fit.id}/ahead`, { steps });
      await this.studio.look();
    } catch (error) {
      this.studio.trouble(error);
    }
  }

  _tables() {
    this.functions?.words(this.parts.tables);
  }

  /** Links to what can be kept, as soon as it is there. */
  _take() {
    const { id, made, command, python } = this.fit, key = made.join();
    if (!made.includes("model") || this.taken === key) return;
    this.taken = key;
    const link = (name, label, path = name) => made.includes(name) && h("a", { class: "button plain", href: `fits/${id}/${path}`, download: true }, label);
    replace(this.places.take, h("h3", null, "Take away"),
      h("p", { class: "row" }, made.includes("report") ? [h("a", { class: "button", href: `fits/${id}/report?show`, target: "_blank", rel: "noopener" }, "Open the report"), link("report", "Report")] : h("span", { class: "soft" }, "The report is being drawn …"),
        link("model", "Model"), link("curves.csv", "Curves (CSV)"), link("forecast.csv", "Forecast (CSV)"), link("curves.csv", "Summary (text)", "summary")),
      copied("The same in a terminal", command), copied("The same in Python", python), copied("The model in Python", `import onepath\n\nsde = onepath.load("${this.fit.name.replace(/\.[^.]*$/, "")}.onepath")\nprint(sde.summary())`));
  }

  _again() {
    const options = new Options(this.studio.form, this.fit.asked);
    const there = () => this.studio.files.some((file) => file.id === this.fit.file);
    if (!there()) return;
    replace(this.places.again, h("h3", null, "Fit again"), h("details", { open: this.fit.state !== "done" }, h("summary", null, "With other options"), options.element),
      h("p", { class: "row" }, h("button", { type: "button", onclick: () => this.studio.fit(this.fit.file, options.read()) }, "Fit again"), h("a", { href: `#file-${this.fit.file}` }, "Change the columns")));
  }
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
