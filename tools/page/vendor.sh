#!/bin/sh
# Copies the libraries of the page from the npm packages in node_modules: see vendor/README.md.
set -eu
cd "$(dirname "$0")/node_modules"
to=../../../src/superarm/service/page/static/vendor
no_maps='/^\/\/# sourceMappingURL/d'
sed -e "$no_maps" preact/dist/preact.mjs > "$to/preact.js"
sed -e "$no_maps" -e 's#from"preact"#from"./preact.js"#' preact/hooks/dist/hooks.mjs > "$to/preact-hooks.js"
cp htm/dist/htm.module.js "$to/htm.js"
for package in preact htm; do cp "$package/LICENSE" "$to/LICENSE-$package"; done
