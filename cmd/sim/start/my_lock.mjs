// The lock program that sim starts for each client. Put your own lock in the place of MyLock,
// and your client library in the place of Redis. It needs Node.js 18 or later.
import { Grant, Refused, serve } from './sim_adapter.mjs'
import { randomUUID } from 'node:crypto'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

const RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"

/** A lock on one node: SET NX PX with a value of its own, and a release that compares it. */
class MyLock {
  constructor(client, key, ttl) {
    Object.assign(this, { client, key, ttl, value: randomUUID() })
  }

  async acquire(wait) {
    const deadline = performance.now() + (wait ?? Infinity) // undefined: no limit
    while (!await this.client.call('SET', this.key, this.value, 'NX', 'PX', Math.trunc(this.ttl))) {
      if (performance.now() > deadline) return false
      await sleep(20)
    }
    return true
  }

  async release() {
    if (!await this.client.call('EVAL', RELEASE, 1, this.key, this.value)) throw new Refused('not ours any more')
  }
}

/** As much of a client as this lock needs: commands whose replies are one line. */
class Redis {
  waiting = [] // for replies, in their order

  constructor(host, port, timeout) {
    Object.assign(this, { host, port, timeout })
  }

  call(...words) {
    this.socket ??= this.connect()
    this.socket.write(`*${words.length}\r\n` + words.map((w) => `$${Buffer.byteLength(String(w))}\r\n${w}\r\n`).join(''))
    return new Promise((resolve, reject) => this.waiting.push({ resolve, reject }))
  }

  connect() {
    const socket = net.connect(this.port, this.host)
    let text = ''
    let failure = new Error('the connection was closed')
    socket.setNoDelay().setTimeout(this.timeout)
    socket.on('timeout', () => this.waiting.length && socket.destroy(new Error('no answer')))
    socket.on('data', (bytes) => {
      const lines = (text + bytes).split('\r\n')
      text = lines.pop()
      for (const line of lines) {
        const { resolve, reject } = this.waiting.shift()
        if (line[0] === '-') reject(new Error(line.slice(1)))
        else resolve(line[0] === '$' ? null : line[0] === ':' ? Number(line.slice(1)) : line.slice(1))
      }
    })
    socket.on('error', (err) => { failure = err })
    socket.on('close', () => { // late replies are lost with it
      this.socket = undefined
      for (const { reject } of this.waiting.splice(0)) reject(failure)
    })
    return socket
  }
}

/** Called once for each client, with the servers, the key and the ttl (in ms). */
function openLock(setup) {
  const node = setup.nodes[0]
  const client = new Redis(node.host, node.port, setup.nodeTimeout)
  return async (wait) => {
    const lock = new MyLock(client, setup.key, setup.ttl)
    if (!await lock.acquire(wait)) throw new Refused('taken') // certainly not held; after any other error it may be
    return new Grant({ release: () => lock.release() })
  }
}

// kind is its class: single (one node), quorum (several, as Redlock), session, or other.
// can says what else your lock does; sim tests nothing of it otherwise. Say it only if it is true, as can: ['renew']:
//   renew   it makes its lease longer by itself while it is held (a watchdog). Without the word, scenarios about renewal are not applicable
//   extend  its user can make the lease longer: give the grant an extend
//   lost    it sees that it has lost the lock: then call its lost()
// docs/reference/lock-protocol.md has all words.
serve({ name: 'my-lock', version: '1.0', kind: 'single', keys: ['{key}'],
  about: 'the sample of sim init: put your own lock in its place, and say here which it is' }, openLock)
