#!lua
-- Makes one change of an attempt atomic: compare-and-set on revision and state, of the same begin in the same format. Revisions alone are not enough: what a
-- journal says was to come next, and did not, has the number of what came instead. Asked again with the same change id
-- it answers as it did. The times that it answers are the store's own, whatever the caller believed them to be.
-- KEYS: 1 attempt, 2 record key, 3 result, 4 due, 5 unresolved of all, 6 unresolved of (action, tenant), 7 places of (action, tenant),
-- 8 canary of the replica that asks, 9 equal writes, 10… claims.
-- ARGV: as the locals below. `stamp` names the time that is set, or is empty, `cleared` those that no longer hold; `due` is `keep`, empty for none,
-- or a pause. `remembered` is what the canary stood at when it was last heard of; where it is not empty the canary beats, and where it stands lower by
-- now the store has lost what it acknowledged, and nothing is changed. `changed` names where it stands that the target is another by now, or is empty.
-- `lets_go`: by its end, its key may begin anew; `consumed` is the proposal that it used up, or is empty.
local prefix, id, expected, change, revision = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local state, body, stamp, due = ARGV[6], ARGV[7], ARGV[8], ARGV[9]
local result, result_ms, settled_ms, token, format, cleared = ARGV[10], ARGV[11], ARGV[12], ARGV[13], ARGV[14], ARGV[15]
local remembered, canary_ms, changed, changed_ms = ARGV[16], ARGV[17], ARGV[18], ARGV[19]
local lets_go, consumed, gives_back, proposal_format_max = ARGV[20], ARGV[21], ARGV[22] == '1', tonumber(ARGV[23])
local expected_state = ARGV[24]
local beat = remembered ~= '' and tonumber(redis.call('GET', KEYS[8]) or 0)
if beat and beat < tonumber(remembered) then return { 'lost' } end
local held = redis.call('HMGET', KEYS[1], 'revision', 'change', 'state', 'preparedAtMs', 'token', 'format')
local function times ()
  return redis.call('HMGET', KEYS[1], 'preparedAtMs', 'dispatchedAtMs', 'unknownAtMs', 'firstAbsentAtMs', 'settledAtMs', 'dueAtMs')
end
if not held[1] then return { 'missing' } end
if held[2] == change then return { 'changed', times(), beat } end
if held[1] ~= expected or held[3] ~= expected_state or held[5] ~= token or held[6] ~= format then return { 'stale', attempt(prefix, id) } end

local at = now()
redis.call('HSET', KEYS[1], 'revision', revision, 'state', state, 'body', body, 'change', change)
for name in string.gmatch(cleared, '%a+') do redis.call('HDEL', KEYS[1], name) end
if stamp ~= '' then redis.call('HSET', KEYS[1], stamp, digits(at)) end
if due == '' then
  redis.call('HDEL', KEYS[1], 'dueAtMs')
  redis.call('ZREM', KEYS[4], id)
elseif due ~= 'keep' then
  redis.call('HSET', KEYS[1], 'dueAtMs', digits(at + tonumber(due)))
  redis.call('ZADD', KEYS[4], digits(at + tonumber(due)), id)
end

local function unresolved (name) return name == 'unknown' or name == 'pending' or name == 'escalated' end
if unresolved(state) and not unresolved(held[3]) then
  redis.call('ZADD', KEYS[5], held[4], id)
  redis.call('SADD', KEYS[6], id)
elseif unresolved(held[3]) and not unresolved(state) then
  redis.call('ZREM', KEYS[5], id)
  redis.call('SREM', KEYS[6], id)
end

if state == 'settled' then
  for index = 9, #KEYS do redis.call('SREM', KEYS[index], id) end
  redis.call('ZREM', KEYS[7], id)
  redis.call('HSET', KEYS[1], 'letsGo', lets_go)
  if consumed ~= '' then settle_proposal(prefix, consumed, id, gives_back, proposal_format_max, at, settled_ms) end
  if changed ~= '' then redis.call('SET', changed, digits(at), 'PX', changed_ms) end
  if result ~= '' then redis.call('SET', KEYS[3], result, 'PX', result_ms) end
  redis.call('PEXPIRE', KEYS[1], settled_ms)
  if redis.call('GET', KEYS[2]) == id then redis.call('PEXPIRE', KEYS[2], settled_ms) end
end
if beat then
  beat = redis.call('INCR', KEYS[8])
  redis.call('PEXPIRE', KEYS[8], canary_ms)
end
return { 'changed', times(), beat }
