// Controls of a value at a path: each has a label, shows the value that it is given, and tells of a change. What it
// offers comes from the schema.

let controls = 0;

// busy: somebody is at this control, and what comes back from a run must not move it.
const busy = (e) => e === document.activeElement && (e.type === "text" || e.type === "number" || e.dataset.held !== undefined);

const labelled = (label, help, main, ...more) => {
  main.id ||= `play-${++controls}`;
  return el("div", { class: "control", title: help }, el("label", { for: main.id }, label), el("div", { class: "inputs" }, main, ...more));
};

// slider moves a number on a logarithmic scale.
const slider = (label, low, high, moved) => {
  const range = el("input", { type: "range", min: 0, max: sliderSteps, "aria-label": label });
  range.addEventListener("pointerdown", () => { range.dataset.held = ""; });
  for (const end of ["pointerup", "pointercancel", "blur"]) range.addEventListener(end, () => { delete range.dataset.held; });
  range.addEventListener("input", () => moved(offScale(Number(range.value), low, high)));
  return range;
};

const durationControl = (label, help, change, low = 1e6, high = 3e10) => {
  const text = el("input", { type: "text", class: "short", spellcheck: "false", autocomplete: "off" });
  const range = slider(label, low, high, (ns) => {
    text.value = formatDuration(ns);
    range.setAttribute("aria-valuetext", text.value);
    change(text.value);
  });
  text.addEventListener("change", () => change(text.value.trim() || null));
  return {
    node: labelled(label, help, text, range),
    update(value) {
      if (!busy(text)) text.value = value ?? "";
      const ns = parseDuration(value ?? "");
      if (!busy(range) && ns > 0) range.value = onScale(ns, low, high);
      range.setAttribute("aria-valuetext", value ?? "none");
    },
  };
};

const numberControl = (label, help, change, least, most, step = 1) => {
  const input = el("input", { type: "number", min: least, max: most, step });
  const range = el("input", { type: "range", min: least, max: Math.min(most, 25), step, "aria-label": label });
  const moved = (from) => () => {
    if (from.value === "") return change(null);
    input.value = range.value = from.value;
    change(Number(from.value));
  };
  input.addEventListener("input", moved(input));
  range.addEventListener("input", moved(range));
  return {
    node: labelled(label, help, input, most <= 1000 ? range : null),
    update(value) {
      if (!busy(input)) input.value = value ?? "";
      range.value = value ?? least;
    },
  };
};

// choiceControl offers words; a word that is not among them is offered too, as long as it stands there.
const choiceControl = (label, help, change, choices) => {
  const select = el("select");
  select.addEventListener("change", () => change(select.value || null));
  return {
    node: labelled(label, help, select),
    update(value, offered = choices) {
      const list = offered.map((c) => (typeof c === "string" ? { name: c, title: "" } : c));
      if (value !== undefined && value !== null && !list.some((c) => c.name === String(value))) list.push({ name: String(value), title: "" });
      if (!same(list.map((c) => c.name), Array.from(select.options, (o) => o.value))) {
        select.replaceChildren(...list.map((c) => el("option", { value: c.name, title: c.title }, c.name || "not set")));
      }
      select.value = value ?? "";
      select.title = list.find((c) => c.name === select.value)?.title || help || "";
    },
  };
};

const toggleControl = (label, help, change) => {
  const box = el("input", { type: "checkbox" });
  box.addEventListener("change", () => change(box.checked));
  box.id = `play-${++controls}`;
  return { node: el("div", { class: "control check", title: help }, box, el("label", { for: box.id }, label)), update(value) { box.checked = Boolean(value); } };
};

const textControl = (label, help, change) => {
  const input = el("input", { type: "text", spellcheck: "false", autocomplete: "off" });
  input.addEventListener("change", () => change(input.value === "" ? null : input.value));
  return { node: labelled(label, help, input), update(value) { if (!busy(input)) input.value = value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value); } };
};

// castOf are the names that can stand under a key of a fault.
const castOf = (key, answer) => {
  const c = answer?.cast, all = (...lists) => lists.flatMap((l) => l ?? []);
  if (!c) return undefined;
  switch (key) {
    case "client": return c.clients;
    case "node": return all(c.nodes, c.sentinels, ["resource"]);
    case "replica": return c.replicas;
    case "sentinel": return c.sentinels;
    case "to": return all(c.endpoints, c.clients);
    case "point": return answer.points;
  }
  return undefined;
};

// anyControl is the control that suits a schema.
const anyControl = (key, s, change, answer) => {
  const label = key.replaceAll("_", " "), help = describe(s);
  if (s?.enum) return choiceControl(label, help, change, ["", ...s.enum.filter((w) => w !== "")]);
  const cast = castOf(key, answer);
  if (cast) return choiceControl(label, help, change, ["", ...cast]);
  if (isDuration(s)) return durationControl(label, help, change);
  if (s?.type === "boolean") return toggleControl(label, help, change);
  if (s?.type === "integer" || s?.type === "number") return numberControl(label, help, change, s.minimum ?? 0, s.maximum ?? 1e6, s.type === "number" ? "any" : 1);
  return textControl(label, help, change);
};

// fieldsOf are the settings of a part of a fault that have a control: those that are there, those that must be, and
// how long it lasts.
const fieldsOf = (s, value) => Object.keys(s?.properties ?? {}).filter((k) => k in (value ?? {}) || (s.required ?? []).includes(k) || k === "for");

// partForm has the settings of a part of a fault.
const partForm = (path, s, value, answer, change) => {
  const shown = fieldsOf(s, value), rest = Object.keys(s?.properties ?? {}).filter((k) => !shown.includes(k));
  const list = shown.map((key) => [key, anyControl(key, resolved(s.properties[key]), (v) => change([...path, key], v), answer)]);
  const more = el("select", { class: "more", "aria-label": "Add a setting" }, el("option", { value: "" }, "more …"),
    ...rest.map((k) => el("option", { value: k, title: describe(resolved(s.properties[k])) }, k.replaceAll("_", " "))));
  more.addEventListener("change", () => {
    const inner = resolved(s.properties[more.value]);
    if (more.value) change([...path, more.value], first(more.value, inner, answer));
  });
  return {
    node: el("div", { class: "part" }, ...list.map(([, c]) => c.node), rest.length ? more : null),
    update(now) {
      for (const [key, c] of list) c.update(now?.[key] ?? resolved(s.properties[key])?.default);
    },
  };
};

// first is a value to begin with.
const first = (key, s, answer) => {
  if (s?.default !== undefined && s.default !== "" && s.default !== false) return s.default;
  if (s?.enum) return s.enum[0];
  const cast = castOf(key, answer);
  if (cast?.length) return cast[0];
  if (isDuration(s)) return "1s";
  if (s?.type === "boolean") return true;
  if (s?.type === "integer" || s?.type === "number") return s.minimum || 1;
  if (s?.type === "array") return [];
  if (s?.type === "object") return Object.fromEntries((s.required ?? ["client", "point"]).filter((k) => s.properties?.[k]).map((k) => [k, first(k, resolved(s.properties[k]), answer)]));
  return { sends: "any", answers: "any", tells: "+switch-master", every: "1s" }[key] ?? "x";
};
