"use strict";
// The playground in the page itself. Without this script its link leads there.
addEventListener("click", (e) => {
  const a = e.target.closest("a.play");
  if (!a || e.ctrlKey || e.metaKey || e.shiftKey || e.button) return;
  e.preventDefault();
  const figure = a.closest("figure"), open = figure.querySelector("iframe");
  if (open) {
    open.remove();
    a.textContent = "change it";
    return;
  }
  const frame = document.createElement("iframe");
  frame.title = "Playground";
  frame.src = a.href;
  figure.append(frame);
  a.textContent = "close the playground";
  frame.focus();
});

// The search. Without this script its page lists all pages.
addEventListener("DOMContentLoaded", () => {
  const form = document.getElementById("search");
  if (!form || !window.pages) return;
  const input = form.querySelector("input"), said = document.getElementById("said"), hits = document.getElementById("hits");
  const all = [...hits.children];
  const words = (text) => text.toLowerCase().split(/[^\p{L}\p{N}_-]+/u).filter((w) => w);

  // rank counts how well a page matches: all words must be in it; a title counts most.
  const rank = (page, wanted) => {
    let sum = 0;
    for (const w of wanted) {
      const title = page.t.toLowerCase().includes(w) || page.f.includes(w) ? 20 : 0;
      const lead = (page.l || "").toLowerCase().includes(w) ? 5 : 0;
      const found = page.x.toLowerCase().split(w).length - 1;
      if (!title && !lead && !found) return 0;
      sum += title + lead + Math.min(found, 5);
    }
    return sum;
  };

  // around is the text near the first of the words.
  const around = (page, wanted) => {
    const text = page.x, at = Math.max(0, text.toLowerCase().indexOf(wanted[0]));
    const from = Math.max(0, at - 70);
    return (from > 0 ? "… " : "") + text.slice(from, from + 200) + (text.length > from + 200 ? " …" : "");
  };

  const show = () => {
    const wanted = words(input.value);
    if (!wanted.length) {
      hits.replaceChildren(...all);
      said.textContent = "All pages of this site.";
      return;
    }
    const found = window.pages.map((p) => [rank(p, wanted), p]).filter(([r]) => r > 0).sort((a, b) => b[0] - a[0]).slice(0, 50);
    hits.replaceChildren(...found.map(([, p]) => {
      const li = document.createElement("li"), a = document.createElement("a"), kind = document.createElement("span"), text = document.createElement("p");
      a.href = p.f;
      a.textContent = p.t;
      kind.className = text.className = "of";
      kind.textContent = " " + p.k;
      text.textContent = around(p, wanted);
      li.append(a, kind, text);
      return li;
    }));
    said.textContent = found.length === 1 ? "1 page" : found.length + " pages";
  };
  form.hidden = false;
  input.value = new URLSearchParams(location.search).get("q") || "";
  input.addEventListener("input", show);
  form.addEventListener("submit", (e) => e.preventDefault());
  show();
  input.focus();
});
