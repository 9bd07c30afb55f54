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

// What searches have in common. Pages are those of index.js.
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
const findPages = (text, most) => {
  const wanted = words(text);
  return window.pages.map((p) => [rank(p, wanted), p]).filter(([r]) => r > 0).sort((a, b) => b[0] - a[0]).slice(0, most).map(([, p]) => p);
};

// around is the text near the first of the words, in whole words.
const around = (page, wanted) => {
  const text = page.x, at = Math.max(0, text.toLowerCase().indexOf(wanted[0]));
  const before = text.lastIndexOf(" ", Math.max(0, at - 70)), from = at < 70 ? 0 : before + 1;
  const end = text.indexOf(" ", from + 200), to = end < 0 ? text.length : end;
  return (from > 0 ? "… " : "") + text.slice(from, to) + (to < text.length ? " …" : "");
};

// hit is an entry of a list of results; up leads from the page to the site's folder.
const hit = (page, up, wanted) => {
  const li = document.createElement("li"), a = document.createElement("a"), kind = document.createElement("span");
  a.href = up + page.f;
  a.textContent = page.t;
  kind.className = "of";
  kind.textContent = " " + page.k;
  li.append(a, kind);
  if (wanted) {
    const text = document.createElement("p");
    text.className = "of";
    text.textContent = around(page, wanted);
    li.append(text);
  }
  return li;
};

// The field at the top shows what fits while somebody types. What is searched is loaded when it is needed first.
addEventListener("DOMContentLoaded", () => {
  const form = document.querySelector("header form.find"), most = 7;
  if (!form) return;
  const input = form.querySelector("input"), { up } = form.dataset;
  const list = document.createElement("ol"), said = document.createElement("p");
  [list.className, list.hidden] = ["hits", true];
  [said.className, said.role] = ["unseen", "status"];
  form.append(list, said);
  const load = () => {
    if (window.pages || document.getElementById("index-js")) return;
    const script = document.createElement("script");
    [script.id, script.src] = ["index-js", up + "index.js"];
    script.addEventListener("load", show);
    document.head.append(script);
  };
  const show = () => {
    const found = window.pages && words(input.value).length ? findPages(input.value, most) : [];
    list.replaceChildren(...found.map((p) => hit(p, up)));
    list.hidden = !found.length;
    said.textContent = input.value && window.pages ? `${found.length === most ? "at least " : ""}${found.length} pages; Enter shows all` : "";
  };
  input.addEventListener("focus", load);
  input.addEventListener("input", () => { load(); show(); });
  form.addEventListener("keydown", (e) => {
    const links = [...list.querySelectorAll("a")], at = links.indexOf(document.activeElement);
    if (e.key === "Escape") {
      list.hidden = true;
      input.focus();
    } else if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      e.preventDefault();
      (links[at + (e.key === "ArrowDown" ? 1 : -1)] ?? input).focus();
    }
  });
  form.addEventListener("focusout", (e) => { if (!form.contains(e.relatedTarget)) list.hidden = true; });
});

// The page of the search. Without this script it lists all pages.
addEventListener("DOMContentLoaded", () => {
  const form = document.getElementById("search");
  if (!form || !window.pages) return;
  const input = form.querySelector("input"), said = document.getElementById("said"), hits = document.getElementById("hits");
  const all = [...hits.children];
  const show = () => {
    const wanted = words(input.value);
    if (!wanted.length) {
      hits.replaceChildren(...all);
      said.textContent = "All pages of this site.";
      return;
    }
    const found = findPages(input.value, 50);
    hits.replaceChildren(...found.map((p) => hit(p, "", wanted)));
    said.textContent = found.length === 1 ? "1 page" : found.length + " pages";
  };
  form.hidden = false;
  input.value = new URLSearchParams(location.search).get("q") || "";
  input.addEventListener("input", show);
  form.addEventListener("submit", (e) => e.preventDefault());
  show();
  input.focus();
});
