
// Charts: gradients by step, memory and time. Each has a table with the same numbers.

const RAMPS = { // from small to large; even in lightness
  light: [[226, 236, 246], [158, 196, 226], [82, 146, 200], [28, 92, 158], [14, 44, 96]],
  dark: [[30, 44, 62], [34, 78, 122], [48, 122, 184], [116, 176, 226], [214, 236, 252]],
};

function ramp(share) {
  const stops = RAMPS[dark.matches ? "dark" : "light"], x = Math.max(0, Math.min(0.9999, share)) * (stops.length - 1);
  const i = Math.floor(x), [a, b] = [stops[i], stops[i + 1]];
  return `rgb(${a.map((v, k) => Math.round(v + (b[k] - v) * (x - i))).join(" ")})`;
}

// -- gradient norms

function together(codes) { // the norm of several gradients as one
  const known = codes.filter((v) => v !== null && v !== undefined);
  if (!known.length) return null;
  const largest = Math.max(...known);
  if (largest === ZERO || isBad(largest)) return largest;
  let sum = 0;
  for (const v of known) if (v !== ZERO) sum += 10 ** ((v - largest) / 500);
  return Math.round(largest + 500 * Math.log10(sum));
}

function normRows(byLayer) {
  const steps = [...new Set(data.norms.flatMap((n) => n.steps))].sort((a, b) => a - b);
  const at = new Map(steps.map((s, i) => [s, i])), rows = [];
  for (const block of data.norms) {
    const layers = new Map();
    block.names.forEach((name, i) => {
      const dot = name.lastIndexOf("."), key = byLayer && dot > 0 ? name.slice(0, dot) : name;
      layers.set(key, [...(layers.get(key) || []), i]);
    });
    for (const [name, members] of layers) {
      const values = new Array(steps.length).fill(undefined);
      block.steps.forEach((s, k) => { values[at.get(s)] = together(members.map((i) => block.columns[k][i])); });
      rows.push({ name, values, optimizer: block.optimizer });
    }
  }
  return { steps, rows };
}

function startGradients() {
  const count = data.norms.reduce((n, block) => n + block.names.length, 0);
  let byLayer = count > 24;
  byId("gradients").hidden = false;
  byId("gradients-tools").append(radios("norm-rows", "Rows", [["layer", "Layers"], ["parameter", "Parameters"]],
    byLayer ? "layer" : "parameter", (mode) => { byLayer = mode === "layer"; show(); }));
  const show = () => heat(byId("gradients-view"), normRows(byLayer));
  show();
}

