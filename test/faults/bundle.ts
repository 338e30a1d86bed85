// The broker and what keeps it ready (spare.ts), each with all that it imports in a file or two: a start reads these instead of 1,300 files, which costs
// half a second of a core less. What is run is the code of the tree, and what it reads beside its code (scripts of Redis, schemas, pages) is read there.
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { rolldown } from 'rolldown'

const ROOT = join(import.meta.dirname, '..', '..')

export interface Bundle {
  readonly spare: string
  readonly cli: string
}

const made = new Map<string, Promise<Bundle>>()

/** Once a process and folder. */
export function bundledBroker (folder: string): Promise<Bundle> {
  const known = made.get(folder) ?? bundleInto(folder)
  made.set(folder, known)
  return known
}

async function bundleInto (folder: string): Promise<Bundle> {
  const bundle = await rolldown({
    input: { spare: join(import.meta.dirname, 'spare.ts'), cli: join(ROOT, 'src/cli.ts') },
    platform: 'node',
    plugins: [{
      name: 'where a module stood',
      transform: (code, id) => code
        .replaceAll('import.meta.dirname', JSON.stringify(dirname(id)))
        .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href)),
    }],
  })
  await bundle.write({ dir: folder, format: 'esm', entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' })
  await bundle.close()
  return { spare: join(folder, 'spare.mjs'), cli: join(folder, 'cli.mjs') }
}
