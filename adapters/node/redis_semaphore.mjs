#!/usr/bin/env node
// The lock program of redis-semaphore's Mutex; --redlock: of its RedlockMutex.
import { Grant, Refused, serve } from '../../sdk/node/sim_adapter.mjs'
import { aboutClients, connect, has, ioredis, load, oneStore, tuned, versionOf } from './libraries.mjs'

const Redis = await ioredis()
const { Mutex, RedlockMutex, TimeoutError } = load('redis-semaphore')
const quorum = has('--redlock')

async function openLock(setup) {
  if (!quorum) oneStore(setup)
  const { clients, begin, calm } = connect(Redis, setup)
  return async (wait = 86_400_000) => {
    let grant, lost
    const onLockLost = (err) => { lost = err.message; grant?.lost(lost) }
    const options = { lockTimeout: Math.round(setup.ttl), acquireTimeout: wait, onLockLost }
    const mutex = quorum ? new RedlockMutex(clients, setup.key, options) : new Mutex(clients[0], setup.key, options)
    const before = begin()
    try {
      await mutex.acquire()
    } catch (err) {
      throw err instanceof TimeoutError && await calm(before) ? new Refused(err.message) : err
    }
    grant = new Grant({ release: () => mutex.release(), owner: mutex.identifier })
    if (lost) grant.lost(lost)
    return grant
  }
}

serve({ name: 'redis-semaphore' + (quorum ? ' RedlockMutex' : '') + (tuned ? ', tuned' : ''), version: versionOf('redis-semaphore'), kind: quorum ? 'quorum' : 'single',
  keys: ['mutex:{key}'], can: ['renew', 'lost', 'owner', 'sentinel', 'cluster', 'setup-again'], homepage: 'https://github.com/swarthy/redis-semaphore',
  about: `${quorum ? 'RedlockMutex' : 'Mutex'}; ${aboutClients}` }, openLock)
