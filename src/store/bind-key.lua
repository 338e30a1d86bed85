#!lua
-- KEYS: the key's id. ARGV: an id. The first one stays.
redis.call('SET', KEYS[1], ARGV[1], 'NX')
return redis.call('GET', KEYS[1])
