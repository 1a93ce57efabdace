// Elements from names, attributes and children: text stays text, whatever a file's columns are called.

const SVG = "http://www.w3.org/2000/svg";

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(3)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}

export const h = (tag, attributes, ...children) => filled(document.createElement(tag), attributes, children);
export const svg = (tag, attributes, ...children) => filled(document.createElementNS(SVG, tag), attributes, children);

export function replace(element, ...children) {
  element.replaceChildren(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
}

const RAISED = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

/** A number with so many digits, a minus sign, and a power of ten where it is far from one. */
export function number(value, digits = 4) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "not known";
  if (value === 0) return "0";
  const power = Math.floor(Math.log10(Math.abs(value)));
  if (power >= -4 && power < 7) return String(Number(value.toPrecision(digits))).replace("-", "−");
  const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
  const raised = [...String(Number(exponent))].map((letter) => RAISED[letter]).join("");
  return `${Number(mantissa)}×10${raised}`.replace("-", "−");
}

/** Seconds as a clock shows them. */
export function clock(seconds) {
  const whole = Math.floor(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
}

/** A date with as much of the day as a span of so many milliseconds needs. */
export function date(milliseconds, span = Infinity) {
  const text = new Date(milliseconds).toISOString();
  if (span > 5 * 86400e3) return text.slice(0, 10);
  return span > 120e3 ? text.slice(0, 16).replace("T", " ") : text.slice(0, 23).replace("T", " ");
}

/** A table with a heading line, or facts with their names in the first column. */
export function table(rows, kind = "facts") {
  const head = rows.head?.length ? h("thead", null, h("tr", null, rows.head.map((cell) => (cell ? h("th", { scope: "col" }, cell) : h("td"))))) : null;
  const lines = rows.body.map(([first, ...rest]) =>
    h("tr", null, h("th", { scope: "row" }, first), rest.map((cell, i) => h("td", { "data-label": rows.head?.[i + 1] ?? "" }, cell))),
  );
  return h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": kind === "facts" ? "Facts" : "Table" },
    h("table", { class: kind }, head, h("tbody", null, lines)));
}

export const paragraph = (text, kind) => h("p", kind ? { class: kind } : null, text);

/** Text that can be copied, with a button that does it. */
export function copied(label, text) {
  const button = h("button", { type: "button", class: "small", "aria-label": `Copy ${label}` }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = "Selected";
    }
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
  const code = h("code", null, text);
  return h("div", { class: "copied" }, h("div", { class: "copied-head" }, h("span", null, label), button),
    h("pre", { tabindex: 0, role: "group", "aria-label": label }, code));
}
