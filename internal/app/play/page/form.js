// The scenario as controls.

const triggers = { at: "at a time", on: "when something happens", every: "again and again", after: "after another fault" };
const faultPath = (tree, i) => (Array.isArray(tree?.faults) || !tree?.faults ? ["faults", i] : ["faults", "list", i]);
const faultList = (tree) => (Array.isArray(tree?.faults) ? tree.faults : (tree?.faults?.list ?? []));
const kindsOf = () => Object.keys(schemaAt(["faults", 0])?.properties ?? {}).filter((k) => !(k in triggers) && k !== "until" && k !== "stays");
const kindOf = (fault) => Object.keys(fault ?? {}).find((k) => kindsOf().includes(k));
const triggerOf = (fault) => Object.keys(triggers).find((k) => k in (fault ?? {}));

// moved is a fault that strikes at a time, in ns.
const movedTo = (fault, ns) => {
  const { on, at, every, after, ...rest } = fault;
  return { at: formatDuration(ns), ...rest };
};

class Form {
  // offer is what the engine offers; change is told of a change of a path, and changeAll of several.
  constructor(offer, change) {
    Object.assign(this, { offer, change, faults: [], shape: "" });
    const c = (...path) => (value) => change(path, value);
    const at = (...path) => schemaAt(path);
    const control = (make, path, ...args) => ({ path, ...make(describe(at(...path)), c(...path), ...args) });
    this.fixed = [
      control((help, ch) => choiceControl("lock", help, ch, offer.algorithms), ["lock", "algorithm"]),
      control((help, ch) => numberControl("permits", help, ch, 1, at("lock", "permits")?.maximum ?? 1000), ["lock", "permits"]),
      control((help, ch) => durationControl("ttl", help, ch, 1e7, 6e10), ["lock", "ttl"]),
      control((help, ch) => durationControl("node timeout", help, ch, 1e6, 1e10), ["lock", "node_timeout"]),
      control((help, ch) => numberControl("drift factor", help, ch, 0, 1, "any"), ["lock", "drift", "factor"]),
      control((help, ch) => durationControl("drift constant", help, ch, 1e5, 1e9), ["lock", "drift", "constant"]),
      control((help, ch) => numberControl("nodes", help, ch, 1, 25), ["nodes", "count"]),
      control((help, ch) => numberControl("clients", help, ch, 1, at("workload", "clients")?.maximum ?? 100), ["workload", "clients"]),
      control((help, ch) => numberControl("sections", help, ch, 1, at("workload", "sections")?.maximum ?? 1000), ["workload", "sections"]),
      control((help, ch) => durationControl("think", help, ch, 1e6, 1e10), ["workload", "think"]),
      control((help, ch) => choiceControl("tokens", help, ch, ["none"]), ["fencing", "tokens"]),
      control((help, ch) => choiceControl("check", help, ch, ["", ...(at("fencing", "check")?.enum ?? [])]), ["fencing", "check"]),
    ];
    const node = (...keys) => this.fixed.filter((f) => keys.includes(f.path.join("."))).map((f) => f.node);
    this.switches = el("fieldset", { class: "switches" }, el("legend", {}, "Safety rules"));
    this.list = el("div", { class: "faults" });
    this.add = el("select", { "aria-label": "Kind of the new fault" }, ...kindsOf().map((k) => el("option", { value: k, title: offer.kinds.find((o) => o.name === k)?.title }, k)));
    this.add.value = "pause";
    const group = (title, ...inner) => el("section", { class: "block", "aria-label": title }, el("h3", {}, title), ...inner);
    this.node = el("form", { class: "controls", onsubmit: (e) => e.preventDefault() },
      group("Lock", ...node("lock.algorithm", "lock.permits", "lock.ttl", "lock.node_timeout"),
        el("details", {}, el("summary", {}, "clock drift and safety rules"), ...node("lock.drift.factor", "lock.drift.constant"), this.switches)),
      group("Clients and nodes", ...node("nodes.count", "workload.clients"), el("details", {}, el("summary", {}, "what clients do"), ...node("workload.sections", "workload.think"))),
      group("Fencing", ...node("fencing.tokens", "fencing.check")),
      group("Faults", this.list, el("div", { class: "adding" }, this.add, el("button", { type: "button", onclick: () => this.addFault() }, "Add a fault"))));
  }

  // update shows what the variant says. Without a tree, the text is none, and nothing can be changed here.
  update(answer) {
    this.node.toggleAttribute("inert", !answer.tree);
    if (!answer.tree) return;
    this.answer = answer;
    const { tree } = answer;
    for (const f of this.fixed) {
      const value = get(tree, f.path) ?? schemaAt(f.path)?.default;
      if (f.path.join(".") === "fencing.tokens") f.update(value, this.algorithm(tree)?.tokens ?? ["none"]);
      else f.update(value);
      if (f.path.join(".") === "lock.permits") f.node.hidden = value === undefined && !this.algorithm(tree)?.semaphore;
    }
    this.updateSwitches(tree);
    this.updateFaults(answer);
  }

  algorithm(tree) {
    return this.offer.algorithms.find((a) => a.name === tree.lock?.algorithm);
  }

  updateSwitches(tree) {
    const names = this.algorithm(tree)?.switches ?? [], at = ["lock", "switches"];
    this.switches.hidden = !names.length;
    if (!same(names, this.names)) {
      this.names = names;
      this.boxes = names.map((name) => ({ name, ...anyControl(name, schemaAt([...at, name]), (value) => this.change([...at, name], value), this.answer) }));
      this.switches.replaceChildren(this.switches.firstChild, ...this.boxes.map((b) => b.node));
    }
    for (const b of this.boxes) b.update(get(tree, [...at, b.name]) ?? schemaAt([...at, b.name])?.default);
  }

