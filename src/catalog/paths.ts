// What an expression reads. Every chain that begins at a variable (`reads.customer.body.version`) is followed through the shapes that are known: a
// name that is not there is a fault with its place, what is read is written down, and for the type check the chain is replaced by a stand-in
// of its type, so that the library checks operators and functions only.
import { children, literalTrue, standIn, type Node } from './cel.ts'
import { noUse, type Use } from './convert.ts'
import { suggestion } from './near.ts'
import { compilePattern } from './pattern.ts'
import { alternatives, ANY, BOOL, listOf, shapeOfValue, union, type ObjectShape, type Shape } from './shape.ts'

/** `['args', 'items', '*', 'id']`; `*` stands for every item. */
export type Path = readonly string[]
const EACH = '\u0000*'

/** A name, not the sign for every item. */
export const isName = (part: string): boolean => part !== EACH

export class ExpressionError extends Error {
  readonly rule: string
  readonly offset: number
  constructor (rule: string, message: string, offset: number) {
    super(message)
    this.rule = rule
    this.offset = offset
  }
}

interface Ref {
  readonly shape: Shape
  /** null where it is not a chain. */
  readonly path: Path | null
  readonly optional: boolean
  /** An index inside is itself an expression: the library has to see it, so the chain is not replaced as a whole. */
  readonly opened: boolean
}

export interface Reading {
  /** What is read, by variable. */
  readonly uses: ReadonlyMap<string, Use>
  readonly shape: Shape
  /** Where the whole expression is one chain. */
  readonly path: Path | null
  /** Pairs of chains that are compared for equality. */
  readonly equalities: ReadonlyArray<readonly [Path, Path]>
}

const COMPREHENSIONS = new Set(['all', 'exists', 'exists_one', 'map', 'filter'])
const TYPE_NAMES = new Set(['int', 'double', 'string', 'bool', 'list', 'map', 'null_type', 'type', 'bytes', 'uint'])
const PLAIN: Ref = Object.freeze({ shape: ANY, path: null, optional: false, opened: false })

/** @throws ExpressionError at the first thing that is wrong; changes the tree for the type check */
export function readPaths (ast: Node, variables: ReadonlyMap<string, Shape>): Reading {
  const reader = new PathReader(variables)
  const ref = reader.visit(ast)
  return { uses: reader.uses, shape: ref.shape, path: ref.optional ? null : ref.path, equalities: reader.equalities }
}

class PathReader {
  readonly uses = new Map<string, Use>()
  readonly equalities: Array<readonly [Path, Path]> = []
  readonly #variables: ReadonlyMap<string, Shape>
  /** Variables of the comprehension around. */
  readonly #items = new Map<string, Ref>()
  /** Chains that a `has()` before has proved to be there. */
  readonly #present: string[] = []

  constructor (variables: ReadonlyMap<string, Shape>) {
    this.#variables = variables
  }

  /** Reads a node whose value is used as it is. */
  visit (node: Node): Ref {
    const ref = this.#resolve(node)
    if (ref.path !== null) {
      this.#use(ref.path).whole = true
      if (!ref.opened && !(node.op === 'id' && this.#items.has(node.args as string))) {
        node.setMeta('alternate', standIn(celType(ref.shape, ref.optional)))
      }
    }
    return ref
  }

  /** Follows a chain without using what it ends in. */
  #resolve (node: Node): Ref {
    switch (node.op) {
      case 'id': return this.#variable(node)
      case '.': case '.?': {
        const [base, name] = node.args as [Node, string]
        return this.#field(this.#base(base), name, node, node.op === '.?')
      }
      case '[]': case '[?]': return this.#index(node)
      case 'rcall': return this.#method(node)
      case 'call': return this.#call(node)
      case '&&': case '||': return this.#logical(node)
      case '?:': return this.#ternary(node)
      case '==': case '!=': return this.#equality(node)
      case 'value': return { ...PLAIN, shape: valueShape(node.args) }
      case 'map': return this.#mapLiteral(node)
      case 'list': return { ...PLAIN, shape: listOf(union((node.args as Node[]).map(item => this.visit(item).shape))) }
      default:
        for (const child of children(node)) this.visit(child)
        return PLAIN
    }
  }

