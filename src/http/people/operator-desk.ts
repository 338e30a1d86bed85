// The desk of operators over the services that the control socket uses: the same things are done, and it is written down who did them.
import type { OperatorDesk, Person, SeenRun } from '../../consent/desk.ts'
import { Refusal } from '../../errors.ts'
import { stopAct } from '../../execution/kept-acts.ts'
import type { OperatorLock } from '../../execution/operator-lock.ts'
import type { RecentRuns } from '../../execution/recent-runs.ts'
import { newCorrelationId } from '../correlation-id.ts'
import { createOperating, lockLine, type ByOperator, type OperatingServices } from '../operating.ts'

export interface OperatorServices extends OperatingServices {
  readonly operatorLock: OperatorLock
  readonly recentRuns: RecentRuns
  /** @throws CatalogFaults */
  reload (): Promise<{ readonly digest: string, readonly actions: number, readonly changed: boolean }>
}

const STOPPED_LISTED_MAX = 500

export function createOperatorDesk (services: OperatorServices): OperatorDesk {
  const { identity, operatorLock, recentRuns, store, runs } = services
  const operating = createOperating(services)
  // The listener asks for the role too; here nothing rests on that.
  const by = (person: Person): ByOperator => {
    if (!person.roles.includes('operator')) throw Refusal.of('NOT_FOUND')
    return { iss: person.iss, personMark: identity.mark('sub', person.iss, person.sub), display: person.display, correlationId: newCorrelationId() }
  }
  return {
    async unresolved (person) {
      by(person)
      return operating.unresolved()
    },
    async about (person, record) {
      by(person)
      return operating.about(record)
    },
    async resolve (person, ask) {
      const { id, state } = await operating.resolve(ask, by(person))
      return { attempt: id, state }
    },
    async reload (person) {
      by(person)
      const read = await services.reload()
      services.note('the sheets were read again at the wish of a person', { reason: 'reload' })
      return { ...read }
    },
    async lockState (person) {
      by(person)
      return operatorLock.state()
    },
    lock: async (person, note) => lockLine(await operatorLock.lock({ ...by(person), note })),
    unlock: async (person, note) => lockLine(await operatorLock.unlock({ ...by(person), note })),
    async runs (person) {
      by(person)
      const recent = (await recentRuns.list(store)).map(run => ({ ...run, key: identity.runKey(run) }))
      const goOn = recent.filter(({ key }) => !runs.isStopped(key)).map(({ key: _key, ...run }): SeenRun => ({ ...run, stopped: null }))
      const seen = new Map(recent.map(({ key, ...run }) => [key, run]))
      const stopped = await Promise.all([...runs.stopped()].slice(0, STOPPED_LISTED_MAX).map(async (key): Promise<readonly SeenRun[]> => {
        const kept = await stopAct(store, key)
        const run = seen.get(key) ?? (kept === null ? null : { ...kept.owner, writes: 0, lastAtMs: kept.atMs })
        return run === null ? [] : [{ ...run, stopped: { act: kept === null ? null : { by: kept.by, note: kept.note, atMs: kept.atMs } } }]
      }))
      const latest = ({ stopped: ended, lastAtMs }: SeenRun): number => ended?.act?.atMs ?? lastAtMs
      return [...goOn, ...stopped.flat().sort((one, other) => latest(other) - latest(one))]
    },
    stopRun: async (person, run, note) => { await operating.stopRun(run, note, by(person)) },
  }
}
