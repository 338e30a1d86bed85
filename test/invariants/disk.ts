// A disk that is full, for one process: its files may not grow beyond a size (RLIMIT_FSIZE), which can be set and lifted while it runs.
import { execFileSync } from 'node:child_process'
import { statSync } from 'node:fs'

/** By how much the file grows meanwhile, in bytes. */
export async function growthOf (file: string, work: () => Promise<unknown>): Promise<number> {
  const before = statSync(file).size
  await work()
  return statSync(file).size - before
}

/** From now on no file of the process may grow beyond what this one is now, plus `bytes`. */
export function limitGrowth (pid: number, file: string, bytes: number): void {
  execFileSync('prlimit', ['--pid', String(pid), `--fsize=${statSync(file).size + bytes}:unlimited`])
}

export function letGrow (pid: number): void {
  execFileSync('prlimit', ['--pid', String(pid), '--fsize=unlimited:unlimited'])
}
