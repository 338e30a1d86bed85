#!lua flags=no-writes
-- One proposal. KEYS: the proposal, or its name. ARGV: prefix, id; empty where the name says it.
local id = ARGV[2] ~= '' and ARGV[2] or redis.call('GET', KEYS[1])
return { digits(now()), id and proposal(ARGV[1], id) }
