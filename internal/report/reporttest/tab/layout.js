(() => {
  const out = [], px = (n) => Math.round(n) + " px";
  const say = (what, text) => out.push(`${what}: ${text.trim().slice(0, 60)}`);
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) out.push(`the document is ${px(root.scrollWidth)} wide in a window of ${px(root.clientWidth)}`);
  for (const el of document.querySelectorAll("body *")) {
    if (el.tagName !== "TEXTAREA" && el.scrollWidth > el.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(el).overflowX)) say(`scrolls sideways by ${px(el.scrollWidth - el.clientWidth)}`, el.className + " " + el.textContent);
  }

  const seen = (el) => {
    if (!el.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true })) return false;
    for (; el; el = el.parentElement) if (getComputedStyle(el).clipPath !== "none") return false;
    return true;
  };
  const texts = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) if (walker.currentNode.data.trim() && seen(walker.currentNode.parentElement)) texts.push(walker.currentNode);

  // clipped: none of a box can be seen, because something around it cuts it off.
  const clipped = (el, box) => {
    for (; el && el !== document.body; el = el.parentElement) {
      if (getComputedStyle(el).overflowY === "visible") continue;
      const r = el.getBoundingClientRect();
      if (box.bottom <= r.top + 1 || box.top >= r.bottom - 1 || box.right <= r.left + 1 || box.left >= r.right - 1) return true;
    }
    return false;
  };

  // A word may end its line at a hyphen, a slash or an underscore of its own, and nowhere else. Chinese may at any character.
  const range = document.createRange(), boxes = [];
  for (const node of texts) {
    for (const word of node.data.matchAll(/[^\s\-/_\p{Script=Han}\u3000-\u303f\uff00-\uffef]+/gu)) {
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      if ([...range.getClientRects()].filter((r) => r.width > 0).length > 1) say("broken word", word[0] + " in " + node.data);
    }
    range.selectNodeContents(node);
    for (const r of range.getClientRects()) if (r.width > 0 && !clipped(node.parentElement, r)) boxes.push({ node, top: r.top, bottom: r.bottom, left: r.left, right: r.right });
  }

  boxes.sort((a, b) => a.top - b.top);
  boxes.forEach((a, i) => {
    for (let j = i + 1; j < boxes.length && boxes[j].top < a.bottom; j++) {
      const b = boxes[j], high = Math.min(a.bottom, b.bottom) - b.top, wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      if (a.node !== b.node && wide > 1 && high > 0.25 * Math.min(a.bottom - a.top, b.bottom - b.top)) say(`overlap by ${px(wide)} x ${px(high)}`, a.node.data.trim().slice(0, 25) + " | " + b.node.data);
    }
  });

  const colour = (text, opacity = 1) => {
    const n = /^rgba?\((.*)\)$/.exec(text)?.[1].split(",").map(Number);
    if (!n) throw new Error("a colour of another form: " + text);
    return { rgb: n.slice(0, 3), a: (n[3] ?? 1) * opacity };
  };
  const on = (over, under) => under.map((u, i) => over.rgb[i] * over.a + u * (1 - over.a));
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => { const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const tints = [...document.querySelectorAll("svg rect")].map((el) => ({ el, box: el.getBoundingClientRect(), style: getComputedStyle(el) })).filter(({ style }) => style.fill.startsWith("rgb"));
  // ground is what stands behind an element, or behind the middle of its text.
  const ground = (el, x, y) => {
    const layers = [];
    for (let e = el; e; e = e.parentElement) {
      layers.unshift(colour(getComputedStyle(e).backgroundColor));
    }
    for (const { el: rect, box, style } of tints) {
      if (x > box.left && x < box.right && y > box.top && y < box.bottom && rect.compareDocumentPosition(el) & Node.DOCUMENT_POSITION_FOLLOWING) layers.push(colour(style.fill, Number(style.fillOpacity)));
    }
    return layers.reduce((under, layer) => on(layer, under), [255, 255, 255]);
  };
  const contrast = (ink, behind, text) => {
    const got = ratio(on(colour(ink), behind), behind);
    if (got < 4.5) say(`contrast of ${got.toFixed(2)}`, text);
  };
  for (const { node, left, right, top, bottom } of boxes) {
    const el = node.parentElement, style = getComputedStyle(el), drawn = el instanceof SVGElement;
    // Some labels are drawn upon an edge of their own, which covers what is behind them.
    const edge = drawn && style.paintOrder.startsWith("stroke") && style.stroke.startsWith("rgb") && parseFloat(style.strokeWidth) >= 2;
    contrast(drawn ? style.fill : style.color, edge ? colour(style.stroke).rgb : ground(el, (left + right) / 2, (top + bottom) / 2), node.data);
  }
  for (const el of [...document.querySelectorAll("input, select")].filter(seen)) {
    contrast(getComputedStyle(el).color, ground(el), el.name);
    if (el.placeholder) contrast(getComputedStyle(el, "::placeholder").color, ground(el), el.placeholder);
  }
  return out;
})()
