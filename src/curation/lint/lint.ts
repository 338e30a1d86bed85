// One run of the rubric: over a folder of sheets, or over the tools list of an MCP server.
import { readFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { isObject, type Fault, type Json } from '../../catalog/catalog.ts'
import { surveyCatalog, type LoadOptions, type LoadProgress, type Survey } from '../../catalog/load.ts'
import { readYaml, YamlFile } from '../../catalog/yaml-file.ts'
import { acceptancesIn, REASON_LENGTH_MIN, type Acceptance } from './accepted.ts'
import { contractOfSheet, contractOfTool, type Contract, type Offer } from './contract.ts'
import type { Finding, Report, ScoredAction } from './report.ts'
import type { Found, Rule } from './rule.ts'
import { RULES } from './rules.ts'
import { judge, UNLOADED } from './score.ts'

export interface LintFolder extends LoadOptions {
  /** How files are named in the report: the actions folder as whoever reads it would write it. */
  readonly shownAs: string
  /** Only these files are reported, by their path in the folder; '' is all of it. Everything is read, for what is wrong between files. */
  readonly within: string
}

export async function lintFolder (options: LintFolder, progress: LoadProgress = () => {}): Promise<Report> {
  const survey = await surveyCatalog({ ...options, progress })
  const isMeant = (file: string): boolean => options.within === '' || file === options.within || file.startsWith(`${options.within}/`)
  const shown = (file: string): string => posix.join(options.shownAs, file)
  const texts = new Map<string, string>()
  const files = new Set([...survey.sheets.map(({ file }) => file.name), ...survey.faults.map(({ file }) => file), 'policy.yaml'])
  for (const file of files) {
    const text = await readFile(join(options.actionsFolder, file), 'utf8').catch(() => null)
    if (text !== null) texts.set(file, text)
  }
  const offer: Offer = { contracts: survey.sheets.map(contractOfSheet), policy: survey.policy }
  const { actions, findings } = judgeAll(offer, texts, survey.faults, progress)
  return {
    actions: [...actions, ...unreadable(survey)].filter(({ file }) => isMeant(file))
      .sort((one, other) => compare(one.action, other.action)).map(action => ({ ...action, file: shown(action.file) })),
    findings: findings.filter(({ file }) => isMeant(file)).map(finding => ({ ...finding, file: shown(finding.file) })),
    texts: new Map([...texts].map(([file, text]) => [shown(file), text])),
  }
}

export class NoToolsList extends Error {
  override readonly name = 'NoToolsList'
}

/**
 * The result of `tools/list`, as a list, as `{tools}`, or as the whole JSON-RPC answer.
 * @throws NoToolsList where it is none
 */
export function lintTools (name: string, bytes: Buffer): Report {
  const file = readYaml(name, bytes)
  if (!(file instanceof YamlFile)) {
    throw new NoToolsList(file.map(({ line, column, message }) => `${name}:${line}:${column} ${message}`).join('\n'))
  }
  const [tools, at] = toolsIn(file.value)
  if (tools === null) throw new NoToolsList(`${name} holds no list of tools: neither a list, nor tools, nor result.tools`)
  const contracts = tools.map((tool, index) => {
    const contract = contractOfTool(tool, `${at}/${index}`, file)
    if (contract !== null) return contract
    const { line, column } = file.positionOf(`${at}/${index}`)
    throw new NoToolsList(`${name}:${line}:${column} is no tool: it needs a name and an inputSchema that is an object`)
  })
  return { ...judgeAll({ contracts, policy: null }, new Map(), [], () => {}), texts: new Map([[name, bytes.toString('utf8')]]) }
}

function toolsIn (value: Json): readonly [readonly Json[] | null, string] {
  if (Array.isArray(value)) return [value as readonly Json[], '']
  if (isObject(value) && Array.isArray(value.tools)) return [value.tools as readonly Json[], '/tools']
  if (isObject(value) && isObject(value.result) && Array.isArray(value.result.tools)) return [value.result.tools as readonly Json[], '/result/tools']
  return [null, '']
}

function judgeAll (
  offer: Offer, texts: ReadonlyMap<string, string>, faults: readonly Fault[], progress: LoadProgress
): Pick<Report, 'actions' | 'findings'> {
  const broken = new Set(faults.map(({ file }) => file))
  const findings = faults.map(fault => findingOfFault(fault, offer))
  const actions: ScoredAction[] = []
  for (const [index, contract] of offer.contracts.entries()) {
    progress(index, offer.contracts.length, contract.id)
    const acceptances = offer.policy === null && contract.sheet === null ? [] : acceptancesIn(texts.get(contract.file.name) ?? '')
    const reasons = new Map(acceptances.filter(({ reason }) => reason.length >= REASON_LENGTH_MIN).map(({ rule, reason }) => [rule, reason]))
    const { found, score } = judge(contract, offer, RULES, new Set(reasons.keys()))
    findings.push(...found.map(one => findingOf(one, contract, reasons.get(one.rule.id) ?? null)))
    findings.push(...uselessAcceptances(acceptances, found, contract))
    actions.push({ action: contract.id, file: contract.file.name, ...(broken.has(contract.file.name) ? UNLOADED : score) })
  }
  progress(offer.contracts.length, offer.contracts.length, '')
  return { actions, findings: merged(findings) }
}

function findingOf (found: Found & { readonly rule: Rule }, contract: Contract, accepted: string | null): Finding {
  const { rule, pointer, message } = found
  const file = found.file ?? contract.file
  const { line, column } = found.atKey === true ? file.keyPositionOf(pointer) : file.positionOf(pointer)
  return {
    rule: rule.id, severity: rule.severity, category: rule.weighs.category, file: file.name, line, column, message, actions: [contract.id], accepted,
    fix: found.fix ?? null,
  }
}

function findingOfFault ({ file, line, column, rule, message }: Fault, offer: Offer): Finding {
  const actions = offer.contracts.filter(contract => contract.file.name === file).map(({ id }) => id)
  return { rule, severity: 'error', category: 'load', file, line, column, message, actions, accepted: null, fix: null }
}

/** An acceptance outlives its finding, or names none: then it would hide the next one. */
function uselessAcceptances (acceptances: readonly Acceptance[], found: Judged, contract: Contract): readonly Finding[] {
  return acceptances.flatMap(({ rule, reason, line, column }): Finding[] => {
    const message = !RULES.some(({ id }) => id === rule)
      ? `there is no rule "${rule}"`
      : reason.length < REASON_LENGTH_MIN
        ? `"${rule}" is accepted without a reason, which does not count`
        : found.some(one => one.rule.id === rule) ? null : `"${rule}" is accepted and not found any more`
    if (message === null) return []
    return [{
      rule: 'acceptance-useless', severity: 'note', category: 'practice', file: contract.file.name, line, column, message, actions: [contract.id],
      accepted: null, fix: null,
    }]
  })
}

type Judged = ReadonlyArray<Found & { readonly rule: Rule }>

/** What is found once for several actions is told once; what the load tells too is told by it. */
function merged (findings: readonly Finding[]): readonly Finding[] {
  const byPlace = new Map<string, Finding>()
  const told = new Set(findings.filter(({ category }) => category === 'load').map(({ rule, file, line }) => `${rule} ${file} ${line}`))
  for (const finding of findings) {
    const { rule, file, line, column, message, category } = finding
    if (category !== 'load' && told.has(`${rule} ${file} ${line}`)) continue
    const key = JSON.stringify([file, line, column, rule, message])
    const earlier = byPlace.get(key)
    byPlace.set(key, earlier === undefined ? finding : { ...earlier, actions: [...new Set([...earlier.actions, ...finding.actions])] })
  }
  return [...byPlace.values()].sort((one, other) => compare(one.file, other.file) || one.line - other.line || one.column - other.column ||
    compare(one.rule, other.rule) || compare(one.message, other.message))
}

/** Files that are named like a sheet and have not the form of one. */
function unreadable (survey: Survey): readonly ScoredAction[] {
  const read = new Set(survey.sheets.map(({ file }) => file.name))
  const names = new Set(survey.faults.map(({ file }) => file).filter(file => /\.v[1-9]\d*\.yaml$/.test(file) && !read.has(file)))
  return [...names].map(file => ({ action: posix.basename(file, '.yaml'), file, ...UNLOADED }))
}

const compare = (one: string, other: string): number => one < other ? -1 : one > other ? 1 : 0
