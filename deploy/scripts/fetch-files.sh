#!/usr/bin/env bash
# As root: fetch configuration and networks from the bucket, on the head also books. Runs at each boot and before each start
# of the master.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
read_facts

s3() { again 60 aws s3 "$@" --region "$FLEET_REGION" --only-show-errors; }

# Each call of the command line takes a second of processor time.
s3 cp --recursive "s3://$FLEET_BUCKET/$FLEET_NAME/config/" /etc/gougi/
chmod 0644 /etc/gougi/gougi.toml /etc/gougi/master.env
mkdir -p "$STATE/nets" "$STATE/books"
# Setup and the master's start may run this at the same time.
exec 9>"$STATE/.fetching"
flock 9
# Remove partial downloads, but no file whose name ends in a date.
find "$STATE/nets" "$STATE/books" -type f -regextype posix-extended -regex '.*\.[0-9A-Fa-f]{8}' ! -regex '.*\.[0-9]{8}' -delete
# Exact: otherwise sync skips a newer file of the same size.
s3 sync "s3://$FLEET_BUCKET/$FLEET_NAME/nets/" "$STATE/nets/" --exact-timestamps

chown -R gougi:gougi "$STATE/nets" "$STATE/books"
[ "$FLEET_ROLE" = head ] || exit 0
# A book that is here stays: it may have learned something that has not reached the bucket. A write-ahead log belongs to one
# state of its book, so it is never copied.
left_out=(--exclude '*-wal' --exclude '*-shm' --exclude '*.lock')
while IFS= read -r -d '' book; do
  left_out+=(--exclude "${book//[/[[]}")
done < <(cd "$STATE/books" && find . -type f -printf '%P\0')
s3 sync "s3://$FLEET_BUCKET/$FLEET_NAME/books/" "$STATE/books/" "${left_out[@]}"
chown -R gougi:gougi "$STATE/books"
