#!lua flags=allow-oom
-- Withdraws a request to acquire whose outcome is unknown: the token was never learned, so the owner alone is compared.
--
-- KEYS[1]  lease
-- ARGV[1]  nonce    echoed
-- ARGV[2]  owner    32 hex digits
-- ARGV[3]  channel  sharded channel in the slot of the lease; the message is the value
--
-- Output   "<nonce>|ok"               released
--          "<nonce>|gone"             there is no lease
--          "<nonce>|other|<value>"    another owner holds it; the value's first 128 bytes
local current = redis.call('GETRANGE', KEYS[1], 0, 127)
if string.sub(current, 1, #ARGV[2] + 1) ~= ARGV[2] .. '|' then
  if current == '' and redis.call('EXISTS', KEYS[1]) == 0 then return ARGV[1] .. '|gone' end
  return ARGV[1] .. '|other|' .. current
end
redis.call('DEL', KEYS[1])
redis.call('SPUBLISH', ARGV[3], current)
return ARGV[1] .. '|ok'
