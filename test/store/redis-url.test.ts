import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deal } from '../../src/store/redis.ts'
import { redisOptions } from '../../src/store/redis-connection.ts'
import { parseRedisUrl } from '../../src/store/redis-url.ts'
import { StateRefused } from '../../src/store/store.ts'

const plain = {
  topology: 'single', tls: false, nodes: [{ host: 'db', port: 6379 }], master: null, db: 0, username: null, password: null, volatile: false,
}

test('URLs of one server, of sentinels and of clusters are read', () => {
  const rows: ReadonlyArray<readonly [string, object]> = [
    ['redis://db', plain],
    ['redis://db:7000/3', { ...plain, nodes: [{ host: 'db', port: 7000 }], db: 3 }],
    ['rediss://db/', { ...plain, tls: true }],
    ['redis://[::1]:6380', { ...plain, nodes: [{ host: '::1', port: 6380 }] }],
    ['redis://:p%40ss%3Aword@db', { ...plain, password: 'p@ss:word' }],
    ['redis://app:a:b@db?volatile=yes', { ...plain, username: 'app', password: 'a:b', volatile: true }],
    ['redis+sentinel://u:p@one:26379,two/main/2', {
      ...plain, topology: 'sentinel', nodes: [{ host: 'one', port: 26379 }, { host: 'two', port: 26379 }],
      master: 'main', db: 2, username: 'u', password: 'p',
    }],
    ['redis+cluster://one:7001,two', { ...plain, topology: 'cluster', nodes: [{ host: 'one', port: 7001 }, { host: 'two', port: 6379 }] }],
    ['rediss+cluster://one', { ...plain, topology: 'cluster', tls: true, nodes: [{ host: 'one', port: 6379 }] }],
  ]
  for (const [url, address] of rows) assert.deepEqual(parseRedisUrl(url), address, url)
})

test('a URL that cannot be meant is refused, without its password', () => {
  const urls = [
    'redis://', 'redis:///0', 'redis://db:0', 'redis://db:65536', 'redis://db:x', 'redis://a,b', 'redis://db/x', 'redis://db/1/2', 'redis://db#top',
    'redis://u@db', 'redis://:sec%zz@db', 'redis://:horse/x@db', 'redis://db?volatile=no', 'redis://db?vloatile=yes', 'redis://d b',
    'redis+sentinel://one', 'redis+sentinel://one/main/2/3',
    'redis+cluster://one/1', 'redis+magic://one', 'http://db', 'redis://:sec-horse@db:x', 'redis://::1:6379', 'redis://db,', 'REDIS://db',
  ]
  for (const url of urls) {
    assert.throws(() => parseRedisUrl(url), (error: unknown) => error instanceof StateRefused && !/sec|horse/.test(error.message), url)
  }
})

test('the client never sends a command twice by itself', () => {
  const options = redisOptions(parseRedisUrl('redis://db'))
  assert.equal(options.autoResendUnfulfilledCommands, false)
  assert.equal(options.enableOfflineQueue, false)
  assert.equal(options.maxRetriesPerRequest, 0)
  assert.equal(options.enableAutoPipelining, false)
  assert.equal(options.commandTimeout, 1_000)
  assert.equal(options.socketTimeout, 3_000)
  assert.equal(options.reconnectOnError!(new Error('READONLY You can not')), 1)
  assert.equal(options.reconnectOnError!(new Error('ERR something')), false)
})

test('claims are dealt out one by one', () => {
  assert.deepEqual(deal(5, [9, 0, 1, 9]), [2, 0, 1, 2])
  assert.deepEqual(deal(5, [1, 1]), [1, 1])
  assert.deepEqual(deal(0, [3]), [0])
  assert.deepEqual(deal(3, []), [])
})
