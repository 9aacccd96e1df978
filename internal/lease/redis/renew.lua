#!lua flags=allow-oom
-- Sets the remaining time of a lease, only if this term still holds it. It never creates a lease.
--
-- KEYS[1]  lease
-- ARGV[1]  nonce    echoed
-- ARGV[2]  value    "<owner>|<token>"
-- ARGV[3]  ttl      ms the lease lives from now
--
-- Output   "<nonce>|ok"               renewed
--          "<nonce>|gone"             there is no lease
--          "<nonce>|other|<value>"    another term holds it; the value's first 128 bytes
local current = redis.call('GETRANGE', KEYS[1], 0, 127)
if current ~= ARGV[2] then
  if current == '' and redis.call('EXISTS', KEYS[1]) == 0 then return ARGV[1] .. '|gone' end
  return ARGV[1] .. '|other|' .. current
end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return ARGV[1] .. '|ok'
