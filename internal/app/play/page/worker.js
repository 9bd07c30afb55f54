// The worker of the playground: it holds the engine, so that the page never waits for it. wasm_exec.js, which belongs
// to the Go that built the engine, stands before this.
"use strict";
self.simPost = (id, kind, text) => postMessage({ id, kind, text });
self.simReady = (stamp) => postMessage({ kind: "ready", text: JSON.stringify(stamp) });

const fromBase64 = (text) => {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text), bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
};

const stage = (words) => postMessage({ kind: "stage", text: JSON.stringify(words) });

const start = async (packed) => {
  stage("Unpacking the engine …");
  const bytes = typeof packed === "string" ? fromBase64(packed.trim()) : packed;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const go = new self.Go();
  stage("Starting the engine …");
  const { instance } = await WebAssembly.instantiate(await new Response(stream).arrayBuffer(), go.importObject);
  await go.run(instance);
  throw new Error("the engine has ended");
};

onmessage = ({ data }) => {
  if (data.packed !== undefined) {
    start(data.packed).catch((e) => postMessage({ kind: "dead", text: JSON.stringify(String(e.message ?? e)) }));
    return;
  }
  self.simEngine(data.id, data.method, data.text);
};
