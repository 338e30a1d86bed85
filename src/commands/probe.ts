// `aval probe`: whether a sandbox of the upstream honours the idempotency that a sheet declares. The one command of a platform team that sends.
import { randomUUID } from 'node:crypto'
import type { Action, Upstream } from '../catalog/catalog.ts'
import { loadCatalog } from '../catalog/load.ts'
import { parseServer } from '../catalog/upstream.ts'
import { readLocalConfig } from '../config.ts'
import { probe, ProbeFault, type ProbeReport } from '../curation/probe/probe.ts'
import { Refusal } from '../errors.ts'
import { callBody } from './call.ts'
import { CommandFault, type Ask, type Command, type ExitCode } from './command.ts'
import { actionOf, arrivalOf, callerOf, CALLER_FLAGS } from './lone-caller.ts'
import { openSandboxServices } from './lone-services.ts'
import { started } from './starting.ts'

const DISPOSABLE = /^(sandbox|disposable)-/

export const probeCommand: Command = {
  name: 'probe',
  summary: 'Send one idempotency key three times to a sandbox, and tell whether the upstream honours it. Exit code 1 where it does not.',
  usage: 'ACTION --sandbox --tenant sandbox-NAME [--server URL] --arg NAME=TEXT… --other NAME=TEXT…',
  flags: {
    sandbox: { type: 'boolean', about: 'say that the upstream is a sandbox: up to two writes will be made there' },
    server: { type: 'string', value: 'URL', about: 'the server of the sandbox, in the place of the one of upstream.yaml' },
    arg: { type: 'string', multiple: true, value: 'NAME=TEXT', about: 'an argument: NAME=TEXT is text, NAME:=JSON is JSON' },
    other: { type: 'string', multiple: true, value: 'NAME=TEXT', about: 'an argument that is another one in the third request' },
    ...CALLER_FLAGS,
    tenant: { type: 'string', value: 'TENANT', about: 'a tenant that can be thrown away: its name begins with sandbox- or disposable-' },
  },
  words: { min: 1, max: 1 },
  run,
}

async function run (ask: Ask): Promise<ExitCode> {
  requireDisposable(ask)
  const catalog = await started(ask, () => loadCatalog(readLocalConfig(ask.env)))
  const action = actionOf(catalog, ask.words[0]!)
  if (action.idempotency === null) throw new CommandFault(`${action.id} declares no idempotency; there is nothing to probe`)
  const upstream = sandboxOf(ask, action)
  const { first, other } = bodies(ask)
  const env = Object.fromEntries(Object.entries(ask.env).filter(([name]) => !name.startsWith('AVAL_')))
  const lone = await openSandboxServices(catalog, action, upstream, env)
  try {
    const { services } = lone
    const report = await probe({
      action: lone.action,
      consent: action.consent,
      caller: callerOf(ask, catalog, action, services),
      services,
      first: arrivalOf(action, first, randomUUID()),
      other: arrivalOf(action, other, randomUUID()),
      attempt: { id: `att_${randomUUID()}`, key: randomUUID(), reference: null },
    })
    if (ask.json) ask.print(JSON.stringify({ ok: report.conclusion === 'honoured', ...report }))
    else for (const line of told(report)) ask.print(line)
    return report.conclusion === 'honoured' ? 0 : 1
  } catch (error) {
    if (error instanceof ProbeFault) throw new CommandFault(error.message)
    if (error instanceof Refusal) {
      throw new CommandFault(`the call is refused before anything is written: ${error.code} ${error.details.internal ?? error.message}`)
    }
    throw error
  } finally {
    await lone.close()
  }
}

/** Writes are made: nobody must make them where they matter, by a habit or by a mistake in a variable. */
function requireDisposable (ask: Ask): void {
  if (!ask.flags.on('sandbox')) throw new CommandFault('it writes to the upstream: say --sandbox where that is a sandbox')
  const tenant = ask.flags.text('tenant')
  if (tenant !== null && DISPOSABLE.test(tenant)) return
  throw new CommandFault('--tenant must name a tenant that can be thrown away, sandbox-… or disposable-…')
}

function sandboxOf (ask: Ask, { upstream }: Action): Upstream {
  const text = ask.flags.text('server')
  if (text === null) {
    // The same server with the same credential for all tenants is the one that everybody uses.
    const secrets = [upstream.credentials.read, upstream.credentials.write].flatMap(declared => declared === null ? [] : [declared.secret])
    if (secrets.length > 0 && secrets.every(secret => secret.includes('{tenant}'))) return upstream
    throw new CommandFault('nothing sets the sandbox apart: give --server, or credentials whose secret holds {tenant}')
  }
  const server = parseServer(text)
  if ('rule' in server) throw new CommandFault(`--server ${server.message}`)
  if (server.origin === upstream.origin) throw new CommandFault('--server is the server of upstream.yaml, which is no sandbox')
  const { origin, basePath, loopback } = server
  return Object.freeze({ ...upstream, origin, basePath, networks: loopback ? ['loopback'] : upstream.networks })
}

/** The body of the call, and the same with the other arguments. @throws CommandFault */
function bodies (ask: Ask): { readonly first: string, readonly other: string } {
  const [args, others] = [ask.flags.texts('arg'), ask.flags.texts('other')]
  if (others.length === 0) throw new CommandFault('--other is missing: what another body under the same key would hold')
  const nameOf = (pair: string): string => pair.slice(0, pair.indexOf('=')).replace(/:$/, '')
  const replaced = new Set(others.map(nameOf))
  return { first: callBody(args, null), other: callBody([...args.filter(pair => !replaced.has(nameOf(pair))), ...others], null) }
}

function told ({ action, proposal, conclusion, reasons }: ProbeReport): readonly string[] {
  const asked = proposal.length === 0 ? [] : ['a person would be asked before each call, and is shown', ...proposal.map(line => `  ${line}`)]
  return [...asked, `${action}: the declared idempotency is ${conclusion.replaceAll('_', ' ')}`, ...reasons.map(reason => `  ${reason}`)]
}
