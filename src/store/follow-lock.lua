#!lua
-- A replica says by which turn of the lock it goes, and hears which one stands and by which the others go. A store that knows of an earlier turn than
-- a replica has gone back in time, and takes that one. KEYS: lock, followers. ARGV: turn, replica, how long a follower is remembered.
local at = now()
local held = tonumber(redis.call('GET', KEYS[1]) or 1)
if tonumber(ARGV[1]) > held then
  held = tonumber(ARGV[1])
  redis.call('SET', KEYS[1], digits(held))
end
redis.call('HSET', KEYS[2], ARGV[2], ARGV[1] .. ' ' .. digits(at))
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return { held, digits(at), redis.call('HGETALL', KEYS[2]) }
