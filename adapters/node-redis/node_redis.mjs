#!/usr/bin/env -S NODE_PATH=/usr/share/nodejs /usr/bin/node
// The lock program of a lock that users of node-redis write by hand: SET with NX and PX, and a
// script that deletes the key if it has the holder's value.
import { Grant, Refused, Unsupported, serve } from '../../sdk/node/sim_adapter.mjs'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'

const require = createRequire(import.meta.url) // an import does not look into NODE_PATH
const { createClient, createCluster } = require('redis')

const BETWEEN = 50 // ms between two tries
const RELEASE = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0'

function open({ topology, nodes: [{ host, port, username, password, tls }, ...others], nodes }) {
  if (topology === 'cluster') return createCluster({ rootNodes: nodes.map(({ host, port }) => ({ socket: { host, port } })) })
  if (others.length > 0) throw new Unsupported('it locks on one node')
  const secure = tls && { tls: true, servername: tls.server_name, ca: readFileSync(tls.ca) }
  return createClient({ socket: { host, port, ...secure }, username: username || undefined, password: password || undefined })
}

async function openLock({ key, ttl, onClose, ...where }) {
  const client = open(where)
  client.on('error', (err) => console.error('node-redis:', err))
  // A client of one node never gives up, and its commands wait until it is connected. That of a cluster gives up if it reaches no node.
  const connecting = client.connect()
  if (where.topology === 'cluster') await connecting
  else await new Promise((done) => client.once('ready', done).once('error', done))
  onClose(() => client.disconnect())

  return async (wait = Infinity) => {
    const end = performance.now() + wait
    const owner = randomUUID()
    // No command is sent twice: if its connection is lost, it fails. Without a reply it waits for ever.
    while ((await client.set(key, owner, { NX: true, PX: ttl })) !== 'OK') {
      if (performance.now() + BETWEEN > end) throw new Refused('taken')
      await sleep(BETWEEN)
    }
    const release = async () => {
      if ((await client.eval(RELEASE, { keys: [key], arguments: [owner] })) !== 1) throw new Refused('not ours any more')
    }
    return new Grant({ release, owner })
  }
}

serve({ name: 'node-redis, by hand', version: require('redis/package.json').version, kind: 'single', keys: ['{key}'],
  can: ['owner', 'cluster', 'setup-again'], homepage: 'https://github.com/redis/node-redis',
  about: 'SET NX PX and EVAL; client node-redis, no timeout for a reply, no command is sent twice' }, openLock)
