#!/usr/bin/env node
// The lock program of redis-semaphore's Mutex; --redlock: of its RedlockMutex; --semaphore: of its Semaphore, or RedlockSemaphore.
import { Grant, Refused, serve } from '../../sdk/node/sim_adapter.mjs'
import { aboutClients, connect, has, ioredis, load, oneStore, tuned, versionOf } from './libraries.mjs'

const Redis = await ioredis()
const library = load('redis-semaphore')
const { TimeoutError } = library
const quorum = has('--redlock')
const permits = has('--semaphore')
const kind = (quorum ? 'Redlock' : '') + (permits ? 'Semaphore' : 'Mutex')

async function openLock(setup) {
  if (!quorum) oneStore(setup)
  const { clients, begin, calm } = connect(Redis, setup)
  return async (wait = 86_400_000) => {
    const held = setup.lockObject(() => {
      const held = {} // the grant, or why it is lost
      const onLockLost = (err) => held.grant ? held.grant.lost(err.message) : (held.lost = err.message)
      const options = { lockTimeout: Math.round(setup.ttl), acquireTimeout: wait, onLockLost }
      held.mutex = new library[kind](quorum ? clients : clients[0], setup.key, ...(permits ? [setup.permits] : []), options)
      return held
    })
    const { mutex } = held
    mutex._acquireOptions.acquireTimeout = wait // no function tells it to an object that is there
    held.lost = undefined
    const before = begin()
    try {
      await mutex.acquire()
    } catch (err) {
      throw err instanceof TimeoutError && await calm(before) ? new Refused(err.message) : err
    }
    const release = () => {
      if (held.grant === grant) held.grant = undefined
      return mutex.release()
    }
    const grant = held.grant = new Grant({ release, owner: mutex.identifier })
    if (held.lost) grant.lost(held.lost)
    return grant
  }
}

serve({ name: 'redis-semaphore' + (kind === 'Mutex' ? '' : ` ${kind}`) + (tuned ? ', tuned' : ''), version: versionOf('redis-semaphore'), kind: quorum ? 'quorum' : 'single',
  keys: [permits ? 'semaphore:{key}' : 'mutex:{key}'],
  can: ['renew', 'lost', 'owner', 'sentinel', 'cluster', 'setup-again', 'one-object', ...(permits ? ['permits'] : [])], homepage: 'https://github.com/swarthy/redis-semaphore',
  about: `${kind}; ${aboutClients}` }, openLock)
