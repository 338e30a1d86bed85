// The bundled sheets name a shop at a fixed place with secrets at a fixed place. The tour and the tests start a shop of their own, so they work on a
// copy in which the three places are those of that shop; nothing else differs, and the files in the repository stay as they are.
import { chmod, cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseDocument } from 'yaml'

const ROOT = join(import.meta.dirname, '..', '..', '..')
/** The sheets and the documents that come with Aval. */
export const BUNDLED = Object.freeze({ actionsFolder: join(ROOT, 'actions'), openapiFolder: join(ROOT, 'openapi') })

export interface ShopPlace {
  /** With the base path, as startShop tells it. */
  readonly url: string
  readonly apiKey: string
  readonly readKey: string
}

/** Makes `folder`/actions with both secrets beside it, and returns its path. `folder` must exist; its secrets are readable by their owner alone. */
export async function placeSheets (folder: string, shop: ShopPlace): Promise<string> {
  const actionsFolder = join(folder, 'actions')
  await cp(BUNDLED.actionsFolder, actionsFolder, { recursive: true })
  const upstreamFile = join(actionsFolder, 'shop', 'upstream.yaml')
  const sheet = parseDocument(await readFile(upstreamFile, 'utf8'))
  sheet.set('server', shop.url)
  for (const [use, key] of [['read', shop.readKey], ['write', shop.apiKey]] as const) {
    const secretFile = join(folder, `shop_${use}`)
    await writeFile(secretFile, key, { mode: 0o600 })
    sheet.setIn(['credentials', use, 'secret'], `file:${secretFile}`)
  }
  await chmod(upstreamFile, 0o644)
  await writeFile(upstreamFile, sheet.toString({ lineWidth: 0 }))
  return actionsFolder
}
