// A real Prometheus from Debian with a folder and a port of its own, which scrapes what it is told to.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TestContext } from 'node:test'
import { startProgram } from './program.ts'
import { freePort } from './redis.ts'

export interface Series {
  readonly labels: { readonly [name: string]: string }
  readonly value: number
}

export interface Prometheus {
  readonly url: string
  /**
   * An instant query, as its own API answers it, until that is as wanted, 20 s at most; then the last answer. A scrape that came too late for a busy
   * machine leaves nothing to be found until the next.
   */
  until (promql: string, wanted: (series: readonly Series[]) => boolean): Promise<readonly Series[]>
  /** Any path of its API: its `data`. */
  get (path: string): Promise<any>
}

const PATIENCE_MS = 20_000

/** @param target `host:port` whose `/metrics` it scrapes four times a second */
export async function startPrometheus (t: TestContext, target: string): Promise<Prometheus> {
  const folder = mkdtempSync(join(tmpdir(), 'aval-prometheus-'))
  writeFileSync(join(folder, 'prometheus.yml'), [
    'global: {scrape_interval: 250ms, scrape_timeout: 250ms}',
    'scrape_configs:',
    '  - job_name: aval',
    `    static_configs: [{targets: ["${target}"]}]`,
    '',
  ].join('\n'))
  const port = await freePort()
  // Hooks run in their order: the program has ended before its folder goes.
  const program = startProgram(t, 'prometheus', [
    `--config.file=${join(folder, 'prometheus.yml')}`, `--storage.tsdb.path=${join(folder, 'data')}`, `--web.listen-address=127.0.0.1:${port}`,
  ])
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  await program.says(/Server is ready to receive web requests/)
  const url = `http://127.0.0.1:${port}`
  const get = async (path: string): Promise<any> => {
    const answer = await fetch(`${url}${path}`)
    const { status, data, error } = await answer.json() as { readonly status: string, readonly data: unknown, readonly error?: string }
    if (status !== 'success') throw new Error(`prometheus: ${error}`)
    return data
  }
  const query = async (promql: string): Promise<readonly Series[]> => {
    const { result } = await get(`/api/v1/query?query=${encodeURIComponent(promql)}`) as {
      readonly result: ReadonlyArray<{ readonly metric: Series['labels'], readonly value: readonly [number, string] }>,
    }
    return result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }))
  }
  return {
    url,
    get,
    async until (promql, wanted) {
      for (const endsAtMs = performance.now() + PATIENCE_MS; ;) {
        const series = await query(promql)
        if (wanted(series) || performance.now() > endsAtMs) return series
        await sleep(50)
      }
    },
  }
}
