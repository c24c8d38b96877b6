#!/usr/bin/env bash
# As root: configuration, networks and books from the bucket. At each boot, and before each start of the master.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
read_facts

s3() { again 60 aws s3 "$@" --region "$FLEET_REGION" --only-show-errors; }

s3 cp "s3://$FLEET_BUCKET/config/gougi.toml" /etc/gougi/gougi.toml
s3 cp "s3://$FLEET_BUCKET/config/master.env" /etc/gougi/master.env
chmod 0644 /etc/gougi/gougi.toml /etc/gougi/master.env
for folder in nets books; do
  s3 sync "s3://$FLEET_BUCKET/$folder/" "$STATE/$folder/"
  chown -R gougi:gougi "$STATE/$folder"
done
