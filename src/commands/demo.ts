// `aval demo`, which `npm start` runs: the bundled shop, the broker in front of it, and a guided tour.
import type { Ask, Command, ExitCode } from './command.ts'
import { toldToEnd } from './ending.ts'
import { leaflet } from './demo/leaflet.ts'
import { isColoured, narrator } from './demo/narrator.ts'
import { openStage, type Stage } from './demo/stage.ts'
import { runTour, type StepReport } from './demo/tour.ts'
import { started } from './starting.ts'

export const demo: Command = {
  name: 'demo',
  summary: 'Start the bundled shop and a broker in front of it, show a tour, and stay up to be tried.',
  usage: '[--once]',
  flags: {
    once: { type: 'boolean', about: 'end after the tour; exit code 1 where a step did not go as told' },
  },
  words: { min: 0, max: 0 },
  run,
}

async function run (ask: Ask): Promise<ExitCode> {
  const ended = toldToEnd()
  const stage = await started(ask, () => openStage(ask))
  try {
    const tell = narrator(ask.json ? () => {} : ask.print, isColoured(process.stdout.isTTY === true, ask.env))
    tell.plain('Aval stands between an agent and the API of a shop. This is what that looks like.')
    const reports = await runTour(stage, tell)
    report(ask, stage, reports)
    if (!ask.flags.on('once')) {
      for (const line of leaflet(stage)) tell.plain(line)
      tell.plain('\nCtrl-C ends it; nothing is left behind.')
      await ended
    }
    return reports.every(({ ok }) => ok) ? 0 : 1
  } finally {
    await stage.close()
  }
}

function report (ask: Ask, stage: Stage, reports: readonly StepReport[]): void {
  const { agentsUrl, operationsUrl } = stage.broker
  const failed = reports.filter(({ ok }) => !ok).length
  const told = { ok: failed === 0, agents: agentsUrl, operations: operationsUrl, token_file: stage.tokenFile, steps: reports }
  if (ask.json) ask.print(JSON.stringify(told))
  else ask.print(`\n${failed === 0 ? `All ${reports.length} steps went as told.` : `${failed} of ${reports.length} steps did not go as told.`}\n`)
}
