// Loaded before `aval serve` in a process that is kept ready: all of the broker's code is read already, and it starts as soon as its environment comes in
// on stdin. Where brokers are killed every second, this is what makes most of them live.
import { flushCompileCache } from 'node:module'
import { createInterface } from 'node:readline'
import '../../src/main.ts'

process.stdout.write('ready\n')
const lines = createInterface({ input: process.stdin })
const line = await new Promise<string | null>(resolve => {
  lines.once('line', resolve)
  lines.once('close', () => { resolve(null) })
})
if (line === null) process.exit(0)
lines.close()
process.stdin.destroy()
Object.assign(process.env, JSON.parse(line))
// Node keeps compiled code when a process ends, which those that are killed never do by themselves. By now what a broker needs has been compiled.
setTimeout(flushCompileCache, 4_000).unref()
