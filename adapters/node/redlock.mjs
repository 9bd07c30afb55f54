#!/usr/bin/env node
// The lock program of redlock 5 for Node.js; --4: of its version 4; --sesame: of @sesamecare-oss/redlock.
import { Grant, Refused, serve } from '../../sdk/node/sim_adapter.mjs'
import { aboutClients, connect, has, ioredis, load, tuned, until, versionOf } from './libraries.mjs'

const Redis = await ioredis()
const [name, folder] = has('--sesame') ? ['@sesamecare-oss/redlock', '@sesamecare-oss/redlock'] : ['redlock', has('--4') ? 'redlock-4' : 'redlock']
const library = load(folder)
const Redlock = library.Redlock ?? library.default ?? library
const again = has('--sesame') ? [] : ['setup-again'] // its second trial begins 1 ms later
const DELAY = 200 // ms between two tries, by default, more or less 100

async function openLock(setup) {
  const { clients, begin, calm } = connect(Redis, setup)
  const redlock = new Redlock(clients)
  const ttl = Math.round(setup.ttl)
  // It says no when its tries are over, or when a majority said no; what it says of its own clock ("expired") no node has said.
  const attempt = async (what) => {
    const before = begin()
    try {
      return await what()
    } catch (err) {
      throw !/expired/.test(err.message) && await calm(before) ? new Refused(err.message) : err
    }
  }
  return async (wait) => {
    const options = { retryCount: wait === undefined ? -1 : Math.max(1, Math.floor(wait / DELAY)) }
    let lock = await attempt(() => redlock.acquireWithOptions?.(setup.key, ttl, options) ?? redlock.acquire([setup.key], ttl, options))
    const extend = () => attempt(async () => {
      lock = await lock.extend(ttl)
      return until(lock.expiration)
    })
    return new Grant({ release: () => attempt(() => redlock.release(lock)), extend, owner: lock.value, until: until(lock.expiration) })
  }
}

serve({ name: name + (tuned ? ', tuned' : ''), version: versionOf(folder), kind: 'quorum', keys: ['{key}'],
  can: ['validity', 'extend', 'owner', 'sentinel', 'cluster', ...again],
  homepage: `https://github.com/${has('--sesame') ? 'sesamecare/redlock' : 'mike-marcacci/node-redlock'}`, about: `Redlock; ${aboutClients}` }, openLock)