function heat(view, { steps, rows }) {
  const H = 17, HEAD = 20, canvas = el("canvas", { "aria-hidden": "true" }), spacer = el("div");
  const known = rows.flatMap((r) => r.values.filter((v) => v !== null && v !== undefined && v !== ZERO && !isBad(v)));
  let low = known.length ? known.reduce((a, b) => Math.min(a, b)) : 0, high = known.length ? known.reduce((a, b) => Math.max(a, b)) : 1000;
  if (high - low < 1000) { const middle = (high + low) / 2; low = middle - 500; high = middle + 500; }
  const box = el("div", { class: "heat", tabindex: 0, role: "group", "aria-roledescription": "heat map",
    "aria-label": `Gradient norms of ${many(rows.length, "row")} at ${many(steps.length, "step")}, from ${normText(low)} to ${normText(high)}. `
      + "Arrow keys read cells; the table below has the numbers." }, canvas);
  const readout = el("output", { class: "readout", "aria-live": "polite" });
  const cursor = { row: 0, column: steps.length - 1, on: false };
  const full = HEAD + rows.length * H + 4;
  box.style.height = `${Math.min(full + 2, 440)}px`;
  spacer.style.height = `${Math.max(0, full - Math.min(full, 438))}px`;
  box.append(spacer);
  const measure = () => {
    const names = Math.min(box.clientWidth * 0.35, Math.max(70, ...rows.slice(0, 400).map((r) => r.name.length * 7.3)) + 26);
    return { names, cell: Math.max(1, Math.min(26, (box.clientWidth - names - 78) / steps.length)) };
  };

  function draw() {
    const width = box.clientWidth, height = box.clientHeight, ratio = devicePixelRatio || 1;
    if (!width) return;
    const { names, cell } = measure();
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
    const c = canvas.getContext("2d"), top = box.scrollTop, text = colour("text"), muted = colour("muted");
    c.scale(ratio, ratio);
    c.font = `12px ${colour("mono")}`;
    c.textBaseline = "middle";
    const first = Math.max(0, Math.floor((top - HEAD) / H)), last = Math.min(rows.length, Math.ceil((top + height) / H));
    for (let r = first; r < last; r++) {
      const y = HEAD + r * H - top;
      c.fillStyle = text;
      c.textAlign = "left";
      let name = rows[r].name;
      const room = Math.floor((names - 14) / 7.3);
      if (name.length > room) name = `…${name.slice(1 - room)}`;
      c.fillText(name, 8, y + H / 2);
      let final;
      rows[r].values.forEach((v, k) => {
        if (v === undefined) return;
        final = v;
        const x = names + k * cell;
        c.fillStyle = isBad(v) ? colour("error") : v === null || v === ZERO ? colour("cell") : ramp((v - low) / (high - low));
        c.fillRect(x, y + 0.5, cell > 4 ? cell - 0.5 : cell + 0.3, H - 1);
        if (v === ZERO && cell > 4) {
          c.fillStyle = muted;
          c.fillRect(x + cell / 2 - 1.5, y + H / 2 - 1, 3, 2);
        }
      });
      c.textAlign = "right";
      c.fillStyle = isBad(final) ? colour("error") : muted;
      c.fillText(normText(final), width - 10, y + H / 2);
    }
    c.fillStyle = colour("back");
    c.fillRect(0, 0, width, HEAD);
    c.fillStyle = muted;
    c.font = "11.5px system-ui, sans-serif";
    c.textAlign = "right";
    c.fillText("last", width - 10, HEAD / 2);
    c.textAlign = "left";
    const every = Math.ceil(steps.length / Math.max(1, Math.floor((cell * steps.length) / 60)));
    for (let k = 0; k < steps.length; k += every) c.fillText(`${k ? "" : "step "}${steps[k]}`, names + k * cell, HEAD / 2);
    if (cursor.on) {
      c.strokeStyle = text;
      c.lineWidth = 1.5;
      c.strokeRect(names + cursor.column * cell - 0.75, HEAD + cursor.row * H - top - 0.25, Math.max(3, cell) + 1, H + 0.5);
    }
  }

  function read() {
    const r = rows[cursor.row], v = r.values[cursor.column];
    const word = v === undefined ? "not stepped or not kept" : v === null ? "no gradient" : normText(v);
    readout.textContent = `${r.name}, step ${steps[cursor.column]}: ${word}${data.norms.length > 1 ? `  (${r.optimizer})` : ""}`;
    draw();
  }
  box.addEventListener("keydown", (event) => {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -1e9], End: [0, 1e9] }[event.key];
    if (!move) return;
    event.preventDefault();
    cursor.on = true;
    cursor.row = Math.max(0, Math.min(rows.length - 1, cursor.row + move[0]));
    cursor.column = Math.max(0, Math.min(steps.length - 1, cursor.column + move[1]));
    const y = HEAD + cursor.row * H;
    if (y - HEAD < box.scrollTop) box.scrollTop = y - HEAD;
    if (y + H > box.scrollTop + box.clientHeight) box.scrollTop = y + H - box.clientHeight;
    read();
  });
  box.addEventListener("pointermove", (event) => {
    const area = canvas.getBoundingClientRect(), { names, cell } = measure();
    const row = Math.floor((event.clientY - area.top + box.scrollTop - HEAD) / H);
    const column = Math.floor((event.clientX - area.left - names) / cell);
    if (row < 0 || row >= rows.length || column < 0 || column >= steps.length) return;
    Object.assign(cursor, { row, column, on: true });
    read();
  });
  box.addEventListener("scroll", draw);
  const key = el("canvas", { "aria-hidden": "true" });
  const scale = el("p", { class: "scale" }, normText(Math.round(low)), key, normText(Math.round(high)), " ",
    el("span", { class: "swatch none" }), "none or 0", el("span", { class: "swatch worst" }), "NaN or inf");
  const paint = () => {
    key.width = 160;
    key.height = 1;
    const c = key.getContext("2d");
    for (let i = 0; i < 160; i++) { c.fillStyle = ramp(i / 159); c.fillRect(i, 0, 1, 1); }
    scale.querySelector(".none").style.background = colour("cell");
    scale.querySelector(".worst").style.background = colour("error");
    draw();
  };
  view.replaceChildren(box, readout, scale, tableOnDemand("Gradient norms as a table", () => {
    const shown = steps.length > 40 ? steps.map((_, k) => k).filter((k) => k % Math.ceil(steps.length / 40) === 0) : steps.map((_, k) => k);
    return table("Gradient norms", ["row", ...shown.map((k) => `step ${steps[k]}`)],
      rows.map((r) => [r.name, ...shown.map((k) => (r.values[k] === undefined ? "" : normText(r.values[k])))]));
  }));
  redraws.push([box, paint]);
  paint();
}

