#!lua flags=allow-oom
-- Gives a lease back, only if this term still holds it, and tells those who wait.
--
-- KEYS[1]  lease
-- ARGV[1]  nonce    echoed
-- ARGV[2]  value    "<owner>|<token>"
-- ARGV[3]  channel  sharded channel in the slot of the lease; the message is the value
--
-- Output   "<nonce>|ok"               released
--          "<nonce>|gone"             there is no lease
--          "<nonce>|other|<value>"    another term holds it; the value's first 128 bytes
local current = redis.call('GETRANGE', KEYS[1], 0, 127)
if current ~= ARGV[2] then
  if current == '' and redis.call('EXISTS', KEYS[1]) == 0 then return ARGV[1] .. '|gone' end
  return ARGV[1] .. '|other|' .. current
end
redis.call('DEL', KEYS[1])
redis.call('SPUBLISH', ARGV[3], current)
return ARGV[1] .. '|ok'
