#!lua
-- Locks or unlocks: an even turn is a locked one. Unlocked is only the very turn that whoever asks knows of. KEYS: lock, followers.
-- ARGV: the turn that is known, lock or unlock, after how long a follower that said nothing is forgotten.
local held = math.max(tonumber(redis.call('GET', KEYS[1]) or 1), tonumber(ARGV[1]))
if ARGV[2] == 'lock' and held % 2 == 1 then held = held + 1
elseif ARGV[2] == 'unlock' and held % 2 == 0 and held == tonumber(ARGV[1]) then held = held + 1 end
redis.call('SET', KEYS[1], digits(held))
local followers = redis.call('HGETALL', KEYS[2])
for index = 1, #followers, 2 do
  if now() - tonumber(string.match(followers[index + 1], '%d+$')) > tonumber(ARGV[3]) then redis.call('HDEL', KEYS[2], followers[index]) end
end
return held
