#!lua flags=no-writes
-- Approved grants of a run, whether their time is over or not. KEYS: grants of the run. ARGV: prefix.
local found = {}
for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  found[#found + 1] = proposal(ARGV[1], id) or nil
end
return { digits(now()), found }
