// `aval mock`: an OpenAPI document as an upstream to try sheets against.
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { CatalogFaults } from '../catalog/catalog.ts'
import type { Document } from '../catalog/openapi/documents.ts'
import type { LedgerEntry } from '../curation/mock/ledger.ts'
import { startMock, type Mock } from '../curation/mock/mock.ts'
import { routesOf } from '../curation/mock/routes.ts'
import { FAULTS, readMockScenario, type MockScenario } from '../curation/mock/scenario.ts'
import { CommandFault, type Ask, type Command, type ExitCode } from './command.ts'
import { toldToEnd } from './ending.ts'
import { openNamedDocument } from './named-document.ts'

const DEFAULT_PORT = '4010'

export const mock: Command = {
  name: 'mock',
  summary: 'Serve an OpenAPI document as a scripted upstream with a ledger, on loopback, until it is told to end.',
  usage: 'DOCUMENT [--port N] [--base PATH] [--scenario FILE]',
  flags: {
    port: { type: 'string', value: 'N', about: `where it listens; ${DEFAULT_PORT} where it is absent, 0 picks a free one` },
    base: { type: 'string', value: 'PATH', about: 'stands before every path; that of the document\'s first server where it is absent' },
    scenario: { type: 'string', value: 'FILE', about: `what it answers; a request may ask by X-Aval-Fault: ${Object.keys(FAULTS).join(', ')}` },
  },
  words: { min: 1, max: 1 },
  run,
}

async function run (ask: Ask): Promise<ExitCode> {
  const document = openNamedDocument(ask.words[0]!)
  const served = await started(ask, document)
  if (ask.json) ask.print(JSON.stringify({ url: served.url, ledger: served.ledgerUrl }))
  else {
    ask.tell(`the mock of ${document.file} listens on ${served.url}`)
    ask.tell(`its ledger: GET ${served.ledgerUrl}; DELETE empties it`)
  }
  await toldToEnd()
  await served.close()
  return 0
}

async function started (ask: Ask, document: Document): Promise<Mock> {
  const portText = ask.flags.text('port') ?? DEFAULT_PORT
  if (!/^\d{1,5}$/.test(portText) || Number(portText) > 65_535) throw new CommandFault('--port must be a number up to 65535')
  const scenario = await readScenario(ask, document)
  try {
    return await startMock({ document, basePath: basePath(ask, document), port: Number(portText), scenario, seen: entry => ask.tell(lineOf(entry)) })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    throw new CommandFault(`it cannot listen on 127.0.0.1:${portText} (${code})`)
  }
}

async function readScenario (ask: Ask, document: Document): Promise<MockScenario | null> {
  const path = ask.flags.text('scenario')
  if (path === null) return null
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw new CommandFault(`the scenario cannot be read (${error.code})`)
  })
  try {
    return readMockScenario(basename(path), bytes, routesOf(document).has)
  } catch (error) {
    if (!(error instanceof CatalogFaults)) throw error
    ask.tell(error.message)
    throw new CommandFault('the scenario has faults; nothing was started')
  }
}

/** The path of a server, without a slash at its end. */
function basePath (ask: Ask, document: Document): string {
  const given = ask.flags.text('base')
  const [first] = document.servers()
  const said = given ?? (first !== undefined && URL.canParse(first, 'http://localhost') ? new URL(first, 'http://localhost').pathname : '')
  const path = said === '/' ? '' : said.replace(/\/$/, '')
  if (path === '' || /^(\/[A-Za-z0-9._~!$&'()*+,;=:@-]+)+$/.test(path)) return path
  if (given !== null) throw new CommandFault('--base must be like /v1')
  return ''
}

function lineOf (entry: LedgerEntry): string {
  const what = entry.complaints.length > 0 ? `: ${entry.complaints.join('; ')}` : entry.duplicate ? ' repeat' : entry.applied ? ' applied' : ''
  return `${entry.number} ${entry.method} ${entry.path} ${entry.fault ?? entry.status ?? ''}${what}`
}
