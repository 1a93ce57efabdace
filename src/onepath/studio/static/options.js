// The options of a fit as a form, made from the server's table of them.

import { h } from "./dom.js";

export class Options {
  constructor(form, asked = {}) {
    this.element = h("div", { class: "options" }, form.map((each) => h("label", null, ...this._control(each, asked[each.name]), h("span", { class: "help" }, each.help))));
  }

  _control({ name, label, kind, choices }, value) {
    if (kind === "switch") return [h("input", { type: "checkbox", name, checked: value === "yes" }), ` ${label}`];
    if (kind === "choice") return [label, h("br"), h("select", { name }, choices.map((each) => h("option", { value: each, selected: each === value }, each)))];
    return [label, h("input", { type: "text", name, value: value ?? "", autocomplete: "off" })];
  }

  /** Names and texts, as the server reads them. */
  read() {
    const asked = {};
    for (const each of this.element.querySelectorAll("input, select")) {
      const value = each.type === "checkbox" ? (each.checked ? "yes" : "") : each.value.trim();
      if (value) asked[each.name] = value;
    }
    return asked;
  }
}

/** The options of a fit in a few words. */
export function describe(asked, form) {
  return Object.entries(asked).map(([name, text]) => {
    const label = form.find((each) => each.name === name)?.label ?? name;
    return text === "yes" ? label.toLowerCase() : `${label.toLowerCase()}: ${text}`;
  }).join(", ");
}
