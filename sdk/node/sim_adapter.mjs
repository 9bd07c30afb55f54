// Makes a lock program of a lock library: a program that redlock-sim puts on trial.
//
// It speaks version 1 of the protocol for lock programs, JSON lines on standard input and
// output. One file, standard library, Node.js 18 or later. The library stays as it is.
// Import this file first: from then on what is printed goes to standard error.
//
//     import { Grant, Refused, serve } from './sim_adapter.mjs'
//
//     serve({ name: 'mylock', version: '1.0', kind: 'single', keys: ['{key}'] }, async (setup) => {
//       const client = await mylock.connect(setup.nodes[0].host, setup.nodes[0].port)
//       return async (wait) => {
//         const lock = await client.lock(setup.key, setup.ttl, { wait })
//         if (!lock) throw new Refused('taken')
//         return new Grant({ release: () => lock.unlock() })
//       }
//     })
import fs from 'node:fs'
import net from 'node:net'
import v8 from 'node:v8'
import vm from 'node:vm'

const MAX_LINE = 1 << 20
const BACKLOG = 1024 // lines that wait to be written
const GRACE = 500 // ms to write the last ones

/** The lock is certainly not held, and nothing of the attempt stays; from release and extend:
 *  the lock was not ours any more. After any other error it may be held. */
export class Refused extends Error {
  name = 'Refused'
}

/** From openLock: the library refuses by design what setup asks for, such as this topology. A trial
 *  that needs it is then not applicable. */
export class Unsupported extends Error {
  name = 'Unsupported'
}

/** A lock in hand. What is left out: the library does not tell it, or cannot. release and extend
 *  may return promises. owner is a string or a Buffer, token an integer. until is the end of the
 *  promise as performance.now() tells it; extend returns the new one. lost and renewed are for
 *  the library to call, at any time. */
export class Grant {
  _early = [] // events before the answer

  constructor({ release, owner, until, extend, token }) {
    Object.assign(this, { release, owner, until, extend, token })
  }

  /** The library says that the lock is lost. */
  lost(why = '') {
    this._event(stamp({ type: 'lost', why: String(why) }))
  }

  /** The library has renewed the lock by itself. */
  renewed(until) {
    this._event(promise({ type: 'renewed' }, until))
  }

  _event(line) {
    if (this._id === undefined) this._early.push(line)
    else if (!this._ended) send({ ...line, grant: this._id })
  }
}

const out = takeOutput()
const grants = new Map() // not released
const waiting = new Map() // what goes on when a point is passed
const closers = [] // of what openLock opened
const acquires = new Map() // what openLock returned, for each client
let shared // what they share
let busy = 0 // ms
let [unwritten, points, ending] = [0, 0, false]

/** Keeps standard output for messages, and puts standard error in its place. Node cannot
 *  duplicate a descriptor, but open the same file or pipe once more. */
function takeOutput() {
  let fd = 1
  try {
    const [messages, errors] = [1, 2].map((n) => fs.openSync(`/proc/self/fd/${n}`, 'a'))
    fd = messages
    fs.closeSync(1)
    fs.openSync(`/proc/self/fd/${errors}`, 'a') // gets the lowest number that is free: 1
    fs.closeSync(errors)
  } catch { // it cannot be opened again: a socket, or another user's
    Object.defineProperty(process, 'stdout', { get: () => process.stderr })
  }
  const piped = fd !== 1 && fs.fstatSync(fd).isFIFO()
  const stream = piped ? new net.Socket({ fd, readable: false }) : fs.createWriteStream('', { fd })
  return stream.on('error', (err) => die(`failed to write: ${err.message}`))
}

