// The YAML language server that editors run, over stdio (LSP 3.17), with schemas for files by their names.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { TestContext } from 'node:test'

const ANSWER_MS = 60_000

export interface Diagnostic {
  readonly message: string
  /** From 1. */
  readonly line: number
}

export interface LanguageServer {
  /** What the editor underlines in a file of this name with this text. */
  diagnose (path: string, text: string): Promise<readonly Diagnostic[]>
  /** What it shows over a place of the file that was diagnosed last under this name; line and column from 1. */
  hover (path: string, line: number, column: number): Promise<string>
  /** Labels of what it offers there. */
  complete (path: string, line: number, column: number): Promise<readonly string[]>
}

/** @param schemas globs of files by the path of the schema file that they are of */
export async function startLanguageServer (t: TestContext, root: string, schemas: { readonly [schemaPath: string]: readonly string[] }): Promise<LanguageServer> {
  const folder = dirname(createRequire(import.meta.url).resolve('yaml-language-server/package.json'))
  const child = spawn(process.execPath, [join(folder, 'bin/yaml-language-server'), '--stdio'], { stdio: ['pipe', 'pipe', 'ignore'] })
  const closed = once(child, 'close')
  t.after(async () => {
    child.kill('SIGKILL')
    await closed
  })
  const byUri = Object.fromEntries(Object.entries(schemas).map(([path, globs]) => [pathToFileURL(path).href, globs]))
  const settings: { readonly [section: string]: unknown } = {
    yaml: { validate: true, hover: true, completion: true, schemas: byUri, schemaStore: { enable: false }, kubernetesCRDStore: { enable: false } },
  }
  const waiting = new Map<number, (result: any) => void>()
  const diagnosed = new Map<string, (found: any[]) => void>()
  const send = (message: object): void => {
    const text = JSON.stringify({ jsonrpc: '2.0', ...message })
    child.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`)
  }
  const heard = (message: any): void => {
    if (message.method === 'workspace/configuration') {
      send({ id: message.id, result: message.params.items.map(({ section }: any) => settings[section] ?? {}) })
    } else if (message.method === 'textDocument/publishDiagnostics') {
      diagnosed.get(message.params.uri)?.(message.params.diagnostics)
    } else if (message.method === undefined) {
      waiting.get(message.id)?.(message.result)
    } else if (message.id !== undefined) {
      send({ id: message.id, result: null })
    }
  }
  listen(child.stdout, heard)
  let asked = 0
  const ask = (method: string, params: object): Promise<any> => inTime(method, new Promise(resolve => {
    asked += 1
    waiting.set(asked, resolve)
    send({ id: asked, method, params })
  }))
  await ask('initialize', {
    processId: process.pid,
    rootUri: pathToFileURL(root).href,
    capabilities: { workspace: { configuration: true, didChangeConfiguration: { dynamicRegistration: true } }, textDocument: { hover: { contentFormat: ['plaintext'] } } },
  })
  send({ method: 'initialized', params: {} })
  send({ method: 'workspace/didChangeConfiguration', params: { settings } })
  const versions = new Map<string, number>()
  const place = (path: string, line: number, column: number): object =>
    ({ textDocument: { uri: uriOf(root, path) }, position: { line: line - 1, character: column - 1 } })
  return {
    diagnose (path, text) {
      const uri = uriOf(root, path)
      const version = (versions.get(uri) ?? 0) + 1
      versions.set(uri, version)
      const found = inTime(`diagnostics of ${path}`, new Promise<any[]>(resolve => diagnosed.set(uri, resolve)))
      if (version === 1) send({ method: 'textDocument/didOpen', params: { textDocument: { uri, languageId: 'yaml', version, text } } })
      else send({ method: 'textDocument/didChange', params: { textDocument: { uri, version }, contentChanges: [{ text }] } })
      return found.then(list => list.map(({ message, range }) => ({ message, line: range.start.line + 1 })))
    },
    async hover (path, line, column) {
      const shown = await ask('textDocument/hover', place(path, line, column))
      return typeof shown?.contents === 'string' ? shown.contents : shown?.contents?.value ?? ''
    },
    async complete (path, line, column) {
      const offered = await ask('textDocument/completion', place(path, line, column))
      return (offered?.items ?? offered ?? []).map(({ label }: any) => label)
    },
  }
}

const uriOf = (root: string, path: string): string => pathToFileURL(join(root, path)).href

function listen (stream: NodeJS.ReadableStream, heard: (message: any) => void): void {
  let buffer = Buffer.alloc(0)
  stream.on('data', (chunk: Buffer) => {
    buffer = Buffer.concat([buffer, chunk])
    for (;;) {
      const end = buffer.indexOf('\r\n\r\n')
      if (end === -1) return
      const length = Number(/Content-Length: (\d+)/i.exec(buffer.toString('latin1', 0, end))![1])
      if (buffer.length < end + 4 + length) return
      const text = buffer.toString('utf8', end + 4, end + 4 + length)
      buffer = buffer.subarray(end + 4 + length)
      heard(JSON.parse(text))
    }
  })
}

function inTime<Value> (what: string, answer: Promise<Value>): Promise<Value> {
  const late = new Promise<never>((_, reject) => {
    const timer = setTimeout(() => reject(new Error(`the language server gave no ${what}`)), ANSWER_MS)
    answer.finally(() => clearTimeout(timer)).catch(() => {})
  })
  return Promise.race([answer, late])
}
