#!/usr/bin/env node
// The lock program of redlock-universal's SimpleLock; --redlock: of its RedLock.
import { Grant, Refused, serve } from '../../sdk/node/sim_adapter.mjs'
import { aboutClients, connect, has, ioredis, load, oneStore, tuned, versionOf } from './libraries.mjs'

const Redis = await ioredis()
const { createLock, createRedlock, IoredisAdapter } = load('redlock-universal')
const quorum = has('--redlock')
const DELAY = quorum ? 200 : 100 // ms between two tries, by default

async function openLock(setup) {
  if (!quorum) oneStore(setup)
  const timeout = tuned && setup.nodeTimeout || 5000 // its default: after it, it does not look at an answer any more
  const { clients, begin, calm } = connect(Redis, setup, timeout)
  const adapters = clients.map((client) => new IoredisAdapter(client, { timeout }))
  const ttl = Math.round(setup.ttl)
  return async (wait = 86_400_000) => {
    const options = { key: setup.key, ttl, retryAttempts: Math.max(1, Math.floor(wait / DELAY)) }
    const lock = setup.lockObject(() => quorum ? createRedlock({ adapters, ...options }) : createLock({ adapter: adapters[0], ...options }))
    const attempt = async (what, again = false) => { // again: a repeated command says false only if the lock is not ours any more
      const before = begin()
      const no = async (why) => await calm(before) ? new Refused(why) : new Error(why)
      const done = await what().catch(async (err) => { throw await no(err.message) })
      if (!done) throw again ? new Refused('it says false') : await no('it says false')
      return done
    }
    const handle = await attempt(() => lock.acquire())
    const extend = async () => { await attempt(() => lock.extend(handle, ttl), !quorum) }
    return new Grant({ release: () => attempt(() => lock.release(handle)), extend, owner: handle.value })
  }
}

serve({ name: `redlock-universal ${quorum ? 'RedLock' : 'SimpleLock'}${tuned ? ', tuned' : ''}`, version: versionOf('redlock-universal'), kind: quorum ? 'quorum' : 'single', keys: ['{key}'],
  can: ['extend', 'owner', 'sentinel', 'cluster', 'setup-again', 'one-object'], homepage: 'https://github.com/alexpota/redlock-universal', about: `IoredisAdapter; ${aboutClients}` }, openLock)
