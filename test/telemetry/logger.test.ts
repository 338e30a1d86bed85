import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { createLogger, type Logger, type LogLevel } from '../../src/telemetry/logger.ts'
import { attemptEvent, callEvent, NOBODY, refusalEvent } from './events.ts'

const SECRET = 'canary-5f0c9d2e7b'

function listening (
  level: LogLevel = 'info', scrub = (text: string): string => text.replaceAll(SECRET, '[secret]'),
): { logger: Logger, lines: string[], last: () => Record<string, unknown> } {
  const lines: string[] = []
  const logger = createLogger({ level, scrub, destination: { write: line => { lines.push(line) } } })
  return { logger, lines, last: () => JSON.parse(lines.at(-1)!) as Record<string, unknown> }
}

describe('the log', () => {
  test('has one line a call, with what an operator needs to find it', () => {
    const { logger, lines, last } = listening()
    logger.call(callEvent())
    assert.equal(lines.length, 1)
    const { time, ...line } = last()
    assert.match(String(time), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
    assert.deepEqual(line, {
      level: 'info', correlation_id: 'cor_1', surface: 'http', tenant: 'acme', sub: 'h1:sub', run: 'h1:run', source: 'h1:source',
      action: 'place_order.v1', outcome: 'completed',
      step: 'record', sent: true, upstream: { name: 'shop', method: 'GET', status: 200, duration_ms: 4.5 }, duration_ms: 6.25, msg: 'call',
    })
  })

  test('says which step refused and why, and the internal reason', () => {
    const { logger, last } = listening()
    logger.call(
      refusalEvent(
        { actor: NOBODY, actionId: null, asked: 'place_order.v1', step: 'authenticate', code: 'UNAUTHENTICATED', internal: 'the token has expired' },
      ),
    )
    const { step, code, internal, asked, tenant } = last()
    assert.deepEqual(
      { step, code, internal, asked, tenant },
      { step: 'authenticate', code: 'UNAUTHENTICATED', internal: 'the token has expired', asked: 'place_order.v1', tenant: undefined },
    )
  })

  test('raises its level for what somebody should look at', () => {
    const { logger, last } = listening()
    const levelOf = (tell: () => void): unknown => {
      tell()
      return last()['level']
    }
    assert.equal(levelOf(() => logger.call(callEvent())), 'info')
    assert.equal(levelOf(() => logger.call(callEvent({ outcome: 'unknown', code: 'OUTCOME_UNKNOWN' }))), 'warn')
    assert.equal(levelOf(() => logger.call(callEvent({ withheld: 'RESULT_WITHHELD' }))), 'warn')
    assert.equal(levelOf(() => logger.call(refusalEvent({ code: 'INTERNAL' }))), 'error')
    assert.equal(levelOf(() => logger.integrity({ attemptId: 'att_1', what: 'second_send' })), 'error')
    assert.equal(levelOf(() => logger.attempt(attemptEvent('att_1'))), 'info')
  })

  test('is silent below its level', () => {
    const { logger, lines } = listening('error')
    logger.call(callEvent())
    logger.note('info', 'listening')
    assert.deepEqual(lines, [])
  })

  test('writes nothing but the fields that are named', () => {
    const { logger, lines } = listening()
    const event = { ...callEvent(), headers: { authorization: SECRET }, body: SECRET, arguments: { password: SECRET } }
    logger.call({ ...event, upstream: { ...event.upstream!, url: `https://${SECRET}.example`, headers: SECRET } as typeof event.upstream })
    logger.note('info', 'started', { digest: 'c0ffee', password: SECRET } as { digest: string })
    assert.doesNotMatch(lines.join(''), /canary|\[secret\]|password|authorization/)
    assert.match(lines[1]!, /c0ffee/)
  })

  test('tells of an error its name, code, message and place, and no other property of it', () => {
    const { logger, last, lines } = listening()
    const error = Object.assign(
      new TypeError(`connect failed for ${SECRET}`, { cause: new Error('the cause') }),
      { code: 'ECONNREFUSED', request: { headers: 'the headers' }, config: 'the config' },
    )
    logger.fault('the sweep failed', error, { count: 3 })
    const { error: shown, msg, level, count } = last() as { error: Record<string, unknown>, msg: string, level: string, count: number }
    assert.deepEqual({ msg, level, count, name: shown['name'], code: shown['code'], message: shown['message'] }, {
      msg: 'the sweep failed', level: 'error', count: 3, name: 'TypeError', code: 'ECONNREFUSED', message: 'connect failed for [secret]',
    })
    assert.ok(Array.isArray(shown['at']) && shown['at'].length > 0)
    assert.doesNotMatch(lines.join(''), /the cause|the headers|the config|canary/)
  })

  test('takes whatever is thrown', () => {
    const { logger, lines } = listening()
    const things = [undefined, null, 'text', 7, { code: 'X' }, Object.create(null) as object, new AggregateError([new Error('inner')], 'outer')]
    for (const thrown of things) logger.fault('fault', thrown)
    assert.equal(lines.length, 7)
    for (const line of lines) assert.equal((JSON.parse(line) as { msg: string }).msg, 'fault')
    assert.doesNotMatch(lines.join(''), /inner/)
  })

  test('takes live secrets out of every line, wherever they got in', () => {
    const { logger, lines } = listening()
    logger.call(refusalEvent({ asked: SECRET, actionId: null, internal: `upstream said ${SECRET}` }))
    logger.note('warn', `reading ${SECRET}`, { reason: SECRET })
    logger.fault(SECRET, new Error(SECRET))
    assert.equal(lines.length, 3)
    assert.doesNotMatch(lines.join(''), /canary/)
  })

  test('leaves a line out rather than write it unscrubbed', () => {
    const { logger, lines } = listening('info', () => { throw new Error('no memory') })
    logger.note('info', SECRET)
    assert.equal(lines.length, 1)
    assert.doesNotMatch(lines[0]!, /canary/)
    assert.equal((JSON.parse(lines[0]!) as { level: string }).level, 'error')
  })

  test('stays one line and shows no control to a terminal, whatever the text (D8, F9)', () => {
    const { logger, lines } = listening()
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 60 }),
      fc.constantFrom(
        '\n{"event":"approved"}', '\r\n', '\u2028', '\u2029', '\u001b[2J', '\u001b]8;;https://evil.example\u0007click\u001b]8;;\u0007', '\u009b31m', 'CEF:0|a|b|1|approved|x|9|act=y \\|', '\u202eevil', '\ud800', '\ufeff', '"}\n{"level":"info"',
      ),
    )
    fc.assert(fc.property(text, asked => {
      lines.length = 0
      logger.call(refusalEvent({ actionId: null, asked, internal: asked }))
      assert.equal(lines.length, 1)
      const line = lines[0]!
      assert.match(line, /^[^\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069\ufeff]+\n$/)
      assert.equal((JSON.parse(line) as { internal: string }).internal, asked)
    }))
  })
})
