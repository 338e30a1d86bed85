#!lua
-- One beat of a replica's canary, and all that replicas must know of each other. A canary that is lower than its replica remembers stands in a store
-- that has lost what it acknowledged: then nothing is changed.
-- KEYS: own canary, members, loss, departed, canaries of others…
-- ARGV: remembered, how long a canary is kept, replica, digest of its catalog, how long the departed are remembered.
local remembered, keep_ms, replica, digest, departed_ms = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local at = now()
local held = tonumber(redis.call('GET', KEYS[1]) or 0)
local lost = held < remembered
if not lost then
  held = redis.call('INCR', KEYS[1])
  redis.call('PEXPIRE', KEYS[1], keep_ms)
  if redis.call('HGET', KEYS[2], replica) ~= digest then redis.call('HSET', KEYS[2], replica, digest) end
  local departed = redis.call('HGETALL', KEYS[4])
  for index = 1, #departed, 2 do
    if departed[index] == replica or tonumber(departed[index + 1]) < at - departed_ms then redis.call('HDEL', KEYS[4], departed[index]) end
  end
end
local others = {}
for index = 5, #KEYS do others[#others + 1] = redis.call('GET', KEYS[index]) end
return { lost and 1 or 0, held, redis.call('HGETALL', KEYS[2]), redis.call('HGETALL', KEYS[3]), others, redis.call('HGETALL', KEYS[4]), digits(at) }
