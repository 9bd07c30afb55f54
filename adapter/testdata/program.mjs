// The lock program of program_test.go, for Node.js. The lock's key says what it does.
import { Grant, Refused, Unsupported, serve } from '../../sdk/node/sim_adapter.mjs'
import { execSync } from 'node:child_process'

const about = { name: 'test', version: '1.0', about: 'a lock; its client', kind: 'single', keys: ['{key}'], can: ['validity', 'setup-again'], points: ['inside', 'not armed'] }

const closed = []
let collected = 0
let objects = 0
const registry = new FinalizationRegistry(() => collected++)

function refuse() {
  throw new Refused('taken')
}

serve(about, (setup) => {
  if (setup.key === 'broken') throw new Error('no such node')
  if (setup.key === 'unsupported') throw new Unsupported('no such topology')
  if (setup.key === 'slow-open') return new Promise(() => {})
  if (setup.key === 'first') {
    setup.onClose(() => closed.push('a'))
    setup.onClose(() => new Promise((done) => setTimeout(done, 10)).then(() => closed.push('b')))
  }
  return async (wait) => {
    const grant = new Grant({ release: setup.key === 'not-ours' ? refuse : () => {} })
    switch (setup.key) {
      case 'refuse':
        return refuse()
      case 'doubt':
        throw new Error('timeout')
      case 'block':
        await new Promise((done) => wait && setTimeout(done, wait))
        return refuse()
      case 'print':
        console.log("a library's noise")
        execSync("echo a child\\'s noise", { stdio: 'inherit' })
        break
      case 'point':
        await setup.point('inside')
        await setup.point('not armed')
        break
      case 'tell': {
        const [a, b] = setup.nodes
        grant.owner = [setup.client, setup.seed, setup.ttl / 1000, setup.nodeTimeout / 1000, setup.options.a,
          a.name, a.host, a.port, a.password, b.tls.ca].join(' ')
        grant.token = 7
        grant.until = performance.now() + 1000
        grant.extend = () => performance.now() + 2000
        break
      }
      case 'again':
        grant.owner = `${setup.ttl / 1000} ${closed.join('')}`
        break
      case 'clients':
        grant.owner = `${setup.client} ${setup.once(() => ({ number: ++objects })).number}`
        break
      case 'object':
        setup.lockObject(() => ({ number: ++objects }))
        grant.owner = String(objects)
        break
      case 'forget': {
        const handle = {}
        registry.register(handle, 1)
        grant.release = () => handle
        grant.owner = String(collected)
        break
      }
      case 'events':
        grant.renewed(performance.now() + 3000)
        grant.lost('nobody answers')
        break
      case 'flood':
        setImmediate(function more() {
          grant.renewed()
          setImmediate(more)
        })
    }
    return grant
  }
})
