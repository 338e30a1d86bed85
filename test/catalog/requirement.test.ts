// Whose yes an action needs: what its consequences ask for, and what the policy adds.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FaultList } from '../../src/catalog/faults.ts'
import type { PolicySheet } from '../../src/catalog/policy.ts'
import { requirementOf, strictest, type Consequences } from '../../src/catalog/requirement.ts'
import { readYaml, YamlFile } from '../../src/catalog/yaml-file.ts'

function required (policy: Omit<PolicySheet, 'roles'>, asked: Partial<Consequences> = {}) {
  const faults = new FaultList()
  const report = faults.in(readYaml('sheet', Buffer.from('consent: call')) as YamlFile)
  const requirement = requirementOf({ id: 'pay.v1', effect: 'external_commitment', involves: [], consent: 'call', ...asked }, { roles: {}, ...policy }, report)
  return { requirement, faults: faults.all().map(({ rule }) => rule) }
}

test('where nobody is named, nobody may decide', () => {
  assert.deepEqual(required({}), {
    requirement: { approve: 1, roles: [], separation: 'agent', signInMaxAgeS: null, confirm: 'none' }, faults: [],
  })
})

test('only roles that stand in every list may decide', () => {
  const policy = { approvers: { lead: ['pay.v1'], finance: ['pay.v1'], other: ['ship.v1'] }, consent: { money: { level: 'call', approvers: ['finance', 'other'] } } } as const
  assert.deepEqual(required(policy, { involves: ['money'] }).requirement.roles, ['finance'])
  assert.deepEqual(required(policy).requirement.roles, ['finance', 'lead'], 'a list about money says nothing of what involves none')
})

test('lists that leave nobody are a fault of the load, but where nobody is asked', () => {
  const policy = { approvers: { lead: ['pay.v1'] }, consent: { money: { level: 'call', approvers: ['finance'] } } } as const
  assert.deepEqual(required(policy, { involves: ['money'] }).faults, ['nobody-may-decide'])
  assert.deepEqual(required(policy, { involves: ['money'], consent: 'none' }).faults, [])
})

test('the largest quorum of all its consequences holds', () => {
  const consent = { money: { level: 'call', quorum: 2 }, external_commitment: { level: 'call', quorum: 3 }, access: { level: 'call', quorum: 9 } } as const
  assert.equal(required({ consent }, { involves: ['money'] }).requirement.approve, 3)
})

test('money, access, what cannot be undone and what concerns many are decided by somebody else than who asked, after a look', () => {
  const of = (asked: Partial<Consequences>): unknown => {
    const { separation, confirm, signInMaxAgeS } = required({}, asked).requirement
    return [separation, confirm, signInMaxAgeS]
  }
  assert.deepEqual(of({ involves: ['personal_data', 'public'] }), ['agent', 'none', null])
  assert.deepEqual(of({ involves: ['money'] }), ['requester', 'checkbox', null])
  assert.deepEqual(of({ involves: ['access'] }), ['requester', 'checkbox', 300])
  assert.deepEqual(of({ involves: ['money', 'bulk'] }), ['requester', 'type_value', null])
  assert.deepEqual(of({ effect: 'irreversible_change' }), ['requester', 'type_value', null])
})

test('what cannot be shown whole is asked for as strictly as anything', () => {
  const { requirement } = required({ approvers: { lead: ['pay.v1'] } })
  assert.deepEqual(strictest(requirement), { approve: 1, roles: ['lead'], separation: 'requester', signInMaxAgeS: 300, confirm: 'type_value' })
})
