#!/usr/bin/env bash
# Makes what the live page has from others: master/live/static/vendor/tsshogi.js, with its licence; and what the tests
# have: tests/master/records/tsshogi.mjs. Needs Node.js 20; run it once a version (web/package.json), and commit what it
# makes. Nothing of it is needed to run Gougi.
set -euo pipefail
cd "$(dirname "$0")"
npm ci --no-fund --no-audit
esbuild=(node_modules/@esbuild/*/bin/esbuild)
bundle() { "${esbuild[0]}" "$1" --bundle --format=esm --minify --target=es2020 --outfile="$2"; }
bundle entry.mjs ../master/live/static/vendor/tsshogi.js
bundle readers.mjs ../tests/master/records/tsshogi.mjs
cp node_modules/tsshogi/LICENSE ../master/live/static/vendor/tsshogi.LICENSE
cp node_modules/tsshogi/LICENSE ../tests/master/records/tsshogi.LICENSE
