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
local current = redis.call('GET', KEYS[1])
if not current then return ARGV[1] .. '|gone' end
if current ~= ARGV[2] then return ARGV[1] .. '|other|' .. string.sub(current, 1, 128) end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return ARGV[1] .. '|ok'
