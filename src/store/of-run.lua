#!lua flags=no-writes
-- Attempts of a run, latest first; those that have expired are passed over. KEYS: attempts of the run. ARGV: prefix, limit.
local prefix, limit = ARGV[1], tonumber(ARGV[2])
local found = {}
for _, id in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
  if #found >= limit then break end
  local record = attempt(prefix, id)
  if record then found[#found + 1] = record end
end
return found