  #variable (node: Node): Ref {
    const name = node.args as string
    const item = this.#items.get(name)
    if (item !== undefined) return item
    const shape = this.#variables.get(name)
    if (shape !== undefined) return { shape, path: [name], optional: name === 'found', opened: false }
    if (TYPE_NAMES.has(name) || name === 'optional') return PLAIN
    throw new ExpressionError(
      'unknown-variable',
      `"${name}" cannot be used here${suggestion(name, this.#variables.keys()) || `; what can: ${[...this.#variables.keys()].join(', ')}`}`,
      node.start
    )
  }

  /** What stands left of a dot: followed where it is a chain, used where it is not. */
  #base (node: Node): Ref {
    return this.#resolve(node)
  }

  #field (base: Ref, name: string, node: Node, viaOptional: boolean): Ref {
    const path = base.path === null ? null : [...base.path, name]
    const optional = base.optional || viaOptional
    const ref = (shape: Shape): Ref => ({ shape, path, optional, opened: base.opened })
    const possible = alternatives(base.shape)
    if (possible.length === 0) return ref(ANY)
    const object = possible.find((shape): shape is ObjectShape => shape.kind === 'object')
    const at = node.end - name.length
    if (object === undefined) {
      if (possible.every(shape => shape.kind === 'null')) return ref(ANY)
      throw new ExpressionError('unknown-field', `a ${possible[0]!.kind} has no "${name}"`, at)
    }
    const field = object.fields.get(name)
    if (field === undefined) {
      if (object.rest !== null) {
        if (path?.at(-2) === 'headers' && name !== name.toLowerCase()) {
          throw new ExpressionError('header-name-case', `names of headers are in lower case here: "${name.toLowerCase()}"`, at)
        }
        return ref(object.rest())
      }
      if (possible.some(shape => shape.kind !== 'object' && shape.kind !== 'null')) return ref(ANY)
      const hint = suggestion(name, object.fields.keys()) || listed(object.fields)
      throw new ExpressionError('unknown-field', `there is no "${name}" in ${textOf(base.path)}${hint}`, at)
    }
    if (!field.required && path?.[0] === 'args' && !optional && !this.#present.includes(keyOf(node) ?? '')) {
      throw new ExpressionError('optional-argument', `"${name}" may be absent; write has(…) before it, or .?${name}`, at)
    }
    return ref(field.shape())
  }

  #index (node: Node): Ref {
    const [left, index] = node.args as [Node, Node]
    const base = this.#base(left)
    if (index.op === 'value' && typeof index.args === 'string') return this.#field(base, index.args, node, node.op === '[?]')
    const possible = alternatives(base.shape)
    if (possible.length > 0 && possible.every(shape => shape.kind !== 'list' && shape.kind !== 'object')) {
      throw new ExpressionError('unknown-field', `a ${possible[0]!.kind} has no items`, node.start)
    }
    const lists = possible.filter(shape => shape.kind === 'list')
    const objects = possible.filter((shape): shape is ObjectShape => shape.kind === 'object')
    const shape = union([...lists.map(list => list.item()), ...objects.map(object => object.rest?.() ?? ANY)])
    const optional = base.optional || node.op === '[?]'
    const path = base.path === null ? null : [...base.path, EACH]
    if (index.op === 'value') return { shape, path, optional, opened: base.opened }
    this.visit(index)
    if (base.path !== null && !base.opened && !(left.op === 'id' && this.#items.has(left.args as string))) {
      left.setMeta('alternate', standIn(celType(base.shape, base.optional)))
    }
    // A name that is only known then may be any of them.
    if (path !== null) this.#use(path).whole = true
    return { shape, path, optional, opened: true }
  }

  #call (node: Node): Ref {
    const [name, args] = node.args as [string, Node[]]
    if (name === 'has' && args.length === 1 && args[0]!.op === '.') {
      const [base, field] = args[0]!.args as [Node, string]
      const ref = this.#field(this.#base(base), field, args[0]!, true)
      if (ref.path !== null) this.#use(ref.path)
      node.setMeta('alternate', literalTrue())
      return { ...PLAIN, shape: BOOL }
    }
    for (const argument of args) this.visit(argument)
    return PLAIN
  }

  #method (node: Node): Ref {
    const [name, receiver, args] = node.args as [string, Node, Node[]]
    if (COMPREHENSIONS.has(name) && args.length >= 2) return this.#comprehension(name, receiver, args, node)
    if (name === 'bind') {
      throw new ExpressionError('expression-not-allowed', 'cel.bind is not allowed; use values: for what is needed twice', node.start)
    }
    if (name === 'matches') this.#requirePattern(args, node)
    if (args.length === 0 && (name === 'value' || name === 'hasValue')) {
      const ref = this.#resolve(receiver)
      if (ref.optional && ref.path !== null && !ref.opened) {
        if (name === 'value') return { ...ref, optional: false }
        this.#use(ref.path)
        node.setMeta('alternate', literalTrue())
        return { ...PLAIN, shape: BOOL }
      }
      this.#whole(ref)
      return PLAIN
    }
    this.visit(receiver)
    for (const argument of args) this.visit(argument)
    return PLAIN
  }

  #requirePattern (args: readonly Node[], node: Node): void {
    const [pattern] = args
    if (pattern === undefined || pattern.op !== 'value' || typeof pattern.args !== 'string') {
      throw new ExpressionError('pattern-not-literal', 'the pattern of matches() must be written out as text', node.start)
    }
    const compiled = compilePattern(pattern.args)
    if (typeof compiled === 'string') throw new ExpressionError('pattern-invalid', compiled, pattern.start)
  }

  #comprehension (name: string, receiver: Node, args: readonly Node[], node: Node): Ref {
    if (this.#items.size > 0) {
      throw new ExpressionError('expression-nested-loop', `${name}() stands inside another loop; compute one of them in values:`, node.start)
    }
    const [variable, ...bodies] = args as [Node, ...Node[]]
    if (variable.op !== 'id') throw new ExpressionError('expression-invalid', `the first word in ${name}() must be a plain name`, variable.start)
    const list = this.#resolve(receiver)
    const looped = variable.args as string
    if (this.#variables.has(looped)) {
      throw new ExpressionError('expression-shadows', `"${looped}" already means something here; choose another name`, variable.start)
    }
    const possible = alternatives(list.shape)
    const items = possible.filter(shape => shape.kind === 'list').map(shape => shape.item())
    const item = possible.some(shape => shape.kind === 'object') || items.length === 0 ? ANY : union(items)
    const path = list.path === null || list.optional || item === ANY ? null : [...list.path, EACH]
    if (list.path !== null) {
      if (path === null) this.#use(list.path).whole = true
      else this.#use(path)
      if (!list.opened) receiver.setMeta('alternate', standIn(celType(list.shape, list.optional)))
    }
    this.#items.set(looped, { shape: item, path, optional: false, opened: false })
    const last = bodies.map(body => this.visit(body)).at(-1)!
    this.#items.delete(looped)
    if (name === 'filter' && path !== null) this.#use(path).whole = true
    if (name === 'filter') return { ...PLAIN, shape: list.shape }
    return { ...PLAIN, shape: name === 'map' ? listOf(last.shape) : BOOL }
  }

  #logical (node: Node): Ref {
    const [left, right] = node.args as [Node, Node]
    this.visit(left)
    this.#given(presentWhen(left, node.op === '&&'), () => this.visit(right))
    return { ...PLAIN, shape: BOOL }
  }

  #ternary (node: Node): Ref {
    const [condition, yes, no] = node.args as [Node, Node, Node]
    this.visit(condition)
    const one = this.#given(presentWhen(condition, true), () => this.visit(yes))
    const other = this.#given(presentWhen(condition, false), () => this.visit(no))
    return { ...PLAIN, shape: one.optional || other.optional ? ANY : union([one.shape, other.shape]) }
  }

  #equality (node: Node): Ref {
    const [left, right] = (node.args as [Node, Node]).map(side => this.visit(side)) as [Ref, Ref]
    if (node.op === '==' && left.path !== null && right.path !== null) this.equalities.push([left.path, right.path])
    return { ...PLAIN, shape: BOOL }
  }

  #mapLiteral (node: Node): Ref {
    const fields = new Map<string, { readonly shape: () => Shape, readonly required: boolean }>()
    let named = true
    for (const [key, value] of node.args as Array<[Node, Node]>) {
      this.visit(key)
      const { shape } = this.visit(value)
      if (key.op === 'value' && typeof key.args === 'string') fields.set(key.args, { shape: () => shape, required: true })
      else named = false
    }
    return { ...PLAIN, shape: { kind: 'object', fields, rest: named ? null : () => ANY } }
  }

  #whole (ref: Ref): void {
    if (ref.path !== null) this.#use(ref.path).whole = true
  }

  #given<T> (present: readonly string[], read: () => T): T {
    this.#present.push(...present)
    const result = read()
    this.#present.length -= present.length
    return result
  }

  #use (path: Path): Use {
    const [variable, ...names] = path as readonly [string, ...string[]]
    let use = this.uses.get(variable)
    if (use === undefined) this.uses.set(variable, use = noUse())
    for (const name of names) {
      let next: Use | undefined = name === EACH ? use.each ?? undefined : use.names.get(name)
      if (next === undefined) {
        next = noUse()
        if (name === EACH) use.each = next
        else use.names.set(name, next)
      }
      use = next
    }
    return use
  }
}

