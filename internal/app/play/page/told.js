// What came of the run, in words.

class Told {
  // choose is told of another variant.
  constructor(choose) {
    this.choose = choose;
    this.outcome = el("p", { class: "outcome", role: "status" });
    this.tabs = el("div", { class: "tabs", role: "group", "aria-label": "Variants" });
    this.chips = el("ul", { class: "verdicts", "aria-label": "Verdicts" });
    this.cause = el("article", { class: "cause", "aria-label": "Cause" });
    this.story = el("ol", { class: "story-lines", "aria-label": "What happened" });
    this.expected = el("span", { class: "of" });
    this.head = el("div", { class: "told-head" }, el("div", { class: "told-words" }, this.outcome, " ", this.expected), this.tabs);
  }

  update(answer) {
    const t = answer.telling;
    this.updateTabs(answer);
    if (!t) return;
    const bad = t.chips.filter((c) => c.class === "unsafe").length, open = t.chips.filter((c) => c.class === "undecided").length;
    const [tone, icon, words] = bad ? ["unsafe", "✗", `${bad} of ${t.chips.length} properties violated`]
      : open === t.chips.length ? ["undecided", "?", "Undecided"] : ["safe", "✓", open ? `Nothing violated, ${open} undecided` : "Nothing violated"];
    this.outcome.className = "outcome " + tone;
    this.outcome.replaceChildren(el("span", { class: "icon", "aria-hidden": "true" }, icon), " ", words);
    this.expected.textContent = ({ "As expected": "as the scenario expects", "Not as expected": "not what the scenario expects" }[t.word] ?? t.word.toLowerCase());
    this.chips.replaceChildren(...t.chips.map((c) => el("li", { class: c.class + (c.loud ? " loud" : "") },
      el("details", {}, el("summary", {}, el("span", { class: "badge " + c.class }, el("span", { class: "icon", "aria-hidden": "true" }, c.icon), " ", c.verdict), " ", el("span", { class: "prop" }, c.property)),
        el("p", {}, c.words), c.why ? el("p", {}, c.why) : null, el("p", { class: "of" }, [c.chances, c.beside].filter(Boolean).join("; "))))));
    this.cause.hidden = !t.broke;
    this.cause.replaceChildren(el("h3", {}, "What broke ", el("span", { class: "of" }, t.property ?? "")),
      el("p", { class: "broke" }, t.at ? el("span", { class: "when" }, t.at + " ") : null, t.broke ?? ""),
      ...(t.by ?? []).map((b) => el("p", {}, el("span", { class: "of" }, "By: "), b)),
      t.assumption ? el("p", {}, el("span", { class: "of" }, "The assumption that failed: "), t.assumption) : "");
    this.story.hidden = !t.story;
    this.story.replaceChildren(...(t.story ?? []).map((s) => el("li", {}, el("span", { class: "when" }, s.at), el("span", {}, s.text))),
      ...(t.more ? [el("li", { class: "none" }, `and ${t.more} more`)] : []));
  }

  updateTabs(answer) {
    const list = answer.tabs ?? [];
    this.tabs.hidden = list.length < 2;
    if (!same(list.map((t) => t.name), Array.from(this.tabs.children, (b) => b.dataset.variant))) {
      this.tabs.replaceChildren(...list.map((t) => el("button", { type: "button", "data-variant": t.name, onclick: () => this.choose(t.name) }, t.name, el("span", { class: "badge" }))));
    }
    list.forEach((t, i) => {
      const button = this.tabs.children[i], badge = button.lastChild, bad = t.violated?.length ?? 0;
      button.setAttribute("aria-pressed", String(t.name === answer.variant));
      badge.className = "badge " + (!t.word ? "aside" : bad ? "unsafe" : "safe");
      badge.textContent = !t.word ? "" : bad ? ` ✗ ${bad} violated` : " ✓ none violated";
    });
  }
}
