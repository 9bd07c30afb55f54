// Tries lock_log.mjs: node try.mjs correct|broken|many|nowhere FILE, or measure FILE.
import { setTimeout as sleep } from "node:timers/promises";
import { isMainThread, Worker, workerData } from "node:worker_threads";
import { LockLog } from "../../node/lock_log.mjs";

const [what, path] = isMainThread ? process.argv.slice(2) : workerData;
const log = new LockLog(path, { host: "web-1" });

async function use(hold) {
  hold.granted({ owner: 'o"\n\u00e9', ttl: 10000, token: 7 });
  let began = log.now();
  await sleep(3);
  hold.writeDone(began, 7);
  began = log.now();
  hold.renewed(began, { ttl: 10000 });
}

const holds = () => [log.ask("orders"), log.ask("orders")];
if (what === "correct") {
  const [first, second] = holds();
  await use(first);
  first.releasing();
  first.released();
  await sleep(3);
  second.granted({ owner: "p", ttl: 10000, token: 8 });
  second.releasing();
  second.releasedInVain();
} else if (what === "broken") {
  const [first, second] = holds();
  await use(first);
  second.granted({ owner: "p", ttl: 10000, token: 6 });
  await sleep(3);
  for (const h of [first, second]) {
    h.releasing();
    h.released();
  }
} else if (what === "many") {
  if (isMainThread) for (let i = 0; i < 3; i++) new Worker(new URL(import.meta.url), { workerData: [what, path] });
  for (let i = 0; i < 1000; i++) log.ask("orders").notGranted();
  log.flush();
} else if (what === "nowhere") {
  log.ask("orders").lost();
  log.flush();
  console.log(log.dropped);
} else if (what === "measure") {
  const hold = log.ask("orders");
  const n = 200_000;
  let took = 0;
  for (const count of [n / 10, n]) {
    const began = performance.now();
    for (let i = 0; i < count; i++) hold.granted({ owner: "0123456789abcdef", ttl: 10000, token: 7 });
    took = performance.now() - began;
  }
  console.log(((took / n) * 1000).toFixed(2));
}
