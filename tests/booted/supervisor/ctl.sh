# ctl.sh CTL…: the commands of supervisorctl, with what each prints and its exit status. Programs: see compare.rs.
r() { printf '$ %s\n' "$*"; timeout 40 "${CTL[@]}" "$@" </dev/null 2>&1; echo "[rc $?]"; }
rf() { printf '$ %s (for 3 s)\n' "$*"; timeout -s INT 3 "${CTL[@]}" "$@" </dev/null 2>&1 | tail -3; echo "[rc ${PIPESTATUS[0]}]"; }
CTL=("$@")
sleep 4
r status; r status 'web:*'; r status web:web_0 exit3; r status nosuch; r status web:nosuch; r status 'nosuch:*'; r status web
r start one; r status one; sleep 4; r status one; r pid one
r start nofile; r start noexec; r start loop; sleep 12; r status loop nofile
r start web:web_0; r start 'web:*'; r start nosuch; r start 'nosuch:*'; r start; r start slow term5
r signal HUP nosuch; r signal FOO web:web_0; r signal CONT web:web_0; r signal 18 'web:*'; r signal CONT one
r pid; r pid web:web_0; r pid nosuch; r pid all
r stop one; r stop loop; r start slow; r stop slow; r status slow; r start term5; r stop term5; r status term5; r stop nosuch; r stop 'nosuch:*'
r restart 'web:*'; r restart web:web_0; r restart nosuch; r restart exit3; r start exit0
r tail -30 web:web_0; r tail web:web_0 stderr; r tail nosuch; rf tail -f web:web_0; rf tail -f nosuch; rf tail -f web:web_0 stderr; r maintail -80; rf maintail -f
r reread; r update; r add web; r add nosuch; r remove web; r remove nosuch; r stop 'web:*'; r remove web; r status; r avail; r add web; sleep 2; r status web:web_0
r clear web:web_0; r clear nosuch; r clear all; r fg nosuch; r fg one; r version; r help; r bogus
r stop all; r status; r start all; r status; r restart all
r reload; sleep 6; r status 'web:*'; r shutdown; sleep 4; r status; r version; r shutdown
