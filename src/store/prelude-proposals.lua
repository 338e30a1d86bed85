-- What scripts that move proposals share: where one stands in the lists follows from its fields alone.
local function proposal (prefix, id)
  local fields = redis.call('HGETALL', prefix .. 'proposal:' .. id)
  return #fields > 0 and fields
end

-- Until when its state holds by itself, or nil.
local function ends_at (state, pending_until, commit_by)
  if state == 'pending' then return tonumber(pending_until) end
  if state == 'approved' then return tonumber(commit_by) end
end

-- Puts it into the lists of its state and out of all others. `keep_ms`: for how long it is kept from now on, or empty where no time is set.
local function file_proposal (prefix, id, at, keep_ms)
  local key = prefix .. 'proposal:' .. id
  local held = redis.call('HMGET', key, 'state', 'kind', 'format', 'agentKey', 'runKey', 'createdAtMs', 'pendingUntilMs', 'commitByMs', 'recordKey', 'equalKey',
    'desks')
  local state, kind, format, made_at = held[1], held[2], held[3], held[6]
  local ends = ends_at(state, held[7], held[8])
  local open, ended, by_end = prefix .. 'proposals-open', prefix .. 'proposals-ended', prefix .. 'proposals-end:' .. format
  local pending, grants = prefix .. 'proposals-pending:' .. held[4], prefix .. 'grants:' .. held[5]
  local function list (is_in, name, score)
    if is_in then redis.call('ZADD', name, score, id) else redis.call('ZREM', name, id) end
  end
  list(ends, open, made_at)
  list(ends, by_end, ends and digits(ends))
  list(state == 'pending', pending, held[7])
  for desk in string.gmatch(held[11] or '', '%S+') do list(state == 'pending', prefix .. 'proposals-desk:' .. desk, held[7]) end
  list(state == 'approved' and kind == 'session', grants, made_at)
  if ends then
    redis.call('ZREM', ended, id)
  else
    redis.call('ZADD', ended, 'NX', digits(at), id)
  end
  if not ends and keep_ms ~= '' then
    redis.call('ZREMRANGEBYSCORE', ended, '-inf', digits(at - tonumber(keep_ms)))
    redis.call('PEXPIRE', key, keep_ms)
  else
    redis.call('PERSIST', key)
  end
  for _, name in ipairs({ held[9], held[10] }) do
    local pointer = prefix .. 'proposal-name:' .. name
    if redis.call('GET', pointer) == id then
      if not ends and keep_ms ~= '' then redis.call('PEXPIRE', pointer, keep_ms) else redis.call('PERSIST', pointer) end
    end
  end
end

local function consume_proposal (prefix, id, attempt_id, at, keep_ms)
  local key = prefix .. 'proposal:' .. id
  redis.call('HSET', key, 'state', 'consumed', 'attemptId', attempt_id)
  redis.call('HINCRBY', key, 'revision', 1)
  file_proposal(prefix, id, at, keep_ms)
end

-- The attempt that used it up is settled: where that provably never left, it is approved again.
local function settle_proposal (prefix, id, attempt_id, gives_back, format_max, at, keep_ms)
  local key = prefix .. 'proposal:' .. id
  local held = redis.call('HMGET', key, 'state', 'attemptId', 'format')
  if held[1] ~= 'consumed' or held[2] ~= attempt_id or tonumber(held[3]) > format_max then return end
  if gives_back then
    redis.call('HSET', key, 'state', 'approved')
    redis.call('HDEL', key, 'attemptId')
    redis.call('HINCRBY', key, 'revision', 1)
    keep_ms = ''
  end
  file_proposal(prefix, id, at, keep_ms)
end