// -- memory

const HUES = {
  light: ["#2f6db3", "#d07c1f", "#3f8f5f", "#a8477f", "#7a68b8", "#8c6d46", "#4aa3a8", "#a9b0b8"],
  dark: ["#5b96dc", "#e09b4a", "#62b083", "#cc74a8", "#9f8fdd", "#b39469", "#6cc1c6", "#6b747d"],
};

function startMemory(k) {
  const m = data.graphs[k].memory, total = m.most.reduce((a, b) => a + b, 0);
  byId("memory").hidden = !total;
  if (!total) return;
  const points = m.values[0].length, sums = Array.from({ length: points }, (_, i) => m.values.reduce((s, row) => s + row[i], 0));
  const peak = sums.indexOf(sums.reduce((a, b) => Math.max(a, b)));
  byId("memory-note").textContent = `What operations keep for the backward of ${placeText(data.graphs[k].place)}, by the line that made them: `
    + `${bytesText(sums[peak])} at the peak${m.retained ? "; the graph is retained, so nothing is freed" : ""}. Parameters, their gradients and the optimizer's state are not counted.`;
  const label = (i) => (m.lines[i] < 0 ? (i >= m.lines.length - 1 && m.others ? many(m.others, "other line") : "place not known") : shortPlace(m.lines[i]));
  const chart = el("div", { class: "chart", tabindex: 0, role: "group", "aria-roledescription": "chart",
    "aria-label": `Memory over one step, ${bytesText(sums[peak])} at the peak. Arrow keys read points; the table beside has the lines.` });
  const readout = el("output", { class: "readout", "aria-live": "polite" });
  const swatches = [];
  const body = el("tbody", {}, ...m.lines.map((at, i) => {
    const swatch = el("span", { class: "swatch", "aria-hidden": "true" });
    swatches.push(swatch);
    return el("tr", {}, el("td", {}, swatch, " ", el("span", { class: "mono", title: placeText(m.lines[i]) }, label(i)), el("div", { class: "code mono" }, sourceText(at))),
      el("td", { class: "n" }, bytesText(m.most[i])), el("td", { class: "n" }, `${Math.round((100 * m.most[i]) / total)}%`));
  }));
  const legend = el("table", {}, el("caption", { class: "sr" }, "Memory by line"), el("thead", {}, el("tr", {},
    el("th", { scope: "col" }, "line"), el("th", { scope: "col", class: "n" }, "kept"), el("th", { scope: "col", class: "n" }, "share"))), body);
  let cursor = -1;

  function draw() {
    const width = chart.clientWidth || 700, height = m.lines.length > 4 ? 320 : 240, left = 68, bottom = 22, hues = HUES[dark.matches ? "dark" : "light"];
    const x = (i) => left + ((width - left - 4) * i) / points, y = (v) => 8 + (height - bottom - 8) * (1 - v / (sums[peak] * 1.02));
    const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, height, "aria-hidden": "true" });
    const base = new Array(points).fill(0);
    m.values.forEach((row, k) => {
      let up = "", down = "";
      for (let i = 0; i < points; i++) {
        up += `L${x(i).toFixed(1)} ${y(base[i] + row[i]).toFixed(1)}H${x(i + 1).toFixed(1)}`;
        down = `L${x(i + 1).toFixed(1)} ${y(base[i]).toFixed(1)}H${x(i).toFixed(1)}${down}`;
      }
      picture.append(svg("path", { d: `M${left} ${y(base[0])}${up}${down}Z`, fill: hues[k] }));
      row.forEach((v, i) => { base[i] += v; });
      swatches[k].style.background = hues[k];
    });
    for (const share of [0, 0.5, 1]) {
      const at = y(sums[peak] * share);
      picture.append(svg("line", { class: "axis", x1: left - 4, x2: share ? left : width, y1: at, y2: at }),
        svg("text", { x: left - 8, y: at + 4, "text-anchor": "end" }, bytesText(Math.round(sums[peak] * share))));
    }
    const turn = x(m.forward);
    picture.append(svg("line", { class: "axis", x1: turn, x2: turn, y1: 4, y2: height - bottom + 6 }),
      svg("text", { x: left, y: height - 6 }, turn - left > 150 ? `forward: ${many(m.operations, "operation")}` : "forward"),
      svg("text", { x: turn + 6, y: height - 6 }, "backward"));
    if (cursor >= 0) picture.append(svg("line", { class: "cursor", x1: x(cursor + 0.5), x2: x(cursor + 0.5), y1: 4, y2: height - bottom }));
    chart.replaceChildren(picture);
    chart.toPoint = (px) => Math.floor(((px - left) / (width - left - 4)) * points);
  }
  const read = (i) => {
    cursor = Math.max(0, Math.min(points - 1, i));
    const inForward = cursor < m.forward, share = inForward ? (cursor + 1) / m.forward : (cursor - m.forward + 1) / (points - m.forward);
    const largest = m.values.map((row, k) => [row[cursor], k]).sort((a, b) => b[0] - a[0]).slice(0, 3).filter(([v]) => v);
    readout.textContent = `${inForward ? "forward" : "backward"} ${Math.round(100 * share)}%: ${bytesText(sums[cursor])}${largest.length ? " — " : ""}`
      + largest.map(([v, k]) => `${label(k)} ${bytesText(v)}`).join(", ");
    draw();
  };
  chart.addEventListener("pointermove", (event) => read(chart.toPoint(event.clientX - chart.getBoundingClientRect().left)));
  chart.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9, PageUp: -10, PageDown: 10 }[event.key];
    if (!move) return;
    event.preventDefault();
    read((cursor < 0 ? peak - move : cursor) + move);
  });
  byId("memory-view").replaceChildren(el("div", { class: "beside" }, el("div", {}, chart, readout), legend),
    tableOnDemand("Memory over the step as a table", () => {
      const stride = Math.ceil(points / 40), shown = sums.map((_, i) => i).filter((i) => i % stride === 0 || i === points - 1);
      return table("Memory over the step", ["point", ...m.lines.map((_, i) => label(i)), "together"], shown.map((i) => [
        i < m.forward ? `forward ${i + 1}` : `backward ${i - m.forward + 1}`, ...m.values.map((row) => bytesText(row[i])), bytesText(sums[i])]));
    }));
  redraws.push([chart, draw]);
  draw();
}

