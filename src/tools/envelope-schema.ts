// The output schema of every tool: the envelope, loosely. A client that validates throws the answer away where it does not fit, after the action has
// run, so this promises no more than every answer keeps and leaves room for fields to come.
import type { JsonObject } from '../catalog/catalog.ts'

export const ENVELOPE_OUTPUT_SCHEMA: JsonObject = Object.freeze({
  type: 'object',
  properties: {
    ok: { type: 'boolean', description: 'The outcome is completed, pending or already_in_desired_state.' },
    outcome: { type: 'string', enum: ['completed', 'pending', 'already_in_desired_state', 'rejected', 'unknown'] },
    correlation_id: { type: 'string', description: 'An operator finds the call by it.' },
    attempt_id: { type: 'string', description: 'Of a write: what attempt_get takes.' },
    sent: { type: 'boolean', description: 'false: proved that nothing left for the upstream.' },
    error: { type: 'object', description: 'code, message, retryable, field, rule, hint.' },
    next: { type: 'object', description: 'The tool to call for what becomes of it, with its arguments, and after how many seconds.' },
  },
  required: ['ok', 'outcome', 'correlation_id'],
})
