// Names for a draft: the action by what it does, arguments as an expression can write them.
import type { OperationEntry } from '../../catalog/openapi/inventory.ts'

const ACTION_LENGTH_MAX = 36
const ARGUMENT_LENGTH_MAX = 60

/** What a method does where the document's own name does not begin with a verb. */
const VERB_OF_METHOD: { readonly [method: string]: string } = {
  GET: 'get', HEAD: 'check', POST: 'create', PUT: 'replace', PATCH: 'update', DELETE: 'delete', OPTIONS: 'describe', TRACE: 'trace', QUERY: 'query',
}
const VERBS: ReadonlySet<string> = new Set((
  'accept activate add apply approve archive assign attach authorize block cancel change check clear clone close complete confirm copy count ' +
  'create deactivate delete deploy describe destroy detach disable download enable evict execute export fetch find generate get grant import ' +
  'insert invite issue leave link list lock log login logout mark merge modify move notify open pause place preview publish purge put query quote read ' +
  'rebuild refund register reject release remove rename render renew reopen reorder replace replay report request require reset resend resolve ' +
  'restart restore resume retrieve retry revoke rotate run save schedule search send set share show sign split start stop submit subscribe suspend ' +
  'swap switch sync test transfer trigger unassign unblock undo uninstall unlink unlock unsubscribe update upgrade upload validate verify void ' +
  'watch write'
).split(' '))
const METHOD_WORDS: ReadonlySet<string> = new Set(['get', 'head', 'post', 'put', 'patch', 'delete'])
/** Words that say nothing to who chooses an action. */
const EMPTY_WORDS: ReadonlySet<string> = new Set('api apis a an the of for by v1 v2 v3 rest controller using'.split(' '))

/** `RepositoriesGetBranch` → repositories, get, branch */
export function wordsOf (text: string): readonly string[] {
  return text
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(word => word !== '')
}

/** verb_object, at most 36 characters, none of `taken`. */
export function actionName (operation: OperationEntry, taken: ReadonlySet<string>): string {
  const written = wordsOf(operation.id ?? operation.path.replace(/\{[^}]*\}/g, ' ')).filter(word => !EMPTY_WORDS.has(word))
  const words = operation.id === null ? written.filter(word => !METHOD_WORDS.has(word)) : written
  const [first] = words
  const at = words.findIndex(word => VERBS.has(word))
  // Where the name only repeats the HTTP method, the method's meaning is said; `PostCharges` creates.
  const fromMethod = first !== undefined && first === operation.method.toLowerCase() && first !== 'get' && first !== 'delete'
  const verb = fromMethod || at === -1 ? VERB_OF_METHOD[operation.method] ?? 'call' : words[at]!
  const objects = words.filter((_, index) => index !== (fromMethod ? 0 : at))
  const name = shortened([verb, ...objects.length > 0 ? objects : ['it']].filter((word, index, all) => word !== all[index - 1]), ACTION_LENGTH_MAX)
  return distinct(/^[a-z]/.test(name) ? name : `do_${name}`.slice(0, ACTION_LENGTH_MAX), taken, ACTION_LENGTH_MAX)
}

/** snake_case that an expression can write behind `args.`, none of `taken`. @param around the names of what holds it, outermost first */
export function argumentName (name: string, around: readonly string[], taken: ReadonlySet<string>): string {
  const written = (parts: readonly string[]): string => {
    const joined = shortened(parts.flatMap(wordsOf), ARGUMENT_LENGTH_MAX)
    const plain = joined === '' ? 'value' : joined
    // CEL reads these as what they are, and a name must not begin with a digit.
    return /^[0-9]/.test(plain) || ['in', 'true', 'false', 'null'].includes(plain) ? `the_${plain}` : plain
  }
  const short = written([name])
  const last = around.at(-1)
  const full = last === undefined ? short : written([last, name])
  return distinct(taken.has(short) ? full : short, taken, ARGUMENT_LENGTH_MAX + 4)
}

/** `customers` → customer, as far as English lets it be told. */
export function singular (word: string): string {
  if (/(ss|us|is)$/.test(word) || word.length < 4) return word
  return word.replace(/ies$/, 'y').replace(/(x|ch|sh|ss)es$/, '$1').replace(/s$/, '')
}

/** What the object in the last place of a path is: the fixed segment before it, in the singular. */
export function objectType (path: string): string | null {
  const segments = path.split('/').filter(segment => segment !== '')
  const at = segments.findLastIndex(segment => segment.includes('{'))
  const words = wordsOf(segments.slice(0, Math.max(at, 0)).findLast(segment => !segment.includes('{')) ?? '')
  const last = words.at(-1)
  const type = last === undefined ? '' : [...words.slice(0, -1), singular(last)].join('_').replace(/^[^a-z]+/, '').slice(0, ACTION_LENGTH_MAX)
  return type === '' || EMPTY_WORDS.has(type) ? null : type
}

/** As many whole words as fit. */
function shortened (words: readonly string[], max: number): string {
  let name = ''
  for (const word of words) {
    const next = name === '' ? word : `${name}_${word}`
    if (next.length > max) return name === '' ? word.slice(0, max) : name
    name = next
  }
  return name
}

function distinct (name: string, taken: ReadonlySet<string>, max: number): string {
  let free = name
  for (let n = 2; taken.has(free); n++) free = `${name.slice(0, max - String(n).length - 1)}_${n}`
  return free
}

/** Looks like what only the upstream and its owner may see. */
export function looksSecret (name: string): boolean {
  const words = wordsOf(name)
  const joined = words.join('_')
  return words.some(word => SECRET_WORDS.has(word)) || SECRET_PAIRS.some(pair => joined.includes(pair))
}

const SECRET_WORDS: ReadonlySet<string> = new Set((
  'password passwd passphrase pwd secret secrets token tokens credential credentials authorization cookie cookies session jwt otp totp pin cvc cvv ' +
  'ssn internal signature salt hash pem kubeconfig apikey'
).split(' '))
const SECRET_PAIRS = ['api_key', 'private_key', 'access_key', 'secret_key', 'signing_key', 'encryption_key', 'ssh_key', 'client_key',
  'account_number', 'card_number', 'tax_id', 'security_code', 'recovery_code', 'backup_code']
