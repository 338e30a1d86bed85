#!lua
-- Makes an attempt, its claims and its spending durable, all or nothing. Asked again under the same token it answers `begun` and changes nothing.
-- KEYS: 1 record key, 2 attempt, 3 run, 4 attempts of the run, 5 due, 6 unresolved of (action, tenant), 7 places of (action, tenant), 8 equal writes,
-- 9… claims. ARGV: as the locals below.
local prefix, id, token, after_id, after_revision = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local calls_max, places_max, unresolved_max, guarded = ARGV[6], ARGV[7], tonumber(ARGV[8]), ARGV[9] == '1'
local place_ms, lease_ms, run_ms, list_max = tonumber(ARGV[10]), tonumber(ARGV[11]), ARGV[12], tonumber(ARGV[13])
local action, upstream, format, revision, body = ARGV[14], ARGV[15], ARGV[16], ARGV[17], ARGV[18]
local changed, since = ARGV[19], tonumber(ARGV[20])
local consumes, seen_revision, proposal_format_max = ARGV[21], ARGV[22], tonumber(ARGV[23])
local at = now()

local owner = redis.call('HGET', KEYS[2], 'token')
if owner == token then return { 'again', digits(at), attempt(prefix, id) } end

local run = redis.call('HMGET', KEYS[3], 'stopped', 'calls:' .. action, 'last:' .. upstream)
if run[1] then return { 'run_stopped' } end

local latest_id = redis.call('GET', KEYS[1])
local latest_revision = latest_id and redis.call('HGET', prefix .. 'attempt:' .. latest_id, 'revision')
if not latest_revision then
  -- An attempt of this very id that the record key does not name: the name was lost, the attempt was not.
  latest_id = owner and id
  latest_revision = owner and redis.call('HGET', KEYS[2], 'revision')
end
local unresolved = redis.call('SCARD', KEYS[6])
if owner or (latest_id or '') ~= after_id or (latest_revision or '') ~= after_revision then
  return { 'recalled', digits(at), latest_id and attempt(prefix, latest_id), run[1], run[2], run[3], unresolved }
end

if consumes ~= '' then
  local seen = redis.call('HMGET', prefix .. 'proposal:' .. consumes, 'revision', 'state', 'kind', 'commitByMs', 'format')
  local as_seen = seen[1] == seen_revision and seen[2] == 'approved' and seen[3] == 'call' and tonumber(seen[5]) <= proposal_format_max
  if not as_seen or at > tonumber(seen[4]) then return { 'proposal_changed' } end
end
if calls_max ~= '' and tonumber(run[2] or 0) >= tonumber(calls_max) then return { 'budget_exhausted' } end
if unresolved >= unresolved_max then return { 'unresolved_limit' } end
for index = 9, #KEYS do
  for _, holder in ipairs(redis.call('SMEMBERS', KEYS[index])) do
    local state = state_of(prefix, holder)
    if state and state ~= 'settled' and not (guarded and state == 'escalated') then return { 'target_busy' } end
  end
end
for _, other in ipairs(redis.call('SMEMBERS', KEYS[8])) do
  local state = state_of(prefix, other)
  if state == 'unknown' or state == 'escalated' then return { 'target_busy' } end
end
if changed ~= '' and tonumber(redis.call('GET', changed) or -1) >= since then return { 'target_changed' } end
if places_max ~= '' and not take_place(KEYS[7], id, places_max, at, place_ms) then return { 'rate_limited' } end

redis.call('DEL', prefix .. 'result:' .. id)
redis.call('HSET', KEYS[2], 'id', id, 'format', format, 'revision', revision, 'state', 'prepared', 'token', token, 'body', body,
  'preparedAtMs', digits(at), 'dueAtMs', digits(at + lease_ms))
redis.call('SET', KEYS[1], id)
if consumes ~= '' then consume_proposal(prefix, consumes, id, at, '') end
redis.call('ZADD', KEYS[5], digits(at + lease_ms), id)
for index = 8, #KEYS do redis.call('SADD', KEYS[index], id) end
redis.call('HINCRBY', KEYS[3], 'calls:' .. action, 1)
redis.call('HSET', KEYS[3], 'last:' .. upstream, id)
redis.call('PEXPIRE', KEYS[3], run_ms)
redis.call('LPUSH', KEYS[4], id)
redis.call('LTRIM', KEYS[4], 0, list_max - 1)
redis.call('PEXPIRE', KEYS[4], run_ms)
return { 'begun', digits(at) }
