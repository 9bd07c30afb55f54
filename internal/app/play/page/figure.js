// The picture, its window, and faults that can be dragged.

// inPixels is how far a pointer must move before a press is a drag, and how wide an edge is that stretches.
const dragAfter = 4, edge = 9;

class Figure {
  // show is told of another window, explain that the point of no return is wanted or not, change of a fault that was moved, say of what is to be said.
  constructor(id, { show, explain, change, say }) {
    Object.assign(this, { id, show, change, say });
    const button = (text, title, act) => el("button", { type: "button", title, "aria-label": title, onclick: act }, text);
    this.toolbar = el("div", { class: "toolbar", role: "toolbar", "aria-label": "What the picture shows" },
      el("span", { class: "group" }, button("First view", "Back to what matters (0)", () => this.key("0")), button("All", "Show the whole run (a)", () => this.key("a")),
        button("−", "Zoom out (-)", () => this.key("-")), button("+", "Zoom in (+)", () => this.key("+"))),
      el("span", { class: "group" }, button("←", "Earlier (left arrow)", () => this.key("ArrowLeft")), button("→", "Later (right arrow)", () => this.key("ArrowRight"))),
      (this.explain = el("button", { type: "button", "aria-pressed": "false", title: "From which event on was the violation certain? Makes some hundred runs.", onclick: () => explain(this.explain.getAttribute("aria-pressed") !== "true") }, "Point of no return")),
      el("span", { class: "keys" }, "drag a fault to move it, its end to stretch it; keys: 0 a + − ← →"));
    this.strip = el("div", { class: "strip-faults", role: "group", "aria-label": "Faults: drag, or move with the arrow keys, with Shift for the length" });
    this.stage = el("div", { class: "stage", tabindex: 0, role: "region", "aria-label": "Picture of the run" });
    this.name = el("figcaption", { id: `${id}-name` });
    this.explained = el("p", { class: "explained", role: "status" });
    this.summary = el("p", { class: "unseen" });
    this.notes = el("ul", { class: "notes" });
    this.node = el("figure", { class: "picture-figure" }, this.name, this.toolbar, this.explained, this.strip, this.stage, this.summary, this.notes);
    this.stage.addEventListener("keydown", (e) => {
      if (e.ctrlKey || e.metaKey || e.altKey || !this.key(e.key)) return;
      e.preventDefault();
    });
    this.stage.addEventListener("wheel", (e) => {
      if (!e.ctrlKey || !this.drawing) return;
      e.preventDefault();
      this.zoom(e.deltaY > 0 ? 1.25 : 0.8, this.timeAt(e.clientX));
    }, { passive: false });
  }

  // plot is where the picture's plot lies on the screen.
  plot() {
    const svg = this.stage.querySelector("svg.picture");
    const box = (svg ?? this.stage).getBoundingClientRect(), style = svg && getComputedStyle(svg);
    const names = style ? parseFloat(style.paddingLeft) : 94, margin = style ? parseFloat(style.paddingRight) : 8;
    return { left: box.left + names, width: Math.max(50, box.width - names - margin), names };
  }

  timeAt(x) {
    const p = this.plot();
    return this.drawing.from + ((x - p.left) / p.width) * (this.drawing.to - this.drawing.from);
  }

  key(key) {
    if (!this.drawing) return false;
    const { from, to, end } = this.drawing, length = to - from;
    switch (key) {
      case "0": this.show(null); break;
      case "a": this.show([0, end + Math.round(end / 60)]); break;
      case "+": case "=": this.zoom(0.5); break;
      case "-": this.zoom(2); break;
      case "ArrowLeft": this.pan(-length / 4); break;
      case "ArrowRight": this.pan(length / 4); break;
      default: return false;
    }
    return true;
  }

  zoom(by, mid = (this.drawing.from + this.drawing.to) / 2) {
    const { from, to, end } = this.drawing;
    const length = Math.min(Math.max((to - from) * by, 1000), end * 1.1);
    const begin = Math.max(0, mid - ((mid - from) / (to - from)) * length);
    this.show([Math.round(begin), Math.round(begin + length)]);
  }

  pan(by) {
    const { from, to, end } = this.drawing;
    by = Math.max(-from, Math.min(by, Math.max(0, end * 1.05 - to)));
    if (by) this.show([Math.round(from + by), Math.round(to + by)]);
  }

  // update draws what the engine has drawn. Its HTML is escaped, and is read without running anything.
  update(answer) {
    this.answer = answer;
    const drawing = (this.drawing = answer.drawing);
    if (!drawing) return;
    const doc = new DOMParser().parseFromString(drawing.html, "text/html");
    this.stage.replaceChildren(document.importNode(doc.body.firstElementChild, true));
    this.name.textContent = answer.variant === "default" ? "" : answer.variant;
    const x = answer.explained;
    this.explain.hidden = !answer.telling?.broke;
    this.explain.setAttribute("aria-pressed", String(Boolean(x)));
    this.explained.hidden = !x;
    this.explained.replaceChildren(...(x ? [el("strong", {}, x.lead), " ", x.basis] : []));
    this.summary.textContent = drawing.summary;
    this.notes.replaceChildren(...(drawing.notes ?? []).map((n) => el("li", {}, n)));
    this.updateStrip();
    for (const band of drawing.bands ?? []) {
      for (const shape of this.stage.querySelectorAll(`.band[data-e="${band.event}"], .strike[data-e="${band.event}"]`)) {
        if (!this.movable(band)) continue;
        shape.classList.add("grab");
        shape.addEventListener("pointerdown", (e) => this.grab(e, shape, band));
      }
    }
  }

