// Small parts of the page: elements, durations, and where the schema says what.

const svgSpace = "http://www.w3.org/2000/svg";

// el makes an element. All text is text: nothing is read as HTML.
const el = (tag, attrs = {}, ...inner) => {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attrs)) {
    if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else if (v === true) e.setAttribute(k, "");
    else if (v !== false && v !== undefined && v !== null) e.setAttribute(k, v);
  }
  e.append(...inner.filter((x) => x !== null && x !== undefined && x !== false));
  return e;
};

// Durations are those of Go: 1m30s, 1.5s, 250ms. Here they are ns.
const units = { ns: 1, us: 1e3, "µs": 1e3, ms: 1e6, s: 1e9, m: 6e10, h: 3.6e12 };
const parseDuration = (text) => {
  if (/^0$/.test(text)) return 0;
  let ns = 0, rest = String(text ?? "");
  if (!rest) return NaN;
  while (rest) {
    const m = /^([0-9]+(?:\.[0-9]*)?)(ns|us|µs|ms|s|m|h)/.exec(rest);
    if (!m) return NaN;
    ns += Number(m[1]) * units[m[2]];
    rest = rest.slice(m[0].length);
  }
  return ns;
};
const short = (n) => String(Number(n.toPrecision(12)));
const formatDuration = (ns) => {
  ns = Math.round(ns);
  if (ns === 0) return "0s";
  if (ns < 1e3) return ns + "ns";
  if (ns < 1e6) return short(ns / 1e3) + "us";
  if (ns < 1e9) return short(ns / 1e6) + "ms";
  return short(ns / 1e9) + "s";
};
const seconds = (ns) => (ns / 1e9).toFixed(3) + " s";

// niceStep is 1, 2 or 5 times a power of ten, at least n.
const niceStep = (n) => {
  let p = 1;
  for (;;) for (const m of [1, 2, 5]) {
    if (m * p >= n) return m * p;
    if (m === 5) p *= 10;
  }
};

// A logarithmic slider has so many steps from its least to its most.
const sliderSteps = 400;
const onScale = (value, low, high) => Math.round((Math.log(Math.min(Math.max(value, low), high) / low) / Math.log(high / low)) * sliderSteps);
const offScale = (at, low, high) => {
  const value = low * Math.pow(high / low, at / sliderSteps);
  const digit = Math.pow(10, Math.floor(Math.log10(value)) - 1);
  return Math.round(value / digit) * digit;
};

// resolve follows what a schema refers to, and what it wraps.
const resolved = (s) => {
  for (let i = 0; s && i < 10; i++) {
    if (s.$ref) s = schema.$defs[s.$ref.replace("#/$defs/", "")];
    else if (s.allOf && !s.properties) s = s.allOf[0];
    else break;
  }
  return s;
};
const isDuration = (s) => s?.type === "string" && typeof s.pattern === "string" && s.pattern.includes("(ns|us|µs|ms|s|m|h))+");
const describe = (s) => s?.description ?? "";

// schemaAt is the schema of what is at a path of a scenario.
const schemaAt = (path) => {
  let s = schema;
  for (const step of path) {
    s = resolved(s);
    if (!s) return undefined;
    if (s.anyOf && !s.properties) s = resolved(typeof step === "number" ? s.anyOf.map(resolved).find((o) => o.type === "array") : s.anyOf.map(resolved).find((o) => o.type === "object" || o.properties)) ?? s;
    if (typeof step === "number") s = s.items;
    else s = s.properties?.[step] ?? Object.values(s.patternProperties ?? {})[0] ?? (typeof s.additionalProperties === "object" ? s.additionalProperties : undefined);
  }
  return resolved(s);
};

const get = (tree, path) => path.reduce((t, step) => (t === null || t === undefined ? undefined : t[step]), tree);
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