/** The chains that are there for certain once `node` is `truth`. */
function presentWhen (node: Node, truth: boolean): readonly string[] {
  if (node.op === '!_') return presentWhen(node.args as Node, !truth)
  if (node.op === (truth ? '&&' : '||')) return (node.args as Node[]).flatMap(side => presentWhen(side, truth))
  if (!truth) return []
  if (node.op === 'call') {
    const [name, args] = node.args as [string, Node[]]
    const key = name === 'has' && args.length === 1 ? keyOf(args[0]!) : null
    return key === null ? [] : [key]
  }
  if (node.op === 'rcall') {
    const [name, receiver] = node.args as [string, Node]
    const key = name === 'hasValue' ? keyOf(receiver) : null
    return key === null ? [] : [key]
  }
  return []
}

/** `args.a.b` as text, however its dots are written; null where it is not a plain chain. */
function keyOf (node: Node): string | null {
  if (node.op === 'id') return node.args as string
  if (node.op === '.' || node.op === '.?') {
    const [base, name] = node.args as [Node, string]
    const key = keyOf(base)
    return key === null ? null : `${key}.${name}`
  }
  return null
}

/** What there is where nothing is near: of few fields all, of many none. */
function listed (fields: ReadonlyMap<string, unknown>): string {
  return fields.size === 0 || fields.size > LISTED_MAX ? '' : `; there is ${[...fields.keys()].join(', ')}`
}

