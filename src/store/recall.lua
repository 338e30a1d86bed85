#!lua flags=no-writes
-- What is known of a record key. KEYS: record key, run, unresolved of (action, tenant). ARGV: prefix, action, upstream.
local prefix, action, upstream = ARGV[1], ARGV[2], ARGV[3]
local latest = redis.call('GET', KEYS[1])
local run = redis.call('HMGET', KEYS[2], 'stopped', 'calls:' .. action, 'last:' .. upstream)
return { digits(now()), latest and attempt(prefix, latest), run[1], run[2], run[3], redis.call('SCARD', KEYS[3]) }
