"use strict";
// These serve the script of pictures, too.
const all = (sel, root = document) => Array.from(root.querySelectorAll(sel));
const inflate = async (base64) => {
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).text();
};
(() => {
  for (const el of all("[hidden]")) el.hidden = false;

  for (const button of all("[data-do=copy]")) {
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(button.parentElement.querySelector("code"));
      }
    });
  }

  // The filter of a suite's page. Its state is in the address, so that a link keeps it.
  const sift = document.querySelector(".sift");
  if (sift) {
    const fields = all("input, select", sift), found = sift.querySelector("output");
    const rows = all(".case").map((el) => ({
      el, part: el.closest(".part"), data: el.dataset, outcomes: el.dataset.outcome.split(" "), tags: el.dataset.tags.split(" "), text: el.textContent.toLowerCase(),
      cells: all("[data-verdict]", el).map((li) => ({ property: li.dataset.property, verdicts: li.dataset.verdict.split(" ") })),
    }));
    const filter = () => {
      const want = Object.fromEntries(fields.map((el) => [el.name, el.value]));
      const words = want.q.toLowerCase().split(/\s+/);
      const fits = ({ data, outcomes, tags, text, cells }) => words.every((w) => text.includes(w)) &&
        (!want.outcome || outcomes.includes(want.outcome)) && (!want.guarantee || data.guarantee === want.guarantee) && (!want.tag || tags.includes(want.tag)) &&
        (!want.verdict && !want.property || cells.some((c) => (!want.property || c.property === want.property) && (!want.verdict || c.verdicts.includes(want.verdict))));
      for (const row of rows) row.el.hidden = !fits(row);
      for (const part of all(".part")) part.hidden = !rows.some((row) => row.part === part && !row.el.hidden);
      found.textContent = rows.filter((row) => !row.el.hidden).length + " of " + rows.length + " scenarios";
    };
    const keep = () => {
      const state = new URLSearchParams(fields.filter((el) => el.value).map((el) => [el.name, el.value])).toString();
      history.replaceState(null, "", state ? "#" + state : location.pathname + location.search);
      filter();
    };
    const read = () => {
      const state = new URLSearchParams(location.hash.slice(1));
      for (const el of fields) {
        const value = state.get(el.name) ?? "";
        // What no row has stays chosen: then no row matches, and the page says so.
        if (el.options && !Array.from(el.options).some((o) => o.value === value)) el.add(new Option(value));
        el.value = value;
      }
      filter();
    };
    sift.addEventListener("input", keep);
    sift.querySelector("button").addEventListener("click", () => {
      for (const el of fields) el.value = "";
      keep();
    });
    addEventListener("hashchange", read);
    read();
  }

  // The history: the page has the rows that it refers to, and all others packed. They are taken out where a reader
  // searches, opens a gap, or follows an address.
  const tables = all("table.events").map((table) => ({ table, body: table.tBodies[0], id: table.dataset.id, rest: table.dataset.rest, lines: null }));
  const unpack = async (t) => {
    if (t.lines || !t.rest) return;
    const text = await inflate(t.rest);
    const cells = text.split("\n"), n = (cells.length - 1) / 7;
    let index = -1, micros = 0;
    t.lines = new Map();
    for (let i = 0; i < n; i++) {
      const [at, since, ...rest] = Array.from({ length: 7 }, (_, column) => cells[column * n + i]);
      index = at === "" ? index + 1 : Number(at);
      micros += Number(since);
      const row = [String(index), since === "" ? "" : (micros / 1e6).toFixed(6), ...rest];
      t.lines.set(index, { cells: row, micros, text: row.join(" ").toLowerCase() });
    }
  };
  const rowOf = (t, { cells, micros }) => {
    const tr = document.createElement("tr");
    tr.id = `${t.id}-e${cells[0]}`;
    if (cells[1] !== "") tr.dataset.ns = micros * 1000;
    cells.slice(0, 6).forEach((text, i) => {
      const td = tr.insertCell();
      if (i < 2) td.className = "num";
      td.textContent = text;
    });
    const a = document.createElement("a");
    a.href = "#" + tr.id;
    a.textContent = cells[0];
    tr.cells[0].replaceChildren(a);
    if (cells[6]) {
      const em = document.createElement("em");
      em.textContent = cells[6];
      tr.cells[5].append(" ", em);
    }
    return tr;
  };
  // open puts rows in the place of a gap: most of them, and gaps for what is then still missing.
  const most = 200;
  const open = async (t, gap, around) => {
    await unpack(t);
    const from = Number(gap.dataset.from), to = Number(gap.dataset.to);
    const here = [...t.lines.keys()].filter((i) => from <= i && i < to), low = Math.min(...here), high = Math.max(...here) + 1;
    if (!here.length || (around !== undefined && (around < low || around >= high))) {
      gap.cells[0].textContent = `${to - from} events not shown: this page does not have them`;
      return;
    }
    const begin = around === undefined ? low : Math.max(low, Math.min(around - most / 2, high - most)), end = Math.min(high, begin + most);
    const rest = (a, b) => {
      if (a >= b) return [];
      const tr = gap.cloneNode(true);
      [tr.dataset.from, tr.dataset.to] = [a, b];
      words(tr, t);
      return [tr];
    };
    const rows = [];
    for (let i = begin; i < end; i++) if (t.lines.has(i)) rows.push(rowOf(t, t.lines.get(i)));
    gap.replaceWith(...rest(from, begin), ...rows, ...rest(end, to));
  };
  const words = (gap, t) => {
    const n = gap.dataset.to - gap.dataset.from, button = document.createElement("button");
    button.type = "button";
    button.textContent = `${n} event${n === 1 ? "" : "s"} not shown: show ${n > most ? most : n === 1 ? "it" : "them"}`;
    button.addEventListener("click", () => open(t, gap));
    gap.cells[0].replaceChildren(button);
  };
  for (const t of tables) if (t.rest) for (const gap of all(".left-out", t.body)) words(gap, t);
  const filter = document.getElementById("filter");
  let turn = 0;
  const search = async () => {
    const mine = ++turn, wanted = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const matches = (text) => wanted.every((w) => text.includes(w));
    if (wanted.length) await Promise.all(tables.map(unpack));
    if (mine !== turn) return;
    let shown = 0, found = 0;
    for (const t of tables) {
      for (const tr of all(".match", t.body)) tr.remove();
      for (const tr of all("tr", t.body)) {
        const gap = tr.classList.contains("left-out");
        tr.hidden = wanted.length > 0 && (gap || !matches(tr.textContent.toLowerCase()));
        if (!tr.hidden && !gap) [shown, found] = [shown + 1, found + 1];
        if (!gap || !wanted.length || !t.lines) continue;
        const rows = [];
        for (let i = Number(tr.dataset.from); i < Number(tr.dataset.to); i++) {
          const line = t.lines.get(i);
          if (!line || !matches(line.text)) continue;
          found++;
          if (shown + rows.length >= 1000) continue;
          rows.push(rowOf(t, line));
          rows[rows.length - 1].classList.add("match");
        }
        shown += rows.length;
        tr.after(...rows);
      }
    }
    document.getElementById("matches").textContent = wanted.length ? `${found} events${shown < found ? `, the first ${shown} shown` : ""}` : "";
  };
  filter?.addEventListener("input", search);

  // The browser looks for the address anew once the row is there to be seen.
  const again = () => {
    const hash = location.hash;
    location.replace("#");
    location.replace(hash);
  };
  const find = async () => {
    const event = /^(v\d+)-e(\d+)$/.exec(location.hash.slice(1)), t = event && tables.find((x) => x.id === event[1]);
    if (!t) return;
    const here = document.getElementById(event[0]);
    if (here && !here.hidden) return;
    if (filter.value) {
      filter.value = "";
      await search();
    }
    const gap = all(".left-out", t.body).find((g) => Number(g.dataset.from) <= event[2] && event[2] < Number(g.dataset.to));
    if (!document.getElementById(event[0])) {
      if (!gap || !t.rest) return;
      await open(t, gap, Number(event[2]));
    }
    again();
  };
  addEventListener("hashchange", find);
  find();
})();
