// mount makes a playground of an element. Options: yaml, seed and variant are the experiment; or scenario, the name of
// one that sim ships. wasm is the address of the compressed engine, or packed is itself, in base64. With address, the
// page's address is the experiment. It returns what a page may do with the playground.

let mounted = 0;

const shellWord = (w) => (/^[A-Za-z0-9_./:=-]+$/.test(w) ? w : `'${w.replaceAll("'", "'\\''")}'`);

class Playground {
  constructor(root, options) {
    this.options = { seed: "1", ...options, stamp: options.stamp ?? builtFrom };
    this.id = `play${++mounted}`;
    this.engine = new Engine(this.options);
    this.second = new Engine(this.options);
    this.state = { yaml: "", seed: String(this.options.seed), variant: this.options.variant ?? "", window: null };
    this.changes = new Map();
    this.root = root;
    root.classList.add("play");
    this.begin = this.open().catch((e) => this.trouble(e));
  }

  async open() {
    const words = el("span", {}, "Loading the engine …"), bar = el("progress", { "aria-label": "Loading the engine" });
    this.status = el("p", { class: "play-status", role: "status" }, bar, " ", words);
    // The page may have a picture already: then its status is told there.
    const there = document.getElementById("first"), shown = there && there.offsetParent !== null;
    this.root.replaceChildren(...(shown ? [] : [this.status]));
    this.root.classList.toggle("waiting", Boolean(shown));
    this.engine.loading = (text, share) => {
      for (const p of shown ? [there.querySelector(".play-status")] : [this.status]) {
        p.querySelector("span").textContent = text;
        if (share === undefined) p.querySelector("progress").removeAttribute("value");
        else p.querySelector("progress").value = share;
      }
    };
    this.offer = await this.engine.ask("offer", {});
    this.build();
    if (this.options.address) addEventListener("hashchange", () => this.follow().catch((e) => this.trouble(e)));
    let bad;
    try {
      if (this.options.address && (await this.follow())) return;
    } catch (e) {
      bad = e; // the page still has something to show
    }
    const from = this.shipped(this.options.scenario ?? "gc-pause");
    await this.load({ yaml: this.options.yaml ?? from.yaml, seed: this.state.seed, variant: this.options.variant });
    if (bad) this.trouble_.replaceChildren(el("p", {}, `The address could not be read: ${bad.message}`));
  }

  shipped(name) {
    const found = this.offer.scenarios.find((s) => s.name === name);
    if (!found) throw new Error(`there is no scenario ${name}`);
    return found;
  }

  build() {
    const change = (path, value) => this.change(path, value);
    this.form = new Form(this.offer, change);
    this.text = new TextPane((yaml) => this.typed(yaml));
    this.figure = new Figure(this.id, { show: (window) => this.show(window), explain: (wanted) => this.explain(wanted), change, say: (words) => { this.said.textContent = words; } });
    this.told = new Told((variant) => this.load({ variant }));
    const experiment = () => ({ yaml: this.state.yaml, variant: this.state.variant, seed: this.state.seed });
    this.search = new SearchPanel(this.second, experiment, (f) => this.load({ yaml: f.yaml, seed: f.seed, variant: "", window: null }));
    this.sweep = new SweepPanel(this.second, experiment, (settings) => this.set(settings));
    this.scenarios = el("select", { "aria-label": "Scenario" }, el("option", { value: "" }, "your own"), ...this.offer.scenarios.map((s) => el("option", { value: s.name, title: s.title }, s.name)));
    this.scenarios.addEventListener("change", () => this.scenarios.value && this.load({ yaml: this.shipped(this.scenarios.value).yaml, variant: "", seed: "1", window: null }));
    this.seed = el("input", { type: "text", inputmode: "numeric", pattern: "[0-9]{1,19}", class: "short", id: `${this.id}-seed`, autocomplete: "off" });
    this.seed.addEventListener("change", () => /^[0-9]{1,19}$/.test(this.seed.value) ? this.load({ seed: this.seed.value }) : (this.seed.value = this.state.seed));
    const button = (text, title, onclick) => el("button", { type: "button", title, "aria-label": title, onclick }, text);
    const step = (by) => () => this.load({ seed: String(BigInt(this.state.seed) + BigInt(by) < 0n ? 0n : BigInt(this.state.seed) + BigInt(by)) });
    this.said = el("p", { class: "play-status", role: "status" });
    this.title = el("p", { class: "play-title" });
    this.trouble_ = el("div", { class: "play-trouble", role: "alert" });
    const bar = el("div", { class: "play-bar" }, el("label", {}, el("span", { class: "of" }, "Scenario "), this.scenarios),
      el("span", { class: "seed" }, el("label", { for: this.seed.id, class: "of" }, "Seed "), this.seed, el("span", { class: "group" }, button("−", "Previous seed", step(-1)), button("+", "Next seed", step(1)))),
      el("span", { class: "group copies" }, this.copier("Copy link", "A link to this experiment", () => this.link()), this.copier("YAML", "Copy the scenario", () => this.state.yaml),
        this.copier("Command", "Copy the command that runs it", () => this.command()), this.copier("SVG", "Copy the picture as SVG", () => this.svg())));
    this.panes = { controls: this.form.node, yaml: this.text.node };
    const tab = (name, words) => el("button", { type: "button", "data-pane": name, "aria-pressed": "false", onclick: () => this.pane(name) }, words);
    this.paneTabs = el("div", { class: "group pane-tabs", role: "group", "aria-label": "The scenario as" }, tab("controls", "Controls"), tab("yaml", "YAML"));
    this.root.replaceChildren(bar, this.title, el("div", { class: "play-grid" },
      el("div", { class: "play-left" }, this.paneTabs, this.text.problems, this.form.node, this.text.node),
      el("div", { class: "play-right" }, this.trouble_, this.told.head, this.figure.node, this.said, el("div", { class: "told-grid" }, el("div", {}, this.told.cause, this.told.story), this.told.chips))),
      el("div", { class: "panels" }, this.search.node, this.sweep.node));
    this.pane("controls");
    this.resizes = new ResizeObserver(() => { if (this.answer && this.narrowed()) this.run(); });
    this.resizes.observe(this.figure.stage);
  }

