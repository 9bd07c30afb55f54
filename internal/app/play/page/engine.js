// What the page asks of the engine, which runs in a worker.

// A computation that does not answer for so long is ended: a stranger's scenario may run for ever.
const longestAnswer = 30_000; // ms

class Engine {
  constructor(options) {
    this.options = options;
    this.next = 0;
    this.asked = new Map();
  }

  // packed is the compressed engine: text in base64 where it is a part of the page, else what lies beside the page.
  static async packed(options, loading) {
    if (options.packed) return options.packed;
    const answer = await fetch(options.wasm, { credentials: "same-origin" });
    if (!answer.ok) throw new Error(`failed to load the engine: ${answer.status} ${answer.statusText}`);
    const all = Number(answer.headers.get("content-length")), parts = [];
    let got = 0;
    for (const from = answer.body.getReader(); ;) {
      const { done, value } = await from.read();
      if (done) break;
      parts.push(value);
      got += value.length;
      const share = all > 0 ? Math.min(1, got / all) : undefined;
      loading?.(`Loading the engine: ${(got / 1e6).toFixed(1)}${all > 0 ? ` of ${(all / 1e6).toFixed(1)}` : ""} MB`, share);
    }
    return new Uint8Array(await new Blob(parts).arrayBuffer());
  }

  start() {
    if (this.worker) return this.ready;
    const url = URL.createObjectURL(new Blob([workerCode], { type: "text/javascript" }));
    const worker = (this.worker = new Worker(url));
    this.ready = new Promise((resolve, reject) => {
      worker.onerror = (e) => this.end(new Error(e.message || "the worker did not start"), reject);
      worker.onmessage = ({ data }) => {
        const value = JSON.parse(data.text);
        const one = this.asked.get(data.id);
        switch (data.kind) {
          case "ready":
            URL.revokeObjectURL(url);
            if (value !== this.options.stamp) return this.end(new Error(`the engine was built from other sources (${value || "unknown"}) than the page (${this.options.stamp})`), reject);
            return resolve();
          case "stage": return this.loading?.(value);
          case "dead": return this.end(new Error(value), reject);
          case "progress": return one?.progress?.(value);
          case "error":
          case "answer":
            this.asked.delete(data.id);
            clearTimeout(one?.timer);
            return data.kind === "answer" ? one?.resolve(value) : one?.reject(new Error(value));
        }
      };
    });
    Engine.packed(this.options, this.loading).then((packed) => worker.postMessage({ packed }), (e) => this.end(e));
    this.ready.catch(() => {});
    return this.ready;
  }

  // end gives the worker up; the next question starts another one.
  end(why, reject) {
    this.worker?.terminate();
    this.worker = undefined;
    reject?.(why);
    for (const one of this.asked.values()) {
      clearTimeout(one.timer);
      one.reject(why);
    }
    this.asked.clear();
  }

  async ask(method, request, progress) {
    await this.start();
    const id = ++this.next;
    return new Promise((resolve, reject) => {
      const timer = progress || method === "offer" ? 0 : setTimeout(() => this.end(new Error(`no answer within ${longestAnswer / 1000} s: the run is too long for this page`)), longestAnswer);
      this.asked.set(id, { resolve, reject, progress, timer });
      this.worker.postMessage({ id, method, text: JSON.stringify(request) });
    });
  }

  cancel() {
    this.worker?.postMessage({ id: 0, method: "cancel", text: "" });
  }
}
