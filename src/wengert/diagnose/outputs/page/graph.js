
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
      norm: null, place: at }));
    const placed = new Uint8Array(groups.length);
    const put = (parent, item) => (parent < 0 ? this.top : this.children[parent]).push(item);
    for (let i = 0; i < size; i++) {
      const own = raw.group[i], fresh = [];
      for (let g = own; g >= 0 && !placed[g]; g = groups[g][0]) {
        placed[g] = 1;
        fresh.push(g);
      }
      for (const g of fresh.reverse()) put(groups[g][0], -1 - g);
      put(own, i);
      if (own >= 0) this.add(this.totals[own], i in raw.leaf ? 0 : 1, raw.at[i], raw.saved[i], raw.forward[i], raw.backward[i]);
    }
    for (let g = groups.length - 1; g >= 0; g--) { // groups come after those that they are in
      const t = this.totals[g];
      if (t.parent >= 0) this.add(this.totals[t.parent], t.ops, t.place, t.saved, t.forward, t.backward);
    }
    for (let e = 0; e < raw.to.length; e++) { // the gradient that enters a group from outside
      const to = raw.to[e], norm = raw.norm[e];
      if (to < 0 || norm === null) continue;
      let g = raw.group[to], outside = raw.group[this.from[e]];
      while (g !== outside) {
        if (outside > g) { outside = groups[outside][0]; continue; }
        const t = this.totals[g];
        if (t.norm === null || norm > t.norm) t.norm = norm;
        g = groups[g][0];
      }
    }
  }

  // `place` of a module is that of its operations if they have the same one, -2 if not.
  add(t, ops, at, saved, forward, backward) {
    t.ops += ops;
    t.saved += saved;
    if (forward !== null) t.forward += forward;
    if (backward !== null) t.backward += backward;
    if (t.name !== null && ops) t.place = t.place === -1 || t.place === at ? at : -2;
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
    return leaf === undefined ? data.names[this.raw.name[i]] : this.raw.parameters[leaf].label;
  }

  modules(g) { // the names of the modules that a group is in, outermost first
    const names = [], { groups } = this.raw;
    for (; g >= 0; g = groups[g][0]) if (groups[g][1] !== null) names.unshift(groups[g][1]);
    return names;
  }

  brief(i) { // the name of a parameter within the module that it is shown in
    const { raw } = this, { name, label } = raw.parameters[raw.leaf[i]], inside = `${this.modules(raw.group[i]).slice(1).join(".")}.`;
    return inside !== "." && name.startsWith(inside) ? name.slice(inside.length) : raw.group[i] >= 0 ? name : label;
  }

  facts(item) { // what a row of the tree shows
    const { raw } = this;
    if (item < 0) {
      const t = this.totals[-1 - item], at = Math.max(-1, t.place);
      return { kind: t.name === null ? "line" : "group", name: t.name ?? (sourceText(t.at) || placeText(t.at)), at,
        shape: "", ops: t.ops, norm: t.norm, saved: t.saved, forward: t.forward, backward: t.backward };
    }
    const leaf = item in raw.leaf;
    return { kind: leaf ? "leaf" : "op", name: this.name(item), brief: leaf ? this.brief(item) : null, at: leaf ? -1 : raw.at[item],
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
      group ? (open ? "▾" : "▸") : f.kind === "leaf" ? "●" : ""), f.brief ?? f.name,
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

  // Edges between what is seen: a rail for each row that others use, from `low` to `high`, with a branch to each of these.
  rails() {
    const { graph, items } = this, { raw, size } = graph, groups = raw.groups.length, rows = items.length;
    const rowOfGroup = new Int32Array(groups).fill(-2), rowOf = new Int32Array(size).fill(-1);
    items.forEach((item, i) => {
      if (item >= 0) rowOf[item] = i;
      else rowOfGroup[-1 - item] = this.open.has(item) ? -1 : i;
    });
    for (let g = 0; g < groups; g++) { // groups come after those that they are in
      if (rowOfGroup[g] === -2) rowOfGroup[g] = rowOfGroup[raw.groups[g][0]];
    }
    for (let i = 0; i < size; i++) {
      const g = raw.group[i];
      if (g >= 0 && rowOfGroup[g] >= 0) rowOf[i] = rowOfGroup[g];
    }
    const low = new Int32Array(rows).fill(-1), high = new Int32Array(rows), norms = new Int32Array(rows).fill(NONE);
    const used = [], into = new Map(); // into: for closed groups, what they use
    let least = Infinity, most = -Infinity;
    for (let e = 0; e < raw.to.length; e++) {
      if (raw.to[e] < 0) continue;
      const a = rowOf[raw.to[e]], b = rowOf[graph.from[e]], norm = raw.norm[e] ?? NONE;
      if (a === b) continue;
      if (low[a] < 0) {
        used.push(a);
        low[a] = high[a] = a;
      }
      if (b < low[a]) low[a] = b;
      if (b > high[a]) high[a] = b;
      if (norm > norms[a]) norms[a] = norm;
      if (items[b] < 0) {
        if (!into.has(b)) into.set(b, new Map());
        into.get(b).set(a, Math.max(norm, into.get(b).get(a) ?? NONE));
      }
      if (norm > ZERO && norm < NAN) {
        if (norm < least) least = norm;
        if (norm > most) most = norm;
      }
    }
    const placed = Int32Array.from(used).sort((x, y) => low[x] - low[y]), lanes = new Int8Array(rows), ends = [];
    for (const a of placed) {
      let lane = 0;
      while (lane < ends.length && ends[lane] >= low[a]) lane++;
      lane = Math.min(lane, 9);
      ends[lane] = Math.max(ends[lane] ?? -1, high[a]);
      lanes[a] = lane;
    }
    this.gutter = Math.max(1, ends.length) * 8 + 18;
    Object.assign(this, { rowOf, low, high, norms, into, placed, lanes, span: [least, Math.max(most, least + 1000)] });
    this.box.closest(".listing").style.setProperty("--gutter", `${this.gutter}px`);
  }

  branches(row) { // [row of what it uses, norm of the gradient that goes there]
    const { graph, items } = this, { raw } = graph, item = items[row], found = [];
    if (item < 0) return this.open.has(item) ? [] : [...(this.into.get(row) || [])];
    for (let e = graph.first[item]; e < graph.first[item + 1]; e++) {
      if (raw.to[e] >= 0) found.push([this.rowOf[raw.to[e]], raw.norm[e] ?? NONE]);
    }
    return found;
  }

  weight(norm) { // the width of a rail: the gradient that goes along it, on a log scale
    if (norm <= ZERO) return 1;
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
    const lane = (row) => width - 14 - this.lanes[row] * 8;
    const pen = (norm, wide) => {
      c.strokeStyle = c.fillStyle = isBad(norm) ? bad : rail;
      c.lineWidth = wide ? this.weight(norm) : 1;
      c.setLineDash(norm <= ZERO ? [2, 3] : []);
    };
    const line = (...points) => {
      c.beginPath();
      points.forEach(([px, py], i) => (i ? c.lineTo(px, py) : c.moveTo(px, py)));
    };
    for (const a of this.placed) {
      if (this.high[a] < first || this.low[a] > last) continue;
      const x = lane(a), own = y(a);
      pen(this.norms[a], true);
      line([x, Math.max(-30, y(this.low[a]))], [x, Math.min(height + 30, y(this.high[a]))]);
      c.stroke();
      pen(this.norms[a], false);
      line([x, own], [end, own]);
      c.stroke();
      c.beginPath();
      c.arc(x, own, 2.5, 0, 7);
      c.fill();
    }
    for (let b = Math.max(0, first); b < Math.min(last, this.items.length); b++) {
      for (const [a, norm] of this.branches(b)) {
        const at = y(b);
        pen(norm, true);
        line([lane(a), at], [end - 4, at]);
        c.stroke();
        line([end - 5, at - 3.5], [end + 1, at], [end - 5, at + 3.5]);
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