  // narrowed: the picture was laid out for another width than it has.
  narrowed() { return Math.abs(this.figure.plot().width - this.width) > 8; }

  pane(name) {
    for (const [key, node] of Object.entries(this.panes)) node.hidden = key !== name;
    for (const b of this.paneTabs.children) b.setAttribute("aria-pressed", String(b.dataset.pane === name));
  }

  // Everything that changes the experiment comes by one of these.
  load(state) {
    if (state.yaml !== undefined && state.yaml !== this.state.yaml) this.changes.clear();
    Object.assign(this.state, Object.fromEntries(Object.entries(state).filter(([, v]) => v !== undefined)));
    this.isTyped = this.explains = false;
    return this.run();
  }

  typed(yaml) {
    this.explains = false;
    this.changes.clear();
    this.state.yaml = yaml;
    this.isTyped = true;
    this.run();
  }

  change(path, value) {
    const key = JSON.stringify(path);
    this.changes.delete(key);
    this.changes.set(key, { path, value });
    this.isTyped = this.explains = false;
    this.run();
  }

  // explain asks for the point of no return of what is shown. It is forgotten with the next change, for it takes a while.
  async explain(wanted) {
    this.explains = wanted;
    this.state.window = null; // what matters may lie elsewhere
    this.said.textContent = wanted ? "Making the run again, from each of its events on …" : "";
    await this.run();
    if (wanted) this.said.textContent = "";
  }

  show(window) {
    this.state.window = window;
    this.run();
  }

  // set gives the settings of a point of the map to the scenario.
  set(settings) {
    const tree = this.answer?.tree;
    for (const [path, value] of settings) {
      const kind = /^faults\.(.+)$/.exec(path)?.[1];
      if (!kind) this.change(path.split("."), /^[0-9]+$/.test(value) ? Number(value) : value);
      faultList(tree).forEach((f, i) => {
        if (kind && kindOf(f) === kind) this.change([...faultPath(tree, i), kind, "for"], value);
      });
    }
    this.state.window = null;
    this.run();
    this.figure.node.scrollIntoView({ block: "nearest" });
  }

  // run asks the engine for what there is now. What changes while it works is asked for next, all at once.
  run() {
    this.due = true;
    this.working ??= this.work().finally(() => { this.working = undefined; });
    return this.working;
  }

