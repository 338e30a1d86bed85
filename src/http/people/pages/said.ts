// Words of the pages for what the code names by a code: consequences, states, refusals.
import type { Effect, Involvement } from '../../../catalog/catalog.ts'
import type { MayNot } from '../../../consent/desk.ts'
import type { DenyCode, GrantTerms, InvalidCause, ProposalRecord, ProposalState } from '../../../consent/proposal.ts'
import { isForSameArguments } from '../../../consent/grant.ts'
import { html, type Html } from '../html.ts'
import { moment } from '../layout.ts'

interface Kind {
  readonly label: string
  /** Told by its form as well as by its colour. */
  readonly icon: 'look' | 'turn' | 'hand' | 'stop' | 'coin' | 'key' | 'person' | 'many' | 'open'
  readonly grave: boolean
}

const EFFECTS: Record<Effect, Kind> = {
  observation: { label: 'Reads only', icon: 'look', grave: false },
  reversible_change: { label: 'Can be undone', icon: 'turn', grave: false },
  external_commitment: { label: 'Commits you to others', icon: 'hand', grave: true },
  irreversible_change: { label: 'Cannot be undone', icon: 'stop', grave: true },
}

const INVOLVES: Record<Involvement, Kind> = {
  money: { label: 'Money', icon: 'coin', grave: true },
  access: { label: 'Access rights', icon: 'key', grave: true },
  personal_data: { label: 'Personal data', icon: 'person', grave: false },
  bulk: { label: 'Many objects at once', icon: 'many', grave: true },
  public: { label: 'Visible to everyone', icon: 'open', grave: true },
}

const ICONS: Record<Kind['icon'], Html> = {
  look: html`<path d="M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8Z"/><circle cx="8" cy="8" r="2"/>`,
  turn: html`<path d="M3 7.5A5 5 0 1 1 4.5 12M3 3.5v4h4"/>`,
  hand: html`<path d="M2 9.5h3l2 2h4l3-3M5 6.5 8 4l6 2"/>`,
  stop: html`<path d="M5.2 1.8h5.6l3.4 3.4v5.6l-3.4 3.4H5.2l-3.4-3.4V5.2ZM8 4.8v4M8 11v.2"/>`,
  coin: html`<circle cx="8" cy="8" r="6"/><path d="M10 5.8A2.6 2.6 0 0 0 8 5c-1.2 0-2 .6-2 1.5C6 9 10 7.5 10 9.7c0 .8-.9 1.3-2 1.3a2.9 2.9 0 0 1-2.2-.9M8 3.8V5m0 6v1.2"/>`,
  key: html`<circle cx="5.5" cy="10.5" r="3"/><path d="m7.7 8.3 5.8-5.8M11 5l1.7 1.7"/>`,
  person: html`<circle cx="8" cy="5.5" r="2.7"/><path d="M2.8 13.8a5.3 5.3 0 0 1 10.4 0"/>`,
  many: html`<path d="M5.5 5.5h8v8h-8ZM2.5 10.5v-8h8"/>`,
  open: html`<circle cx="8" cy="8" r="6"/><path d="M2 8h12M8 2c4 4 4 8 0 12-4-4-4-8 0-12"/>`,
}

/** What a yes means beyond what is shown; nothing of it may be left to be found out. */
export function meaningOf ({ effect, grant }: ProposalRecord): string {
  if (grant === null || grant.usesMax === 1) return 'What you approve is exactly this, and nothing else will be carried out.'
  if (isForSameArguments(effect, grant)) return 'What you approve is exactly this, as often as the grant allows.'
  return 'What you approve is not this call alone: while the grant lasts, the agent may repeat the action with other values without asking again.'
}

/** What the agent has of a yes that is in force, and until when. */
export function mayNow ({ grant, uses, commitByMs }: ProposalRecord): Html {
  const until = moment(commitByMs!)
  if (grant === null) return html`The agent can have exactly this carried out, once, until ${until}.`
  return html`The grant is in force until ${until}: ${usesLeft(grant, uses)}.`
}

export const usesLeft = ({ usesMax }: GrantTerms, uses: number): string => `${uses} used, ${Math.max(0, usesMax - uses)} left`

