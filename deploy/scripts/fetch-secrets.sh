#!/usr/bin/env bash
# At each boot, as root: copy the secrets from SSM Parameter Store into files in memory. Gougi may read Ray's token; systemd
# gives the password to the master alone (LoadCredential). No secret is ever an argument of a program or in a log. If there
# is no token yet, the head makes it; a worker waits for it.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
read_facts
umask 077

parameter() {
  aws ssm get-parameter --region "$FLEET_REGION" --name "$1" --with-decryption --query Parameter.Value --output text
}

# printf and read are builtins, not processes, so their arguments are not in the process list.
keep() {
  local new
  new=$(mktemp "$RUN/.new.XXXXXX")
  printf '%s\n' "$2" >"$new"
  chown "root:$3" "$new"
  chmod 0640 "$new"
  mv "$new" "$RUN/$1"
}

# A file in memory, because the command reads its input twice and a pipe would be empty the second time.
put_token() {
  local asked
  asked=$(mktemp "$RUN/.asked.XXXXXX")
  printf '{"Name": "%s", "Value": "%s", "Type": "SecureString", "Overwrite": true%s}' \
    "$FLEET_TOKEN_PARAMETER" "$1" "${FLEET_KMS_KEY:+, \"KeyId\": \"$FLEET_KMS_KEY\"}" >"$asked"
  aws ssm put-parameter --region "$FLEET_REGION" --cli-input-json "file://$asked" >/dev/null || note "no token put"
  rm -f "$asked"
}

# A read may return an older value than the last put, so every put writes the same token.
made=
token_is_made() {
  token=$(parameter "$FLEET_TOKEN_PARAMETER") || return 1
  [ "$token" = unset ] || return 0
  [ "$FLEET_ROLE" = head ] || return 1
  [ -n "$made" ] || made=$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')
  put_token "$made"
  token=$(parameter "$FLEET_TOKEN_PARAMETER") && [ "$token" != unset ]
}

again 600 token_is_made || die "$FLEET_TOKEN_PARAMETER: no token after 10 minutes; is the head there?"
keep ray-token "$token" gougi
if [ -n "$FLEET_PASSWORD_PARAMETER" ]; then
  password=$(parameter "$FLEET_PASSWORD_PARAMETER") || die "$FLEET_PASSWORD_PARAMETER: cannot read the server's password"
  keep csa-password "$password" root
fi
