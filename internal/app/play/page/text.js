// The scenario as text, with its problems and with what can stand at the cursor.

// lineColumn is where a place in a text is, counted from 1; a column counts characters.
const lineStart = (text, line) => {
  let at = 0;
  for (let n = 1; n < line; n++) {
    const next = text.indexOf("\n", at);
    if (next < 0) return text.length;
    at = next + 1;
  }
  return at;
};

// placeOf is the path at which the cursor stands, and the word before it; key: a key is wanted there, not a value. It
// reads the lines above by their indentation, and what stands in braces in this line.
const placeOf = (text, cursor) => {
  const before = text.slice(0, cursor).split("\n"), line = before[before.length - 1];
  const indentOf = (l) => /^ */.exec(l)[0].length;
  const path = [];
  let own = indentOf(line), rest = line.slice(own);
  const item = /^- +/.exec(rest);
  const enter = (key, indent) => { path.unshift(key); own = indent; };
  if (item) {
    rest = rest.slice(item[0].length);
    path.unshift(0);
  }
  for (let i = before.length - 2; i >= 0 && own > 0 || i >= 0 && item && i === before.length - 2; i--) {
    const l = before[i];
    if (!l.trim() || /^ *#/.test(l)) continue;
    const indent = indentOf(l), dash = /^- +/.exec(l.slice(indent)), inner = indent + (dash?.[0].length ?? 0);
    const key = /^([A-Za-z0-9_-]+):/.exec(l.slice(inner))?.[1];
    if (inner < own && key) enter(key, inner);
    if (dash && indent < own && inner <= own) { path.unshift(0); own = indent; }
    if (own === 0) break;
  }
  // What is open in this line: {a: {b: 1, c
  const keyNow = /^([A-Za-z0-9_-]+): *(.*)$/s;
  let m = keyNow.exec(rest), word = rest;
  while (m) {
    path.push(m[1]);
    word = m[2];
    let depth = 0, from = -1;
    for (let i = 0; i < word.length; i++) {
      if (word[i] === "{" || word[i] === "[") { if (depth++ === 0) from = i + 1; }
      else if (word[i] === "}" || word[i] === "]") depth--;
      else if (word[i] === "," && depth === 1) from = i + 1;
    }
    if (depth <= 0 || from < 0) break;
    word = word.slice(from).trimStart();
    m = keyNow.exec(word);
    if (!m) return { path, word, key: true };
  }
  return { path, word: word.trim(), key: !m && !path.length ? true : !keyNow.test(rest) };
};

// offered are the words that can stand at a place.
const offered = (place, answer) => {
  let path = place.path;
  if (path[0] === "variants") path = path.slice(2);
  const s = schemaAt(path), list = [];
  const properties = s?.properties ?? s?.anyOf?.map(resolved).find((o) => o?.properties)?.properties;
  if (place.key && properties) for (const [k, v] of Object.entries(properties)) list.push({ word: k, after: ": ", title: describe(resolved(v)) });
  if (!place.key) {
    const words = s?.enum ?? (s?.type === "boolean" ? [true, false] : castOf(path[path.length - 1], answer));
    for (const w of words ?? (path.join(".") === "lock.algorithm" ? answer?.offer?.algorithms ?? [] : [])) list.push({ word: String(w.name ?? w), after: "", title: w.title ?? "" });
  }
  return list.filter((o) => o.word !== place.word && o.word.startsWith(place.word));
};

class TextPane {
  // change is told of another text.
  constructor(change) {
    this.area = el("textarea", { class: "yaml", spellcheck: "false", autocomplete: "off", autocapitalize: "off", wrap: "off", "aria-label": "The scenario as YAML", rows: 24 });
    this.numbers = el("pre", { class: "numbers", "aria-hidden": "true" });
    this.problems = el("ol", { class: "problems", role: "status", "aria-label": "Problems" });
    this.words = el("div", { class: "offered", role: "listbox", "aria-label": "Words that fit here" });
    this.node = el("div", { class: "text-pane" }, el("div", { class: "paper-pane" }, this.numbers, this.area), this.words,
      el("p", { class: "of" }, "Ctrl and space, or the list under the text, completes a word by the scenario's schema."));
    this.area.addEventListener("input", () => { this.number(); this.offer(); change(this.area.value); });
    for (const event of ["click", "keyup"]) this.area.addEventListener(event, (e) => { if (!e.key || e.key.startsWith("Arrow")) this.offer(); });
    this.area.addEventListener("scroll", () => { this.numbers.scrollTop = this.area.scrollTop; });
    this.area.addEventListener("keydown", (e) => {
      if (e.key === " " && e.ctrlKey) {
        e.preventDefault();
        this.words.firstChild?.focus();
      }
    });
    this.words.addEventListener("keydown", (e) => {
      const to = { ArrowRight: "nextSibling", ArrowDown: "nextSibling", ArrowLeft: "previousSibling", ArrowUp: "previousSibling" }[e.key];
      if (to) document.activeElement[to]?.focus();
      if (e.key === "Escape") this.area.focus();
      if (to) e.preventDefault();
    });
    this.change = change;
  }

  number() {
    const count = this.area.value.split("\n").length;
    if (count !== this.count) this.numbers.textContent = Array.from({ length: (this.count = count) }, (_, i) => i + 1).join("\n");
  }

  offer() {
    const place = placeOf(this.area.value, this.area.selectionStart), list = offered(place, this.answer).slice(0, 24);
    this.words.replaceChildren(...list.map((o) => el("button", { type: "button", role: "option", title: o.title, onclick: () => this.take(o, place) }, o.word)));
  }

  take(o, place) {
    const { area } = this, at = area.selectionStart;
    area.setRangeText(o.word + o.after, at - place.word.length, at, "end");
    area.focus();
    area.dispatchEvent(new Event("input"));
  }

  // goTo puts the cursor at a line and a column, counted from 1.
  goTo(line, column) {
    const from = lineStart(this.area.value, line), text = this.area.value.slice(from).split("\n")[0];
    const at = from + Array.from(text).slice(0, column - 1).join("").length, word = /^[^\s,{}:]+/.exec(this.area.value.slice(at))?.[0] ?? "";
    this.area.focus();
    this.area.setSelectionRange(at, at + word.length);
    this.area.scrollTop = Math.max(0, (line - 6) * parseFloat(getComputedStyle(this.area).lineHeight));
  }

  // update shows a text that is not what was typed, and the problems of the text.
  update(answer, typed) {
    this.answer = answer;
    if (!typed && this.area.value !== answer.yaml) {
      this.area.value = answer.yaml;
      this.number();
    }
  }
}

// problemList names each problem with its line and column, and leads to it.
const problemList = (answer, goTo) => (answer.problems ?? []).map((p) => el("li", {},
  el("button", { type: "button", class: "place", onclick: () => goTo(p) }, `line ${p.line}, column ${p.column}`), " ", p.path ? el("code", {}, p.path) : null, p.path ? ": " : "", p.message,
  p.allowed?.length ? el("span", { class: "of" }, ` allowed: ${p.allowed.join(", ")}`) : null, p.hint ? el("span", { class: "hint" }, ` ${p.hint}`) : null));
