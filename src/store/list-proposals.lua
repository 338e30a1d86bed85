#!lua flags=no-writes
-- Ids of one list with what they are sorted by, passing over what is not in it any more. KEYS: the list. ARGV: prefix, which list, how many.
local prefix, which, limit = ARGV[1], ARGV[2], tonumber(ARGV[3])
local at = now()
local found = {}
local ids
if which == 'overdue' then
  ids = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(' .. digits(at), 'WITHSCORES', 'LIMIT', 0, limit)
elseif which == 'ended' then
  ids = redis.call('ZREVRANGE', KEYS[1], 0, -1, 'WITHSCORES')
else
  ids = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
end
for index = 1, #ids, 2 do
  if #found >= 2 * limit then break end
  local held = redis.call('HMGET', prefix .. 'proposal:' .. ids[index], 'state', 'pendingUntilMs', 'commitByMs')
  local ends = held[1] and ends_at(held[1], held[2], held[3])
  if held[1] and (which ~= 'open' or (ends and at <= ends)) then
    found[#found + 1] = ids[index]
    found[#found + 1] = ids[index + 1]
  end
end
return found
