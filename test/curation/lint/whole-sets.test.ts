// What needs more than one place to be seen: words that reach a place on a way, findings of several actions, files that cannot be read.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { stringify } from 'yaml'
import { lintFolder } from '../../../src/curation/lint/lint.ts'
import { clean, folderOf, judged } from './clean-contracts.ts'

const CONSENT = 'consent: call\n'
const messagesOf = (report: Awaited<ReturnType<typeof judged>>, rule: string): readonly string[] =>
  report.findings.filter(finding => finding.rule === rule).map(({ message }) => message)

test('free text is followed through values and the target to where it ends up', async t => {
  const throughValues = await judged(t, 'write', `${CONSENT}values: {town: "\${args.city}", label: "to \${values.town}"}
proposal: {effect: "Move customer \${args.customer_id} \${values.label}"}`)
  assert.deepEqual(messagesOf(throughValues, 'free-text-in-effect'), ['"city" is free text of the agent; show it under after'])
  const throughTarget = await judged(t, 'write', `${CONSENT}target: {type: customer, id: "\${args.city}"}
proposal: {effect: "Move customer \${target.id}"}`)
  assert.deepEqual(messagesOf(throughTarget, 'free-text-in-effect'), ['"city" is free text of the agent; show it under after'])
  assert.deepEqual(messagesOf(throughTarget, 'free-text-reaches-path'), ['"city" is free text; give it a pattern, an enum or a format'])
})

test('what was read from the upstream is no word of the agent, though an argument chose what to read', async t => {
  const report = await judged(t, 'write', `${CONSENT}values: {name: "\${reads.customer.body.name}"}
proposal: {effect: "Move \${values.name} away from \${reads.customer.body.city}"}`)
  assert.deepEqual(messagesOf(report, 'free-text-in-effect'), [])
})

test('within an object, only the free texts are told, by their path', async t => {
  const report = await judged(t, 'write', `
input:
  required: [customer_id, city, place]
  properties:
    place:
      type: object
      description: Where to
      additionalProperties: false
      required: [street, country]
      properties:
        street: {type: string, maxLength: 50, description: The street}
        country: {type: string, pattern: "^[A-Z]{2}$", maxLength: 2, description: "The country, ISO 3166-1"}
${CONSENT}proposal: {effect: "Move customer \${args.customer_id} to \${args.place.street} in \${args.place.country}"}
examples: null`)
  assert.deepEqual(messagesOf(report, 'free-text-in-effect'), ['"place.street" is free text of the agent; show it under after'])
})

test('a role that is too large is told once, where it stands, and lowers every action in it', async t => {
  const report = await judged(t, 'observation', 'policy: {roles: {everything: {repeat: 22}}}')
  const [finding, ...more] = report.findings
  assert.deepEqual([finding?.rule, finding?.file, finding?.actions.length, more], ['too-many-actions-for-role', 'actions/policy.yaml', 22, []])
  assert.deepEqual([...new Set(report.actions.map(({ score }) => score))], [89])
})

test('a sheet that cannot be read is listed with nothing, and those beside it are judged all the same', async t => {
  const folder = folderOf(t, [clean('observation')])
  const broken = { 'cut_short.v1.yaml': 'action: [', 'no_sheet.v2.yaml': 'action: no_sheet\n', 'not_text.v1.yaml': Buffer.from([0xff, 0xfe, 0x00]) }
  for (const [name, content] of Object.entries(broken)) writeFileSync(join(folder.actionsFolder, 'shop', name), content)
  const { actions, findings } = await lintFolder({ ...folder, shownAs: 'actions', within: '' })
  assert.deepEqual(actions.map(({ action, score, cappedBy }) => [action, score, cappedBy]), [
    ['cut_short.v1', 0, ['does-not-load']], ['get_customer.v1', 100, []], ['no_sheet.v2', 0, ['does-not-load']], ['not_text.v1', 0, ['does-not-load']],
  ])
  assert.ok(findings.every(({ category }) => category === 'load'))
  assert.ok(findings.some(({ rule, file }) => rule === 'not-utf8' && file === 'actions/shop/not_text.v1.yaml'))
})

test('where the upstream or its document has a fault, its sheets are judged by what can be seen of them', async t => {
  const folder = folderOf(t, [clean('write')])
  writeFileSync(join(folder.actionsFolder, 'shop', 'upstream.yaml'), stringify({ upstream: 'shop', openapi: 'nothing.json', server: 'https://api.shop.example' }))
  const { actions, findings } = await lintFolder({ ...folder, shownAs: 'actions', within: '' })
  assert.deepEqual(actions.map(({ action, score }) => [action, score]), [['change_customer_city.v1', 100]])
  assert.deepEqual(findings.map(({ rule, category, file }) => [rule, category, file]), [['document-unknown', 'load', 'actions/shop/upstream.yaml']])
})
