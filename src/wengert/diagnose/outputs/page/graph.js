
// The graph of one backward: what it is made of, and the tree that it is shown as.

class Graph {
  // Rows of the graph are numbered from 0, oldest first; group g is the item -1 - g.
  constructor(raw) {
    Object.assign(this, { raw, size: raw.name.length });
    const n = this.size, edges = raw.to.length;
    this.first = new Int32Array(n + 1);
    for (let i = 0; i < n; i++) this.first[i + 1] = this.first[i] + raw.degree[i];
    this.from = new Int32Array(edges); // the row that an edge belongs to: the user of what it leads to
    const counts = new Int32Array(n + 1);
    for (let i = 0; i < n; i++) {
      for (let e = this.first[i]; e < this.first[i + 1]; e++) {
        this.from[e] = i;
        if (raw.to[e] >= 0) counts[raw.to[e] + 1]++;
      }
    }
    for (let i = 0; i < n; i++) counts[i + 1] += counts[i];
    this.arriving = new Int32Array(counts[n]); // edges by the row that they lead to
    this.arrivingAt = counts;
    const next = counts.slice();
    for (let e = 0; e < edges; e++) if (raw.to[e] >= 0) this.arriving[next[raw.to[e]]++] = e;
    this.group();
  }

  group() {
    const { raw, size } = this, groups = raw.groups;
    this.children = groups.map(() => []);
    this.top = [];
    this.totals = groups.map(([parent, name, at]) => ({ parent, name, at, ops: 0, saved: 0, forward: null, backward: null,
      norm: null, first: size, place: at }));
    const placed = new Uint8Array(groups.length);
    const put = (parent, item) => (parent < 0 ? this.top : this.children[parent]).push(item);
    for (let i = 0; i < size; i++) {
      const chain = [];
      for (let g = raw.group[i]; g >= 0; g = groups[g][0]) chain.push(g);
      for (const g of chain.reverse()) {
        const t = this.totals[g];
        if (!placed[g]) {
          placed[g] = 1;
          t.first = i;
          if (t.name !== null) t.place = raw.at[i];
          put(groups[g][0], -1 - g);
        }
        if (!(i in raw.leaf)) {
          t.ops++;
          if (t.place === -1) t.place = raw.at[i];
          if (t.name !== null && raw.at[i] !== t.place) t.place = -2;
        }
        t.saved += raw.saved[i];
        if (raw.forward[i] !== null) t.forward += raw.forward[i];
        if (raw.backward[i] !== null) t.backward += raw.backward[i];
      }
      put(raw.group[i], i);
    }
    for (let e = 0; e < raw.to.length; e++) { // the gradient that enters a group
      const to = raw.to[e];
      if (to < 0 || raw.norm[e] === null) continue;
      const outside = new Set();
      for (let g = raw.group[this.from[e]]; g >= 0; g = groups[g][0]) outside.add(g);
      for (let g = raw.group[to]; g >= 0 && !outside.has(g); g = groups[g][0]) {
        const t = this.totals[g];
        if (t.norm === null || raw.norm[e] > t.norm) t.norm = raw.norm[e];
      }
    }
  }

  users(i) { return this.arriving.subarray(this.arrivingAt[i], this.arrivingAt[i + 1]); }

  norm(i) { // the largest gradient that arrives at a row
    let found = null;
    for (const e of this.users(i)) {
      const v = this.raw.norm[e];
      if (v !== null && (found === null || v > found)) found = v;
    }
    return found;
  }

  name(i) {
    const leaf = this.raw.leaf[i];
    return leaf === undefined ? data.names[this.raw.name[i]] : this.raw.parameters[leaf].name;
  }

  facts(item) { // what a row of the tree shows
    const { raw } = this;
    if (item < 0) {
      const t = this.totals[-1 - item], at = Math.max(-1, t.place);
      return { kind: t.name === null ? "line" : "group", name: t.name ?? (sourceText(t.at) || placeText(t.at)), at,
        shape: "", ops: t.ops, norm: t.norm, saved: t.saved, forward: t.forward, backward: t.backward };
    }
    const leaf = item in raw.leaf;
    return { kind: leaf ? "leaf" : "op", name: this.name(item), at: leaf ? -1 : raw.at[item],
      shape: data.shapes[raw.shape[item]], norm: this.norm(item), saved: raw.saved[item], forward: raw.forward[item],
      backward: raw.backward[item] };
  }
}

