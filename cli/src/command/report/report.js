"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { memories, graph } = data;
  const PAGE_ROWS = 50;
  const byId = new Map(memories.map((memory) => [memory.id, memory]));
  const find = (id) => document.getElementById(id);

  // All text goes through here, as text: nothing of a memory becomes markup.
  const make = (name, text = "", attributes = {}) => {
    const element = document.createElement(name);
    element.textContent = text;
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };
  const button = (text, act) => {
    const element = make("button", text, { type: "button", class: "plain" });
    element.addEventListener("click", act);
    return element;
  };
  const two = (number) => String(number).padStart(2, "0");
  const day = (text) => {
    const at = new Date(text);
    if (Number.isNaN(at.getTime())) return text.slice(0, 10);
    return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  };
  const spaced = (kind) => kind.replaceAll("-", " ");
  const CARE = ["stale", "contradicted", "withheld"];
  const titleOf = (id) => byId.get(id)?.title ?? "(gone since)";

  // What is known of a memory beside its title.
  const facts = (memory) => {
    const list = make("dl");
    const add = (name, value) => {
      if (value) list.append(make("dt", name), make("dd", value));
    };
    add("learned", day(memory.created));
    add("confidence", memory.confidence.toFixed(2));
    add("files", memory.paths.join(", "));
    add("tags", memory.tags.join(", "));
    add("session", memory.session);
    add("stale", memory.stale);
    add("contradicts", (memory.contradicts ?? []).map(titleOf).join("; "));
    add("replaced by", memory.superseded_by && titleOf(memory.superseded_by));
    if (memory.given) add("given", `${memory.given} times; followed ${memory.followed} times`);
    add("file", memory.file);
    return list;
  };
  const whole = (memory) => {
    const parts = document.createDocumentFragment();
    if (memory.body) parts.append(make("p", memory.cut ? `${memory.body} …` : memory.body, { class: "body" }));
    if (memory.quote) parts.append(make("blockquote", memory.quote));
    const command = make("p", "", { class: "note" });
    command.append(make("code", `throughline show ${memory.short}`), memory.cut ? " shows all of it" : "");
    parts.append(command, facts(memory));
    return parts;
  };

  // The list: search, order and pages.
  const list = find("list");
  const body = list.tBodies[0];
  const form = find("filter");
  const [words, kind, state] = ["words", "kind", "state"].map(find);
  let order = { by: "created", down: true };
  let shown = [];
  let page = 0;
  const haystack = (memory) =>
    (memory.haystack ??= [memory.title, memory.body, memory.id, memory.short, memory.kind, memory.quote ?? "",
      ...memory.paths, ...memory.tags].join("\n").toLowerCase());
  const isIn = (memory) => {
    switch (state.value) {
      case "": return true;
      case "given": return memory.given > 0;
      case "never": return memory.given === 0;
      default: return memory.marks.includes(state.value);
    }
  };
  const compare = (one, other) => {
    const [a, b] = [one[order.by], other[order.by]];
    const sign = typeof a === "number" ? a - b : a < b ? -1 : a > b ? 1 : 0;
    return (order.down ? -sign : sign) || (one.id < other.id ? -1 : 1);
  };
  const row = (memory) => {
    const line = make("tr");
    const name = make("td");
    const open = button(memory.title, () => {
      const next = line.nextElementSibling;
      const isOpen = next?.classList.contains("opened");
      open.setAttribute("aria-expanded", String(!isOpen));
      if (isOpen) return next.remove();
      const more = make("tr", "", { class: "opened" });
      const cell = make("td", "", { colspan: "4" });
      cell.append(whole(memory));
      more.append(cell);
      line.after(more);
    });
    open.setAttribute("aria-expanded", "false");
    name.append(open);
    for (const mark of memory.marks) name.append(" ", make("span", mark, { class: CARE.includes(mark) ? "mark care" : "mark" }));
    line.append(make("td", day(memory.created), { class: "date" }), make("td", spaced(memory.kind)), name,
      make("td", String(memory.given), { class: memory.given ? "number" : "number none" }));
    return line;
  };
  const draw = () => {
    const pages = Math.max(1, Math.ceil(shown.length / PAGE_ROWS));
    page = Math.min(Math.max(page, 0), pages - 1);
    body.replaceChildren(...shown.slice(page * PAGE_ROWS, (page + 1) * PAGE_ROWS).map(row));
    find("page").textContent = `Page ${page + 1} of ${pages.toLocaleString("en")}`;
    find("back").disabled = page === 0;
    find("next").disabled = page === pages - 1;
    find("pages").hidden = pages === 1;
    const [some, all] = [shown.length, memories.length].map((count) => count.toLocaleString("en"));
    find("found").textContent = `${some} of ${all} memories`;
  };
  const filter = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    shown = memories.filter((memory) =>
      (!kind.value || memory.kind === kind.value) && isIn(memory)
      && wanted.every((word) => haystack(memory).includes(word)));
    shown.sort(compare);
    page = 0;
    draw();
  };
  const turn = (by) => {
    page += by;
    draw();
    find("memories").scrollIntoView();
  };
  let waiting;
  words.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(filter, 120);
  });
  kind.addEventListener("change", filter);
  state.addEventListener("change", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  find("back").addEventListener("click", () => turn(-1));
  find("next").addEventListener("click", () => turn(1));
  const heads = [...list.tHead.rows[0].cells];
  for (const head of heads) {
    const name = head.textContent;
    head.replaceChildren(button(name, () => {
      const by = head.dataset.by;
      const isNumber = by === "given" || by === "created";
      order = { by, down: order.by === by ? !order.down : isNumber };
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", order.down ? "descending" : "ascending");
      filter();
    }));
  }
  form.hidden = false;
  filter();

  // The graph: one node is current, and the focus goes with it.
  const drawing = find("drawing");
  if (!drawing) return;
  const details = find("details");
  const nodes = graph.nodes.map((node, at) => ({ ...node, at, element: find(`node-${at}`), near: [] }));
  graph.edges.forEach((edge, at) => {
    const line = find(`edge-${at}`);
    nodes[edge.from].near.push({ node: nodes[edge.to], what: edge.what, line });
    nodes[edge.to].near.push({ node: nodes[edge.from], what: edge.what, line });
  });
  let current = nodes[0];
  const say = (text) => { find("said").textContent = text; };
  const links = (count) => `${count} ${count === 1 ? "link" : "links"}`;
  for (const node of nodes) {
    node.element.setAttribute("role", "button");
    node.element.setAttribute("tabindex", node === current ? "0" : "-1");
    node.element.setAttribute("aria-label", `${node.sort}: ${node.label}, ${links(node.near.length)}`);
  }
  const mark = (node) => {
    for (const one of drawing.querySelectorAll(".current, .near")) one.classList.remove("current", "near", "unnamed");
    drawing.classList.toggle("walked", Boolean(node));
    if (!node) return;
    node.element.classList.add("current");
    for (const { node: other, line } of node.near) {
      other.element.classList.add("near");
      line.classList.add("near");
    }
    // Of names that would lie on each other the first one is shown.
    const taken = [];
    for (const { element } of [node, ...node.near.map((link) => link.node)]) {
      const own = element.querySelector("text").getBoundingClientRect();
      const lies = (other) =>
        own.left < other.right && own.right > other.left && own.top < other.bottom && own.bottom > other.top;
      if (taken.some(lies)) element.classList.add("unnamed");
      else taken.push(own);
    }
  };
  const walk = (node) => {
    current.element.setAttribute("tabindex", "-1");
    current = node;
    node.element.setAttribute("tabindex", "0");
    node.element.focus({ preventScroll: true });
    mark(node);
    if (!details.hidden) describe(node);
  };
  // The neighbour that lies most in this direction, a near one before a far one.
  const towards = (dx, dy) => {
    let best = null;
    for (const { node } of current.near) {
      const [x, y] = [node.x - current.x, node.y - current.y];
      const along = x * dx + y * dy;
      if (along <= 0) continue;
      const cost = Math.hypot(x, y) * (1 + 2 * Math.abs(x * dy - y * dx) / along);
      if (!best || cost < best.cost) best = { node, cost };
    }
    return best?.node;
  };
  const describe = (node) => {
    const memory = node.memory && byId.get(node.memory);
    const title = make("h3", node.label);
    const what = make("p", memory ? `${spaced(memory.kind)}, a memory` : `a ${node.sort}`, { class: "what" });
    details.replaceChildren(title, what);
    if (memory) details.append(whole(memory));
    const rest = node.links - node.near.length;
    const more = rest > 0 ? `, and ${rest} to what is not shown` : "";
    details.append(make("p", `${links(node.near.length)}${more}`, { class: "what" }));
    const groups = new Map();
    for (const { node: other, what: why } of node.near) {
      const name = why.join(", ");
      if (!groups.has(name)) groups.set(name, make("ul"));
      const item = make("li");
      item.append(button(other.label, () => {
        walk(other);
        details.focus();
      }));
      groups.get(name).append(item);
    }
    for (const [name, group] of groups) details.append(make("h4", name), group);
    details.append(button("Close", () => close()));
  };
  const open = (node) => {
    describe(node);
    details.hidden = false;
    details.parentElement.classList.add("open");
    details.focus();
  };
  const close = () => {
    details.hidden = true;
    details.parentElement.classList.remove("open");
    current.element.focus();
  };
  const leave = () => {
    mark(null);
    const after = find("hooks-title");
    after.setAttribute("tabindex", "-1");
    after.focus();
  };
  const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  drawing.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const jump = { PageDown: 1, PageUp: nodes.length - 1, Home: -current.at, End: nodes.length - 1 - current.at };
    if (STEPS[event.key]) {
      const next = towards(...STEPS[event.key]);
      if (next) walk(next);
      else say("No neighbour on that side.");
    } else if (event.key in jump) {
      walk(nodes[(current.at + jump[event.key]) % nodes.length]);
    } else if (event.key === "Enter" || event.key === " ") {
      open(current);
    } else if (event.key === "Escape") {
      leave();
    } else return;
    event.preventDefault();
  });
  details.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    close();
  });
  drawing.addEventListener("focusin", (event) => {
    const node = nodes.find((one) => one.element === event.target);
    if (node) mark(node);
  });
  drawing.addEventListener("click", (event) => {
    const node = nodes.find((one) => one.element.contains(event.target));
    if (moved) return;
    if (!node) return mark(null);
    walk(node);
    open(node);
  });
  drawing.addEventListener("pointerover", (event) => {
    const node = nodes.find((one) => one.element.contains(event.target));
    if (node && !drawing.contains(document.activeElement) && details.hidden) mark(node);
  });
  drawing.addEventListener("pointerleave", () => {
    if (!drawing.contains(document.activeElement) && details.hidden) mark(null);
  });

  // A part of the drawing, larger: buttons zoom, dragging moves it.
  const box = drawing.viewBox.baseVal;
  const full = { width: box.width, height: box.height };
  const view = (x, y, scale) => {
    const [width, height] = [full.width * scale, full.height * scale];
    const within = (at, most) => Math.min(Math.max(at, 0), most);
    drawing.setAttribute("viewBox", [within(x, full.width - width), within(y, full.height - height), width, height].join(" "));
  };
  for (const element of document.querySelectorAll("[data-zoom]")) {
    element.addEventListener("click", () => {
      const by = Number(element.dataset.zoom);
      const scale = by ? Math.min(1, Math.max(0.2, (box.width / full.width) * by)) : 1;
      const isWalked = drawing.classList.contains("walked");
      const [x, y] = isWalked ? [current.x, current.y] : [box.x + box.width / 2, box.y + box.height / 2];
      view(x - (full.width * scale) / 2, y - (full.height * scale) / 2, scale);
    });
  }
  let drag = null;
  let moved = false;
  drawing.addEventListener("pointerdown", (event) => {
    moved = false;
    drag = { x: event.clientX, y: event.clientY, left: box.x, top: box.y };
  });
  drawing.addEventListener("pointermove", (event) => {
    if (!drag || !event.buttons) return;
    const scale = box.width / drawing.clientWidth;
    const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
    if (Math.hypot(dx, dy) < 5) return;
    moved = true;
    view(drag.left - dx * scale, drag.top - dy * scale, box.width / full.width);
  });
  addEventListener("pointerup", () => { drag = null; });
  find("keys").hidden = false;
  document.querySelector(".zoom").hidden = false;
})();
