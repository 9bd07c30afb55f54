#!/usr/bin/env node
// The lock program of node-redis-warlock. Its argument is the folder where npm has put it.
import { Grant, Refused, serve } from '../../sdk/node/sim_adapter.mjs'
import { createRequire } from 'node:module'

const require = createRequire(process.argv[2] + '/')
const redis = require('redis')
const Warlock = require('node-redis-warlock')
const { version } = require('node-redis-warlock/package.json')
const hashes = version.startsWith('0.0.') // the name, for its key
const BETWEEN = 50 // ms, between two tries

const promised = (begin) => new Promise((done, failed) => begin((err, value) => err ? failed(err) : done(value)))

async function openLock({ key, ttl, nodes: [{ host, port }] }) {
  const client = redis.createClient(port, host)
  client.on('error', (err) => console.error('redis:', err.message))
  const warlock = Warlock(client)
  return async (wait = Infinity) => {
    const end = performance.now() + wait
    for (;;) {
      const unlock = await promised((done) => warlock.lock(key, Math.round(ttl), done))
      if (unlock) return new Grant({ release: () => release(unlock) })
      if (performance.now() + BETWEEN > end) throw new Refused('taken')
      await new Promise((done) => setTimeout(done, BETWEEN))
    }
  }
}

async function release(unlock) {
  if (await promised(unlock) !== 1) throw new Refused('not ours any more')
}

serve({ name: 'node-redis-warlock', version, kind: 'single', keys: [hashes ? 'lock:*' : '{key}:lock'],
  homepage: 'https://github.com/TheDeveloper/warlock' }, openLock)
