// The upstream of the benchmark: reads the whole request, answers a small fixed document, keeps connections. It does as little as it can, so that what
// stands before it is what is measured.
import { createServer } from 'node:http'
import { listen, serveParent } from './child.ts'

const ITEM = Buffer.from(JSON.stringify({
  id: 'itm_0000042',
  sku: 'SKU-2041-B',
  name: 'Stainless bottle, 750 ml',
  state: 'active',
  version: 7,
  price: { minor: 2490, currency: 'EUR' },
  stock: [{ place: 'north', quantity: 14 }, { place: 'south', quantity: 3 }],
  internal_note: 'ordered anew every quarter; margin see sheet',
}))
/** Nothing that a model should ever see whole. */
const BIG = Buffer.from(JSON.stringify({ ...JSON.parse(ITEM.toString()), internal_note: 'x'.repeat(5 * 1024 * 1024) }))
const NONE = Buffer.from('{"items":[]}')
const BIG_URL = '/v1/items/big'
/** Requests for it; a GET of it tells how many. */
let bigAsked = 0

const server = createServer((request, response) => {
  request.resume()
  request.once('end', () => {
    const { method, url = '' } = request
    const big = url === BIG_URL
    if (big && method === 'POST') bigAsked += 1
    const body = method === 'GET' ? big ? Buffer.from(String(bigAsked)) : NONE : big ? BIG : ITEM
    const status = method === 'POST' && url === '/v1/items' ? 201 : 200
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length })
    response.end(body)
  })
})

serveParent(await listen(server), () => { server.closeAllConnections() })