/** Of a grant that is bound to no object. */
export const objectsOf = (effect: Effect): string => effect === 'observation' ? 'any that its values name' : 'none beside what its values name'

export const valuesOf = (effect: Effect, grant: GrantTerms): string =>
  isForSameArguments(effect, grant) ? 'those of this call alone' : 'chosen by the agent for each use, within the rules of the action'

const badge = ({ label, icon, grave }: Kind): Html =>
  html`<li class="badge${grave ? ' grave' : ''}"><svg viewBox="0 0 16 16" aria-hidden="true" focusable="false">${ICONS[icon]}</svg>${label}</li>`

export const badges = ({ effect, involves, kind }: ProposalRecord): Html => html`<ul class="badges" aria-label="Consequences">
${badge(EFFECTS[effect])}${involves.map(one => badge(INVOLVES[one]))}${kind === 'session' ? html`<li class="badge">For a whole run</li>` : null}</ul>`

/** The same in words alone. */
export const consequencesOf = ({ effect, involves, kind }: ProposalRecord): readonly string[] =>
  [EFFECTS[effect].label, ...involves.map(one => INVOLVES[one].label), ...kind === 'session' ? ['For a whole run'] : []]

/** Everything of such a proposal is shown without a cut, and none of it may be decided on unseen. */
export const isGrave = ({ effect, involves }: ProposalRecord): boolean => EFFECTS[effect].grave || involves.some(one => INVOLVES[one].grave)

export const STATES: Record<ProposalState, string> = {
  pending: 'Waiting for a decision',
  approved: 'Approved',
  consumed: 'Approved and carried out',
  denied: 'Denied',
  expired: 'Expired',
  withdrawn: 'Withdrawn by the agent',
  superseded: 'Replaced by another proposal',
  invalidated: 'No longer valid',
  revoked: 'Revoked',
}

/** What the two columns of a change are called. */
export function columnsAt (state: ProposalState): { readonly was: string, readonly now: string } {
  if (state === 'consumed') return { was: 'Was', now: 'As approved' }
  return state === 'pending' || state === 'approved' ? { was: 'Now', now: 'Would be' } : { was: 'Was', now: 'Would have been' }
}

export const CAUSES: Record<InvalidCause, string> = {
  target_changed: 'The object has changed since.',
  sheet_changed: 'The definition of the action was changed.',
  policy_changed: 'The rules about who has to agree were changed.',
  vault_epoch_changed: 'The broker was locked in the meantime.',
  approver_ineligible: 'Somebody who approved may no longer do so.',
  agent_revoked: 'The agent may no longer act.',
  request_changed: 'The request would no longer be the one that was shown.',
  stored_bytes_changed: 'What was stored is not what was shown. An operator has to look at this.',
  state_lost: 'The broker’s store has lost something, and with it perhaps what was decided on this.',
  run_stopped: 'The run was stopped, by an operator or by its own agent: nothing more of it is carried out.',
}

export const DENIALS: Record<DenyCode, string> = {
  wrong_target: 'It is about the wrong object',
  wrong_value: 'A value is wrong',
  not_needed: 'It is not needed',
  not_now: 'Not now',
  needs_more_context: 'I would have to know more',
  policy: 'It is against a rule',
  suspicious: 'It looks suspicious',
  other: 'Another reason',
}

export function whyNot (why: MayNot, { requirement }: ProposalRecord): string {
  switch (why) {
    case 'not_entitled': return 'None of your roles may decide this.'
    case 'own_request': return 'This was asked for on your behalf, or by you, so somebody else has to decide it.'
    case 'already_voted': return 'You have decided on this already.'
    case 'sign_in_too_old': {
      const minutes = Math.ceil((requirement.signInMaxAgeS ?? 0) / 60)
      return `To approve this, your sign-in may be at most ${minutes} minutes old. Sign in again, and you come back to this page.`
    }
    case 'not_pending': return 'There is nothing left to decide here.'
    case 'locked': return 'An operator has locked the broker. Nothing can be approved until it is unlocked; you can still deny this.'
  }
}
