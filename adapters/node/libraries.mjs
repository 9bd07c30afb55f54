// What the lock programs of this folder share: where their libraries are, and clients of ioredis.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Unsupported } from '../../sdk/node/sim_adapter.mjs'

// A folder as the first argument has libraries in other versions.
const folder = process.argv[2]?.startsWith('/') ? process.argv[2] : fileURLToPath(new URL('../../.cache/libraries/node', import.meta.url))
const require = createRequire(folder + '/')

/** Takes a library. Without it the program says how to get it, and ends. */
export function load(name) {
  try {
    return require(name)
  } catch (err) {
    if (err.code !== 'MODULE_NOT_FOUND') throw err
    console.error(`${name} is not in ${folder}: make libraries`)
    process.exit(1)
  }
}

/** The version of a library, as its package says. */
export const versionOf = (name) => JSON.parse(readFileSync(`${folder}/node_modules/${name}/package.json`)).version.replace(/^v/, '')

/** The class of ioredis 5. It reads its own package at the first connection. Here it has done that before the first trial. */
export async function ioredis() {
  await load('ioredis/built/utils').getPackageMeta?.() // ioredis 4 does not
  return load('ioredis')
}

export const has = (flag) => process.argv.includes(flag)
export const tuned = has('--tuned')

/** What is said of ioredis. */
export const aboutClients = tuned ? 'ioredis obeys the node timeout, also for a silent connection, and sends nothing twice' : 'ioredis with its defaults'

/** Refuses a setup with several independent nodes. */
export function oneStore({ nodes, topology }) {
  if (nodes.length > 1 && topology !== 'cluster') throw new Unsupported('it locks on one node')
}

function open(Redis, { nodes, topology, sentinels, master }, options) {
  if (sentinels.length > 0) return [new Redis({ sentinels: sentinels.map(({ host, port }) => ({ host, port })), name: master, ...options })]
  if (topology === 'cluster') return [new Redis.Cluster(nodes.map(({ host, port }) => ({ host, port })), { redisOptions: options })]
  return nodes.map(({ host, port, username, password, tls }) => {
    const secure = tls && { tls: { servername: tls.server_name, ca: readFileSync(tls.ca) } }
    return new Redis({ host, port, username: username || undefined, password: password || undefined, ...secure, ...options })
  })
}

/** Clients of ioredis for the nodes, one for the primary that sentinels name, or one for a cluster, and calm(begin()). With --tuned a command
 *  that got no answer within the node timeout has failed, the connection with it, and nothing is sent twice. */
export function connect(Redis, setup, patience = Infinity) {
  let troubles = 0
  const limit = setup.nodeTimeout || undefined
  const options = tuned && { commandTimeout: limit, connectTimeout: limit, socketTimeout: limit, maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false }
  const clients = open(Redis, setup, options)
  for (const client of clients) {
    client.on('error', (err) => console.error('ioredis:', err.message)).on('close', () => troubles++)
    client.on('+node', (node) => node.on('close', () => troubles++)) // of a cluster
    const send = client.sendCommand
    client.sendCommand = function (command, ...more) {
      const begin = performance.now()
      command.promise.then(() => performance.now() - begin < patience || troubles++, (err) => /^NOSCRIPT/.test(err.message) || troubles++)
      return send.call(this, command, ...more)
    }
    setup.onClose(() => client.status === 'end' || new Promise((done) => client.once('end', done).disconnect()))
  }
  const waits = (client) => (client.commandQueue?.length ?? 0) + client.offlineQueue.length > 0
  const pending = () => clients.some((c) => waits(c) || (c.nodes?.() ?? []).some(waits))
  /** Whether since begin each command was answered, in time, and no connection broke: ioredis sends a command again whose answer did not
   *  come, and most libraries do not tell an error of a client from a no. What is still to be answered gets a few milliseconds: redlock 5
   *  goes on at the majority's answers. */
  const calm = async (begin) => {
    for (let waited = 0; waited < 20 && pending(); waited++) await sleep(1)
    return begin === troubles && !pending()
  }
  return { clients, begin: () => troubles, calm }
}

/** The instant of performance.now that Date.now calls expiration. */
export const until = (expiration) => performance.now() + expiration - Date.now()