  fault(band) { return faultList(this.answer.tree)[band.fault - 1]; }

  // movable: the fault strikes once, and is one of the list.
  movable(band) { return Boolean(this.fault(band)) && !this.fault(band).every; }

  stretches(band) {
    const kind = kindOf(this.fault(band));
    return Boolean(resolved(schemaAt(["faults", 0]).properties[kind])?.properties?.for);
  }

  // updateStrip shows a bar for each fault, above the picture and in its scale.
  updateStrip() {
    const { from, to, bands = [] } = this.drawing, length = to - from;
    const held = this.strip.contains(document.activeElement) ? document.activeElement.dataset.fault : undefined;
    const rows = faultList(this.answer.tree).map((f, i) => {
      const mine = bands.filter((b) => b.fault === i + 1), words = `${i + 1} ${kindOf(f) ?? "?"}`;
      const track = el("div", { class: "track" });
      if (!mine.length) track.append(el("span", { class: "never" }, "never struck"));
      for (const band of mine) {
        if (band.to < from || band.from > to) continue;
        const left = Math.max(0, (band.from - from) / length), right = Math.min(1, (band.to - from) / length);
        const lasts = band.open ? "to the end" : formatDuration(niceRound(band.to - band.from, 1e3));
        const text = `Fault ${words}: begins at ${seconds(band.from)}, lasts ${lasts}`;
        const bar = el("div", { class: "bar", "data-fault": i, title: text, "aria-label": `Fault ${words}`, "aria-valuetext": text,
          "aria-valuemin": 0, "aria-valuemax": Math.round(this.drawing.end / 1e6), "aria-valuenow": Math.round(band.from / 1e6) });
        bar.style.setProperty("left", left * 100 + "%");
        bar.style.setProperty("width", Math.max(0, right - left) * 100 + "%");
        if (this.movable(band)) {
          bar.setAttribute("role", "slider");
          bar.setAttribute("tabindex", "0");
          if (this.stretches(band)) bar.append(el("span", { class: "end", "aria-hidden": "true" }));
          bar.addEventListener("pointerdown", (e) => this.grab(e, bar, band));
          bar.addEventListener("keydown", (e) => this.nudge(e, band));
        } else {
          bar.setAttribute("role", "img");
        }
        track.append(bar);
      }
      return el("div", { class: "fault-row" }, el("span", { class: "fault-name", title: words }, words), track);
    });
    this.strip.replaceChildren(...rows);
    this.strip.hidden = !rows.length;
    if (held !== undefined) this.strip.querySelector(`.bar[data-fault="${held}"]`)?.focus();
  }

  // step is what times are rounded to: what a pixel is worth, or a little more.
  step() { return niceStep((this.drawing.to - this.drawing.from) / this.plot().width); }

  move(band, ns) {
    const f = this.fault(band), path = faultPath(this.answer.tree, band.fault - 1), at = Math.max(0, niceRound(ns, this.step()));
    if (f.at !== undefined) this.change([...path, "at"], formatDuration(at));
    else this.change(path, movedTo(f, at));
    this.say(`Fault ${band.fault} strikes at ${formatDuration(at)}${f.at === undefined ? ", and no longer " + triggers[triggerOf(f)] : ""}.`);
  }

  stretch(band, ns) {
    const f = this.fault(band), path = faultPath(this.answer.tree, band.fault - 1);
    const length = Math.max(this.step(), 1e6, niceRound(ns, this.step()));
    if (f.until) this.change([...path, "until"], null);
    this.change([...path, kindOf(f), "for"], formatDuration(length));
    this.say(`Fault ${band.fault} lasts ${formatDuration(length)}${f.until ? ", and no longer until something happens" : ""}.`);
  }

  // grab moves a fault with the pointer, or its end. The picture is drawn anew meanwhile, so the pointer is followed
  // on the whole page.
  grab(e, shape, band) {
    if (e.button !== 0) return;
    e.preventDefault();
    e.stopPropagation();
    const box = shape.getBoundingClientRect(), begin = this.timeAt(e.clientX), x = e.clientX;
    const ends = this.stretches(band) && !band.open && box.right - e.clientX < edge && box.width > 2 * edge || this.stretches(band) && e.target.classList.contains("end");
    const window = [this.drawing.from, this.drawing.to], plot = this.plot();
    const time = (at) => window[0] + ((at - plot.left) / plot.width) * (window[1] - window[0]);
    let moving = false;
    const move = (m) => {
      if (!moving && Math.abs(m.clientX - x) < dragAfter) return;
      if (!moving) {
        moving = true;
        this.node.classList.add("dragging");
        this.show(window);
      }
      const by = time(m.clientX) - begin;
      if (ends) this.stretch(band, band.to - band.from + by);
      else this.move(band, band.from + by);
    };
    const done = () => {
      this.node.classList.remove("dragging");
      for (const [name, f] of [["pointermove", move], ["pointerup", done], ["pointercancel", done]]) document.removeEventListener(name, f);
    };
    document.addEventListener("pointermove", move);
    document.addEventListener("pointerup", done);
    document.addEventListener("pointercancel", done);
  }

  nudge(e, band) {
    const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[e.key];
    if (!by || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    e.stopPropagation();
    const step = niceStep((this.drawing.to - this.drawing.from) / 100) * by;
    this.show([this.drawing.from, this.drawing.to]);
    if (!e.shiftKey) this.move(band, band.from + step);
    else if (this.stretches(band)) this.stretch(band, band.to - band.from + step);
  }
}

const niceRound = (ns, step) => Math.round(ns / step) * step;
