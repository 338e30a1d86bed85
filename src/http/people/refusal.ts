// What the people listener refuses, in words for a person. The page says what happened and what can be done; a terminal gets the same as JSON.
import type { ErrorCode } from '../../errors.ts'

export interface RefusalWords {
  /** Of the answer. */
  readonly status: number
  /** One word for a program. */
  readonly why: string
  /** For the metrics: the row of the error table that is nearest. */
  readonly code: ErrorCode
  readonly title: string
  readonly text: string
}

export class PageRefusal extends Error {
  override readonly name = 'PageRefusal'
  readonly words: RefusalWords
  /** Where the person may go on from, a path of ours with its label. */
  readonly next: { readonly href: string, readonly label: string } | null

  constructor (words: RefusalWords, next: PageRefusal['next'] = null) {
    super(words.title)
    this.words = words
    this.next = next
  }
}

const words = (status: number, why: string, code: ErrorCode, title: string, text: string): RefusalWords =>
  Object.freeze({ status, why, code, title, text })

export const REFUSALS = Object.freeze({
  signedOut: words(401, 'signed_out', 'UNAUTHENTICATED', 'Please sign in', 'This page is for people who are signed in.'),
  notTaken: words(401, 'signed_out', 'UNAUTHENTICATED', 'Your decision was not taken', 'Your sign-in was over. Sign in and look again.'),
  notDone: words(401, 'signed_out', 'UNAUTHENTICATED', 'Nothing was changed', 'Your sign-in was over. Sign in and look again.'),
  agentToken: words(401, 'agent_token', 'UNAUTHENTICATED', 'No tokens here',
    'An access token opens nothing on this listener: people sign in with their identity provider.'),
  forged: words(403, 'forged', 'MALFORMED_REQUEST', 'This request did not come from our page',
    'Nothing was changed. Open the page again and repeat what you wanted to do.'),
  staleForm: words(403, 'stale_form', 'MALFORMED_REQUEST', 'This form is no longer good',
    'It was made for another sign-in, or a long time ago. Nothing was changed.'),
  byEnter: words(400, 'by_enter', 'MALFORMED_REQUEST', 'Press one of the buttons',
    'The Enter key in a field does nothing here. Nothing was changed; go back to the form.'),
  notOperator: words(403, 'not_operator', 'NOT_FOUND', 'For operators alone', 'Your sign-in does not carry the role of an operator.'),
  missing: words(404, 'missing', 'NOT_FOUND', 'There is nothing here', 'It does not exist, or it is not for you to see.'),
  wrongMethod: words(405, 'wrong_method', 'METHOD_NOT_ALLOWED', 'This address does not answer that', 'Nothing was changed.'),
  signInFailed: words(400, 'sign_in_failed', 'MALFORMED_REQUEST', 'The sign-in did not succeed',
    'What came back from the identity provider does not belong to a sign-in that was begun here, or is not good. Nothing was changed.'),
  codeOver: words(400, 'code_over', 'MALFORMED_REQUEST', 'The code was not entered in time', 'Nobody signed in with it. Run the command again for a new one.'),
  logoutToken: words(400, 'invalid_request', 'MALFORMED_REQUEST', 'This is no logout token', 'It is not signed by the identity provider for this broker, or says nobody. Nothing was changed.'),
  tooManySignIns: words(429, 'too_many_sign_ins', 'RATE_LIMITED', 'Too many sign-ins are under way', 'Try again in a few minutes.'),
  providerDown: words(503, 'provider_unavailable', 'STATE_UNAVAILABLE', 'The identity provider does not answer', 'Try again in a moment.'),
  stateDown: words(503, 'state_unavailable', 'STATE_UNAVAILABLE', 'The broker cannot reach its state now', 'Nothing was changed. Try again in a moment.'),
  fault: words(500, 'fault', 'INTERNAL', 'The broker met a fault of its own', 'An operator can find it by the number below.'),
  malformed: words(400, 'malformed', 'MALFORMED_REQUEST', 'This request cannot be read', 'Nothing was changed.'),
})
