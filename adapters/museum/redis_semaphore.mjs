#!/usr/bin/env node
// The lock program of redis-semaphore's Mutex. Its argument is the folder where npm has put it.
import { Grant, Refused, serve } from '../../sdk/node/sim_adapter.mjs'
import { createRequire } from 'node:module'

const require = createRequire(process.argv[2] + '/')
const Redis = require('ioredis')
const { Mutex, TimeoutError } = require('redis-semaphore')

async function openLock({ key, ttl, nodes: [{ host, port }, ...others] }) {
  if (others.length > 0) throw new Error('it locks on one node')
  const client = new Redis({ host, port })
  client.on('error', (err) => console.error('ioredis:', err.message))
  return async (wait = 86_400_000) => {
    let grant, lost
    const onLockLost = (err) => { lost = err.message; grant?.lost(lost) }
    const mutex = new Mutex(client, key, { lockTimeout: Math.round(ttl), acquireTimeout: wait, onLockLost })
    try {
      await mutex.acquire()
    } catch (err) {
      throw err instanceof TimeoutError ? new Refused(err.message) : err
    }
    grant = new Grant({ release: () => mutex.release(), owner: mutex.identifier })
    if (lost) grant.lost(lost)
    return grant
  }
}

serve({ name: 'redis-semaphore', version: require('redis-semaphore/package.json').version, kind: 'single', keys: ['mutex:{key}'],
  can: ['renew', 'lost', 'owner'], homepage: 'https://github.com/swarthy/redis-semaphore' }, openLock)
