// What a report of a run was made with.
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** The tests may be run from an archive. */
export function commitNow (): string {
  const asked = spawnSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' })
  return asked.status === 0 ? asked.stdout.trim() : 'unknown'
}

export function versions (): object {
  const version = (name: string): string => (JSON.parse(readFileSync(`node_modules/${name}/package.json`, 'utf8')) as { version: string }).version
  return {
    commit: commitNow(),
    node: process.version,
    redis: /v=(\S+)/.exec(execFileSync('redis-server', ['--version'], { encoding: 'utf8' }))?.[1] ?? 'unknown',
    undici: version('undici'),
    ioredis: version('ioredis'),
  }
}
