
// One path from a parameter to the loss, with the gradients along it, or with what cuts it.

class Path {
  constructor(graph, parameter, box) {
    Object.assign(this, { graph, parameter, choice: new Map() });
    this.list = new VirtualList(box, 50, (i) => this.row(i));
    this.follow();
  }

  follow() {
    const { graph, parameter } = this, { raw } = graph;
    this.steps = [];
    if (parameter.node < 0) {
      const chain = parameter.chain;
      const cut = chain.findIndex((link) => link[3]);
      chain.forEach(([name, at, shape, , switched], i) => this.steps.push({ name: i ? data.names[name] : parameter.label,
        at, shape: data.shapes[shape], cut: i === cut, before: cut >= 0 && i < cut, after: cut >= 0 && i >= cut, switched }));
    } else {
      for (let i = parameter.node; ;) {
        const users = [...graph.users(i)].sort((a, b) => (raw.norm[b] ?? ZERO - 1) - (raw.norm[a] ?? ZERO - 1));
        const chosen = Math.min(this.choice.get(i) || 0, users.length - 1), edge = users[chosen];
        this.steps.push({ node: i, name: graph.name(i), at: i in raw.leaf ? -1 : raw.at[i], shape: data.shapes[raw.shape[i]],
          norm: users.length ? raw.norm[edge] : undefined, ways: users.length, chosen });
        if (!users.length) break;
        i = graph.from[edge];
      }
    }
    this.list.set(this.steps.length);
  }

  row(i) {
    const s = this.steps[i], last = i === this.steps.length - 1, end = i === 0 || last;
    const row = el("div", { class: `step${end ? " end" : ""}${s.cut ? " broken" : ""}`, role: "listitem",
      "aria-posinset": i + 1, "aria-setsize": this.steps.length });
    row.append(el("span", { class: "dot", "aria-hidden": "true" }));
    const more = [s.shape, s.node !== undefined && this.graph.modules(this.graph.raw.group[s.node]).join("."), last && "the loss"].filter(Boolean);
    const name = el("div", {}, el("span", { class: "name" }, s.cut ? `${s.name}: the history ends here` : s.name),
      ...more.map((text) => el("span", { class: "more" }, text)));
    if (s.ways > 1) name.append(this.ways(s));
    const at = [placeText(s.at), sourceText(s.at), s.switched >= 0 && `gradients are off since ${placeText(s.switched)}`];
    row.append(name, el("div", { class: "at" }, i === 0 ? "parameter" : at.filter(Boolean).join(" \u2002")));
    if (last) return row;
    const edge = el("span", { class: "edge", "aria-hidden": "true" });
    let text;
    if (s.node === undefined) {
      edge.classList.add(s.before || this.steps[i + 1].cut || s.cut ? "cut" : "dim");
      text = s.before ? "no gradient" : "";
    } else {
      edge.style.width = `${this.width(s.norm)}px`;
      text = `↑ ${normText(s.norm)}`;
    }
    const flow = el("span", { class: `flow${isBad(s.norm) || s.norm === ZERO ? " bad" : ""}` }, text);
    if (s.node !== undefined) flow.setAttribute("aria-label", `gradient along this edge: ${normText(s.norm)}`);
    row.append(edge, flow);
    return row;
  }

  width(norm) { // on a log scale: 1 pixel at 1e-8 and below, 8 at 100 and above
    if (norm === null || norm === ZERO) return 1;
    return isBad(norm) ? 8 : Math.max(1, Math.min(8, 1 + (7 * (norm + 8000)) / 10000));
  }

  ways(s) {
    const turn = (by) => {
      this.choice.set(s.node, (s.chosen + by + s.ways) % s.ways);
      this.follow();
    };
    return el("span", { class: "ways" },
      el("button", { type: "button", "aria-label": `branch after ${s.name}: previous`, "data-key": `b${s.node}`,
        onclick: () => turn(-1) }, "‹"), ` branch ${s.chosen + 1} of ${s.ways} `,
      el("button", { type: "button", "aria-label": `branch after ${s.name}: next`, "data-key": `n${s.node}`,
        onclick: () => turn(1) }, "›"));
  }

  get verdict() {
    const p = this.parameter, shape = p.shape === "scalar" ? "a scalar" : p.shape;
    if (p.node >= 0) {
      const norm = normText(this.steps[0].norm);
      return `${p.label} (${shape}): ${many(this.steps.length - 1, "operation")} to the loss; a gradient of norm ${norm} arrives along it.`;
    }
    const cut = this.steps.find((s) => s.cut);
    if (cut) return `${p.label} (${shape}) gets no gradient: its path to the loss is cut by ${cut.name} at ${placeText(cut.at)}.`;
    if (!p.wanted) return `${p.label} (${shape}) gets no gradient: its requires_grad is False.`;
    if (this.steps.length) return `${p.label} (${shape}) gets no gradient from this backward.`;
    return `${p.label} (${shape}) gets no gradient: no call leads from it to this loss.`;
  }
}

