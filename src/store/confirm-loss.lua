#!lua
-- A replica has told the store again all that it knew; the last one ends the quarantine. KEYS: loss. ARGV: id, replica.
local need = 'need:' .. ARGV[2]
if redis.call('HGET', KEYS[1], 'id') == ARGV[1] and redis.call('HGET', KEYS[1], 'state') == 'open' then
  redis.call('HSET', KEYS[1], need, 'restored')
  local waiting = false
  local loss = redis.call('HGETALL', KEYS[1])
  for index = 1, #loss, 2 do
    if string.sub(loss[index], 1, 5) == 'need:' and loss[index + 1] == 'waiting' then waiting = true end
  end
  if not waiting then redis.call('HSET', KEYS[1], 'state', 'restored', 'endedAtMs', digits(now())) end
end
return redis.call('HGETALL', KEYS[1])
