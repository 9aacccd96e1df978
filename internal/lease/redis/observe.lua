#!lua flags=allow-oom
-- Reads who holds the lease. It has no no-writes flag on purpose: a demoted primary answers READONLY instead of what it
-- remembers.
--
-- KEYS[1]  lease
-- ARGV[1]  nonce    echoed
--
-- Output   "<nonce>|ok|<pttl>|<value>"    held for pttl ms (-1: for ever); the value's first 128 bytes
--          "<nonce>|gone"                 there is no lease
local current = redis.call('GETRANGE', KEYS[1], 0, 127)
if current == '' and redis.call('EXISTS', KEYS[1]) == 0 then return ARGV[1] .. '|gone' end
return string.format('%s|ok|%.0f|', ARGV[1], redis.call('PTTL', KEYS[1])) .. current
