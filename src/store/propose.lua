#!lua
-- Makes a proposal, or says what is in its way. Asked again with the same id it answers as it did.
-- KEYS: 1 proposal, 2 name: record key, 3 name: equal key, 4 run, 5 undecided ones of the agent, 6 those that the agent made, 7… undecided ones on
-- each of its `desks`. ARGV: as the locals below.
local prefix, id, after, pending_max, pending_ms, hard_ms = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local format, revision, kind, agent, run, record, equal, body = ARGV[7], ARGV[8], ARGV[9], ARGV[10], ARGV[11], ARGV[12], ARGV[13], ARGV[14]
local counted_ms, desks, desk_max = tonumber(ARGV[15]), ARGV[16], tonumber(ARGV[17])
local at = now()
local own = proposal(prefix, id)
if own then return { 'proposed', digits(at), own } end
if redis.call('HEXISTS', KEYS[4], 'stopped') == 1 then return { 'run_stopped' } end
local latest = redis.call('GET', KEYS[3])
local other = latest and latest ~= after and proposal(prefix, latest)
if other then return { 'recalled', digits(at), other } end
if redis.call('ZCOUNT', KEYS[5], digits(at), '+inf') >= pending_max then return { 'too_many_pending' } end
for index = 7, #KEYS do
  if redis.call('ZCOUNT', KEYS[index], digits(at), '+inf') >= desk_max then return { 'desk_full' } end
end

redis.call('HSET', KEYS[1], 'id', id, 'format', format, 'revision', revision, 'state', 'pending', 'kind', kind, 'agentKey', agent, 'runKey', run,
  'recordKey', record, 'equalKey', equal, 'body', body, 'desks', desks, 'changes', '', 'decidedAt', '',
  'createdAtMs', digits(at), 'pendingUntilMs', digits(at + pending_ms), 'hardUntilMs', digits(at + hard_ms))
redis.call('SET', KEYS[2], id)
redis.call('SET', KEYS[3], id)
redis.call('ZADD', KEYS[6], digits(at), id)
redis.call('ZREMRANGEBYSCORE', KEYS[6], '-inf', digits(at - counted_ms))
redis.call('PEXPIRE', KEYS[6], digits(counted_ms))
file_proposal(prefix, id, at, '')
return { 'proposed', digits(at), proposal(prefix, id) }
