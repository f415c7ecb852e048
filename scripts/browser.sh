#!/usr/bin/env bash
# Makes sure that there is a Chromium with its driver, for the tests of the report. If there is none, installs Debian's,
# if that is allowed. Never fails: without a browser, those tests are skipped with a message or, if CI=true, fail.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/debian.sh"

found() {
    command -v chromedriver >/dev/null || return 1
    for browser in chromium chromium-browser google-chrome google-chrome-stable; do
        if command -v "$browser" >/dev/null; then return 0; fi
    done
    return 1
}

if found; then exit 0; fi
echo "there is no Chromium with its driver for the tests of the report: installing them if possible"
debian_install chromium chromium-driver || true
found || echo "no Chromium with its driver here, and none could be installed: the report's page is not tried in a browser"
