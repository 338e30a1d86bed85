#!lua
-- Adds to the list that every replica polls. KEYS: stopped runs. ARGV: run key, how long it is listed.
local at = now()
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', digits(at - tonumber(ARGV[2])))
redis.call('ZADD', KEYS[1], digits(at), ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