// -- time

function startTime(k) {
  const spent = (part) => part.reduce((s, [, , us]) => s + us, 0);
  const rows = data.graphs[k].times.map(([at, forward, backward]) => ({ at, forward, backward, f: spent(forward), b: spent(backward),
    calls: forward.reduce((s, [, n]) => s + n, 0), open: false }));
  const all = rows.reduce((s, r) => s + r.f + r.b, 0);
  byId("time").hidden = !all;
  if (!all) return;
  const [f, b] = [rows.reduce((s, r) => s + r.f, 0), rows.reduce((s, r) => s + r.b, 0)];
  byId("time-note").textContent = `Inside of operators: ${timeText(f)} in calls since this backward() ran before, ${timeText(b)} in the backward itself. What `
    + "Python does between them is not counted; watching makes each operation some microseconds slower.";
  let by = "all", limit = 15;
  const value = { line: (r) => r.at, calls: (r) => r.calls, forward: (r) => r.f, backward: (r) => r.b, all: (r) => r.f + r.b };
  const most = Math.max(...rows.map(value.all));

  function show(focus) {
    const sorted = [...rows].sort((x, y) => (by === "line" ? placeText(x.at).localeCompare(placeText(y.at), "en", { numeric: true })
      : value[by](y) - value[by](x)));
    const head = (name, text, more) => el("th", { scope: "col", class: more, "aria-sort": by === name ? (name === "line" ? "ascending" : "descending") : null },
      el("button", { type: "button", "data-key": name, onclick: () => { by = name; show(name); } }, text));
    const body = el("tbody");
    for (const r of sorted.slice(0, limit)) {
      const name = r.at < 0 ? "parameters and other places" : shortPlace(r.at), key = `r${r.at}`;
      const bar = el("div", { class: "bar", "aria-hidden": "true" }, el("span", { class: "f" }), el("span", { class: "b" }));
      bar.children[0].style.width = `${(100 * r.f) / most}%`;
      bar.children[1].style.width = `${(100 * r.b) / most}%`;
      body.append(el("tr", {}, el("td", {}, el("button", { type: "button", class: "plain", "aria-expanded": String(r.open), "data-key": key, title: placeText(r.at),
        onclick: () => { r.open = !r.open; show(key); } }, `${r.open ? "▾" : "▸"} ${name}`)), el("td", { class: "wide source-cell", title: sourceText(r.at) }, sourceText(r.at)),
      el("td", { class: "n" }, r.calls ? String(r.calls) : ""), el("td", { class: "n" }, r.f ? timeText(r.f) : ""), el("td", { class: "n" }, r.b ? timeText(r.b) : ""),
      el("td", { class: "n" }, `${Math.round((100 * (r.f + r.b)) / all)}%`), el("td", { class: "wide" }, bar)));
      if (!r.open) continue;
      const sub = [...r.forward.map((x) => [...x, true]), ...r.backward.map((x) => [...x, false])].sort((x, y) => y[2] - x[2]);
      for (const [operation, n, us, ahead] of sub) {
        body.append(el("tr", { class: "sub" }, el("td", { class: "mono" }, `${data.names[operation]}${ahead ? "" : " (backward)"}`), el("td", { class: "wide" }),
          el("td", { class: "n" }, String(n)), el("td", { class: "n" }, ahead ? timeText(us) : ""), el("td", { class: "n" }, ahead ? "" : timeText(us)),
          el("td", { class: "n" }, ""), el("td", { class: "wide" })));
      }
    }
    const made = el("table", {}, el("caption", { class: "sr" }, "Time by line"), el("thead", {}, el("tr", {}, head("line", "line"),
      el("th", { scope: "col", class: "wide" }, "source"), head("calls", "calls", "n"), head("forward", "time of calls", "n"), head("backward", "backward", "n"), head("all", "share", "n"),
      el("th", { scope: "col", class: "wide" }, el("span", { class: "swatch", id: "hue-f", "aria-hidden": "true" }), " calls ",
        el("span", { class: "swatch", id: "hue-b", "aria-hidden": "true" }), " backward"))), body);
    byId("time-view").replaceChildren(made);
    byId("hue-f").style.background = "var(--accent)";
    byId("hue-b").style.background = "var(--marked)";
    if (rows.length > limit) {
      byId("time-view").append(el("p", {}, el("button", { type: "button", class: "button", onclick: () => { limit = rows.length; show(); } },
        `Show all ${rows.length} lines`)));
    }
    if (focus) made.querySelector(`[data-key="${focus}"]`)?.focus();
  }
  show();
}

document.documentElement.classList.add("script");
startFindings();
if (data.graphs.length) {
  startGraph();
  startMemory(0);
  startTime(0);
}
if (data.norms.length) startGradients();
for (const link of document.querySelectorAll(".top nav a")) link.hidden = byId(link.hash.slice(1)).hidden;
document.documentElement.dataset.ready = "yes";
