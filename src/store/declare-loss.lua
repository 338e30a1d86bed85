#!lua
-- The store has lost, or may have lost, what it acknowledged: from now on nothing is sent until every replica that may know of it has told it again.
-- Where that is known already, this replica has more to tell. Whoever departed, and is not known here to have, departed after what was lost.
-- KEYS: members, loss, departed. ARGV: id, kind, replica, how many of those that follow are members; members and departed that it knows of…
local at = now()
if redis.call('HGET', KEYS[2], 'state') ~= 'open' then
  redis.call('DEL', KEYS[2])
  redis.call('HSET', KEYS[2], 'id', ARGV[1], 'kind', ARGV[2], 'by', ARGV[3], 'state', 'open', 'atMs', digits(at))
end
local members = tonumber(ARGV[4])
for index = 5, #ARGV do
  local left = index > 4 + members and redis.call('HEXISTS', KEYS[3], ARGV[index]) == 1
  if not left then redis.call('HSETNX', KEYS[1], ARGV[index], '') end
end
for _, member in ipairs(redis.call('HKEYS', KEYS[1])) do redis.call('HSETNX', KEYS[2], 'need:' .. member, 'waiting') end
redis.call('HSET', KEYS[2], 'need:' .. ARGV[3], 'waiting')
return redis.call('HGETALL', KEYS[2])
