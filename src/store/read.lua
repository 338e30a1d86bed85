#!lua flags=no-writes
-- One attempt. KEYS: attempt, result.
local fields = redis.call('HGETALL', KEYS[1])
if #fields == 0 then return false end
return { fields, redis.call('GET', KEYS[2]) }
