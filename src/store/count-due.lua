#!lua flags=no-writes
-- How many attempts of one hash tag are due. KEYS: due, one a record format that is known here.
local at = digits(now())
local count = 0
for _, key in ipairs(KEYS) do count = count + redis.call('ZCOUNT', key, '-inf', at) end
return count
