# For other scripts to source: installs packages of Debian where that is possible.

# debian_install PACKAGE...: succeeds if apt-get, run as root, has installed them. It waits for another apt-get, and asks
# again where the network fails; the lists of packages are fetched anew if they are missing or too old.
debian_install() {
    local as_root=() apt
    if [ "$(id -u)" -ne 0 ]; then as_root=(sudo -n); fi
    command -v apt-get >/dev/null && "${as_root[@]}" true 2>/dev/null || return 1
    apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive
        apt-get --quiet --quiet --option DPkg::Lock::Timeout=900 --option Acquire::Retries=5)
    "${apt[@]}" install --yes --no-install-recommends "$@" >/dev/null 2>&1 && return 0
    # An update takes a lock that apt-get does not wait for, so it is tried again.
    for pause in 0 10 30; do
        sleep "$pause"
        "${apt[@]}" update && "${apt[@]}" install --yes --no-install-recommends "$@" >/dev/null && return 0
    done
    return 1
}