  // updateFaults makes the forms of faults anew where another one is there, or another setting of one.
  updateFaults(answer) {
    const list = faultList(answer.tree);
    const shape = JSON.stringify([answer.cast, answer.points, list.map((f) => Object.entries(f).map(([k, v]) => [k, typeof v === "object" && v ? Object.keys(v) : typeof v]))]);
    if (shape !== this.shape) {
      const before = document.activeElement, held = this.list.contains(before) ? before.dataset.key : undefined;
      this.shape = shape;
      this.faults = list.map((f, i) => this.fault(f, i, answer));
      this.list.replaceChildren(...this.faults.map((f) => f.node));
      if (held) this.list.querySelector(`[data-key="${CSS.escape(held)}"]`)?.focus();
    }
    list.forEach((f, i) => this.faults[i].update(f, answer.faults?.[i]));
  }

  fault(f, i, answer) {
    const path = faultPath(answer.tree, i), item = schemaAt(["faults", 0]), kind = kindOf(f), trigger = triggerOf(f);
    const forms = [];
    const part = (key) => {
      const s = resolved(item?.properties[key]);
      if (s?.type === "object" || s?.properties) forms.push([key, partForm([...path, key], s, f[key], answer, this.change)]);
      else forms.push([key, anyControl(key, s, (v) => this.change([...path, key], v), answer)]);
      return forms[forms.length - 1][1].node;
    };
    const kinds = el("select", { "aria-label": `Kind of fault ${i + 1}`, "data-key": `${i}-kind` }, ...kindsOf().map((k) => el("option", { value: k }, k)));
    kinds.value = kind ?? "";
    kinds.addEventListener("change", () => this.change(path, this.withKind(f, kind, kinds.value)));
    const when = el("select", { "aria-label": `When fault ${i + 1} strikes`, "data-key": `${i}-when` }, ...Object.entries(triggers).map(([k, words]) => el("option", { value: k }, words)));
    when.value = trigger ?? "";
    when.addEventListener("change", () => this.change(path, this.withTrigger(f, when.value)));
    const status = el("p", { class: "status" });
    const optional = ["until", "stays"].filter((k) => !(k in f));
    const more = el("select", { class: "more", "aria-label": "Add to the fault" }, el("option", { value: "" }, "more …"), ...optional.map((k) => el("option", { value: k, title: describe(resolved(item?.properties[k])) }, k)));
    more.addEventListener("change", () => more.value && this.change([...path, more.value], first(more.value, resolved(item.properties[more.value]), answer)));
    const node = el("fieldset", { class: "fault" }, el("legend", {}, `Fault ${i + 1}`),
      el("div", { class: "fault-head" }, kinds, el("button", { type: "button", "aria-label": `Remove fault ${i + 1}`, onclick: () => this.removeFault(i) }, "Remove")),
      kind ? part(kind) : null, el("div", { class: "fault-head" }, el("span", { class: "of" }, "strikes"), when), trigger ? part(trigger) : null,
      "until" in f ? el("div", { class: "fault-head" }, el("span", { class: "of" }, "until"), el("button", { type: "button", onclick: () => this.change([...path, "until"], null) }, "Remove until")) : null,
      "until" in f ? part("until") : null, "stays" in f ? part("stays") : null, optional.length ? more : null, status);
    return {
      node,
      update: (now, struck) => {
        for (const [key, form] of forms) form.update(now[key]);
        status.textContent = !struck ? "" : struck.failed ? `It did not take effect: ${struck.failed}` : struck.fired ? `It struck ${struck.fired === 1 ? "once" : struck.fired + " times"}.` : "It never struck in this run.";
        status.classList.toggle("never", Boolean(struck && !struck.fired));
      },
    };
  }

  // withKind is the fault as one of another kind; what both kinds can be told stays.
  withKind(f, old, kind) {
    const s = resolved(schemaAt(["faults", 0]).properties[kind]), { [old]: before, ...rest } = f;
    const kept = Object.fromEntries(Object.entries(before ?? {}).filter(([k]) => s?.properties?.[k]));
    for (const k of s?.required ?? []) kept[k] ??= first(k, resolved(s.properties[k]), this.answer);
    if (!s?.required?.length && !Object.keys(kept).length) {
      const target = ["client", "node", "replica"].find((k) => s?.properties?.[k] && castOf(k, this.answer)?.length);
      if (target) kept[target] = castOf(target, this.answer)[0];
      if (s?.properties?.for) kept.for = "1s";
    }
    return { ...rest, [kind]: kept };
  }

  withTrigger(f, trigger) {
    const { on, at, every, after, ...rest } = f;
    const begin = { at: "500ms", every: "2s", after: { fault: 1 }, on: { client: this.answer?.cast?.clients?.[0] ?? "c1", point: this.answer?.points?.[0] ?? "before-write" } };
    return { [trigger]: begin[trigger], ...rest };
  }

  addFault() {
    const list = faultList(this.answer?.tree), value = this.withKind({ at: "500ms" }, undefined, this.add.value);
    if (this.answer?.tree?.faults) this.change(faultPath(this.answer.tree, list.length), value);
    else this.change(["faults"], [value]);
  }

  // removeFault takes a fault away; what comes after others is numbered anew.
  removeFault(i) {
    const list = faultList(this.answer.tree);
    list.forEach((f, j) => {
      if (j !== i && f.after?.fault > i + 1) this.change([...faultPath(this.answer.tree, j), "after", "fault"], f.after.fault - 1);
    });
    this.change(faultPath(this.answer.tree, i), null);
  }
}
