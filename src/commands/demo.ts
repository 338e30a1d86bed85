// `aval demo`, which `npm start` runs: the bundled shop, the broker in front of it, and a guided tour.
import type { Ask, Command, ExitCode } from './command.ts'
import { toldToEnd } from './ending.ts'
import { leaflet } from './demo/leaflet.ts'
import { isColoured, narrator } from './demo/narrator.ts'
import { openStage, type Stage } from './demo/stage.ts'
import { runTour, STEP_COUNT, type StepReport } from './demo/tour.ts'
import { started } from './starting.ts'

export const demo: Command = {
  name: 'demo',
  summary: 'Start the bundled shop and a broker in front of it, show a tour, and stay up to be tried.',
  usage: '[--once]',
  flags: {
    once: { type: 'boolean', about: 'end after the tour; exit code 1 where a step did not go as told' },
  },
  coloured: true,
  words: { min: 0, max: 0 },
  run,
}

async function run (ask: Ask): Promise<ExitCode> {
  let over = false
  const ended = toldToEnd().then(() => { over = true })
  const stage = await started(ask, () => openStage(ask))
  try {
    const tell = narrator(ask.json ? () => {} : ask.print, isColoured(process.stdout.isTTY === true, ask.env))
    tell.plain('Aval stands between an agent and the API of a shop. This is what that looks like.')
    const reports = await runTour(stage, tell, () => over)
    report(ask, stage, reports)
    if (!ask.flags.on('once') && !over) {
      for (const line of leaflet(stage)) tell.plain(line)
      tell.plain('\nCtrl-C ends it; nothing is left behind.')
      await ended
    }
    return reports.length === STEP_COUNT && reports.every(({ ok }) => ok) ? 0 : 1
  } finally {
    await stage.close()
  }
}

function report (ask: Ask, stage: Stage, reports: readonly StepReport[]): void {
  const { agentsUrl, operationsUrl } = stage.broker
  const failed = reports.filter(({ ok }) => !ok).length
  const left = STEP_COUNT - reports.length
  const told = { ok: failed + left === 0, agents: agentsUrl, people: stage.peopleUrl, operations: operationsUrl, token_file: stage.tokenFile, steps: reports }
  if (ask.json) ask.print(JSON.stringify(told))
  else if (left > 0) ask.print(`\nThe tour was ended before its last ${left} of ${STEP_COUNT} steps.`)
  else ask.print(`\n${failed === 0 ? `All ${STEP_COUNT} steps went as told.` : `${failed} of ${STEP_COUNT} steps did not go as told.`}\n`)
}
