#!/usr/bin/env node
// The lock program of ioredis-lock, over ioredis 4.
import { Grant, Refused, serve } from '../../sdk/node/sim_adapter.mjs'
import { aboutClients, connect, load, oneStore, tuned, versionOf } from './libraries.mjs'

const Redis = load('ioredis-4')
const Lock = load('ioredis-lock')
const DELAY = 50 // ms between two tries, by default

async function openLock(setup) {
  oneStore(setup)
  const { clients: [client], begin, calm } = connect(Redis, setup)
  const timeout = Math.round(setup.ttl)
  const attempt = async (what) => {
    const before = begin()
    await what().catch(async (err) => { throw await calm(before) ? new Refused(err.message) : err })
  }
  return async (wait = 86_400_000) => {
    const lock = setup.lockObject(() => Lock.createLock(client, { timeout, delay: DELAY }))
    lock.retries = Math.floor(wait / DELAY)
    await attempt(() => lock.acquire(setup.key))
    return new Grant({ release: () => attempt(() => lock.release()), extend: () => attempt(() => lock.extend(timeout)), owner: lock._id })
  }
}

serve({ name: 'ioredis-lock' + (tuned ? ', tuned' : ''), version: versionOf('ioredis-lock'), kind: 'single', keys: ['{key}'], can: ['extend', 'owner', 'sentinel', 'cluster', 'setup-again', 'one-object'],
  homepage: 'https://github.com/makeomatic/ioredis-lock', about: aboutClients.replace('ioredis', 'ioredis 4') }, openLock)
