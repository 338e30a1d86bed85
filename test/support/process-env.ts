// The environment of every process that a test starts: nothing of this one but where programs are, and where Node keeps compiled code (`npm test` says so:
// half of what a short process costs is reading the same files again).
import type { Environment } from '../../src/config.ts'

const NAMES = ['PATH', 'NODE_COMPILE_CACHE'] as const

export const PROCESS_ENV: Environment = Object.fromEntries(NAMES.flatMap(name => process.env[name] === undefined ? [] : [[name, process.env[name]]]))
