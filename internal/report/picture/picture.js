"use strict";
(() => {
  const svgNS = "http://www.w3.org/2000/svg";
  const make = (name, attrs, text) => {
    const el = document.createElementNS(svgNS, name);
    for (const k in attrs) el.setAttribute(k, attrs[k]);
    if (text !== undefined) el.textContent = text;
    return el;
  };

  // Places are said in per cent of the plot, so that they are right on paper, too.
  const percent = (x, width) => (x / width) * 100 + "%";

  // Labels are placed by the rules of labels.go: the first wording that has room, in the first row that
  // has room, the most important label first. Here the widths are measured.
  const inset = 5, gap = 8, joined = 4, broken = 1;
  const context = document.createElement("canvas").getContext("2d");
  const fonts = new Map(), widths = new Map();
  const measure = (label, text) => {
    let font = fonts.get(label.cls);
    if (font === undefined) {
      const style = getComputedStyle(label.el);
      font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
      fonts.set(label.cls, font);
    }
    const key = font + text;
    let w = widths.get(key);
    if (w === undefined) {
      context.font = font;
      w = context.measureText(text).width + 1;
      widths.set(key, w);
    }
    return w;
  };
  const readLabel = (el, lane, a, b) => {
    const [rank, rows, inside, outside, join, once] = JSON.parse(el.dataset.rules);
    return { el, lane, a, b, rank, rows, inside: inside ?? [], outside: outside ?? [], join, once, cls: el.getAttribute("class").replace(/ (off|end)\b/g, "") };
  };
  const place = (p, view, width) => {
    const taken = new Map(), once = new Set(), joins = new Map();
    const row = (label, y) => {
      const key = label.lane.at * 1000 + y;
      if (!taken.has(key)) taken.set(key, []);
      return taken.get(key);
    };
    const inTheWay = (row, from, to, but) => row.find((t) => t !== but && t.from < to + gap && from < t.to + gap);
    const free = (row, from, to, but) => from >= 0 && to <= width && !inTheWay(row, from, to, but);
    const put = (label, y, text, from, to, end) => {
      const r = row(label, y), box = { from, to };
      if (!free(r, from, to)) return false;
      r.push(box);
      if (label.once) once.add(label.once);
      Object.assign(label, { shown: text, x: end ? to : from, y, end });
      if (label.join) joins.set(r, { label, box, texts: [text] });
      return true;
    };
    const within = (label, y, text, from, to, w) => {
      for (let t; (t = inTheWay(row(label, y), from, from + w));) from = t.to + gap;
      return from + w <= to && put(label, y, text, from, from + w, false);
    };
    const joinTo = (label, y, from) => {
      const r = row(label, y), j = joins.get(r);
      if (!j || (j.label.rank === broken) !== (label.rank === broken)) return false;
      const texts = [...j.texts, label.outside[0]];
      const text = texts.length > joined ? texts.slice(0, joined - 1).join(" · ") + ` · ${texts.length - joined + 1} more` : texts.join(" · ");
      const w = measure(j.label, text), left = j.label.end;
      const box = left ? { from: j.box.to - w, to: j.box.to } : { from: j.box.from, to: j.box.from + w };
      if (from > j.box.to + (left ? inset + 2 * gap : gap) || !free(r, box.from, box.to, j.box)) return false;
      Object.assign(j.box, box);
      j.texts = texts;
      j.label.shown = text;
      return true;
    };
    const scale = width / (view.to - view.from);
    const one = (label) => {
      label.shown = null;
      if (label.lane.hidden || label.b < view.from || label.a > view.to || once.has(label.once)) return;
      const from = Math.max(0, (label.a - view.from) * scale), to = Math.min(width, (label.b - view.from) * scale);
      for (const text of to - from > 12 ? label.inside : []) {
        const w = measure(label, text);
        for (const y of label.rows) if (within(label, y, text, from + inset, to - inset, w)) return;
      }
      for (const text of label.outside) {
        const w = measure(label, text);
        for (const y of label.rows) {
          if (put(label, y, text, to + inset, to + inset + w, false) || (label.join && joinTo(label, y, to)) || put(label, y, text, from - inset - w, from - inset, true)) return;
        }
      }
    };
    for (const label of p.labels) one(label);
    for (const label of p.labels) {
      const { el, shown } = label;
      if (!shown) {
        el.remove();
        continue;
      }
      el.classList.remove("off");
      el.classList.toggle("end", label.end);
      el.setAttribute("x", percent(label.x, width));
      el.setAttribute("y", label.y);
      if (el.textContent !== shown) el.textContent = shown;
      if (!el.isConnected) label.lane.words.append(el);
    }
  };

  const seconds = (ns) => (ns / 1e9).toFixed(3) + " s";
  const readShape = (el, g, a, b) => {
    el.classList.remove("away"); // that was for readers without scripts: draw takes out what is not in view
    return { el, g, a, b, row: el.getAttribute("class") + el.getAttribute("y") };
  };

  // The plot is what the picture leaves beside the lanes' names.
  const plotOf = (p) => {
    const box = p.svg.getBoundingClientRect(), style = getComputedStyle(p.svg), names = parseFloat(style.paddingLeft);
    return { left: box.left + names, width: Math.max(50, box.width - names - parseFloat(style.paddingRight)) };
  };
  const read = (svg) => {
    const n = (k) => Number(svg.dataset[k]);
    const p = {
      svg, from: n("from"), to: n("to"), lo: n("lo"), hi: n("hi"), shapes: [], labels: [], ticks: svg.querySelector(".ticks"),
      cursor: svg.querySelector(".cursor"), readout: svg.closest("figure").querySelector(".readout"), id: svg.id.replace("-picture", ""),
      strip: svg.closest("figure").querySelector(".strip"), list: svg.closest("figure").querySelector(".moments ol"), fixed: svg.classList.contains("detail"),
    };
    p.lanes = all(".lane", svg).map((g, at) => {
      const parts = Array.from(g.children).filter((el) => el.tagName === "g");
      return { g, at, layers: parts.slice(0, -1), words: parts[parts.length - 1], hidden: false, names: all(".lane-names", svg)[at] };
    });
    for (const lane of p.lanes) {
      lane.layers.forEach((g) => {
        for (const el of Array.from(g.children)) p.shapes.push(readShape(el, g, Number(el.dataset.a), el.dataset.b === undefined ? null : Number(el.dataset.b)));
      });
      for (const el of Array.from(lane.words.children)) p.labels.push(readLabel(el, lane, Number(el.dataset.a), Number(el.dataset.b ?? el.dataset.a)));
    }
    p.order = () => {
      p.shapes.sort((x, y) => x.a - y.a);
      p.labels.sort((x, y) => x.rank - y.rank || x.a - y.a);
    };
    p.more = async () => {
      if (!svg.dataset.far) return;
      const holder = document.createElement("template");
      holder.innerHTML = "<svg>" + (await inflate(svg.dataset.far)) + "</svg>";
      // Times of packed shapes are the time since the shape before, and the length; their events count from there, too.
      const unit = Number(svg.dataset.unit);
      Array.from(holder.content.firstChild.children).forEach((group, at) => {
        const lane = p.lanes[at];
        Array.from(group.children).forEach((g, layer) => {
          let now = 0, event = 0;
          for (const el of Array.from(g.children)) {
            now += Number(el.dataset.a);
            if (el.dataset.e !== undefined) el.dataset.e = event += Number(el.dataset.e);
            const a = now * unit, b = el.dataset.b === undefined ? null : a + Number(el.dataset.b) * unit;
            const title = el.querySelector("title"), words = el.querySelector(".lb");
            if (title) title.textContent = `${seconds(a)}  ${title.textContent}${b === null ? "" : `, until ${seconds(b)}`}`;
            p.shapes.push(readShape(el, lane.layers[layer], a, b));
            if (!words) continue;
            words.remove();
            const from = a + Number(words.dataset.offset ?? 0) * unit;
            const label = readLabel(words, lane, from, words.dataset.length ? from + Number(words.dataset.length) * unit : b ?? a);
            p.labels.push(label);
            if (fonts.has(label.cls)) continue;
            lane.words.append(words); // only what is on the page has a style
            measure(label, "");
            words.remove();
          }
        });
      });
      delete svg.dataset.far;
    };
    for (const label of p.labels) measure(label, "");
    p.order();
    return p;
  };

  const tickText = (t, every) => {
    let digits = 0;
    for (let e = every; e < 1e9 && digits < 9; e *= 10) digits++;
    return (t / 1e9).toFixed(digits) + " s";
  };
  const drawTicks = (p, view, width) => {
    let every = 1;
    outer: for (let d = 1; ; d *= 10) for (const m of [1, 2, 5]) if (d * m >= (view.to - view.from) / Math.max(2, Math.min(7, width / 90))) { every = d * m; break outer; }
    p.ticks.replaceChildren();
    let free = -Infinity;
    for (let t = Math.ceil(view.from / every) * every; t <= view.to; t += every) {
      const x = ((t - view.from) / (view.to - view.from)) * width, words = tickText(t, every), last = x + words.length * 7 > width;
      const tick = make("svg", { class: "tick", x: percent(x, width), width: 1 });
      tick.append(make("line", { y1: 20, y2: p.svg.getAttribute("height") }));
      if ((last ? x - words.length * 7 : x) > free) {
        tick.append(make("text", { x: last ? -3 : 3, y: 12, class: last ? "end" : "" }, words));
        free = x + (last ? 6 : words.length * 7);
      }
      p.ticks.append(tick);
    }
  };
  // What is narrower than a pixel, and stands where something of its kind is drawn already, need not be drawn. What is
  // drawn there then fills the pixel, or a busy stretch would look idle.
  const draw = (p, view, width = plotOf(p).width) => {
    const scale = width / (view.to - view.from), last = new Map();
    for (const s of p.shapes) {
      const end = s.b ?? s.a, x = (Math.max(s.a, view.from - 4 / scale) - view.from) * scale, w = (end - view.from) * scale - x;
      const before = last.get(s.row);
      const seen = s.a <= view.to && end >= view.from, merged = seen && w < 1 && before !== undefined && x - before.end < 1;
      if (merged && before.bar) before.bar.setAttribute("width", percent(1, width));
      if (!seen || merged) {
        if (s.el.isConnected) s.el.remove();
        continue;
      }
      last.set(s.row, { end: x + Math.max(0, w), bar: s.b !== null && w < 1 ? s.el : null });
      s.el.setAttribute("x", percent(x, width));
      if (s.b !== null) s.el.setAttribute("width", percent(Math.max(0, Math.min(w, width + 4 - x)), width));
      if (!s.el.isConnected) s.g.append(s.el);
    }
    drawTicks(p, view, width);
    place(p, view, width);
  };

  const everything = all("svg.picture").map(read);
  const fixed = everything.filter((p) => p.fixed), pictures = everything.filter((p) => !p.fixed);
  if (!everything.length) return;
  const drawFixed = (width) => { for (const p of fixed) draw(p, p, width); };
  if (!pictures.length) return drawFixed();

  // A picture knows its own first moment; what the pictures share is an offset from it, so that one cursor and one
  // window serve all of them.
  const first = { from: 0, to: pictures[0].to - pictures[0].from };
  const lo = Math.min(...pictures.map((p) => p.lo - p.from)), hi = Math.max(...pictures.map((p) => p.hi - p.from));
  // The cursor follows the mouse; what was chosen last is pinned.
  let view = { ...first }, cursor = null, pinned = null, moment = -1, active = pictures[0];
  let steps, moments;
  const readSteps = () => {
    steps = pictures.flatMap((p) => p.shapes.filter((s) => s.el.dataset.step).map((s) => ({
      p, at: s.a - p.from, text: s.el.querySelector("title").textContent.replace(/^\S+ s\s+/, ""), event: s.el.dataset.e,
    }))).sort((x, y) => x.at - y.at);
    moments = [...new Set(steps.map((s) => s.at))];
    for (const p of pictures) p.listed = null;
  };

  // Beside each picture stand its moments, of many those around the one that was chosen. Each leads to its event.
  const mostListed = 200;
  const listMoments = (p) => {
    const own = steps.filter((s) => s.p === p), here = own.findIndex((s) => s.at >= (pinned ?? view.from));
    const from = Math.max(0, Math.min((here < 0 ? own.length : here) - mostListed / 2, own.length - mostListed));
    const listed = own.slice(from, from + mostListed);
    p.listed = new Map(listed.map((s) => [s, momentItem(p, s)]));
    p.list.replaceChildren(...p.listed.values());
  };
  const momentItem = (p, s) => {
    const item = document.createElement("li"), button = document.createElement("button"), when = document.createElement("span");
    button.type = "button";
    when.className = "when";
    when.textContent = seconds(p.from + s.at);
    button.append(when, " ", s.text);
    button.addEventListener("click", () => go(moments.indexOf(s.at)));
    item.append(button);
    if (s.event !== undefined) {
      const link = document.createElement("a");
      link.href = `#${p.id}-e${s.event}`;
      link.textContent = "#" + s.event;
      link.title = "this event in the history";
      item.append(" ", link);
    }
    return item;
  };
  const markMoment = () => {
    for (const p of pictures) {
      if (!p.list) continue;
      const now = pinned === null ? [] : steps.filter((s) => s.p === p && s.at === pinned);
      if (!p.listed || now.some((s) => !p.listed.has(s))) listMoments(p);
      for (const [s, item] of p.listed) {
        if (s.at === pinned) item.setAttribute("aria-current", "true");
        else item.removeAttribute("aria-current");
      }
      // Where this picture has no moment then, its list shows the last one before.
      const target = [...p.listed].findLast(([s]) => s.at <= (pinned ?? view.from))?.[1];
      if (!target) continue;
      p.list.scrollTop = target.offsetTop - (p.list.clientHeight - target.offsetHeight) / 2;
    }
  };
  const own = (p) => ({ from: p.from + view.from, to: p.from + view.to });
  const point = () => {
    for (const p of pictures) {
      p.cursor.setAttribute("visibility", cursor === null ? "hidden" : "visible");
      if (cursor !== null) p.cursor.setAttribute("x", ((cursor - view.from) / (view.to - view.from)) * 100 + "%");
    }
  };
  const drawAll = (width) => {
    for (const p of pictures) {
      const v = own(p);
      draw(p, v, width);
      if (!p.strip) continue;
      const here = p.strip.querySelector(".here"), len = p.hi - p.lo;
      here.setAttribute("x", ((v.from - p.lo) / len) * 100 + "%");
      here.setAttribute("width", Math.max(0.2, ((v.to - v.from) / len) * 100) + "%");
      p.strip.setAttribute("aria-valuetext", `${seconds(v.from)} to ${seconds(v.to)}`);
      p.strip.setAttribute("aria-valuenow", Math.round(((v.from - p.lo) / len) * 100));
    }
    point();
  };
  let due = false;
  const redraw = () => {
    if (due) return;
    due = true;
    requestAnimationFrame(() => { due = false; drawAll(); });
  };
  const show = (from, to) => {
    const len = Math.min(Math.max(to - from, 1000), hi - lo);
    from = Math.min(Math.max(from, lo), hi - len);
    view = { from, to: from + len };
    redraw();
  };
  const pan = (share) => show(view.from + share * (view.to - view.from), view.to + share * (view.to - view.from));
  const zoom = (by, at) => {
    const mid = at ?? (pinned !== null && pinned >= view.from && pinned <= view.to ? pinned : (view.from + view.to) / 2);
    show(mid - (mid - view.from) * by, mid + (view.to - mid) * by);
  };

  // Addresses: #v1-t0.226 is a moment, and #v1-t0.226,0.1-0.4 with the window that it is seen in.
  const digits = (t) => (t / 1e9).toFixed(9).replace(/\.?0+$/, "");
  const address = () => {
    const at = pinned === null ? "" : digits(active.from + pinned), v = own(active);
    const moved = view.from !== first.from || view.to !== first.to;
    return `#${active.id}-t${at}${moved ? `,${digits(v.from)}-${digits(v.to)}` : ""}`;
  };
  const remember = () => { if (location.hash !== address()) history.replaceState(null, "", address()); };
  const say = (p, at, text) => {
    const words = document.createElement("span");
    words.className = p.list ? "unseen" : ""; // the list shows it
    words.textContent = text ? "  " + text : "";
    p.readout.replaceChildren(seconds(p.from + at), words);
  };
  const tell = () => {
    for (const p of pictures) say(p, cursor, steps.filter((s) => s.p === p && s.at === cursor).map((s) => s.text).join("; "));
    markMoment();
  };
  const go = (n) => {
    if (!moments.length) return;
    moment = Math.min(Math.max(n, 0), moments.length - 1);
    pinned = cursor = moments[moment];
    active = steps.find((s) => s.at === cursor).p;
    if (cursor < view.from || cursor > view.to) show(cursor - (view.to - view.from) / 2, cursor + (view.to - view.from) / 2);
    point();
    tell();
    remember();
  };
  const near = (dir) => {
    if (cursor === null) return dir > 0 ? Math.max(0, moments.findIndex((m) => m >= view.from)) : moments.length - 1;
    if (moments[moment] === cursor) return moment + dir;
    const after = moments.findIndex((m) => m > cursor);
    return dir > 0 ? (after < 0 ? moments.length - 1 : after) : (after < 0 ? moments.length - 1 : after - 1);
  };
  const toggle = document.querySelector("[data-do=quiet]");
  const quiet = () => {
    const hide = toggle.getAttribute("aria-pressed") !== "true";
    toggle.setAttribute("aria-pressed", String(hide));
    for (const p of pictures) {
      let up = 0;
      for (const lane of p.lanes) {
        lane.hidden = hide && lane.g.classList.contains("quiet");
        const y = Number(lane.g.dataset.y) - up;
        for (const g of [lane.names, lane.g]) {
          g.style.display = lane.hidden ? "none" : "";
          g.setAttribute("transform", `translate(0 ${y})`);
        }
        if (lane.hidden) up += Number(lane.g.dataset.h);
      }
      p.height ??= Number(p.svg.getAttribute("height"));
      p.svg.setAttribute("height", p.height - up);
    }
    redraw();
  };
  // Whoever takes the address of the page gets the moment with it.
  const copyLink = async (button) => {
    remember();
    const words = button.textContent;
    try {
      await navigator.clipboard.writeText(location.href);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = words; }, 1500);
    } catch {
      button.textContent = "The link is in the address bar";
    }
  };
  const act = {
    next: () => go(near(1)), prev: () => go(near(-1)), focus: () => show(first.from, first.to), all: () => show(lo, hi),
    in: () => zoom(0.5), out: () => zoom(2), left: () => pan(-0.25), right: () => pan(0.25), quiet, link: copyLink,
  };
  const keys = { ArrowRight: "next", ArrowLeft: "prev", 0: "focus", a: "all", "+": "in", "=": "in", "-": "out", u: "quiet" };
  const shifted = { ArrowRight: "right", ArrowLeft: "left", "+": "in", "=": "in" };
  document.getElementById("picture").addEventListener("keydown", (e) => {
    const name = (e.shiftKey || e.target.closest(".strip") ? { ...keys, ...shifted } : keys)[e.key];
    if (e.ctrlKey || e.metaKey || e.altKey || !name) return;
    e.preventDefault();
    act[name]();
    remember();
  });
  for (const button of all(".toolbar [data-do]")) {
    button.addEventListener("click", () => {
      act[button.dataset.do](button);
      remember();
    });
  }

  // A drag moves the window, two fingers or Ctrl and the wheel zoom, and a click sets the cursor.
  const timeAt = (p, clientX) => {
    const box = plotOf(p);
    return view.from + ((clientX - box.left) / box.width) * (view.to - view.from);
  };
  for (const p of pictures) {
    const down = new Map();
    let moved = false;
    p.svg.addEventListener("pointerdown", (e) => {
      if (e.button !== 0 || e.target.closest("a")) return;
      down.set(e.pointerId, e.clientX);
      moved = down.size > 1;
    });
    p.svg.addEventListener("pointermove", (e) => {
      const { width } = plotOf(p);
      if (e.buttons === 0) down.delete(e.pointerId); // let go elsewhere
      if (!down.has(e.pointerId)) {
        if (e.pointerType === "touch") return;
        cursor = timeAt(p, e.clientX);
        point();
        for (const q of pictures) say(q, cursor, "");
        return;
      }
      const before = down.get(e.pointerId);
      if (!moved && Math.abs(e.clientX - before) < 4) return;
      if (!moved) p.svg.setPointerCapture(e.pointerId);
      moved = true;
      const others = [...down].filter(([id]) => id !== e.pointerId).map(([, x]) => x);
      if (others.length) {
        const was = Math.abs(before - others[0]), is = Math.abs(e.clientX - others[0]);
        if (was > 5 && is > 5) zoom(was / is, timeAt(p, (e.clientX + others[0]) / 2));
      } else {
        const by = ((before - e.clientX) / width) * (view.to - view.from);
        show(view.from + by, view.to + by);
      }
      down.set(e.pointerId, e.clientX);
    });
    const up = (e) => {
      if (!down.delete(e.pointerId)) return;
      if (moved) remember();
    };
    p.svg.addEventListener("pointerup", up);
    p.svg.addEventListener("pointercancel", up);
    p.svg.addEventListener("wheel", (e) => {
      if (!e.ctrlKey && !e.shiftKey && Math.abs(e.deltaX) <= Math.abs(e.deltaY)) return;
      e.preventDefault();
      if (e.ctrlKey) zoom(e.deltaY > 0 ? 1.25 : 0.8, timeAt(p, e.clientX));
      else pan((e.deltaX || e.deltaY) / 1000);
      remember();
    }, { passive: false });
    p.svg.addEventListener("click", (e) => {
      if (moved || e.target.closest("a")) return;
      const el = e.target.closest("[data-e]"), id = el && p.id + "-e" + el.dataset.e;
      if (id) {
        location.hash = id;
        return;
      }
      pinned = cursor = timeAt(p, e.clientX);
      [moment, active] = [-1, p];
      point();
      markMoment();
      for (const q of pictures) say(q, cursor, "");
      remember();
    });
    p.svg.addEventListener("pointerleave", () => {
      if (down.size) return;
      cursor = pinned;
      point();
      if (cursor !== null) tell();
    });

    if (!p.strip) continue;
    p.strip.setAttribute("tabindex", "0");
    p.strip.setAttribute("role", "slider");
    p.strip.setAttribute("aria-valuemin", "0");
    p.strip.setAttribute("aria-valuemax", "100");
    let grip = null;
    const at = (e) => {
      const box = p.strip.getBoundingClientRect();
      return p.lo - p.from + Math.min(1, Math.max(0, (e.clientX - box.left) / box.width)) * (p.hi - p.lo);
    };
    const reach = () => ((p.hi - p.lo) / p.strip.getBoundingClientRect().width) * 8; // of an edge: 8 pixels
    p.strip.addEventListener("pointerdown", (e) => {
      const t = at(e), len = view.to - view.from;
      p.strip.setPointerCapture(e.pointerId);
      if (len > 4 * reach() && Math.abs(t - view.from) < reach()) grip = "from";
      else if (len > 4 * reach() && Math.abs(t - view.to) < reach()) grip = "to";
      else {
        if (t < view.from || t > view.to) show(t - len / 2, t + len / 2);
        grip = t - view.from;
      }
    });
    p.strip.addEventListener("pointermove", (e) => {
      if (grip === null) return;
      const t = at(e), len = view.to - view.from, least = reach();
      if (grip === "from") show(Math.min(t, view.to - least), view.to);
      else if (grip === "to") show(view.from, Math.max(t, view.from + least));
      else show(t - grip, t - grip + len);
    });
    const release = () => {
      if (grip === null) return;
      grip = null;
      remember();
    };
    p.strip.addEventListener("pointerup", release);
    p.strip.addEventListener("pointercancel", release);
  }

  // The address says what to show: a moment, an event, or a lane.
  const follow = () => {
    const where = location.hash.slice(1);
    const t = /^(v\d+)-t(\d+(?:\.\d+)?)?(?:,(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?))?$/.exec(where), event = /^(v\d+)-e\d+$/.exec(where);
    const p = pictures.find((q) => q.id === (t ?? event)?.[1]);
    if (!p) return markMoment();
    active = p;
    const within = (at) => at >= p.lo - p.from && at <= p.hi - p.from;
    if (event) {
      const row = document.getElementById(where);
      if (!row?.dataset.ns) return;
      cursor = Number(row.dataset.ns) - p.from;
    } else {
      const [at, from, to] = t.slice(2).map((text) => Math.round(Number(text) * 1e9) - p.from);
      cursor = t[2] && within(at) ? at : null;
      if (t[3] && from < to && within(from)) show(from, to);
      document.getElementById("picture").scrollIntoView();
    }
    pinned = cursor;
    if (cursor !== null && (cursor < view.from || cursor > view.to)) show(cursor - (view.to - view.from) / 2, cursor + (view.to - view.from) / 2);
    moment = moments.indexOf(cursor);
    if (cursor !== null) tell();
    else markMoment();
    redraw();
  };

  document.documentElement.classList.add("moves");
  readSteps();
  drawFixed();
  drawAll();
  follow();
  addEventListener("hashchange", follow);
  addEventListener("resize", () => { drawFixed(); redraw(); });
  // On paper the plot is as wide as the page leaves it: about this much.
  const paper = 860;
  addEventListener("beforeprint", () => { drawFixed(paper); drawAll(paper); });
  addEventListener("afterprint", () => { drawFixed(); drawAll(); });
  if (document.fonts) document.fonts.ready.then(() => { widths.clear(); drawFixed(); redraw(); });
  Promise.all(pictures.map((p) => p.more())).then(() => {
    for (const p of pictures) p.order();
    readSteps();
    drawAll();
    follow();
    document.documentElement.classList.add("complete");
  });
})();
