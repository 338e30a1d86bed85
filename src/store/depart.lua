#!lua
-- A replica ends in peace: it is a member no longer, and that it was one stays known for a while. Whatever it did was written before this, so that a
-- store that still has this has lost nothing of it. KEYS: members, departed. ARGV: replica.
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], digits(now()))
return 1
