#!lua
-- Grants the lease if nobody holds it and nobody can hold it unknown to this server. The same owner asking again gets the same
-- term, and mints nothing.
-- The shebang has no allow-oom flag on purpose: a server that is out of memory gives out no new leases.
--
-- KEYS[1]  lease    "<owner>|<token>"
-- KEYS[2]  fence    highest token minted
-- KEYS[3]  server   "<server id>|<ms since 1970 until which nothing is granted, or 0>|<ms of the longest lease>|<why>"
-- ARGV[1]  nonce    echoed
-- ARGV[2]  owner    32 hex digits
-- ARGV[3]  ttl      ms the lease lives
-- ARGV[4]  floor    highest token known elsewhere, or 0
-- ARGV[5]  lo       earliest server time, ms since 1970, at which the request may run
-- ARGV[6]  hi       latest server time, ms since 1970, at which the request may run
-- ARGV[7]  memory   ms the fence and what is known of the server live
-- ARGV[8]  longest  ms of the longest lease that anybody may hold for the scope
--
-- Output   "<nonce>|ok|<token>"                  granted
--          "<nonce>|busy|<pttl>|<value>"         another owner holds it for pttl ms (-1: for ever); the value's first 128 bytes
--          "<nonce>|wait|<ms>|<why>"             nobody is known to hold it, and nothing is granted for another ms, because
--                                                why = "server": another server than the one that granted it last answers
--                                                why = "data": the fence is below the floor, so data was lost
--          "<nonce>|clock|<server time, ms>"     the server's time is outside lo..hi; nothing was written
--          "<nonce>|overflow|<token>"            the next token would exceed 2^53-1; nothing was written
--
-- Every key is read before any is written, and no more of it than a value of ours can have: one of another program may be large.
local nonce, owner, ttl = ARGV[1], ARGV[2], tonumber(ARGV[3])
local floor, memory, longest = tonumber(ARGV[4]), ARGV[7], tonumber(ARGV[8])
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
if now < tonumber(ARGV[5]) or now > tonumber(ARGV[6]) then
  return string.format('%s|clock|%.0f', nonce, now)
end

local current = redis.call('GETRANGE', KEYS[1], 0, 127)
if current ~= '' or redis.call('EXISTS', KEYS[1]) == 1 then
  if string.sub(current, 1, #owner + 1) == owner .. '|' then
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
    return nonce .. '|ok|' .. string.sub(current, #owner + 2)
  end
  -- %s would end at a null character.
  return string.format('%s|busy|%.0f|', nonce, redis.call('PTTL', KEYS[1])) .. current
end

-- Numbers are doubles here: exact below 2^53, and printed with %.0f only. What is no whole number counts as 0: 'nan' compares
-- with nothing.
local function whole(text) return tonumber(string.match(text or '', '^%d+$') or '0') end
local fence = whole(redis.call('GETRANGE', KEYS[2], 0, 31))
-- 1704067200000 is 2024-01-01T00:00:00Z.
local token = math.max(fence + 1, floor + 1, now - 1704067200000)
if token > 9007199254740991 then
  return string.format('%s|overflow|%.0f', nonce, token)
end

-- The run id is the server process's, and changes with a restart. The replication id changes with a promotion as well, also with
-- one that gives the first process its place back. After either the last writes may be missing.
local info = redis.call('INFO', 'server', 'replication')
local id = (string.match(info, 'run_id:(%x+)') or '') .. (string.match(info, 'master_replid:(%x+)') or '')
local known = redis.call('GETRANGE', KEYS[3], 0, 127)
local seen, till, last, why = string.match(known, '^(%x*)|(%d+)|(%d+)|(%a*)$')
-- No lease is longer than 24 h, whatever the record says.
local rest = math.max(ttl, longest, math.min(whole(last), 86400000))
-- A record that cannot be read is another server's.
local forgot = (known ~= '' and seen ~= id and 'server') or (fence < floor and 'data')
-- A clock that went back since then must not make the wait longer than one longest lease.
local back = whole(till) - now > rest and why
if forgot or back then
  why, till = forgot or back, string.format('%.0f', now + rest)
  redis.call('SET', KEYS[2], string.format('%.0f', math.max(fence, floor)), 'PX', memory)
  redis.call('SET', KEYS[3], string.format('%s|%s|%.0f|%s', id, till, rest, why), 'PX', memory)
end
local left = whole(till) - now
if left > 0 then
  return string.format('%s|wait|%.0f|%s', nonce, left, why)
end

local text = string.format('%.0f', token)
redis.call('SET', KEYS[2], text, 'PX', memory)
redis.call('SET', KEYS[3], string.format('%s|0|%.0f|', id, ttl), 'PX', memory)
redis.call('SET', KEYS[1], owner .. '|' .. text, 'PX', ARGV[3])
return nonce .. '|ok|' .. text
