#!/usr/bin/env node
// The lock program of redis-lock, over node-redis 4.
import { Grant, Unsupported, serve } from '../../sdk/node/sim_adapter.mjs'
import { load, versionOf } from './libraries.mjs'
import { readFileSync } from 'node:fs'

const { createClient } = load('redis-4')
const redisLock = load('redis-lock')

async function openLock({ key, ttl, onClose, nodes: [{ host, port, username, password, tls }, ...others] }) {
  if (others.length > 0) throw new Unsupported('it locks on one node')
  const secure = tls && { tls: true, servername: tls.server_name, ca: readFileSync(tls.ca) }
  const client = createClient({ socket: { host, port, ...secure }, username: username || undefined, password: password || undefined })
  client.on('error', (err) => console.error('node-redis:', err.message))
  client.connect()
  await new Promise((done) => client.once('ready', done).once('error', done))
  onClose(() => client.disconnect())
  const lock = redisLock(client)
  // It asks for ever. Who stops waiting gives back what it gets after that.
  return (wait = 86_400_000) => new Promise((resolve, reject) => {
    let over = false
    const timer = setTimeout(() => { over = true; reject(new Error('not yet')) }, wait)
    lock(key, Math.round(ttl)).then((release) => {
      clearTimeout(timer)
      if (over) return release().catch(() => {})
      resolve(new Grant({ release }))
    }, reject)
  })
}

serve({ name: 'redis-lock', version: versionOf('redis-lock'), kind: 'single', keys: ['lock.{key}'], can: [], homepage: 'https://github.com/errorception/redis-lock',
  about: 'node-redis 4 with its defaults, no timeout for an answer' }, openLock)
