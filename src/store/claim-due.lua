#!lua
-- Claims attempts that are due, by hiding them from other claimers for a while. When they are due stands in the attempt and stays as it is.
-- KEYS: due, one a record format that is known here. ARGV: prefix, limit, lease.
local prefix, limit, lease_ms = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local at = now()
local claimed = {}
for _, key in ipairs(KEYS) do
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', key, '-inf', digits(at), 'LIMIT', 0, limit - #claimed)) do
    local record = attempt(prefix, id)
    if record then
      redis.call('ZADD', key, digits(at + lease_ms), id)
      claimed[#claimed + 1] = record
    else
      redis.call('ZREM', key, id)
    end
  end
  if #claimed >= limit then break end
end
return { digits(at), claimed }
