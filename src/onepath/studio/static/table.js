// A file: what was understood of it, what has to be asked, and where a fit begins.

import { h, replace, table, paragraph } from "./dom.js";
import { get, post } from "./net.js";
import { Options } from "./options.js";

const ROLES = [["time", "Time"], ["state", "State"], ["input", "Input"], ["error", "Standard error"], ["group", "Group"], ["unused", "Not used"]];
const TEXTS = [
  ["dt", "Step", "Between rows, where no column tells the time: 0.1 or 1/252."],
  ["time_unit", "Times are counted in", "second, ms, day, year …"],
  ["unit", "Rates are per", "The unit of time of drift and diffusion: day, year …"],
  ["missing", "Missing values", "How else they are written, such as -999 or n.d."],
  ["gap", "Gap", "Steps longer than this many median steps are no transitions."],
  ["encoding", "Encoding", "Of a text file that is not UTF-8: latin-1 …"],
];

export class FileView {
  constructor(key, studio) {
    Object.assign(this, { key, studio });
    this.element = h("article", null, h("h2", null, "…"), paragraph("Reading the table …", "soft"));
    get(`files/${key}`).then((file) => this.show(file), (error) => studio.trouble(error));
  }

  show(file) {
    this.file = file;
    const { looked } = file;
    if (!looked) {
      setTimeout(() => get(`files/${this.key}`).then((again) => this.show(again), () => null), 200);
      return;
    }
    this.said = { ...(this.said ?? file.said), roles: looked.roles ?? this.said?.roles ?? file.said?.roles ?? {} };
    this.options ??= new Options(this.studio.form);
    replace(this.element, h("h2", null, file.name), this._question(looked), looked.facts ? this._facts(looked) : null,
      looked.columns.length || looked.question ? this._columns(looked) : null, looked.ready ? this._begin() : null);
    const control = looked.question?.controls[0];
    (this.element.querySelector(`[name="${control}"]`) ?? this.element.querySelector("select.asked"))?.focus();
  }

  _question({ question, error }) {
    if (error) return h("div", { class: "ask", role: "alert" }, h("strong", null, "This file cannot be used as it is."), paragraph(error));
    if (!question) return null;
    return h("div", { class: "ask", role: "alert" }, h("strong", null, question.question), paragraph(question.told));
  }

  _facts(looked) {
    return h("section", { "aria-label": "What was understood" }, table({ body: looked.facts }),
      h("details", null, h("summary", null, "How it was read"), h("ul", null, looked.notes.map((note) => h("li", null, note)))));
  }

  _columns(looked) {
    const asked = new Set(looked.question?.controls ?? []), role = ["state", "time", "group", "error", "input"].some((each) => asked.has(each));
    const selects = looked.columns.map((column) => h("th", { scope: "col" }, column.name, h("br"),
      h("select", { "aria-label": `Role of ${column.name}`, "data-column": column.name, class: role ? "asked" : null },
        h("option", { value: "" }, "automatic"),
        ROLES.map(([key, label]) => h("option", { value: key, selected: this.said.roles[column.name] === key }, label)))));
    const rows = [0, 1, 2, 3, 4].map((i) => h("tr", null, looked.columns.map((column) => h("td", null, column.first[i] ?? ""))));
    const texts = TEXTS.map(([name, label, help]) => h("label", null, label,
      h("input", { type: "text", name, class: asked.has(name) ? "asked" : null, autocomplete: "off",
        value: name === "missing" ? [].concat(this.said.missing ?? []).join(" ") : name === "gap" && this.said.gap === 10 ? "" : this.said[name] ?? "" }),
      h("span", { class: "help" }, help)));
    const wide = h("label", { class: asked.has("wide") ? "asked" : null }, h("input", { type: "checkbox", name: "wide", checked: this.said.wide }), " Each column is a trajectory of its own");
    const calendar = h("label", null, "Calendar", h("br"), h("select", { name: "calendar" }, ["auto", "business", "all"].map((each) => h("option", { value: each, selected: this.said.calendar === each }, each))),
      h("span", { class: "help" }, "Which days count where times are daily dates."));
    this.form = h("form", { onsubmit: (event) => { event.preventDefault(); this.again(); } },
      looked.columns.length ? h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "The first rows" }, h("table", { class: "columns" }, h("thead", null, h("tr", null, selects)), h("tbody", null, rows))) : null,
      h("div", { class: "options" }, texts, calendar, wide), h("p", null, h("button", { type: "submit", class: looked.ready ? "plain" : null }, "Read it like this")));
    const open = !looked.ready || null;
    return h("details", { open, class: "change" }, h("summary", null, "Columns, times and missing values"), this.form);
  }

  /** What the form says now; roles that are left to the studio are left out. */
  read() {
    const said = {};
    for (const input of this.form.querySelectorAll("input[type=text], select[name]")) if (input.value.trim()) said[input.name] = input.value.trim();
    said.wide = this.form.elements.wide.checked;
    said.roles = {};
    for (const select of this.form.querySelectorAll("select[data-column]")) if (select.value) said.roles[select.dataset.column] = select.value;
    return said;
  }

  async again() {
    this.said = this.read();
    try {
      this.show({ ...this.file, ...(await post(`files/${this.key}/look`, this.said)) });
      if (this.file.looked.ready) this.studio.say("The table is understood.");
    } catch (error) {
      this.studio.trouble(error);
    }
  }

  _begin() {
    const button = h("button", { type: "button", onclick: () => this.studio.fit(this.key, this.options.read()) }, "Fit");
    return h("section", { "aria-label": "Fit" }, h("p", { class: "row" }, button, h("span", { class: "soft" }, "Drift and diffusion, with bands. It can be stopped.")),
      h("details", null, h("summary", null, "Options of the fit"), this.options.element));
  }
}
