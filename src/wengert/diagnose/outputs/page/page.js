
"use strict";

// Data and small helpers. Text from the program only ever becomes text nodes.
const data = JSON.parse(document.getElementById("data").textContent);
const NONE = -100000, ZERO = -99999, NAN = 99998, INF = 99999; // norms that have no logarithm

function el(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((c) => c !== null && c !== undefined));
  return made;
}

function svg(tag, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

const byId = (id) => document.getElementById(id);
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const dark = matchMedia("(prefers-color-scheme: dark)");
let redraws = []; // [element, f]: what is drawn with colours and sizes that may change
const redraw = () => requestAnimationFrame(() => {
  redraws = redraws.filter(([element]) => element.isConnected);
  redraws.forEach(([, f]) => f());
});
dark.addEventListener("change", redraw);
addEventListener("resize", redraw);

// -- words for numbers

function normText(code) {
  if (code === null || code === undefined) return "–";
  if (code === ZERO) return "0";
  if (code === NAN) return "NaN";
  if (code === INF) return "inf";
  const value = 10 ** (code / 1000);
  if (value >= 0.001 && value < 10000) return String(Number(value.toPrecision(3)));
  return value.toExponential(1).replace("e+", "e");
}

const isBad = (code) => code === NAN || code === INF;

function bytesText(n) {
  if (n < 1024) return `${n} B`;
  for (const unit of ["KiB", "MiB", "GiB", "TiB"]) {
    n /= 1024;
    if (n < 1024) return `${Number(n.toPrecision(3))} ${unit}`;
  }
  return `${n.toPrecision(3)} PiB`;
}

function timeText(us) {
  if (us === null || us === undefined) return "–";
  if (us < 1000) return `${us} µs`;
  if (us < 1e6) return `${Number((us / 1000).toPrecision(3))} ms`;
  return `${Number((us / 1e6).toPrecision(3))} s`;
}

const many = (n, one, more) => `${n.toLocaleString("en")} ${n === 1 ? one : more || `${one}s`}`;

function placeText(at) {
  if (at < 0) return "";
  const [file, line] = data.places[at];
  return `${file}:${line}`;
}

const baseName = (file) => file.split(/[\\/]/).pop();
const files = [...new Set(data.places.map(([file]) => file))];
const shared = new Set(files.map(baseName).filter((name, i, all) => all.indexOf(name) !== i)); // by files in several folders

function shortPlace(at) {
  if (at < 0) return "";
  const [file, line] = data.places[at], name = baseName(file);
  return `${shared.has(name) ? file : name}:${line}`;
}

const sourceText = (at) => (at < 0 ? "" : data.places[at][2]);

// -- a list of which only what is seen is in the document

class VirtualList {
  // `render(i)` gives the element of row `i`; `box` scrolls.
  constructor(box, height, render) {
    Object.assign(this, { box, height, render, count: 0 });
    this.spacer = el("div", { class: "spacer", role: "presentation" });
    box.append(this.spacer);
    this.after = () => {};
    box.addEventListener("scroll", () => {
      if (!this.waiting) this.waiting = requestAnimationFrame(() => { this.waiting = 0; this.refresh(); });
    });
    redraws.push([box, () => this.refresh()]);
  }

  set(count) {
    this.count = count;
    this.spacer.style.height = `${count * this.height}px`;
    this.refresh();
  }

  range() {
    const top = this.box.scrollTop, seen = this.box.clientHeight || 600;
    const first = Math.max(0, Math.floor(top / this.height) - 6);
    return [first, Math.min(this.count, Math.ceil((top + seen) / this.height) + 6)];
  }

  refresh() {
    const [first, last] = this.range(), rows = [];
    const held = document.activeElement, key = this.spacer.contains(held) ? held.dataset.key : null;
    for (let i = first; i < last; i++) {
      const row = this.render(i);
      row.style.top = `${i * this.height}px`;
      rows.push(row);
    }
    this.spacer.replaceChildren(...rows);
    if (key) this.spacer.querySelector(`[data-key="${key}"]`)?.focus({ preventScroll: true });
    this.after();
  }

  reveal(i) {
    const top = i * this.height, box = this.box;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + this.height > box.scrollTop + box.clientHeight) box.scrollTop = top + this.height - box.clientHeight;
  }

  get page() { return Math.max(1, Math.floor(this.box.clientHeight / this.height) - 1); }
}

function option(value, text, chosen) {
  return el("option", { value, selected: chosen }, text);
}

function radios(name, legend, choices, chosen, change) {
  const group = el("fieldset", {}, el("legend", { class: "sr" }, legend));
  for (const [value, text] of choices) {
    group.append(el("label", {}, el("input", { type: "radio", name, value, checked: value === chosen,
      onchange: () => change(value) }), text));
  }
  return group;
}

// A table that is made when it is asked for.
function tableOnDemand(title, make) {
  const box = el("details", {}, el("summary", {}, title));
  box.addEventListener("toggle", () => {
    if (box.open && box.children.length === 1) {
      box.append(el("div", { class: "tablebox", tabindex: 0, role: "region", "aria-label": title }, make()));
    }
  });
  return box;
}

function table(caption, heads, rows) {
  const made = el("table", {}, el("caption", { class: "sr" }, caption), el("thead", {}, el("tr", {},
    ...heads.map((h, i) => el("th", { scope: "col", class: i ? "n" : null }, h)))));
  const body = el("tbody");
  for (const row of rows) {
    body.append(el("tr", {}, ...row.map((cell, i) => (i ? el("td", { class: "n" }, cell)
      : el("th", { scope: "row" }, cell)))));
  }
  made.append(body);
  return made;
}

// -- findings

function startFindings() {
  const boxes = [...document.querySelectorAll("#filter input")];
  const findings = [...document.querySelectorAll(".finding")];
  const filter = () => {
    const wanted = new Set(boxes.filter((b) => b.checked).map((b) => b.value));
    for (const f of findings) f.hidden = !wanted.has(f.dataset.severity);
    const shown = findings.filter((f) => !f.hidden).length;
    byId("filtered").textContent = `${shown} of ${many(findings.length, "finding")} shown`;
  };
  boxes.forEach((b) => b.addEventListener("change", filter));
}

// The names of parameters lead to their paths in the graph. `find(name, missing)` gives the address of one.
function linkParameters(find, show) {
  for (const name of document.querySelectorAll("code.parameter")) {
    const address = find(name.dataset.parameter, "missing" in name.dataset);
    if (address === null) continue;
    name.replaceWith(el("button", { type: "button", class: "parameter", "data-parameter": name.dataset.parameter,
      title: "Show its path to the loss", onclick: () => show(address) }, name.textContent));
  }
}
