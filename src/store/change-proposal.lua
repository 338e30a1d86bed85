#!lua
-- Makes one change of a proposal atomic: compare-and-set on the revision, and only as long as it is still in time, or still late, as whoever reduced it
-- believed. Asked again with one of the latest change ids it changes nothing more.
-- KEYS: 1 proposal, 2 run. ARGV: as the locals below. `goes_on`: nothing of the kind is done for a run that is stopped. `times` names what is set to now, each with how much later and until when at most. `decided_at` are the
-- times of the decisions that were there, `decides`: this one is another.
local prefix, id, expected, format, change, late = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6] == '1'
local revision, state, body, times, decided_at, decides, keep_ms = ARGV[7], ARGV[8], ARGV[9], ARGV[10], ARGV[11], ARGV[12] == '1', ARGV[13]
local goes_on = ARGV[14] == '1'
local changes_max = 2048
local at = now()
local held = redis.call('HMGET', KEYS[1], 'revision', 'format', 'changes', 'state', 'pendingUntilMs', 'commitByMs')
if not held[1] then return { 'missing' } end
if string.find(' ' .. held[3] .. ' ', ' ' .. change .. ' ', 1, true) then return { 'changed', digits(at), proposal(prefix, id) } end
local ends = ends_at(held[4], held[5], held[6])
local is_late = ends ~= nil and at > ends
if held[1] ~= expected or held[2] ~= format or is_late ~= late then return { 'stale', digits(at), proposal(prefix, id) } end
if goes_on and redis.call('HEXISTS', KEYS[2], 'stopped') == 1 then return { 'run_stopped', digits(at), proposal(prefix, id) } end

if decides then decided_at = decided_at .. (decided_at == '' and '' or ' ') .. digits(at) end
redis.call('HSET', KEYS[1], 'revision', revision, 'state', state, 'body', body, 'decidedAt', decided_at,
  'changes', string.sub(held[3] .. ' ' .. change, -changes_max))
for name, later, most in string.gmatch(times, '(%a+) (%d+) (%d*),') do
  local time = at + tonumber(later)
  if most ~= '' then time = math.min(time, tonumber(most)) end
  redis.call('HSET', KEYS[1], name, digits(time))
end
file_proposal(prefix, id, at, keep_ms)
return { 'changed', digits(at), proposal(prefix, id) }