/** Speaks with the simulator until standard input ends, and exits. program is { name, version,
 *  kind, keys, can, homepage, points, ttl_min_ms, ttl_step_ms, lease, about }: its class (quorum, single,
 *  session or other), patterns of what the library writes, a list of validity, renew, lost,
 *  extend, forget: then nothing but the library refers to a lock whose grant is dropped; token, owner, busy: then the event loop
 *  is kept busy after each grant for as long as the
 *  simulator asks, setup-again, no-ttl: a ttl of null is none, and one-object: where setup.oneObject is true, one lock object
 *  of the library is used for all grants, and permits: setup.permits is how many clients may hold the lock at once,
 *  modes: the lock has readers and writers, and with setup.shared the client is a reader, fair: it serves clients in the order in which they ask, and
 *  at-least: the lock stays for setup.atLeast, also if it is released before, wakes: a release wakes those who wait,
 *  and clients: the program can be several clients, each a task: openLock is called for each, and setup.once(make) is what they share; lease is 'ttl' if the key's value keeps the lease, and
 *  about one line: which lock, its client library, its timeouts and retries. openLock gets
 *  the setup, connects to the nodes, and returns a function that gets the lock once more: it takes
 *  the longest wait (undefined: no limit). Times are in ms. All functions may be async, and calls
 *  overlap: do not block the event loop.
 *
 *  A program that says setup-again lets the simulator use it for one trial after the other: openLock
 *  is called again, after what it has given to setup.onClose. Math.random begins anew each time;
 *  node:crypto cannot. */
export function serve(program, openLock) {
  let rest = Buffer.alloc(0)
  const take = (line) => {
    try {
      if (line.length > MAX_LINE) throw new Error('the line is too long')
      if (!ending) handle(program, openLock, line.toString())
    } catch (err) { // whatever it is, the simulator shall know
      fail(`failed to handle ${JSON.stringify(line.toString('utf8', 0, 200))}: ${err}`)
    }
  }
  process.on('uncaughtException', (err) => die(`not caught: ${err?.stack ?? err}`)) // as it would have ended without this SDK
  process.stdin.on('data', (bytes) => {
    rest = Buffer.concat([rest, bytes])
    for (let end; (end = rest.indexOf('\n')) >= 0; rest = rest.subarray(end + 1)) take(rest.subarray(0, end))
    if (rest.length > MAX_LINE) take(rest)
  })
  process.stdin.on('end', () => rest.length > 0 && take(rest)).on('end', () => exit(0))
}

function handle(program, openLock, text) {
  const m = JSON.parse(text)
  if (m.type === 'hello' && m.protocols.includes(1)) {
    const { kind, ...about } = program
    send({ type: 'ready', protocol: 1, clock: 'libc', class: kind, ...about })
  } else if (m.type === 'setup') {
    setUp(program, openLock, m, text).catch((err) => fail(`failed to open the lock: ${err?.stack ?? err}`))
  } else if (m.type === 'clocks') {
    send({ type: 'clocks', id: m.id, wall_ms: Date.now(), monotonic_ms: now() / 1e6 })
  } else if (m.type === 'go' && waiting.has(m.id)) {
    waiting.get(m.id)()
    waiting.delete(m.id)
  } else if (['release', 'extend', 'forget'].includes(m.type) || (m.type === 'acquire' && acquires.size > 0)) {
    const action = { acquire: get, release, extend, forget }[m.type]
    action(m).catch((err) => send({ type: err instanceof Refused ? 'refused' : 'unknown', id: m.id, why: String(err) }))
  } else {
    throw new Error('not known, or not in this place')
  }
}

async function setUp(program, openLock, m, text) {
  const { process: clients = [] } = m
  if (clients.indexOf(m.client) <= 0) { // it does not join others
    acquires.clear()
    shared = undefined
    grants.clear()
    while (closers.length > 0) await closers.pop()()
    if (program.can?.includes('setup-again')) beginRandom()
  }
  const once = (make) => (shared ??= make()) // what all clients of this process share: made by the first of them that asks
  const { client, topology, master, nodes = [], sentinels = [], points = [] } = m
  const { key, ttl_ms: ttl, node_timeout_ms: nodeTimeout, options = {}, permits = 1, mode, at_least_ms: atLeast = 0 } = m.lock
  busy = m.busy_ms ?? 0
  const oneObject = m.one_object ?? false
  let object
  const lockObject = (make) => (oneObject ? (object ??= make()) : make()) // what to ask with: as before, or a new one
  const seed = BigInt(/"seed"\s*:\s*(-?\d+)/.exec(text)?.[1] ?? 0) // JSON.parse rounds it
  const point = (name) => (points.includes(name) ? atPoint(name, client) : undefined)
  const onClose = (close) => closers.push(close) // calls it before the lock is opened again
  try {
    const acquire = await openLock({ client, seed, key, ttl, nodeTimeout, options, nodes, topology, sentinels, master, points, point, onClose,
      oneObject, lockObject, permits, shared: mode === 'shared', atLeast, process: clients, once })
    acquires.set(client, acquire)
  } catch (err) {
    if (!(err instanceof Unsupported)) throw err
    return send({ type: 'unsupported', why: err.message })
  }
  send({ type: 'set-up' })
}

