// A broker in a process of its own, so that it can be killed, whose people decide through the store of another.
import { NO_ALIASES } from '../../src/consent/principals.ts'
import { readConfig, readEnvironment } from '../../src/config.ts'
import { startBroker } from '../../src/main.ts'

const { PATH, ...env } = readEnvironment()
const broker = await startBroker(readConfig(env), { people: () => ({ origin: null, principals: NO_ALIASES, rolesOf: async () => null }) })
console.log(JSON.stringify({ agents: broker.agentsUrl, operations: broker.operationsUrl }))
