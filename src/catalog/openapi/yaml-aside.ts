// YAML is read in one go, half a second a megabyte. Beside the thread that answers calls nobody waits for it.
import { Worker } from 'node:worker_threads'
import { parseYaml } from './yaml-text.ts'
import type { YamlRead } from './yaml-text.ts'

/** A smaller one is read sooner than a thread is started. */
const ASIDE_LENGTH_MIN = 64 * 1024

export async function parseYamlAside (text: string): Promise<YamlRead> {
  if (text.length < ASIDE_LENGTH_MIN) return parseYaml(text)
  return new Promise((resolve, reject) => {
    // It is given the text, and none of the environment.
    const worker = new Worker(new URL('./yaml-worker.ts', import.meta.url), { workerData: text, env: {} })
    worker.once('message', resolve)
    worker.once('error', error => {
      if ((error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY') resolve(TOO_LARGE)
      else reject(error)
    })
    worker.once('exit', () => reject(new Error('the thread that reads YAML ended without an answer')))
  })
}

const TOO_LARGE: YamlRead = {
  complaint: { code: 'document-too-large', message: 'The document needs more memory than there is.', position: { line: 1, column: 1 } },
}