  async work() {
    for (;;) {
      if (!this.due) await this.remember();
      if (!this.due) return;
      this.due = false;
      const changes = Array.from(this.changes.values()), { yaml } = this.state, began = performance.now();
      this.changes.clear();
      const [from, to] = this.state.window ?? [0, 0];
      this.width = Math.round(this.figure.plot().width);
      try {
        const answer = await this.engine.ask("play", { yaml, variant: this.state.variant, seed: this.state.seed, changes, id: this.id, width: this.width, from, to, explain: Boolean(this.explains) });
        if (this.state.yaml !== yaml || (answer.explained && !this.explains)) continue; // another text came meanwhile
        this.state.yaml = answer.yaml;
        this.answer = Object.assign(answer, { offer: this.offer });
        this.update(answer);
        this.redrawn = performance.now() - began; // ms
        this.refits = !this.refits && this.narrowed(); // a scroll bar came or went; once, or it may do so for ever
        this.due ||= this.refits;
      } catch (e) {
        this.trouble(e);
      }
    }
  }

  update(answer) {
    const bad = Boolean(answer.problems?.length || answer.error);
    this.root.classList.toggle("spoilt", bad);
    this.trouble_.replaceChildren(...(answer.error ? [el("p", {}, answer.error)] : answer.problems?.length ? [el("p", {}, `The scenario has ${answer.problems.length === 1 ? "a mistake" : answer.problems.length + " mistakes"}; the picture is that of the last one without.`)] : []));
    this.text.problems.replaceChildren(...problemList(answer, (p) => { this.pane("yaml"); this.text.goTo(p.line, p.column); }));
    this.text.update(answer, this.isTyped);
    this.form.update(answer);
    if (!bad) {
      this.state.variant = answer.variant;
      this.title.textContent = answer.title ?? "";
      this.figure.update(answer);
      // Later runs keep the window, or the picture would jump.
      this.state.window ??= [answer.drawing.from, answer.drawing.to];
    }
    if (!answer.error) this.told.update(answer);
    if (document.activeElement !== this.seed) this.seed.value = this.state.seed;
    this.scenarios.value = this.offer.scenarios.find((s) => s.yaml === answer.yaml)?.name ?? "";
    this.root.dataset.state = bad ? "spoilt" : "ready";
    this.reveal();
  }

  // reveal shows what the engine made in the place of the first picture.
  reveal() {
    document.getElementById("first")?.remove();
    this.root.classList.remove("waiting");
  }

  trouble(e) {
    if (!this.status.isConnected && !this.trouble_) this.root.replaceChildren(this.status);
    (this.trouble_ ?? this.status).replaceChildren(el("p", {}, String(e.message ?? e)));
    this.reveal();
    this.root.dataset.state = "failed";
  }

  // The address says what is shown.
  async remember() {
    if (!this.options.address || this.root.dataset.state !== "ready") return;
    const hash = await writeAddress(this.state);
    if (hash.length > longestAddress || hash === this.wrote) return;
    this.wrote = hash;
    history.replaceState(null, "", hash);
  }

  async follow() {
    if (location.hash === this.wrote) return true;
    const there = await readAddress(location.hash);
    if (!there) return false;
    await this.load({ yaml: there.yaml ?? this.shipped(there.scenario).yaml, seed: there.seed ?? "1", variant: there.variant, window: there.window ?? null });
    return true;
  }

  async link() {
    const hash = await writeAddress(this.state);
    return (this.options.address ? location.href : (this.options.page ?? location.href)).replace(/#.*/, "") + hash;
  }

  command() {
    const shipped = this.scenarios.value;
    return `sim run ${shellWord(shipped || `${this.answer?.name ?? "scenario"}.yaml`)} --seed ${this.state.seed} --world virtual`;
  }

  svg() {
    return this.engine.ask("picture", { yaml: this.state.yaml, variant: this.state.variant, seed: this.state.seed });
  }

  copier(words, title, what) {
    const button = el("button", { type: "button", title, "aria-label": title }, words);
    button.addEventListener("click", async () => {
      try {
        const text = await what();
        await navigator.clipboard.writeText(text);
        this.said.textContent = `${title}: copied.`;
      } catch (e) {
        this.said.textContent = `It could not be copied: ${e.message}`;
      }
    });
    return button;
  }
}

const mount = (element, options = {}) => {
  const p = new Playground(element, options);
  return {
    ready: p.begin,
    // load shows another experiment; its promise ends when it is drawn.
    load: (state) => p.load(state),
    // ask asks the engine: see internal/app/play/engine.
    ask: (method, request, progress) => p.engine.ask(method, request, progress),
    get state() { return { ...p.state }; },
    get answer() { return p.answer; },
    get offer() { return p.offer; },
    get redrawn() { return p.redrawn; },
    idle: async () => { while (p.working) await p.working; },
  };
};
