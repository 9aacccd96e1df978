#!lua
-- Grants the lease if nobody holds it. The same owner asking again gets the same term, and mints nothing.
-- The shebang has no allow-oom flag on purpose: a server that is out of memory gives out no new leases.
--
-- KEYS[1]  lease    "<owner>|<token>"
-- KEYS[2]  fence    highest token minted
-- ARGV[1]  nonce    echoed
-- ARGV[2]  owner    32 hex digits
-- ARGV[3]  ttl      ms the lease lives
-- ARGV[4]  floor    highest token known elsewhere, or 0
-- ARGV[5]  lo       earliest server time, ms since 1970, at which the request may run
-- ARGV[6]  hi       latest server time, ms since 1970, at which the request may run
-- ARGV[7]  fenceTTL ms the fence lives
--
-- Output   "<nonce>|ok|<token>"                  granted
--          "<nonce>|busy|<pttl>|<value>"         another owner holds it for pttl ms (-1: for ever)
--          "<nonce>|clock|<server time, ms>"     the server's time is outside lo..hi; nothing was written
--          "<nonce>|overflow|<token>"            the next token would exceed 2^53-1; nothing was written
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
if now < tonumber(ARGV[5]) or now > tonumber(ARGV[6]) then
  return string.format('%s|clock|%.0f', ARGV[1], now)
end
local current = redis.call('GET', KEYS[1])
if current then
  if string.sub(current, 1, #ARGV[2] + 1) == ARGV[2] .. '|' then
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
    return string.format('%s|ok|%s', ARGV[1], string.sub(current, #ARGV[2] + 2))
  end
  return string.format('%s|busy|%.0f|%s', ARGV[1], redis.call('PTTL', KEYS[1]), current)
end
-- 1704067200000 is 2024-01-01T00:00:00Z. Numbers are doubles here: exact below 2^53, and printed with %.0f only.
-- A fence that is no whole number counts as none: 'nan' compares with nothing.
local fence = tonumber(string.match(redis.call('GET', KEYS[2]) or '', '^%d+$') or '0')
local token = math.max(fence + 1, tonumber(ARGV[4]) + 1, now - 1704067200000)
if token > 9007199254740991 then
  return string.format('%s|overflow|%.0f', ARGV[1], token)
end
local text = string.format('%.0f', token)
redis.call('SET', KEYS[2], text, 'PX', ARGV[7])
redis.call('SET', KEYS[1], ARGV[2] .. '|' .. text, 'PX', ARGV[3])
return string.format('%s|ok|%s', ARGV[1], text)
