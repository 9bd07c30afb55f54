// The address is the experiment: #yaml=...&seed=...&variant=...&view=0.1-2.5, where yaml is deflated and in base64url.
// Or #scenario=gc-pause for one that sim ships. It may come from anybody, so it is bounded.

const longestAddress = 100_000, longestText = 300_000; // characters, bytes

const squeeze = async (text) => {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let raw = "";
  for (const b of bytes) raw += String.fromCharCode(b);
  return btoa(raw).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
};

const unsqueeze = async (text) => {
  const raw = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(raw, (c) => c.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const parts = [];
  for (let size = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    if ((size += value.length) > longestText) {
      await reader.cancel();
      throw new Error(`the scenario is longer than ${longestText} bytes`);
    }
    parts.push(value);
  }
  return new TextDecoder("utf-8", { fatal: true }).decode(await new Blob(parts).arrayBuffer());
};

const writeAddress = async (state) => {
  const q = new URLSearchParams({ yaml: await squeeze(state.yaml), seed: state.seed });
  if (state.variant) q.set("variant", state.variant);
  if (state.window) q.set("view", state.window.map((ns) => short(ns / 1e9)).join("-"));
  return "#" + q;
};

// readAddress is what an address says; undefined: nothing.
const readAddress = async (hash) => {
  if (hash.length < 2) return undefined;
  if (hash.length > longestAddress) throw new Error(`the address is longer than ${longestAddress} characters`);
  const q = new URLSearchParams(hash.slice(1));
  const out = { scenario: q.get("scenario") ?? undefined, variant: q.get("variant") ?? "" };
  if (!q.has("yaml") && !out.scenario) return undefined;
  if (q.has("yaml")) {
    try {
      out.yaml = await unsqueeze(q.get("yaml"));
    } catch (e) {
      throw new Error(`the address has no whole scenario in it: ${e.message}`);
    }
  }
  if (/^[0-9]{1,20}$/.test(q.get("seed") ?? "")) out.seed = q.get("seed");
  const view = /^([0-9]+(?:\.[0-9]+)?)-([0-9]+(?:\.[0-9]+)?)$/.exec(q.get("view") ?? "");
  if (view && Number(view[1]) < Number(view[2]) && Number(view[2]) < 1e5) out.window = [Math.round(view[1] * 1e9), Math.round(view[2] * 1e9)];
  return out;
};
