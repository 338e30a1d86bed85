#!lua
-- KEYS: run. ARGV: action, how long the run is remembered.
local count = redis.call('HINCRBY', KEYS[1], 'refusals:' .. ARGV[1], 1)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return count
