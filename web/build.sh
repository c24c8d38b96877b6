#!/usr/bin/env bash
# Builds the live page's library master/live/static/vendor/tsshogi.js, with its licence, and the tests' module
# tests/master/records/tsshogi.mjs. Needs Node.js 20. Run it once per version (web/package.json), and commit the files.
# Nothing of it is needed to run Gougi.
set -euo pipefail
cd "$(dirname "$0")"
npm ci --no-fund --no-audit
esbuild=(node_modules/@esbuild/*/bin/esbuild)
bundle() { "${esbuild[0]}" "$1" --bundle --format=esm --minify --target=es2020 --outfile="$2"; }
bundle entry.mjs ../master/live/static/vendor/tsshogi.js
bundle readers.mjs ../tests/master/records/tsshogi.mjs
cp node_modules/tsshogi/LICENSE ../master/live/static/vendor/tsshogi.LICENSE
cp node_modules/tsshogi/LICENSE ../tests/master/records/tsshogi.LICENSE
