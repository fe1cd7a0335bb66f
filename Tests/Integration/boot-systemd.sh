#!/bin/bash
# boot-systemd.sh - boot a real systemd (as PID 1 of its own namespaces) on a host that has none,
# over a throw-away copy-on-write view of a root tree, to test services with.
#
#   boot-systemd.sh up   [options]          boot; prints the state folder on stdout
#   boot-systemd.sh exec STATE CMD...       run CMD inside, exit with its status
#   boot-systemd.sh net  STATE up|down|carrier-off|carrier-on|plug    switch the test link (needs --net)
#   boot-systemd.sh peer STATE CMD...       run CMD in the peer's network namespace (needs --net)
#   boot-systemd.sh reboot STATE [unplugged|dark]    stop and boot again; keeps what was written outside /run and /tmp;
#                                           without the test link, until `net STATE plug`, or with one without carrier
#   boot-systemd.sh crash STATE             SIGKILL of everything inside at once, then boot again
#   boot-systemd.sh down STATE              power off, clean up (any number of times)
#
# options:  --root DIR       root tree to look at (default /, the host's own; never written)
#           --tree DIR       copied over the view of the root tree (repeatable; a staged `make install`, `dpkg-deb -x`)
#           --net            veth pair: eth0 inside, peer0 in a namespace of its own (192.0.2.0/24, 2001:db8::/64)
#           --limit SECONDS  the whole box is killed after this long (default 900)
#
# Needs root and, as Debian packages: systemd, util-linux, mount, iproute2.
set -u
umask 022
me=$(readlink -f "$0")
die() { echo "boot-systemd: $*" >&2; exit 125; }
[ "$(id -u)" = 0 ] || die "must be root"

