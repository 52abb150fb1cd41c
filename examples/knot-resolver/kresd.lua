-- One worker of the group: `kresd -c kresd.lua -n -S 3 -S 4` (Knot Resolver 5 and 6).
-- The addresses aren't here: systemd has them open already, and hands them over as descriptors 3 and 4.
local worker_name = os.getenv('WORKER') or '1'

log_target('syslog')

-- The manager asks each worker here.
net.listen('/run/knot-resolver/control/' .. worker_name, nil, { kind = 'control' })

-- One cache for all workers; kres-cache-gc keeps it from filling up.
cache.open(64 * MB, 'lmdb:///var/cache/knot-resolver')

-- Answers of our own, which need no network; every other name is resolved as usual.
modules = { 'hints > iterate' }
hints.set('ns.copse.example 192.0.2.53')
hints.set('ns.copse.example 2001:db8::53')