/** Has Math.random begin anew: what a library draws does not depend on what was drawn before. The
 *  engine's own generator cannot be seeded again, so this is another: sfc32, by Chris Doty-Humphrey. */
function beginRandom() {
  const bytes = Buffer.alloc(16)
  const source = fs.openSync('/dev/urandom')
  fs.readSync(source, bytes)
  fs.closeSync(source)
  const s = new Uint32Array(bytes.buffer)
  const next = () => {
    const drawn = (s[0] + s[1] + s[3]++) >>> 0
    s[0] = s[1] ^ (s[1] >>> 9)
    s[1] = s[2] + (s[2] << 3)
    s[2] = ((s[2] << 21) | (s[2] >>> 11)) + drawn
    return drawn
  }
  Math.random = () => (next() * 2 ** 21 + (next() >>> 11)) / 2 ** 53
}

async function get(m) {
  const acquire = acquires.get(m.client) ?? acquires.values().next().value
  const grant = await acquire(m.wait_ms)
  const line = promise({ type: 'acquired', id: m.id }, grant.until)
  if (grant.owner != null) line.owner_b64 = Buffer.from(grant.owner).toString('base64')
  if (grant.token != null) line.token = Number(grant.token)
  grants.set(m.id, grant)
  grant._id = m.id
  send(line, () => busy > 0 && setImmediate(compute))
  for (const event of grant._early) send({ ...event, grant: m.id })
}

/** Keeps the event loop busy, as the user's code would that computes. */
function compute() {
  for (const until = performance.now() + busy; performance.now() < until; );
}

function held(m) {
  if (!grants.has(m.grant)) throw new Refused(`grant ${m.grant} is not held`)
  return grants.get(m.grant)
}

async function release(m) {
  const grant = held(m)
  grant._ended = grants.delete(m.grant) // whatever comes of it
  await grant.release()
  send({ type: 'released', id: m.id })
}

async function extend(m) {
  const grant = held(m)
  if (!grant.extend) return fail('this lock cannot extend')
  send(promise({ type: 'extended', id: m.id }, await grant.extend()))
}

/** Drops the grant and all that refers to it, and collects garbage, once this turn of the event loop is over. */
async function forget(m) {
  held(m)._ended = grants.delete(m.grant)
  await new Promise((done) => setImmediate(done))
  v8.setFlagsFromString('--expose-gc')
  vm.runInNewContext('gc')()
  await new Promise((done) => setImmediate(done)) // finalizers come after it
  send({ type: 'forgotten', id: m.id })
}

function atPoint(name, client) {
  send({ type: 'point', id: ++points, client, name })
  return new Promise((passed) => waiting.set(points, passed))
}

/** Adds how long a promise still lasts. Reads the machine's clock first: a pause between the
 *  two readings may shorten the promise, and never makes it longer. */
function promise(line, until) {
  return until == null ? line : Object.assign(stamp(line), { validity_ms: until - performance.now() })
}

/** CLOCK_MONOTONIC in ns. A number holds it exactly for 104 days since the machine's start. */
const now = () => Number(process.hrtime.bigint())
const stamp = (line) => Object.assign(line, { at_ns: now() })

/** Does not wait: the library must not stand still because nobody reads. */
function send(line, written = () => {}) {
  if (ending) return
  if (++unwritten > BACKLOG) die(`${BACKLOG} lines wait to be read`)
  out.write(JSON.stringify(line) + '\n', () => {
    unwritten--
    written()
  })
}

function die(why) {
  console.error('lock program:', why)
  process.exit(1)
}

function fail(why) {
  console.error('lock program:', why)
  send({ type: 'error', why })
  exit(1)
}

function exit(code) {
  ending = true
  out.end(() => process.exit(code))
  setTimeout(() => process.exit(code), GRACE)
}
