#!lua
-- A person gives up what the replicas that are still waited for could have told; they are members no longer, until they come back by themselves.
-- KEYS: members, loss. ARGV: id of the loss that the person knows of.
if redis.call('HGET', KEYS[2], 'state') == 'open' and redis.call('HGET', KEYS[2], 'id') == ARGV[1] then
  redis.call('HSET', KEYS[2], 'state', 'accepted', 'endedAtMs', digits(now()))
  local loss = redis.call('HGETALL', KEYS[2])
  for index = 1, #loss, 2 do
    if string.sub(loss[index], 1, 5) == 'need:' and loss[index + 1] == 'waiting' then redis.call('HDEL', KEYS[1], string.sub(loss[index], 6)) end
  end
end
return redis.call('HGETALL', KEYS[2])
