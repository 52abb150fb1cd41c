-- One worker of the group: `kresd -c kresd.lua -n -S 3 -S 4` (Knot Resolver 5 and 6).
-- systemd opens the addresses, and passes them as file descriptors 3 and 4.
local worker_name = os.getenv('WORKER') or '1'

log_target('syslog')

-- The control socket of this worker, for the manager.
net.listen('/run/knot-resolver/control/' .. worker_name, nil, { kind = 'control' })

-- One cache for all workers; kres-cache-gc keeps it small.
cache.open(64 * MB, 'lmdb:///var/cache/knot-resolver')

-- Local answers, which need no network. All other names are resolved as usual.
modules = { 'hints > iterate' }
hints.set('ns.copse.example 192.0.2.53')
hints.set('ns.copse.example 2001:db8::53')
