#!lua
-- Tells the store again of an attempt that it may have lost. What it still has, at least as far along, stays as it is; what another begin has taken the
-- place of is not touched. Under one generation of the upstream key an attempt is begun only where all before it came to nothing: where the end of one
-- of those is forgotten, it is ended so again (`overtaken`), for what a look-up would find under that key is what the later one did.
-- KEYS: 1 attempt, 2 record key, 3 result, 4 run, 5 attempts of the run, 6 due, 7 unresolved of all, 8 unresolved of (action, tenant), 9 record key
-- of the call that a person was asked about, 10 equal writes, 11… claims.
-- ARGV: as the locals below. `lets_go`: by its end, its key may begin anew; `consumed` is the proposal that it used up, or is empty. `known` is the state as the journal has it, `state` what is written where the store has less; `due` is empty for none.
-- `assumed`: that it ended is known, and how is not: whoever knows that writes over it.
local prefix, id, token, known, state = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local format, revision, body, result = ARGV[6], tonumber(ARGV[7]), ARGV[8], ARGV[9]
local result_ms, settled_ms, due, times = tonumber(ARGV[10]), ARGV[11], ARGV[12], cjson.decode(ARGV[13])
local action, upstream, run_ms, list_max, lets_go = ARGV[14], ARGV[15], ARGV[16], tonumber(ARGV[17]), ARGV[18] == '1'
local consumed, gives_back, proposal_format_max = ARGV[19], ARGV[20] == '1', tonumber(ARGV[21])
local n, g, since, assumed = tonumber(ARGV[22]), tonumber(ARGV[23]), tonumber(ARGV[24]), ARGV[25]
local rank = { prepared = 1, dispatched = 2, unknown = 3, pending = 4, escalated = 4, settled = 5 }
local at = now()

local held = redis.call('HMGET', KEYS[1], 'token', 'state', 'revision', 'assumed')
if held[1] and held[1] ~= token then return { 'foreign' } end

local latest = redis.call('GET', KEYS[2])
local latest_body = latest and latest ~= id and redis.call('HGET', prefix .. 'attempt:' .. latest, 'body')
local other = latest_body and cjson.decode(latest_body)
local same_key = other and other.g == g
if same_key and known ~= 'settled' and held[2] ~= 'settled' and (other.since or other.n) <= n and n < other.n then
  return { 'overtaken', redis.call('HGET', prefix .. 'attempt:' .. latest, 'preparedAtMs') }
end
local left_open = same_key and since <= other.n and other.n < n and state_of(prefix, latest) ~= 'settled' and attempt(prefix, latest)
local is_known_better = held[4] == '1' and known == 'settled' and assumed == '0'
if held[1] and rank[held[2]] >= rank[known] and not is_known_better then return { 'kept', false, left_open } end

if held[3] then revision = math.max(revision, tonumber(held[3]) + 1) end
redis.call('HSET', KEYS[1], 'id', id, 'format', format, 'revision', digits(revision), 'state', state, 'token', token, 'body', body, 'change', '', 'assumed', assumed)
if state == 'settled' and not times.settledAtMs then times.settledAtMs = at end
if not times.preparedAtMs or times.preparedAtMs == 0 then times.preparedAtMs = at end
if state == 'unknown' and not times.unknownAtMs then times.unknownAtMs = at end
-- When it was sent is known to be before this; absence is proved by how long it has been quiet since.
if state ~= 'settled' and not times.dispatchedAtMs then times.dispatchedAtMs = at end
for name, value in pairs(times) do redis.call('HSET', KEYS[1], name, digits(value)) end
local prepared_at = times.preparedAtMs

local function prepared (other)
  return tonumber(other and redis.call('HGET', prefix .. 'attempt:' .. other, 'preparedAtMs') or -1)
end
-- What keeps its key goes before what was begun while that was forgotten and came to nothing, or has not been sent: by that the key would begin anew.
local function yields (other)
  local state = state_of(prefix, other)
  if state == 'prepared' then return true end
  return state == 'settled' and redis.call('HGET', prefix .. 'attempt:' .. other, 'letsGo') == '1'
end
local is_later = prepared(latest) <= prepared_at
local displaced = false
if not latest or latest == id or (is_later and (not lets_go or yields(latest))) or (not is_later and not lets_go and yields(latest)) then
  redis.call('SET', KEYS[2], id)
  displaced = latest
end
if consumed ~= '' then
  local used = redis.call('HMGET', prefix .. 'proposal:' .. consumed, 'state', 'attemptId', 'format')
  local known_format = used[1] and tonumber(used[3]) <= proposal_format_max
  if known_format and gives_back then
    settle_proposal(prefix, consumed, id, true, proposal_format_max, at, settled_ms)
  elseif known_format and redis.call('GET', KEYS[2]) == id and (used[1] == 'pending' or used[1] == 'approved' or used[1] == 'consumed') then
    -- Whoever else used it up did so because this was forgotten, and what was begun meanwhile is not sent.
    consume_proposal(prefix, consumed, id, at, state == 'settled' and settled_ms or '')
  elseif not used[1] and not gives_back and not redis.call('GET', KEYS[9]) then
    -- The proposal is forgotten, and by it alone the call would be known as one that was carried out: it is called by its own name from now on.
    redis.call('SET', KEYS[9], id, 'PX', settled_ms)
  end
end
if not held[1] then
  redis.call('HINCRBY', KEYS[4], 'calls:' .. action, 1)
  local last = redis.call('HGET', KEYS[4], 'last:' .. upstream)
  -- What repeated this one while it was forgotten is no other write that came after it.
  if prepared(last) <= prepared_at or last == displaced then redis.call('HSET', KEYS[4], 'last:' .. upstream, id) end
  redis.call('PEXPIRE', KEYS[4], run_ms)
  redis.call('LPUSH', KEYS[5], id)
  redis.call('LTRIM', KEYS[5], 0, list_max - 1)
  redis.call('PEXPIRE', KEYS[5], run_ms)
end

if state == 'settled' then
  redis.call('HSET', KEYS[1], 'letsGo', lets_go and '1' or '0')
  redis.call('HDEL', KEYS[1], 'dueAtMs')
  redis.call('ZREM', KEYS[6], id)
  redis.call('ZREM', KEYS[7], id)
  redis.call('SREM', KEYS[8], id)
  for index = 10, #KEYS do redis.call('SREM', KEYS[index], id) end
  -- By the store's clock: a result is not kept for longer because it was lost.
  local left = times.settledAtMs and result_ms - (at - times.settledAtMs) or 0
  if result ~= '' and left > 0 then redis.call('SET', KEYS[3], result, 'PX', digits(math.min(left, result_ms))) end
  redis.call('PEXPIRE', KEYS[1], settled_ms)
  if redis.call('GET', KEYS[2]) == id then redis.call('PEXPIRE', KEYS[2], settled_ms) end
  return { held[1] and 'moved' or 'inserted', false, left_open }
end

redis.call('PERSIST', KEYS[2])
redis.call('ZADD', KEYS[7], digits(prepared_at), id)
redis.call('SADD', KEYS[8], id)
for index = 10, #KEYS do redis.call('SADD', KEYS[index], id) end
if due == '' then
  redis.call('HDEL', KEYS[1], 'dueAtMs')
  redis.call('ZREM', KEYS[6], id)
else
  redis.call('HSET', KEYS[1], 'dueAtMs', digits(at + tonumber(due)))
  redis.call('ZADD', KEYS[6], digits(at + tonumber(due)), id)
end
return { held[1] and 'moved' or 'inserted', false, left_open }
