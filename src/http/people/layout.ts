// The frame of every page: one heading, one way around, one stylesheet, one script. All of it works without the script.
import type { FastifyReply } from 'fastify'
import { BY_ENTER } from './form.ts'
import type { Visitor } from './guard.ts'
import { html, type Content, type Html } from './html.ts'
import type { Sessions } from './sessions.ts'
import { untrusted } from './written.ts'

/**
 * Nothing but our own files and forms; no frame around a page, and no text of a script can become one. The stylesheet and the script are files, so that
 * nothing inline is ever needed.
 */
export const PAGE_HEADERS = Object.freeze({
  'cache-control': 'no-store',
  'content-security-policy': [
    "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'", "form-action 'self'",
    "frame-ancestors 'none'", "base-uri 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'accelerometer=(), camera=(), geolocation=(), gyroscope=(), microphone=(), payment=(), usb=()',
  // Under `no-referrer` a browser says `Origin: null` for a form of our own (Fetch §3.2); under this one no other site learns an address of ours either.
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
})

export interface Page {
  readonly status?: number
  /** In the window's title; the heading is the page's own. */
  readonly title: string
  /** Which entry of the menu it belongs to. */
  readonly here: string | null
  readonly main: Html
}

const MENU = [
  { href: '/approvals', label: 'Approvals' },
  { href: '/approvals/history', label: 'History' },
  { href: '/approvals/grants', label: 'Grants' },
]

const OPERATOR_MENU = [
  { href: '/operator', label: 'Unresolved' },
  { href: '/operator/runs', label: 'Runs' },
  { href: '/operator/broker', label: 'Broker' },
]

export function sendPage (reply: FastifyReply, page: Page, visitor: Visitor | null, sessions: Sessions | null): FastifyReply {
  const text = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${page.title} · Aval</title><link rel="stylesheet" href="/assets/people.css"><link rel="icon" href="/assets/aval.svg">
<script src="/assets/people.js" defer></script></head>
<body><a class="skip" href="#main">Skip to the content</a>
<header class="top"><div class="bar"><a class="brand" href="/approvals">Aval</a>
${visitor === null || sessions === null ? null : menu(page, visitor, sessions)}</div></header>
<main id="main" tabindex="-1">${page.main}</main>
<footer class="foot"><p>What you see here was computed by the broker from the systems it acts on. Words of an agent are marked as such.</p></footer></body></html>
`.text
  return reply.code(page.status ?? 200).header('content-type', 'text/html; charset=utf-8').send(text)
}

function menu ({ here }: Page, { session, person }: Visitor, sessions: Sessions): Html {
  const entries = person.roles.includes('operator') ? [...MENU, ...OPERATOR_MENU] : MENU
  return html`<nav aria-label="Pages"><ul>${entries.map(({ href, label }) =>
    html`<li><a href="${href}"${href === here ? html` aria-current="page"` : null}>${label}</a></li>`)}</ul></nav>
<div class="who"><span class="name">${untrusted(person.display)}</span>
${form(sessions.formToken(session, '/sign-out'), '/sign-out', html`<button class="quiet">Sign out</button>`)}</div>`
}

/**
 * A form that posts to a path of ours and carries what proves that it is ours. The Enter key in a field presses the first button of a form, so the first
 * one is one that nobody sees and that does nothing.
 */
export function form (made: { readonly clickId: string, readonly token: string }, action: string, inside: Content): Html {
  return html`<form method="post" action="${action}"><button name="${BY_ENTER}" value="yes" hidden>Nothing</button>
<input type="hidden" name="click" value="${made.clickId}"><input type="hidden" name="token" value="${made.token}">${inside}</form>`
}

export type Tone = 'done' | 'note' | 'stop'

/** Said once, when the page opens: read aloud, and shown with a word of its own beside the colour. */
export function notice (tone: Tone, title: string, text: Content = null): Html {
  const role = tone === 'stop' ? 'alert' : 'status'
  return html`<div class="notice ${tone}" role="${role}"><p><strong>${title}</strong></p>${text === null ? null : html`<p>${text}</p>`}</div>`
}

/** A time in UTC; the script adds the local one. */
export function moment (atMs: number): Html {
  const iso = new Date(atMs).toISOString()
  return html`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC</time>`
}

export function duration (ms: number): string {
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 1) return `${Math.max(0, Math.floor(ms / 1_000))} s`
  if (minutes < 120) return `${minutes} min`
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1_440)} days`
}