# ---------------------------------------------------------------- stage 1: runs as PID 1 of the new namespaces
if [ "${1-}" = --stage1 ]; then
    set -e
    S=$2; R=$S/m/root
    read -r hostpid _ </proc/self/stat            # the old /proc is still there: our pid as the host sees it
    . "$S/conf"
    mount --make-rprivate /
    mount -t overlay overlay -o "lowerdir=$root,upperdir=$S/m/up,workdir=$S/m/wk" "$R"
    cd "$R"
    mount -t proc -o nosuid,nodev,noexec proc proc
    for p in sys sysrq-trigger; do                # global kernel knobs: look, don't touch
        [ -e "proc/$p" ] || continue
        mount --bind "proc/$p" "proc/$p"; mount -o remount,bind,ro "proc/$p"
    done
    mount --bind /proc/sys/net proc/sys/net 2>/dev/null || true
    mount -t sysfs -o nosuid,nodev,noexec sysfs sys
    mount -o remount,bind,ro sys
    mount -t cgroup2 -o nosuid,nodev,noexec cgroup2 sys/fs/cgroup
    mount -t tmpfs -o mode=755,nosuid tmpfs dev
    while read -r n maj min; do mknod -m 666 "dev/$n" c "$maj" "$min"; done <<-NODES
	null 1 3
	zero 1 5
	full 1 7
	random 1 8
	urandom 1 9
	tty 5 0
	NODES
    mkdir dev/pts dev/shm dev/mqueue
    mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5,nosuid,noexec devpts dev/pts
    mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs dev/shm
    ln -s pts/ptmx dev/ptmx; ln -s /proc/self/fd dev/fd
    ln -s fd/0 dev/stdin; ln -s fd/1 dev/stdout; ln -s fd/2 dev/stderr
    touch dev/console; mount --bind "$S/console" dev/console
    mount -t tmpfs -o mode=755,nosuid,nodev tmpfs run
    mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs tmp
    mkdir -p run/systemd/system
    echo sdbox >run/systemd/container
    [ -s "$S/m/machine-id" ] || tr -d - </proc/sys/kernel/random/uuid >"$S/m/machine-id"
    cp "$S/m/machine-id" etc/machine-id
    : >etc/fstab
    rm -f usr/sbin/policy-rc.d      # containers carry one that keeps maintainer scripts from starting services
    # units that the host's own administrator enabled are not the test's (a tree's are kept)
    for w in /etc/systemd/system/*.wants/* /etc/systemd/system/*.requires/*; do
        [ "$root" = / ] && [ -L "$w" ] && [ ! -L "$S/m/up$w" ] && rm -f ".$w"
    done
    # what needs real hardware, or would reach out of the box
    for u in systemd-udevd.service systemd-udevd-control.socket systemd-udevd-kernel.socket \
             systemd-udev-trigger.service systemd-sysctl.service systemd-modules-load.service \
             systemd-remount-fs.service systemd-random-seed.service systemd-timesyncd.service \
             systemd-networkd.service systemd-resolved.service systemd-binfmt.service \
             kmod-static-nodes.service proc-sys-fs-binfmt_misc.automount sys-kernel-debug.mount \
             sys-kernel-tracing.mount sys-kernel-config.mount sys-fs-fuse-connections.mount \
             dev-hugepages.mount tmp.mount getty.target console-getty.service \
             systemd-logind.service systemd-ask-password-wall.path systemd-ask-password-console.path \
             apt-daily.timer apt-daily-upgrade.timer fstrim.timer e2scrub_all.timer man-db.timer \
             dpkg-db-backup.timer logrotate.timer; do
        ln -sf /dev/null "run/systemd/system/$u"
    done
    echo sdbox >etc/hostname
    echo "$hostpid" >"$S/pid.new"; mv "$S/pid.new" "$S/pid"
    mkdir -p run/.old; pivot_root . run/.old
    cd /; umount -l /run/.old; rmdir /run/.old
    mount --make-rshared /      # left to the container manager by systemd; credentials need the propagation
    exec env -i container=sdbox PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        /lib/systemd/systemd --unit=multi-user.target --show-status=0 </dev/null >/dev/console 2>&1
fi

# ---------------------------------------------------------------- host side
cgroot() {      # a cgroup2 mount of the host, mounted for us if there is none
    local t; t=$(findmnt -rnt cgroup2 -o TARGET | head -n1)
    [ -n "$t" ] && { echo "$t"; return; }
    mkdir -p "$1/cg2" && mount -t cgroup2 cgroup2 "$1/cg2" && echo "$1/cg2"
}
cgclean() {     # remove an emptied cgroup tree, bottom up
    [ -n "$1" ] && [ -d "$1" ] || return 0
    local i; for i in $(seq 50); do
        find "$1" -depth -type d -exec rmdir {} + 2>/dev/null
        [ -d "$1" ] || return 0; sleep 0.05
    done
    echo "boot-systemd: cgroup $1 is still busy" >&2
}
alive() { local p; p=$(cat "$1/pid" 2>/dev/null) && [ -n "$p" ] && [ -e "/proc/$p/ns/pid" ] &&
          [ "$(readlink "/proc/$p/ns/pid" 2>/dev/null)" != "$(readlink /proc/self/ns/pid)" ]; }
inside() { local S=$1; shift; alive "$S" || die "not running: $S"
    nsenter -t "$(cat "$S/pid")" -m -u -i -n -p -C -- env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        HOME=/root LANG=C.UTF-8 SYSTEMD_PAGER= SYSTEMD_COLORS=0 "$@"; }

start() {       # start PID 1 of the box and wait until it has finished booting
    local S=$1 lim i st; . "$S/conf"
    rm -f "$S/pid"; : >"$S/console"
    lim=$((deadline - $(date +%s))); [ "$lim" -gt 0 ] || die "time is up"
    mkdir -p "$cg"
    # the sub-shell joins the cgroup, so that the new cgroup namespace is rooted there; --kill-child ends
    # the box should unshare(1) be killed, and timeout(1) bounds the lot
    ( echo "$BASHPID" >"$cg/cgroup.procs" && exec timeout -s KILL "$lim" \
        unshare --mount --pid --uts --ipc --net --cgroup --fork --kill-child \
        bash "$me" --stage1 "$S" </dev/null >>"$S/boot.log" 2>&1 ) >/dev/null 2>&1 &
    echo $! >"$S/outer"
    for i in $(seq 600); do
        if [ -s "$S/pid" ]; then
            [ "${2-}" != dark ] || [ -n "${dark-}" ] || { netup "$S" down; dark=yes; }
            st=$(inside "$S" systemctl is-system-running 2>/dev/null)
            case $st in running|degraded) break;; esac
        fi
        kill -0 "$(cat "$S/outer")" 2>/dev/null || { cat "$S/boot.log" "$S/console" >&2; die "PID 1 did not start"; }
        sleep 0.05
    done
    case ${st-} in running) ;; degraded) inside "$S" systemctl --no-legend --failed >&2;;
        *) cat "$S/boot.log" "$S/console" >&2; halt "$S"; die "not booted in 30 s (${st:-no answer})";; esac
    [ "$net" = 1 ] && [ -z "${2-}" ] && netup "$S" up
    return 0
}
halt() {        # orderly power-off, then by force
    local S=$1 p o i; p=$(cat "$S/pid" 2>/dev/null); o=$(cat "$S/outer" 2>/dev/null)
    if alive "$S"; then
        [ "${2-}" = now ] && kill -KILL "$p" || inside "$S" systemctl --no-block poweroff 2>/dev/null || kill -RTMIN+4 "$p"
        for i in $(seq 400); do alive "$S" || break; [ "$i" = 300 ] && kill -KILL "$p"; sleep 0.05; done
    fi
    # wait for unshare/timeout to be gone as well (a pid, not a name, and only while it is still ours)
    for i in $(seq 40); do [ -n "$o" ] && grep -qa -e timeout -e unshare "/proc/$o/cmdline" 2>/dev/null || break; sleep 0.05; done
}
netup() {       # eth0 in the box <-> peer0, up or down, in a namespace held by a sleeping process of ours
    local S=$1 p q; p=$(cat "$S/pid"); q=$(cat "$S/peerpid" 2>/dev/null)
    if ! { [ -n "$q" ] && [ -e "/proc/$q/ns/net" ]; }; then
        ( exec timeout -s KILL "$((deadline - $(date +%s)))" unshare --net sleep infinity </dev/null >/dev/null 2>&1 ) & q=$!
        local i c=; for i in $(seq 100); do
            read -r c _ <"/proc/$q/task/$q/children" && [ -e "/proc/$c/ns/net" ] &&
            [ "$(readlink "/proc/$c/ns/net")" != "$(readlink /proc/self/ns/net)" ] && break; sleep 0.02; done
        q=$c; echo "$q" >"$S/peerpid"
    fi
    # made inside the peer's namespace, so nothing ever shows up in the host's
    nsenter -t "$q" -n sh -ec "ip link set lo up; ! ip link del peer0 2>/dev/null; ip link add peer0 type veth peer name eth0 netns $p
        ip addr add 192.0.2.1/24 dev peer0; ip addr add 2001:db8::1/64 dev peer0 nodad; ip link set peer0 $2" || die "veth"
    nsenter -t "$p" -n sh -ec 'ip addr add 192.0.2.2/24 dev eth0; ip addr add 2001:db8::2/64 dev eth0 nodad
        ip link set eth0 up; ip route replace default via 192.0.2.1'
}
peer() { local S=$1; shift; nsenter -t "$(cat "$S/peerpid")" -n -- "$@"; }

cmd_up() {
    local root=/ trees=() net=0 limit=900 S l
    while [ $# -gt 0 ]; do case $1 in
        --root) root=$(readlink -f "$2"); shift 2;;   --tree) trees+=("$(readlink -f "$2")"); shift 2;;
        --net) net=1; shift;;                         --limit) limit=$2; shift 2;;
        *) die "unknown option $1";;
    esac; done
    [ -x "$root/lib/systemd/systemd" ] || die "no systemd in $root"
    # sweep what a killed earlier run left behind
    for l in "${TMPDIR:-/tmp}"/sdbox.*/; do [ -f "$l/conf" ] && ! alive "$l" &&
        [ "$(( $(date +%s) - $(stat -c %Y "$l/conf") ))" -gt 60 ] && cmd_down "$l"; done
    S=$(mktemp -d "${TMPDIR:-/tmp}/sdbox.XXXXXX"); chmod 755 "$S"; mkdir "$S/m"
    mount -t tmpfs -o mode=755,size=4g sdbox "$S/m" && mkdir "$S/m/up" "$S/m/wk" "$S/m/root" || die "tmpfs"
    # (a tree inside the root tree can't be a second overlay layer: the kernel refuses overlapping ones)
    for l in "${trees[@]}"; do cp -a "$l/." "$S/m/up/" || die "copy of $l"; done
    chown 0:0 "$S/m/up"; chmod --reference="$root" "$S/m/up"     # mktemp -d folders are 0700: that isn't to become "/"
    local cg; cg=$(cgroot "$S")/${S##*/} || die "no cgroup2"
    { declare -p root net cg | sed 's/^declare --/declare -g/'
      echo "declare -g deadline=$(( $(date +%s) + limit ))"; } >"$S/conf"
    ( start "$S" ) || { cmd_down "$S"; exit 125; }
    echo "$S"
}
cmd_down() {
    local S=${1%/}; [ -f "$S/conf" ] || return 0
    . "$S/conf"
    halt "$S"
    [ -s "$S/peerpid" ] && grep -qa sleep "/proc/$(cat "$S/peerpid")/cmdline" 2>/dev/null && kill -KILL "$(cat "$S/peerpid")"
    cgclean "$cg"
    mountpoint -q "$S/cg2" && umount "$S/cg2"
    mountpoint -q "$S/m" && { umount "$S/m" || umount -l "$S/m"; }
    rm -rf --one-file-system "$S"
}
cmd_reboot() { local S=${1%/}; . "$S/conf"; halt "$S" "${2-}"; cgclean "$cg"; start "$S" ${3-}; }
cmd_net() {
    local S=${1%/} p; p=$(cat "$S/pid")
    case $2 in
        down) nsenter -t "$p" -n ip link set eth0 down;;
        up)   nsenter -t "$p" -n sh -ec 'ip link set eth0 up; ip addr replace 2001:db8::2/64 dev eth0 nodad; ip route replace default via 192.0.2.1';;
        carrier-off) peer "$S" ip link set peer0 down;;
        carrier-on)  peer "$S" ip link set peer0 up;;
        plug) netup "$S" up;;
        *) die "net STATE up|down|carrier-off|carrier-on|plug";;
    esac
}
case ${1-} in
    up) shift; cmd_up "$@";;
    down) cmd_down "${2:?which box}";;
    exec) S=$2; shift 2; inside "${S%/}" "$@";;
    peer) S=$2; shift 2; peer "${S%/}" "$@";;
    net) cmd_net "$2" "$3";;
    reboot) cmd_reboot "$2" "" ${3-};;
    crash) cmd_reboot "$2" now;;
    *) sed -n '2,/^set -u/{s/^# \{0,1\}//;/^set -u/d;p}' "$me"; exit 2;;
esac