function startGraph() {
  const graphs = new Map(); // made when they are shown
  const of = (k) => {
    if (!graphs.has(k)) graphs.set(k, new Graph(data.graphs[k]));
    return graphs.get(k);
  };
  const tools = byId("graph-tools"), view = byId("graph-view"), state = { graph: 0, mode: "tree", parameter: 0 };

  function showTree() {
    const graph = of(state.graph);
    const canvas = el("canvas", { class: "lanes", "aria-hidden": "true" });
    const box = el("div", { class: "scroll", role: "tree", tabindex: 0, "aria-labelledby": "graph-title",
      "aria-describedby": "graph-keys" });
    const about = el("aside", { class: "details", "aria-label": "The chosen row" });
    const heads = ["module, line, operation", "place", "shape", "gradient", "keeps", "time"];
    view.replaceChildren(
      el("div", { class: "split" }, el("div", { class: "listing" }, el("div", { class: "columns", "aria-hidden": "true" },
        ...heads.map((h) => el("span", {}, h))), box, canvas), about),
      el("p", { class: "keys", id: "graph-keys" }, "Arrow keys move, Enter opens and closes, * opens all beside. The lines on "
        + "the left lead from results to what uses them; the wider, the larger the gradient that comes back."));
    const tree = new Tree(graph, box, canvas, (item) => about.replaceChildren(details(graph, item, (i) => state.tree.show(i))));
    state.tree = tree;
    tools.querySelector(".open").replaceChildren(
      el("button", { type: "button", class: "button", onclick: () => tree.all(true) }, "Open all"), " ",
      el("button", { type: "button", class: "button", onclick: () => tree.all(false) }, "Close all"));
  }

  function showPath() {
    const graph = of(state.graph), parameters = graph.raw.parameters;
    const box = el("div", { class: "scroll", role: "list", tabindex: 0, "aria-label": "The path to the loss" });
    const verdict = el("p", { class: "verdictline", "aria-live": "polite" });
    view.replaceChildren(verdict, el("div", { class: "listing path" }, box));
    const path = new Path(graph, parameters[state.parameter], box);
    box.style.height = `${Math.min(560, path.steps.length * 50 + 4)}px`;
    if (!path.steps.length) view.lastChild.hidden = true;
    path.list.refresh();
    verdict.textContent = path.verdict;
    const follow = path.follow.bind(path);
    path.follow = () => { follow(); verdict.textContent = path.verdict; };
    const select = el("select", { onchange: (event) => { state.parameter = Number(event.target.value); showPath(); } },
      ...parameters.map((p, i) => option(i, p.label + (p.node >= 0 ? "" : p.wanted ? " (no gradient)" : " (frozen)"),
        i === state.parameter)));
    const held = document.activeElement?.closest(".open");
    tools.querySelector(".open").replaceChildren(el("label", {}, "Parameter ", select));
    if (held) select.focus();
  }

  function show() {
    const raw = data.graphs[state.graph];
    const count = raw.name.length - Object.keys(raw.leaf).length;
    byId("graph-note").textContent = `The ${many(count, "operation")}${raw.whole ? "" : " nearest to the loss"} that backward() at `
      + `${placeText(raw.place)} went through, after ${many(raw.step, "optimizer step")}`
      + `${raw.loss === null ? "" : `; the loss was ${raw.loss}`}.`;
    if (state.mode === "tree") showTree();
    else showPath();
    redraw();
  }

  function toolbar() {
    const parts = [];
    if (data.graphs.length > 1) {
      parts.push(el("label", {}, "backward() at ", el("select", { onchange: (event) => {
        state.graph = Number(event.target.value);
        state.parameter = 0;
        show();
        startMemory(state.graph);
        startTime(state.graph);
      } }, ...data.graphs.map((g, k) => option(k, placeText(g.place), k === state.graph)))));
    }
    const modes = [["tree", "Modules and lines"]];
    if (data.graphs[state.graph].parameters.length) modes.push(["path", "Path of one parameter"]);
    parts.push(radios("graph-mode", "View", modes, state.mode, (mode) => { state.mode = mode; show(); }));
    tools.replaceChildren(...parts, el("span", { class: "open" }));
  }

  // The graph and the parameter that a name means. Of several, one that gets no gradient if it shall be `missing`.
  const find = (name, missing) => {
    let found = null;
    data.graphs.forEach((g, k) => g.parameters.forEach((p, i) => {
      if (p.name !== name && p.label !== name) return;
      const none = p.node < 0, rank = (none === missing ? 4 : 0) + (p.chain.length ? 2 : 0) + (p.label === name ? 1 : 0);
      if (!found || rank > found[2]) found = [k, i, rank];
    }));
    return found;
  };
  const fromAddress = () => { // #path=NAME, or #path=NAME@2 for the third graph
    let address = "";
    try { address = decodeURIComponent(location.hash); } catch { /* written by hand */ }
    const asked = /^#path=(.*?)(?:@(\d+))?$/.exec(address);
    if (!asked) return;
    let [k, i] = find(asked[1], false) || [];
    if (asked[2] !== undefined) {
      k = Number(asked[2]);
      i = data.graphs[k]?.parameters.findIndex((p) => p.label === asked[1]) ?? -1;
    }
    if (k === undefined || i < 0) return;
    const other = state.graph !== k;
    Object.assign(state, { graph: k, parameter: i, mode: "path" });
    toolbar();
    show();
    if (other) { startMemory(k); startTime(k); }
    byId("graph").scrollIntoView();
    byId("graph").focus({ preventScroll: true });
  };
  linkParameters((name, missing) => {
    const found = find(name, missing);
    if (!found) return null;
    return `#path=${encodeURIComponent(data.graphs[found[0]].parameters[found[1]].label)}${found[0] ? `@${found[0]}` : ""}`;
  }, (address) => {
    if (location.hash === address) fromAddress();
    else location.hash = address; // so that "back" leads to the finding
  });
  byId("graph").hidden = false;
  toolbar();
  show();
  addEventListener("hashchange", fromAddress);
  fromAddress();
}