class Tree {
  constructor(graph, box, canvas, choose) {
    Object.assign(this, { graph, box, canvas, choose, open: new Set(), active: 0 });
    this.list = new VirtualList(box, 26, (i) => this.row(i));
    this.list.after = () => this.draw();
    box.addEventListener("keydown", (event) => this.key(event));
    this.openFirst();
    this.flatten();
  }

  openFirst() { // as much as can be seen at once
    let seen = this.graph.top.length, level = this.graph.top;
    while (level.length) {
      const next = [];
      for (const item of level) {
        if (item >= 0) continue;
        const inside = this.graph.children[-1 - item];
        if (seen + inside.length > 24) continue;
        seen += inside.length;
        this.open.add(item);
        next.push(...inside);
      }
      level = next;
    }
  }

  flatten() {
    const items = [], levels = [], positions = [], sizes = [], parents = [];
    const stack = [[this.graph.top, 0, -1]];
    while (stack.length) {
      const frame = stack[stack.length - 1], [level, i, parent] = frame;
      if (i >= level.length) { stack.pop(); continue; }
      frame[1]++;
      const item = level[i];
      items.push(item);
      levels.push(stack.length);
      positions.push(i + 1);
      sizes.push(level.length);
      parents.push(parent);
      if (item < 0 && this.open.has(item)) stack.push([this.graph.children[-1 - item], 0, items.length - 1]);
    }
    Object.assign(this, { items, levels, positions, sizes, parents });
    this.active = Math.min(this.active, items.length - 1);
    this.rails();
    this.list.set(items.length);
    this.describe();
  }

  row(i) {
    const item = this.items[i], f = this.graph.facts(item), group = item < 0, open = this.open.has(item);
    const where = shortPlace(f.at), within = this.parents[i] >= 0 && this.graph.totals[-1 - this.items[this.parents[i]]].name === null;
    const time = f.forward === null && f.backward === null ? "–" : timeText((f.forward || 0) + (f.backward || 0));
    const norm = normText(f.norm);
    const said = [f.name, group ? many(f.ops, "operation") : f.kind === "leaf" ? "parameter" : "", where && `at ${where}`,
      f.shape && `shape ${f.shape}`, f.norm !== null && `gradient ${norm}`, f.saved && `keeps ${bytesText(f.saved)}`];
    const name = el("span", { class: "name", title: f.name }, el("span", { class: "twist", "aria-hidden": "true" },
      group ? (open ? "▾" : "▸") : f.kind === "leaf" ? "●" : ""), f.name,
    group ? el("span", { class: "count" }, String(f.ops)) : "");
    name.style.paddingLeft = `${(this.levels[i] - 1) * 14}px`;
    const at = within || (f.kind === "leaf") ? "" : f.kind === "line" ? where : `${where}  ${sourceText(f.at)}`;
    return el("div", {
      class: `row ${f.kind}${i === this.active ? " active" : ""}`, role: "treeitem", id: `t${i}`,
      "aria-level": this.levels[i], "aria-posinset": this.positions[i], "aria-setsize": this.sizes[i],
      "aria-expanded": group ? String(open) : null, "aria-selected": String(i === this.active),
      "aria-label": said.filter(Boolean).join(", "),
      onclick: () => { this.move(i); if (group) this.toggle(item); },
    }, name, el("span", { class: "at", title: at }, at), el("span", { class: "n" }, f.shape),
    el("span", { class: `n${isBad(f.norm) ? " bad" : ""}` }, norm),
    el("span", { class: "n" }, f.saved ? bytesText(f.saved) : ""), el("span", { class: "n" }, time));
  }

  toggle(item, want = !this.open.has(item)) {
    if (item >= 0) return;
    if (want) this.open.add(item);
    else this.open.delete(item);
    this.flatten();
  }

  all(want) {
    const item = this.items[this.active];
    this.open.clear();
    if (want) this.graph.children.forEach((_, g) => this.open.add(-1 - g));
    this.flatten();
    this.move(Math.max(0, this.items.indexOf(item)));
  }

  move(i) {
    this.active = Math.max(0, Math.min(i, this.items.length - 1));
    this.list.reveal(this.active);
    this.list.refresh();
    this.describe();
  }

