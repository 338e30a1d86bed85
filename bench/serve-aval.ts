// The broker as `aval serve` runs it, in a process that can be asked what it uses.
import { readConfig, readEnvironment } from '../src/config.ts'
import { startBroker } from '../src/main.ts'
import { serveParent } from './child.ts'

const broker = await startBroker(readConfig(readEnvironment()))

serveParent(Number(new URL(broker.agentsUrl).port), () => broker.close())
