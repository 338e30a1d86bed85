#!lua
-- Spends one call of an observation. KEYS: run, places of (action, tenant).
-- ARGV: call id, action, calls a run, places, deadline, how long the run is remembered.
local id, action, calls_max, places_max, deadline_ms, run_ms = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]), ARGV[6]
local at = now()
local until_ms = redis.call('ZSCORE', KEYS[2], id)
if until_ms and tonumber(until_ms) > at then return 'entered' end
local run = redis.call('HMGET', KEYS[1], 'stopped', 'calls:' .. action)
if run[1] then return 'run_stopped' end
if calls_max ~= '' and tonumber(run[2] or 0) >= tonumber(calls_max) then return 'budget_exhausted' end
if not take_place(KEYS[2], id, places_max, at, deadline_ms) then return 'rate_limited' end
redis.call('HINCRBY', KEYS[1], 'calls:' .. action, 1)
redis.call('PEXPIRE', KEYS[1], run_ms)
return 'entered'
