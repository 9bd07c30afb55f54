"use strict";
(() => {
  const all = (sel, root = document) => Array.from(root.querySelectorAll(sel));
  for (const el of all("[hidden]")) el.hidden = false;

  // A picture knows its own first moment (base); what the pictures share is an
  // offset from it, so that one cursor and one zoom serve all of them.
  const pictures = all("svg.picture:not(.detail)").map((svg) => {
    const n = (k) => Number(svg.dataset[k]);
    return {
      svg, base: n("from"), len: n("to") - n("from"), lo: n("lo") - n("from"), hi: n("hi") - n("from"),
      items: all(".t", svg).map((el) => ({
        el, a: Number(el.dataset.a), b: el.dataset.b === undefined ? null : Number(el.dataset.b),
      })),
      ticks: svg.querySelector(".ticks"), cursor: svg.querySelector(".cursor"), plot: svg.querySelector(".plot"),
      readout: svg.closest("figure").querySelector(".readout"), id: svg.id.replace("-picture", ""),
    };
  });
  if (pictures.length) {
    const first = { from: 0, to: pictures[0].len };
    const lo = Math.min(...pictures.map((p) => p.lo)), hi = Math.max(...pictures.map((p) => p.hi));
    let view = { ...first }, cursor = null, step = -1;

    const steps = pictures.flatMap((p) => all("[data-step]", p.svg).map((el) => ({
      p, at: Number(el.dataset.a) - p.base, text: el.querySelector("title").textContent,
    }))).filter((s) => s.at >= lo && s.at <= hi).sort((x, y) => x.at - y.at);
    const moments = [...new Set(steps.map((s) => s.at))];

    const tickText = (t, every) => {
      let digits = 0;
      for (let e = every; e < 1e9 && digits < 9; e *= 10) digits++;
      return (t / 1e9).toFixed(digits) + " s";
    };
    const ticks = (p) => {
      let every = 1;
      outer: for (let d = 1; ; d *= 10) for (const m of [1, 2, 5]) if (d * m >= (view.to - view.from) / 7) { every = d * m; break outer; }
      p.ticks.replaceChildren();
      const make = (name, attrs) => {
        const el = document.createElementNS("http://www.w3.org/2000/svg", name);
        for (const k in attrs) el.setAttribute(k, attrs[k]);
        return el;
      };
      const from = p.base + view.from, to = p.base + view.to;
      for (let t = Math.ceil(from / every) * every; t <= to; t += every) {
        const tick = make("svg", { class: "t pt tick", x: ((t - from) / (to - from)) * 100 + "%", width: 1 });
        tick.append(make("line", { y1: 20, y2: p.svg.getAttribute("height") }));
        const last = (t - from) / (to - from) > 0.97;
        const text = make("text", { x: last ? -3 : 3, y: 12, class: last ? "end" : "" });
        text.textContent = tickText(t, every);
        tick.append(text);
        p.ticks.append(tick);
      }
    };
    // Labels that would run into one another are hidden, the later one first.
    const declutter = (p) => {
      const zoomed = p.svg.classList.contains("zoomed");
      for (const row of all(".lane", p.svg)) {
        const labels = all(".pt", row).map((el) => ({ el, text: el.querySelector("text") }))
          .filter(({ el, text }) => text && !el.classList.contains(zoomed ? "many" : "one"));
        const free = new Map();
        for (const { el, text } of labels) {
          el.classList.remove("cramped");
          const box = text.getBoundingClientRect(), y = text.getAttribute("y");
          if (box.left < (free.get(y) ?? -Infinity)) el.classList.add("cramped");
          else free.set(y, box.right + 4);
        }
      }
      for (const { el, b } of p.items) {
        const text = b === null ? null : el.querySelector("text");
        if (text) el.classList.toggle("cramped", text.getComputedTextLength() + 8 > el.getBoundingClientRect().width);
      }
    };
    const draw = () => {
      const len = view.to - view.from;
      for (const p of pictures) {
        const from = p.base + view.from;
        for (const { el, a, b } of p.items) {
          const x = b === null ? a : Math.max(a, from - len / 500);
          el.setAttribute("x", ((x - from) / len) * 100 + "%");
          if (b !== null) el.setAttribute("width", Math.max(0, ((b - x) / len) * 100) + "%");
        }
        p.svg.classList.toggle("zoomed", len < first.to - first.from);
        ticks(p);
        declutter(p);
      }
      point();
    };
    const point = () => {
      for (const p of pictures) {
        const c = p.items.find((i) => i.el === p.cursor);
        p.cursor.setAttribute("visibility", cursor === null ? "hidden" : "visible");
        if (cursor === null) continue;
        c.a = p.base + cursor;
        p.cursor.setAttribute("x", ((cursor - view.from) / (view.to - view.from)) * 100 + "%");
      }
    };
    const show = (from, to) => {
      const len = Math.min(Math.max(to - from, 1000), hi - lo);
      from = Math.min(Math.max(from, lo), hi - len);
      view = { from, to: from + len };
      draw();
    };
    const zoom = (by) => {
      const mid = cursor !== null && cursor >= view.from && cursor <= view.to ? cursor : (view.from + view.to) / 2;
      show(mid - (mid - view.from) * by, mid + (view.to - mid) * by);
    };
    const say = (p, at, text) => { p.readout.textContent = ((p.base + at) / 1e9).toFixed(3) + " s" + (text ? "  " + text : ""); };
    const go = (n) => {
      if (!moments.length) return;
      step = Math.min(Math.max(n, 0), moments.length - 1);
      cursor = moments[step];
      if (cursor < view.from || cursor > view.to) show(cursor - (view.to - view.from) / 2, cursor + (view.to - view.from) / 2);
      point();
      for (const p of pictures) {
        const here = steps.filter((s) => s.p === p && s.at === cursor).map((s) => s.text.replace(/^\S+ s\s+/, ""));
        say(p, cursor, here.join("; "));
      }
    };
    const near = (dir) => {
      if (cursor === null) return dir > 0 ? Math.max(0, moments.findIndex((m) => m >= view.from)) : moments.length - 1;
      if (moments[step] === cursor) return step + dir;
      const after = moments.findIndex((m) => m > cursor);
      return dir > 0 ? (after < 0 ? moments.length - 1 : after) : (after < 0 ? moments.length - 1 : after - 1);
    };
    const toggle = document.querySelector("[data-do=quiet]");
    const quiet = () => {
      const hide = toggle.getAttribute("aria-pressed") !== "true";
      toggle.setAttribute("aria-pressed", String(hide));
      for (const p of pictures) {
        let up = 0;
        for (const names of all(".lane-names", p.svg)) {
          const gone = hide && names.classList.contains("quiet"), y = Number(names.dataset.y);
          const lane = p.svg.querySelector(`.lane[data-y="${y}"]`);
          for (const g of [names, lane]) {
            g.style.display = gone ? "none" : "";
            g.setAttribute("transform", `translate(0 ${y - up})`);
          }
          if (gone) up += Number(names.dataset.h);
        }
        p.height ??= Number(p.svg.getAttribute("height"));
        p.svg.setAttribute("height", p.height - up);
      }
      draw();
    };
    const act = {
      next: () => go(near(1)), prev: () => go(near(-1)), focus: () => show(first.from, first.to),
      all: () => show(lo, hi), in: () => zoom(0.5), out: () => zoom(2), quiet,
    };
    const keys = { ArrowRight: "next", ArrowLeft: "prev", 0: "focus", a: "all", "+": "in", "=": "in", "-": "out", u: "quiet" };
    document.getElementById("picture").addEventListener("keydown", (e) => {
      if (e.ctrlKey || e.metaKey || e.altKey || !keys[e.key]) return;
      e.preventDefault();
      act[keys[e.key]]();
    });
    for (const button of all(".toolbar [data-do]")) button.addEventListener("click", () => act[button.dataset.do]());
    for (const p of pictures) {
      p.plot.addEventListener("pointermove", (e) => {
        const box = p.svg.getBoundingClientRect(), left = box.left + parseFloat(getComputedStyle(p.svg).paddingLeft);
        cursor = view.from + ((e.clientX - left) / (box.right - left)) * (view.to - view.from);
        step = -1;
        point();
        for (const q of pictures) say(q, cursor, "");
      });
      p.svg.addEventListener("click", (e) => {
        const el = e.target.closest("[data-e]"), id = el && p.id + "-e" + el.dataset.e;
        if (id && document.getElementById(id)) location.hash = id;
      });
    }
    draw();
    // Where a picture is wider than the screen, begin at what it is about.
    for (const p of pictures) {
      const box = p.svg.querySelector(".overlap"), scroll = p.svg.parentElement;
      if (box && scroll.scrollWidth > scroll.clientWidth) scroll.scrollLeft += box.getBoundingClientRect().left - scroll.getBoundingClientRect().left - scroll.clientWidth / 2;
    }
  }

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

  const filter = document.getElementById("filter");
  if (filter) {
    const rows = all(".events tbody tr").map((tr) => ({ tr, text: tr.textContent.toLowerCase(), gap: tr.classList.contains("left-out") }));
    filter.addEventListener("input", () => {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const { tr, text, gap } of rows) {
        tr.hidden = words.length > 0 && (gap || !words.every((w) => text.includes(w)));
        if (!tr.hidden && !gap) shown++;
      }
      document.getElementById("matches").textContent = words.length ? shown + " events" : "";
    });
  }
})();
