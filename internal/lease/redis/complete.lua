#!lua
-- Records the result of an occurrence, once, unless a newer token was granted. The lease may have lapsed meanwhile.
--
-- KEYS[1]  lease
-- KEYS[2]  fence
-- KEYS[3]  done       hash: owner, token, at (server time, ms since 1970), inputs, digest, location
-- ARGV[1]  nonce      echoed
-- ARGV[2]  owner      32 hex digits
-- ARGV[3]  token      the fencing token under which the work was done
-- ARGV[4]  inputs     digest of what the result was made from, or empty
-- ARGV[5]  digest     of the result, or empty
-- ARGV[6]  location   of the result, or empty
-- ARGV[7]  retention  ms the record lives
-- ARGV[8]  memory     ms the fence lives
--
-- Output   "<nonce>|accepted|<record>"     recorded now
--          "<nonce>|duplicate|<record>"    this owner recorded a result before; the record is that one
--          "<nonce>|conflict|<record>"     the occurrence was completed from other inputs
--          "<nonce>|done|<record>"         another owner completed the occurrence from the same inputs
--          "<nonce>|stale|<newest>"        a newer token was granted, or another holds the lease; nothing was written
--
-- <record> is "<owner>|<token>|<at>|<bytes of inputs>|<bytes of digest>|<inputs><digest><location>".
local nonce, owner, token = ARGV[1], ARGV[2], ARGV[3]
local function record(r)
  return string.format('%s|%s|%s|%d|%d|', r[1], r[2], r[3], #r[4], #r[5]) .. r[4] .. r[5] .. r[6]
end

local done = redis.call('HMGET', KEYS[3], 'owner', 'token', 'at', 'inputs', 'digest', 'location')
if done[1] then
  for i = 2, 6 do done[i] = done[i] or '' end
  local verdict = (done[1] == owner and 'duplicate') or (done[4] ~= ARGV[4] and 'conflict') or 'done'
  return nonce .. '|' .. verdict .. '|' .. record(done)
end

local function whole(text) return tonumber(string.match(text or '', '^%d+$') or '0') end
local fence = whole(redis.call('GET', KEYS[2]) or '')
local current = redis.call('GETRANGE', KEYS[1], 0, 127)
local other = current ~= '' and current ~= owner .. '|' .. token
if other then fence = math.max(fence, whole(string.match(current, '^%x+|(%d+)$'))) end
if other or fence > tonumber(token) then
  return string.format('%s|stale|%.0f', nonce, fence)
end

local t = redis.call('TIME')
local at = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
redis.call('SET', KEYS[2], token, 'PX', ARGV[8])
redis.call('HSET', KEYS[3], 'owner', owner, 'token', token, 'at', at, 'inputs', ARGV[4], 'digest', ARGV[5], 'location', ARGV[6])
redis.call('PEXPIRE', KEYS[3], ARGV[7])
return nonce .. '|accepted|' .. record({owner, token, at, ARGV[4], ARGV[5], ARGV[6]})
