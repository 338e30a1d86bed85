-- What every script of the Redis store begins with. The store's clock is this server's, in milliseconds.
local function now ()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Numbers of this size must not be written as 1.7e+12.
local function digits (number)
  return string.format('%.0f', number)
end

-- An attempt as {its fields, its result}, or false.
local function attempt (prefix, id)
  local fields = redis.call('HGETALL', prefix .. 'attempt:' .. id)
  if #fields == 0 then return false end
  return { fields, redis.call('GET', prefix .. 'result:' .. id) }
end

local function state_of (prefix, id)
  return redis.call('HGET', prefix .. 'attempt:' .. id, 'state')
end

-- Longer lives win: what is kept for a busy run is never cut short by a quiet one.
local function keep (key, ms)
  if redis.call('PTTL', key) < tonumber(ms) then redis.call('PEXPIRE', key, ms) end
end

-- A place among the calls of a tenant's action, or false where all are taken. Places whose time has come end here.
local function take_place (places, id, limit, at, ms)
  redis.call('ZREMRANGEBYSCORE', places, '-inf', digits(at))
  if limit ~= '' and redis.call('ZCARD', places) >= tonumber(limit) then return false end
  redis.call('ZADD', places, digits(at + ms), id)
  keep(places, ms)
  return true
end
