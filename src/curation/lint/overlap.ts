// How alike two contracts are to a model: by the words of their names and descriptions and by their arguments. Numbers of words alone, so that the
// same two contracts are always as alike.
import type { Contract } from './contract.ts'
import { descriptionOf, parametersOf } from './parameters.ts'
import { claimsOf } from './prose.ts'

/** In per cent. */
const ALIKE_MIN = 70

/** In per cent; null where they can be told apart. */
export function overlapOf (one: Contract, other: Contract): number | null {
  // Versions of one action are meant to be alike, and a read is told from a write by its verb and its annotations.
  if (one.name === other.name || (one.write !== null && other.write !== null && one.write !== other.write)) return null
  if (one.description.includes(other.name) && other.description.includes(one.name)) return null
  const percent = Math.round(100 * (
    0.45 * nameLikeness(featuresOf(one), featuresOf(other)) +
    0.25 * cosine(featuresOf(one).words, featuresOf(other).words) +
    0.3 * jaccard(featuresOf(one).arguments, featuresOf(other).arguments)
  ))
  return percent >= ALIKE_MIN ? percent : null
}

/** What would set them apart, in words for whoever writes them. */
export function separationOf (one: Contract, other: Contract): string {
  const only = [...featuresOf(one).arguments].filter(argument => !featuresOf(other).arguments.has(argument)).map(argument => argument.split(':')[0]!)
  const apart = [
    ...(one.description.includes(other.name) ? [] : [`"use ${other.name} instead" in the description`]),
    ...(only.length > 0 ? [`say when ${only.map(name => `"${name}"`).join(', ')} is at hand`] : ['an argument that only one of them has']),
    'another object in the name',
  ]
  return `what would separate them: ${apart.join('; ')}`
}

interface Features {
  /** Of the name, by what it means. */
  readonly verb: string
  readonly object: ReadonlySet<string>
  readonly words: ReadonlyMap<string, number>
  readonly arguments: ReadonlySet<string>
}

/** Each contract is compared with every other one. */
const known = new WeakMap<Contract, Features>()

function featuresOf (contract: Contract): Features {
  let features = known.get(contract)
  if (features === undefined) {
    const [verb = '', ...object] = partsOf(contract.name)
    features = {
      verb: SYNONYMS.get(verb) ?? verb,
      object: new Set(object.map(stem)),
      words: wordsOf(claimsOf(contract.description)),
      arguments: argumentsOf(contract),
    }
    known.set(contract, features)
  }
  return features
}

const SYNONYMS: ReadonlyMap<string, string> = new Map([
  ['read', 'get read fetch retrieve show load view describe lookup inspect'],
  ['find', 'find search list query browse lookup discover'],
  ['create', 'create add make new insert register open'],
  ['remove', 'delete remove destroy drop erase purge'],
  ['change', 'update change modify edit set patch adjust replace alter'],
  ['send', 'send email mail notify message'],
  ['stop', 'cancel stop abort terminate end void'],
].flatMap(([meaning, words]) => words!.split(' ').map(word => [word, meaning!] as const)))

/** The verb by its meaning, and the share of words that the objects have in common. */
function nameLikeness (one: Features, other: Features): number {
  return (one.verb === other.verb ? 0.4 : 0) + 0.6 * jaccard(one.object, other.object)
}

const partsOf = (name: string): readonly string[] =>
  name.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase().split(/[^a-z0-9]+/).filter(part => part !== '')

const COMMON = new Set(`a an and are as at be been before by can do does each for from has have if in into is it its more no not of on one only or
  returns so than that the their them then there they this to use used was what when where which who whose will with you`.split(/\s+/))

function wordsOf (text: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const word of text.toLowerCase().match(/[a-z]{2,}/g) ?? []) {
    if (COMMON.has(word)) continue
    const root = stem(SYNONYMS.get(stem(word)) ?? word)
    counts.set(root, (counts.get(root) ?? 0) + 1)
  }
  return counts
}

const stem = (word: string): string => word.replace(/(ing|ies|ed|es|s)$/, '')

/** Name and type; the word that stands for what is looked for is one and the same. */
function argumentsOf (contract: Contract): ReadonlySet<string> {
  return new Set(parametersOf(contract).map(({ name, schema }) => {
    const plain = /^(q|query|search|text|term|terms|keyword|keywords)$/.test(name) ? 'query' : stem(name.toLowerCase())
    return `${plain}:${String(schema.type ?? descriptionOf(schema))}`
  }))
}

function jaccard (one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  const all = new Set([...one, ...other])
  if (all.size === 0) return 1
  return [...one].filter(item => other.has(item)).length / all.size
}

function cosine (one: ReadonlyMap<string, number>, other: ReadonlyMap<string, number>): number {
  const length = (counts: ReadonlyMap<string, number>): number => Math.sqrt([...counts.values()].reduce((sum, count) => sum + count * count, 0))
  const lengths = length(one) * length(other)
  if (lengths === 0) return 0
  return [...one].reduce((sum, [word, count]) => sum + count * (other.get(word) ?? 0), 0) / lengths
}
