// A search for schedules that break the scenario, and a measurement of how often it breaks. Both take seconds, so they
// have an engine of their own.

class SearchPanel {
  // experiment is what is searched, load shows what was found.
  constructor(engine, experiment, load) {
    Object.assign(this, { engine, experiment, load });
    this.seconds = el("select", { "aria-label": "How long to search" }, ...[3, 10, 30, 60].map((n) => el("option", { value: n }, `for ${n} s`)));
    this.bare = el("input", { type: "checkbox", id: `play-${++controls}` });
    this.start = el("button", { type: "button", class: "main", onclick: () => this.toggle() }, "Find a schedule that breaks it");
    this.status = el("p", { class: "progress", role: "status" });
    this.found = el("ul", { class: "found" });
    this.node = el("section", { class: "panel", "aria-label": "Search" }, el("h2", {}, "Find a schedule that breaks it"),
      el("p", { class: "of" }, "Random faults on top of the scenario's own, in thousands of runs. What breaks it is made as small as it can be."),
      el("div", { class: "asked" }, this.start, this.seconds, el("span", { class: "check" }, this.bare, el("label", { for: this.bare.id }, "without the scenario's own faults"))), this.status, this.found);
  }

  async toggle() {
    if (this.running) return this.engine.cancel();
    this.running = true;
    this.start.textContent = "Stop";
    this.found.replaceChildren();
    this.status.textContent = "starting …";
    const words = (p) => `${p.runs} runs, ${p.behaviours} behaviours, ${p.violations} violations`;
    try {
      const out = await this.engine.ask("search", { ...this.experiment(), search: { world: "virtual", for: `${this.seconds.value}s`, bare: this.bare.checked } }, (p) => { this.status.textContent = `${p.phase}: ${words(p)}`; });
      this.status.textContent = words(out) + (out.found?.length ? "." : `. Nothing was found. ${(out.worth ?? []).join(". ")}`);
      this.found.replaceChildren(...(out.found ?? []).map((f) => el("li", {}, el("strong", {}, f.class), el("p", {}, f.note, "."), f.share ? el("p", { class: "of" }, `Of schedules drawn at random, ${f.share} do this.`) : null,
        el("button", { type: "button", onclick: () => this.load(f) }, "Show it"))));
    } catch (e) {
      this.status.textContent = String(e.message);
    } finally {
      this.running = false;
      this.start.textContent = "Find a schedule that breaks it";
    }
  }
}

class SweepPanel {
  // set is told which values a point of the map has.
  constructor(engine, experiment, set) {
    Object.assign(this, { engine, experiment, set });
    const text = (label, hint) => el("input", { type: "text", "aria-label": label, placeholder: hint, spellcheck: "false", autocomplete: "off" });
    this.x = text("What varies from column to column", "lock.ttl=100ms..10s");
    this.y = text("What varies from row to row", "faults.pause=50ms..5s");
    this.steps = el("select", { "aria-label": "How many values" }, ...[5, 7, 9, 12].map((n) => el("option", { value: n }, `${n} values`)));
    this.steps.value = 7;
    this.runs = el("select", { "aria-label": "How many runs for each point" }, ...[20, 100, 500, 2000].map((n) => el("option", { value: n }, `${n} runs each`)));
    this.runs.value = 100;
    this.start = el("button", { type: "button", class: "main", onclick: () => this.toggle() }, "Measure how often");
    this.status = el("p", { class: "progress", role: "status" });
    this.map = el("div", { class: "heat" });
    this.node = el("section", { class: "panel", "aria-label": "How often" }, el("h2", {}, "How often"),
      el("p", { class: "of" }, "The share of runs, each with another seed, in which the property was violated, as two settings vary. Choose a cell to see a run with its settings."),
      el("div", { class: "asked" }, this.start, this.x, this.y, this.steps, this.runs), this.status, this.map);
  }

  async toggle() {
    if (this.running) return this.engine.cancel();
    this.running = true;
    this.start.textContent = "Stop";
    this.map.replaceChildren();
    try {
      const grid = { ...this.experiment(), sweep: { x: this.x.value.trim(), y: this.y.value.trim(), steps: Number(this.steps.value), runs: Number(this.runs.value) } };
      const out = await this.engine.ask("sweep", grid, (r) => this.show(r));
      this.show(out);
      if (out.done < out.of) this.status.textContent = `Stopped after ${out.done} of ${out.of} points.`;
    } catch (e) {
      this.status.textContent = String(e.message);
    } finally {
      this.running = false;
      this.start.textContent = "Measure how often";
    }
  }

  show(r) {
    this.status.textContent = `${r.property} violated: ${r.done} of ${r.of} points; columns: ${r.axisX}${r.axisY ? `, rows: ${r.axisY}` : ""}`;
    const lines = r.lines ?? [];
    if (this.map.children.length === lines.length) return;
    this.map.replaceChildren(...lines.map((line) => el("div", { class: "line" }, line.at ? el("h3", {}, el("span", { class: "of" }, r.axisY + " "), line.at) : null,
      el("ol", {}, ...line.tiles.map((t) => this.tile(r, line, t))))));
  }

  tile(r, line, t) {
    const ground = document.createElementNS(svgSpace, "svg"), rect = document.createElementNS(svgSpace, "rect");
    ground.setAttribute("aria-hidden", "true");
    for (const [k, v] of [["width", "100%"], ["height", "100%"], ["fill-opacity", t.opacity]]) rect.setAttribute(k, v);
    ground.append(rect);
    const settings = [[r.axisX, t.at], ...(line.at ? [[r.axisY, line.at]] : [])];
    return el("li", { title: t.title }, el("span", { class: "at" }, t.at),
      el("button", { type: "button", class: "tile" + (t.few ? " few" : ""), "aria-label": t.title, onclick: () => this.set(settings) }, ground, el("span", { class: "rate" }, t.text), t.aside ? el("span", {}, " ", t.aside) : null, t.of ? el("span", {}, " ", t.of) : null));
  }
}