  describe() {
    if (!this.items.length) return;
    this.box.setAttribute("aria-activedescendant", `t${this.active}`);
    this.choose(this.items[this.active]);
  }

  show(item) { // opens what it is in
    let g = item < 0 ? this.graph.raw.groups[-1 - item][0] : this.graph.raw.group[item];
    for (; g >= 0; g = this.graph.raw.groups[g][0]) this.open.add(-1 - g);
    this.flatten();
    this.move(this.items.indexOf(item));
    this.box.focus();
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const i = this.active, item = this.items[i], open = this.open.has(item);
    const ways = {
      ArrowDown: () => this.move(i + 1), ArrowUp: () => this.move(i - 1), Home: () => this.move(0),
      End: () => this.move(this.items.length - 1), PageDown: () => this.move(i + this.list.page),
      PageUp: () => this.move(i - this.list.page),
      ArrowRight: () => (item < 0 && !open ? this.toggle(item, true) : item < 0 && this.move(i + 1)),
      ArrowLeft: () => (open ? this.toggle(item, false) : this.parents[i] >= 0 && this.move(this.parents[i])),
      Enter: () => this.toggle(item), " ": () => this.toggle(item),
      "*": () => { // its siblings too
        this.items.filter((x, k) => x < 0 && this.parents[k] === this.parents[i]).forEach((x) => this.open.add(x));
        this.flatten();
        this.move(this.items.indexOf(item));
      },
    };
    const way = ways[event.key];
    if (!way) return;
    event.preventDefault();
    way();
  }

  // Edges between what is seen: a rail for each row that others use, with a branch to each of these.
  rails() {
    const { graph, items } = this, { raw, size } = graph, groups = raw.groups.length;
    const rowOfGroup = new Int32Array(groups).fill(-2), rowOf = new Int32Array(size).fill(-1);
    items.forEach((item, i) => {
      if (item >= 0) rowOf[item] = i;
      else if (!this.open.has(item)) rowOfGroup[-1 - item] = i;
      else rowOfGroup[-1 - item] = -1;
    });
    for (let g = 0; g < groups; g++) { // groups come after those that they are in
      if (rowOfGroup[g] === -2) rowOfGroup[g] = rowOfGroup[raw.groups[g][0]];
    }
    for (let i = 0; i < size; i++) {
      const g = raw.group[i];
      if (g >= 0 && rowOfGroup[g] >= 0) rowOf[i] = rowOfGroup[g];
    }
    const branches = new Map(), rows = items.length;
    for (let e = 0; e < raw.to.length; e++) {
      if (raw.to[e] < 0) continue;
      const a = rowOf[raw.to[e]], b = rowOf[graph.from[e]];
      if (a === b) continue;
      const key = a * rows + b, old = branches.get(key), norm = raw.norm[e];
      if (old === undefined || (norm !== null && (old === null || norm > old))) branches.set(key, norm);
    }
    const rails = new Map();
    let low = Infinity, high = -Infinity;
    for (const [key, norm] of branches) {
      const a = Math.floor(key / rows), b = key % rows;
      const rail = rails.get(a) || { row: a, low: a, high: a, branches: [], norm: null };
      rails.set(a, rail);
      rail.low = Math.min(rail.low, b);
      rail.high = Math.max(rail.high, b);
      rail.branches.push([b, norm]);
      if (norm !== null && (rail.norm === null || norm > rail.norm)) rail.norm = norm;
      if (norm !== null && norm !== ZERO && norm < NAN) { low = Math.min(low, norm); high = Math.max(high, norm); }
    }
    this.placed = [...rails.values()].sort((x, y) => x.low - y.low);
    this.span = [low, Math.max(high, low + 1000)];
    const ends = [];
    for (const rail of this.placed) {
      let lane = ends.findIndex((end) => end < rail.low);
      if (lane < 0) lane = Math.min(ends.length, 9);
      ends[lane] = Math.max(ends[lane] ?? -1, rail.high);
      rail.lane = lane;
    }
    this.lanes = Math.max(1, ends.length);
    this.gutter = this.lanes * 8 + 18;
    this.box.closest(".listing").style.setProperty("--gutter", `${this.gutter}px`);
  }

