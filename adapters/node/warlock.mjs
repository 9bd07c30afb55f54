#!/usr/bin/env node
// The lock program of node-redis-warlock, over node-redis 3.
import { Grant, Refused, Unsupported, serve } from '../../sdk/node/sim_adapter.mjs'
import { load, versionOf } from './libraries.mjs'
import { readFileSync } from 'node:fs'

const redis = load('redis-3')
const Warlock = load('node-redis-warlock')
const BETWEEN = 50 // ms between two tries

async function openLock({ key, ttl, onClose, nodes: [{ host, port, username, password, tls }, ...others] }) {
  if (others.length > 0) throw new Unsupported('it locks on one node')
  const secure = tls && { tls: { servername: tls.server_name, ca: readFileSync(tls.ca) } }
  const client = redis.createClient({ host, port, ...username && { user: username }, ...password && { password }, ...secure })
  client.on('error', (err) => console.error('node-redis:', err.message))
  onClose(() => client.end(false))
  const warlock = Warlock(client)
  // node-redis sends no command twice, so what a node said is sure. It waits for an answer as long as the connection stands.
  return (wait = 86_400_000) => new Promise((resolve, reject) => {
    warlock.optimistic(key, Math.round(ttl), Math.max(1, Math.ceil(wait / BETWEEN)), BETWEEN, (err, unlock) => {
      if (err) return reject(err.maxAttempts ? new Refused(err.message) : err)
      const release = () => new Promise((done, failed) => {
        unlock((err, count) => count === 1 ? done() : failed(count === 0 ? new Refused('not ours any more') : err ?? new Error('it does not say')))
      })
      resolve(new Grant({ release }))
    })
  })
}

serve({ name: 'node-redis-warlock', version: versionOf('node-redis-warlock'), kind: 'single', keys: ['{key}:lock'], can: ['setup-again'],
  homepage: 'https://github.com/thedeveloper/warlock', about: 'optimistic; node-redis 3 with its defaults, no timeout for an answer' }, openLock)