const LISTED_MAX = 12

const textOf = (path: Path | null): string => path === null ? 'this' : path.map(part => part === EACH ? '*' : part).join('.')

/** The CEL type that stands for a shape in the type check. */
export function celType (shape: Shape, optional = false): string {
  const type = shape.kind === 'list' ? `list<${elementType(shape.item())}>` : elementType(shape)
  return optional ? `optional<${type}>` : type
}

function elementType (shape: Shape): string {
  switch (shape.kind) {
    case 'object': return 'map<string, dyn>'
    case 'timestamp': return 'google.protobuf.Timestamp'
    case 'list': return 'dyn'
    default: return shape.kind
  }
}

/** What a type that the check found says of a value. */
export function shapeOfType (type: string): Shape {
  const list = /^list<(.+)>$/.exec(type)
  if (list !== null) return listOf(shapeOfType(list[1]!))
  switch (type) {
    case 'string': case 'bool': case 'int': case 'double': case 'null': return { kind: type }
    case 'google.protobuf.Timestamp': return { kind: 'timestamp' }
    default: return ANY
  }
}

function valueShape (value: unknown): Shape {
  if (typeof value === 'bigint') return { kind: 'int' }
  if (typeof value === 'number') return { kind: 'double' }
  return value === null || typeof value === 'string' || typeof value === 'boolean' ? shapeOfValue(value) : ANY
}

