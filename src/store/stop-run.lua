#!lua
-- KEYS: run. ARGV: how long it is remembered.
redis.call('HSET', KEYS[1], 'stopped', digits(now()))
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
