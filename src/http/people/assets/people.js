// What the page can do better with a script, and does without it as well: time that runs, times of the reader's own zone, copying, and a button that
// does not believe a click before somebody can have seen it.
'use strict'

const SETTLE_MS = 800
const WARN_AT_S = [120, 60, 20]

/** Times are written in UTC; the reader's own stands beside it, with the day where that is another one. */
for (const time of document.querySelectorAll('time[datetime]')) {
  const local = new Date(time.dateTime)
  if (local.getTimezoneOffset() === 0) continue
  const day = local.getDate() === local.getUTCDate() ? {} : { weekday: 'short', day: 'numeric', month: 'short' }
  const text = local.toLocaleString(undefined, { ...day, hour: '2-digit', minute: '2-digit' })
  const own = document.createElement('span')
  own.className = 'local'
  own.textContent = ` (${text} your time)`
  time.append(own)
}

/** Counts down in sight of the eye; a screen reader hears it only where it matters. */
for (const box of document.querySelectorAll('[data-ends-in-ms]')) {
  const endsAt = performance.now() + Number(box.dataset.endsInMs)
  const shown = box.querySelector('[data-left]')
  const said = box.querySelector('[data-said]')
  let warned = Infinity
  const tick = () => {
    const left = Math.ceil((endsAt - performance.now()) / 1000)
    if (left <= 0) {
      shown.textContent = 'Time is up'
      said.textContent = 'The time to decide is over. Open the page again to see how it stands.'
      box.classList.add('over')
      for (const button of document.querySelectorAll('[data-decides]')) button.disabled = true
      return
    }
    shown.textContent = left >= 120 ? `${Math.floor(left / 60)} min ${String(left % 60).padStart(2, '0')} s` : `${left} s`
    const due = WARN_AT_S.find(at => left <= at && warned > at && left > at - 15)
    if (due !== undefined) {
      warned = due
      said.textContent = `About ${left} seconds are left to decide.`
      box.classList.add('soon')
    }
    setTimeout(tick, 1000 - (performance.now() % 1000))
  }
  tick()
}

for (const button of document.querySelectorAll('button[data-copy]')) {
  button.hidden = false
  button.addEventListener('click', async () => {
    const from = document.getElementById(button.dataset.copy)
    await navigator.clipboard.writeText(from.textContent)
    button.textContent = 'Copied'
  })
}

/** A line below the fields of a form, read aloud when it changes. */
function tellIn (form, text) {
  let line = form.querySelector('[data-hint]')
  if (line === null) {
    line = document.createElement('p')
    line.className = 'hint'
    line.dataset.hint = ''
    line.setAttribute('role', 'status')
    line.setAttribute('aria-live', 'polite')
    form.append(line)
  }
  if (line.textContent !== text) line.textContent = text
}

/** Until the page has been in sight for a while the button does nothing, and a click that nobody made never counts. */
for (const button of document.querySelectorAll('button[data-settle]')) {
  let since = null
  let timer = 0
  let tooQuick = false
  const ready = () => since !== null && performance.now() - since >= SETTLE_MS
  const update = () => {
    if (ready()) button.removeAttribute('aria-disabled')
    else button.setAttribute('aria-disabled', 'true')
    if (!tooQuick) tellIn(button.form, ready() ? '' : 'Ready in a moment')
  }
  const look = () => {
    const seen = document.visibilityState === 'visible' && document.hasFocus()
    if (!seen) since = null
    else if (since === null) since = performance.now()
    clearTimeout(timer)
    if (since !== null) timer = setTimeout(update, SETTLE_MS - (performance.now() - since) + 1)
    update()
  }
  for (const event of ['focus', 'blur', 'pageshow']) addEventListener(event, look)
  document.addEventListener('visibilitychange', look)
  button.addEventListener('click', event => {
    if (ready() && event.isTrusted) return
    event.preventDefault()
    tooQuick = true
    tellIn(button.form, 'That was too quick to have been read. Nothing was approved; read it again, then approve.')
  })
  look()
}

/** Enter in a field presses no button. */
document.addEventListener('keydown', event => {
  if (event.key !== 'Enter' || !(event.target instanceof HTMLInputElement)) return
  event.preventDefault()
  if (event.target.form !== null) tellIn(event.target.form, 'The Enter key does nothing here. Press a button.')
})

/** Behind a form that was not accepted the reader begins at what was wrong. */
document.querySelector('[data-focus]')?.focus()
