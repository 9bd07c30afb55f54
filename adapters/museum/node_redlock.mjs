#!/usr/bin/env node
// The lock program of redlock for Node.js before version 3. Its argument is the folder where npm has put it.
import { Grant, Refused, serve } from '../../sdk/node/sim_adapter.mjs'
import { createRequire } from 'node:module'

const require = createRequire(process.argv[2] + '/')
const Redis = require('ioredis')
const Redlock = require('redlock')
const { version } = require('redlock/package.json')
const callbacks = version.startsWith('0.') // later there are promises

const promised = (begin) => callbacks ? new Promise((done, failed) => begin((err, value) => err ? failed(err) : done(value))) : begin()
const until = (expiration) => performance.now() + expiration - Date.now()

async function openLock({ key, ttl, nodeTimeout, nodes }) {
  let troubles = 0
  const clients = nodes.map(({ host, port }) => {
    // A node that is dead counts as a no after the node timeout, and nothing is sent twice.
    const client = new Redis({ host, port, commandTimeout: nodeTimeout || undefined, maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false })
    client.on('error', (err) => console.error('ioredis:', err.message))
    client.on('close', () => troubles++)
    return client
  })
  const options = { retryCount: 0 } // how often it tries again is ours
  const redlock = version.startsWith('0.2') ? new Redlock(options, ...clients) : new Redlock(clients, options)
  redlock.on?.('clientError', () => troubles++)
  const attempt = async (what, frees) => {
    const before = troubles
    try {
      return await what()
    } catch (err) {
      throw err.name === 'LockError' && (frees || troubles === before) ? new Refused(err.message) : err
    }
  }
  return async (wait = Infinity) => {
    const end = performance.now() + wait
    for (;;) {
      try {
        const lock = await attempt(() => promised((done) => redlock.lock(key, Math.round(ttl), done)))
        // Whatever an extension fails of, it has unlocked.
        const extend = () => attempt(async () => until((await promised((done) => lock.extend(Math.round(ttl), done))).expiration), true)
        const release = () => attempt(() => promised((done) => lock.unlock(done)))
        return new Grant({ release, extend, owner: lock.value, until: until(lock.expiration) })
      } catch (err) {
        if (!(err instanceof Refused) || performance.now() + 200 > end) throw err
      }
      await new Promise((done) => setTimeout(done, 100 + Math.random() * 100))
    }
  }
}

serve({ name: 'redlock', version, kind: 'quorum', keys: ['{key}'], can: ['validity', 'extend', 'owner'],
  homepage: 'https://github.com/mike-marcacci/node-redlock' }, openLock)
