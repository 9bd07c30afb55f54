const { performance } = require('perf_hooks'), net = require('net'), crypto = require('crypto')
const begin = performance.now(), wall = Date.now()
const say = (...what) => console.log(Math.round(performance.now() - begin), Date.now() - wall, ...what)
const sleep = ms => new Promise(done => setTimeout(done, ms))

async function day() {
  await sleep(3600e3)
  say('slept')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 7500)
  say('waited')
  const { Worker } = require('worker_threads')
  const worker = new Worker("setTimeout(() => require('worker_threads').parentPort.postMessage('ready'), 7000)", { eval: true })
  const word = await new Promise(done => worker.once('message', done))
  say('worker', word)
  const child = require('child_process').spawn('/bin/sh', ['-c', 'sleep 4; exit 5'])
  say('child', await new Promise(done => child.once('exit', done)))
  console.log('random', Math.random(), crypto.randomUUID(), crypto.randomBytes(4).toString('hex'))
}

function serve(port) {
  const server = net.createServer(conn => {
    say('accepted', conn.remoteAddress)
    conn.on('data', async data => {
      await sleep(1000)
      say('heard', String(data).trim())
      conn.write('you said ' + data)
    })
    conn.on('end', () => { say('over'); server.close() })
  }).listen(+port, '0.0.0.0')
}

function ask(host, port) {
  const words = ['one', 'two']
  const conn = net.connect(+port, host, () => { say('connected'); conn.write(words.shift() + '\n') })
  conn.on('data', data => {
    say(String(data).trim())
    words.length ? conn.write(words.shift() + '\n') : conn.end()
  })
}

async function crash() {
  await sleep(2000)
  process.abort()
}

({ day, serve, ask, crash })[process.argv[2]](...process.argv.slice(3))