  weight(norm) { // the width of a rail: the gradient that goes along it, on a log scale
    if (norm === null || norm === ZERO) return 1;
    if (isBad(norm)) return 3;
    return 1 + (3 * (norm - this.span[0])) / (this.span[1] - this.span[0]);
  }

  draw() {
    const { canvas, box } = this, height = box.clientHeight, width = this.gutter, ratio = devicePixelRatio || 1;
    if (!height) return;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    Object.assign(canvas.style, { width: `${width}px`, height: `${height}px`, top: `${box.offsetTop}px` });
    const c = canvas.getContext("2d"), top = box.scrollTop, rail = colour("rail"), bad = colour("error");
    c.scale(ratio, ratio);
    const y = (row) => row * 26 + 13 - top, end = width - 4;
    const first = Math.floor(top / 26) - 1, last = Math.ceil((top + height) / 26) + 1;
    for (const r of this.placed) {
      if (r.high < first || r.low > last) continue;
      const x = width - 14 - r.lane * 8, ends = y(r.row);
      c.strokeStyle = c.fillStyle = isBad(r.norm) ? bad : rail;
      c.lineWidth = this.weight(r.norm);
      c.setLineDash(r.norm === null || r.norm === ZERO ? [2, 3] : []);
      c.beginPath();
      c.moveTo(x, Math.max(-30, y(r.low)));
      c.lineTo(x, Math.min(height + 30, y(r.high)));
      c.stroke();
      c.lineWidth = 1;
      c.beginPath();
      c.moveTo(x, ends);
      c.lineTo(end, ends);
      c.stroke();
      c.setLineDash([]);
      c.beginPath();
      c.arc(x, ends, 2.5, 0, 7);
      c.fill();
      for (const [row, norm] of r.branches) {
        if (row < first || row > last) continue;
        const at = y(row);
        c.strokeStyle = c.fillStyle = isBad(norm) ? bad : rail;
        c.lineWidth = this.weight(norm);
        c.setLineDash(norm === null || norm === ZERO ? [2, 3] : []);
        c.beginPath();
        c.moveTo(x, at);
        c.lineTo(end - 4, at);
        c.stroke();
        c.setLineDash([]);
        c.beginPath();
        c.moveTo(end - 5, at - 3.5);
        c.lineTo(end + 1, at);
        c.lineTo(end - 5, at + 3.5);
        c.fill();
      }
    }
  }
}

// What is known about the chosen row of the tree.
function details(graph, item, goTo) {
  const { raw } = graph, f = graph.facts(item), rows = [];
  const fact = (name, value) => value && rows.push(el("dt", {}, name), el("dd", {}, value));
  fact("kind", item < 0 ? (f.kind === "line" ? "source line" : "module") : f.kind === "leaf" ? "parameter" : "operation");
  fact("place", placeText(f.at));
  fact("shape", f.shape);
  if (item < 0) fact("operations", f.ops.toLocaleString("en"));
  fact("keeps", f.saved ? bytesText(f.saved) : "");
  fact("forward", f.forward === null ? "" : timeText(f.forward));
  fact("backward", f.backward === null ? "" : timeText(f.backward));
  if (item < 0) fact("gradient", normText(f.norm));
  const made = el("div", {}, el("h3", {}, f.name), el("dl", {}, ...rows));
  if (f.at >= 0 && f.kind !== "line") made.append(el("pre", { class: "code" }, sourceText(f.at)));
  if (item < 0) return made;
  const list = (title, edges, other) => {
    if (!edges.length) return;
    const shown = edges.slice(0, 12);
    made.append(el("h4", {}, title), el("ul", {}, ...shown.map((e) => el("li", {},
      el("button", { class: "plain", type: "button", onclick: () => goTo(other(e)) },
        `${graph.name(other(e))} ${shortPlace(raw.at[other(e)])}`),
      el("span", { class: isBad(raw.norm[e]) ? "bad" : null }, normText(raw.norm[e]))))));
    if (edges.length > shown.length) made.append(`and ${many(edges.length - shown.length, "other")}`);
  };
  const out = [];
  for (let e = graph.first[item]; e < graph.first[item + 1]; e++) if (raw.to[e] >= 0) out.push(e);
  list("Gradient arrives from", [...graph.users(item)], (e) => graph.from[e]);
  list("Gradient goes on to", out, (e) => raw.to[e]);
  return made;
}
