// The page: files that are dropped, a shelf of files and fits, and one of them shown.

import { h, replace } from "./dom.js";
import { get, post, remove, upload } from "./net.js";
import { describe } from "./options.js";
import { FileView } from "./table.js";
import { FitView } from "./fit.js";

const BUSY = 120, IDLE = 1500; // milliseconds between two looks at the server
const SIGNS = { waiting: "waiting", running: "running", done: "", stopped: "stopped", refused: "refused", failed: "failed" };
const one = (id) => document.getElementById(id);

class Studio {
  files = [];
  fits = [];
  views = new Map();
  version = null;

  async start() {
    addEventListener("hashchange", () => this.route(true));
    one("pick").addEventListener("change", (event) => this.take([...event.target.files]).then(() => (event.target.value = "")));
    for (const kind of ["dragenter", "dragover"]) addEventListener(kind, (event) => this._drag(event, true));
    for (const kind of ["dragleave", "drop"]) addEventListener(kind, (event) => this._drag(event, false));
    addEventListener("drop", (event) => this.take([...(event.dataTransfer?.files ?? [])]));
    one("quit").addEventListener("click", () => this.quit());
    document.addEventListener("visibilitychange", () => document.hidden || this.look());
    const about = await get("about").catch((error) => this.trouble(error));
    Object.assign(this, about);
    replace(one("examples"), this.examples.map(({ key, title, told }) =>
      h("button", { type: "button", onclick: () => this.example(key) }, h("strong", null, title), h("span", null, told))));
    await this.look();
    if (!location.hash && this.files.length && !this.fits.length) location.hash = `#file-${this.files.at(-1).id}`;
    this.route(false);
  }

  _drag(event, over) {
    event.preventDefault();
    document.body.classList.toggle("dragging", over);
  }

  say(text) {
    one("said").textContent = text;
  }

  trouble(error) {
    const close = h("button", { type: "button", class: "small", "aria-label": "Close the message", onclick: () => replace(one("trouble")) }, "✕");
    replace(one("trouble"), h("span", null, error.message ?? String(error)), close);
  }

  /** Upload, and where all is clear fit at once. */
  async take(files) {
    replace(one("trouble"));
    await Promise.all(files.map(async (file) => {
      if (file.size > this.largest) {
        this.trouble(new Error(`${file.name} is larger than ${this.largest >> 20} MB: take every tenth row, or start onepath studio with --largest.`));
        return;
      }
      this.say(`Reading ${file.name}`);
      document.body.classList.add("busy");
      await upload(file).then((found) => this.taken(found, files.length === 1), (error) => this.trouble(error));
      document.body.classList.remove("busy");
    }));
  }

  async example(key) {
    await post(`examples/${key}`).then((found) => this.taken(found, true), (error) => this.trouble(error));
  }

  async taken(file, alone) {
    if (alone && file.looked?.ready) return this.fit(file.id, {});
    await this.look();
    if (alone) location.hash = `#file-${file.id}`;
  }

  async fit(file, asked, cure = {}) {
    try {
      const { id } = await post("fits", { file, asked, cure });
      await this.look();
      location.hash = `#fit-${id}`;
    } catch (error) {
      this.trouble(error);
    }
  }

  async close(kind, id) {
    await remove(`${kind}s/${id}`).catch((error) => this.trouble(error));
    this.views.delete(`#${kind}-${id}`);
    await this.look();
    if (location.hash === `#${kind}-${id}`) location.hash = "#new";
  }

  async quit() {
    const open = this.fits.length ? "Fits that were not saved are lost. " : "";
    if (!confirm(`${open}End the studio?`)) return;
    await post("quit").catch(() => null);
    clearTimeout(this.waiting);
    this.ended = true;
    replace(one("main"), h("h2", null, "The studio has ended"), h("p", null, "Nothing was kept but what you saved. This page can be closed."));
    replace(one("shelf"));
    one("quit").remove();
  }

  /** Ask how things are, show it, and ask again after a while. */
  async look() {
    clearTimeout(this.waiting);
    if (this.ended) return;
    try {
      const state = await get(`state?since=${this.version}`);
      if (state.fits) {
        Object.assign(this, state);
        this.shelf();
        for (const fit of this.fits) this.views.get(`#fit-${fit.id}`)?.update(fit);
      }
      if (this.lost) replace(one("trouble"));
      this.lost = false;
    } catch (error) {
      if (!this.lost) this.trouble(error);
      this.lost = true;
    }
    const busy = this.fits.some((each) => each.state === "running" || each.state === "waiting") || this.files.some((each) => each.ready === null);
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.look(), document.hidden ? 4 * IDLE : busy ? BUSY : IDLE);
  }

  /** Drawn anew only where it says something else, so that the keyboard stays where it is. */
  shelf() {
    const key = JSON.stringify([location.hash, this.files.map((each) => [each.id, each.name]), this.fits.map((each) => [each.id, each.state])]);
    if (key === this.shelved) return;
    this.shelved = key;
    const link = (key, name, small) => h("a", { href: key, "aria-current": location.hash === key ? "page" : null }, name, small ? h("small", null, small) : null);
    const close = (kind, each, name) => h("button", { type: "button", class: "small close", "aria-label": `Close ${name}`, title: "Close", onclick: () => this.close(kind, each.id) }, "✕");
    const groups = this.files.map((file) => h("li", null, h("div", { class: "item" }, link(`#file-${file.id}`, file.name), close("file", file, file.name)),
      h("ul", { class: "fits" }, this.fits.filter((fit) => fit.file === file.id).map((fit) => this._item(fit, link, close)))));
    const orphans = this.fits.filter((fit) => !this.files.some((file) => file.id === fit.file)).map((fit) => this._item(fit, link, close));
    replace(one("shelf"), h("a", { href: "#new", "aria-current": ["", "#new"].includes(location.hash) ? "page" : null }, "+ New file"), h("ul", null, groups, orphans));
    const shelf = one("shelf"), current = shelf.querySelector("[aria-current]"), top = (each) => each.getBoundingClientRect().top;
    if (current) shelf.scrollTop += top(current) - top(shelf) - shelf.clientHeight / 2;
  }

  _item(fit, link, close) {
    const small = [SIGNS[fit.state], describe(fit.asked, this.form)].filter(Boolean).join(", ");
    return h("li", { class: "item" }, link(`#fit-${fit.id}`, `Fit ${fit.id}`, small), close("fit", fit, `fit ${fit.id}`));
  }

  /** Show what the address names. */
  route(moved) {
    const [kind, id] = location.hash.slice(1).split("-"), key = location.hash;
    const there = { file: this.files, fit: this.fits }[kind]?.find((each) => each.id === Number(id));
    if (there && !this.views.has(key)) this.views.set(key, kind === "file" ? new FileView(there.id, this) : new FitView(there, this));
    const view = there ? this.views.get(key) : null;
    one("intake").hidden = Boolean(view);
    one("shown").hidden = !view;
    replace(one("shown"), view?.element ?? []);
    view?.shown?.();
    document.title = view ? `${there.name}: onepath studio` : "onepath studio";
    this.shelf();
    if (moved) {
      scrollTo(0, 0);
      one("main").focus({ preventScroll: true });
    }
  }
}

new Studio().start();
