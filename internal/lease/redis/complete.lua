#!lua
-- Records the result of an occurrence, once, unless a newer token was granted. The lease may have lapsed meanwhile.
--
-- KEYS[1]  lease
-- KEYS[2]  fence
-- KEYS[3]  done       the record: "<owner>|<token>|<at>|<bytes of inputs>|<bytes of digest>|<inputs><digest><location>", where
--                     at is the server time in ms since 1970
-- ARGV[1]  nonce      echoed
-- ARGV[2]  owner      32 hex digits
-- ARGV[3]  token      the fencing token under which the work was done
-- ARGV[4]  inputs     digest of what the result was made from, or empty
-- ARGV[5]  digest     of the result, or empty
-- ARGV[6]  location   of the result, or empty
-- ARGV[7]  retention  ms the record lives
--
-- Output   "<nonce>|accepted|<record>"     recorded now
--          "<nonce>|duplicate|<record>"    this owner recorded a result before; the record is that one
--          "<nonce>|conflict|<record>"     the occurrence was completed from other inputs
--          "<nonce>|done|<record>"         another owner completed the occurrence from the same inputs
--          "<nonce>|stale|<newest>"        a newer token was granted, or another holds the lease; nothing was written
--          "<nonce>|other|<value>"         the key of the record holds something else: its first 128 bytes; nothing was written
--
-- A fence that is too low is left as it is: data was lost, and the next ACQUIRE that knows of the token must find out.
local nonce, owner, token = ARGV[1], ARGV[2], ARGV[3]
-- A record has at most 4096 bytes of text, and less than 128 in front.
local record = redis.call('GETRANGE', KEYS[3], 0, 4223)
if record ~= '' or redis.call('EXISTS', KEYS[3]) == 1 then
  local by, size, text = string.match(record, '^(%x+)|%d+|%d+|(%d+)|%d+|(.*)$')
  if not by then return nonce .. '|other|' .. string.sub(record, 1, 128) end
  local same = string.sub(text, 1, tonumber(size)) == ARGV[4]
  return nonce .. '|' .. ((by == owner and 'duplicate') or (same and 'done') or 'conflict') .. '|' .. record
end

local function whole(text) return tonumber(string.match(text or '', '^%d+$') or '0') end
local fence = whole(redis.call('GETRANGE', KEYS[2], 0, 31))
local current = redis.call('GETRANGE', KEYS[1], 0, 127)
local held = current ~= '' or redis.call('EXISTS', KEYS[1]) == 1
local other = held and current ~= owner .. '|' .. token
if other then fence = math.max(fence, whole(string.match(current, '^%x+|(%d+)$'))) end
if other or fence > tonumber(token) then
  return string.format('%s|stale|%.0f', nonce, fence)
end

local t = redis.call('TIME')
local at = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
record = table.concat({owner, token, at, #ARGV[4], #ARGV[5], ARGV[4] .. ARGV[5] .. ARGV[6]}, '|')
redis.call('SET', KEYS[3], record, 'PX', ARGV[7])
return nonce .. '|accepted|' .. record
