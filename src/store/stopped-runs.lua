#!lua flags=no-writes
-- KEYS: stopped runs. ARGV: how long a run is listed.
return redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. digits(now() - tonumber(ARGV[1])), '+inf')
