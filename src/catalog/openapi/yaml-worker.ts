// Runs in a thread of its own, for `parseYamlAside`: reads one YAML text.
import { parentPort, workerData } from 'node:worker_threads'
import { parseYaml } from './yaml-text.ts'

parentPort?.postMessage(parseYaml(workerData as string))
