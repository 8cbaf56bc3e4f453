#!/usr/bin/env bash
# sgaudit 1, run 20261201t093000-abc123, planned at 2026-12-01T09:30:00Z
# Carries the plan out with the AWS CLI, step by step, and stops at the first error. What is there already
# counts as done, so that it can be run again. With --undo it takes back, in reverse, what it has made.
# It does not look for what has changed since the plan was made; sgaudit apply does.
#
# account 111122223333, Region us-east-1
# cluster: tags ["cluster=train"]; interfaces primary; family ipv4
# pairs of members before: 4 open, 4 partial, 4 blocked, 0 unknown
# pairs of members after:  12 open, 0 partial, 0 blocked, 0 unknown
# opens beyond what is required:
#   members with training (sg-06324e9415275fe6c) -> members with training (sg-06324e9415275fe6c): tcp 0-29499,29501-32767,61000-65535 (4 pairs)
# whether interfaces outside the cluster carry the same groups was not read
# not safe without a look:
#   op-1: a network ACL guards everything in its subnets, of which it has 1
set -euo pipefail
export AWS_PAGER='' AWS_CLI_AUTO_PROMPT=off

readonly ACCOUNT=111122223333 REGION=us-east-1
readonly GONE='InvalidPermission.NotFound InvalidSecurityGroupRuleId.NotFound'

say() { printf '%s\n' "$*"; }

stop() {
  printf 'error: %s\n' "$*" >&2
  printf '%s\n' 'stopped; run it again to go on, or with --undo to take back what was done' >&2
  exit 1
}

# Reads: ask COMMAND JSON QUERY
ask() {
  aws ec2 "$1" --region "$REGION" --cli-input-json "$2" --query "$3" --output text
}

# Changes: request CODES COMMAND JSON. Gives 1 where AWS answers one of CODES: it is so already.
request() {
  local errors pattern='\(([A-Za-z0-9.]+)\) when calling'
  if errors=$(aws ec2 "$2" --region "$REGION" --cli-input-json "$3" 2>&1 >/dev/null); then
    return 0
  fi
  if [[ $errors =~ $pattern && " $1 " == *" ${BASH_REMATCH[1]} "* ]]; then
    return 1
  fi
  printf '%s\n' "$errors" >&2
  stop "$2 was refused"
}

# Deletes what may be in use for a moment longer: delete CODES COMMAND JSON
delete() {
  local errors tries pattern='\(([A-Za-z0-9.]+)\) when calling'
  for ((tries = 0; tries < 10; tries++)); do
    if errors=$(aws ec2 "$2" --region "$REGION" --cli-input-json "$3" 2>&1 >/dev/null); then
      return 0
    fi
    [[ $errors =~ $pattern ]] || break
    case " $1 " in *" ${BASH_REMATCH[1]} "*) return 0 ;; esac
    case ${BASH_REMATCH[1]} in
      DependencyViolation | IncorrectState | ResourceInUse) sleep "${SGAUDIT_WAIT:-3}" ;;
      *) break ;;
    esac
  done
  printf '%s\n' "$errors" >&2
  stop "$2 was refused"
}

# Waits until a prefix list can be used: settle JSON
settle() {
  local state tries
  for ((tries = 0; tries < 60; tries++)); do
    state=$(ask describe-managed-prefix-lists "$1" 'PrefixLists[0].State') || stop 'the prefix list can not be read'
    case $state in
      *-complete) return 0 ;;
      *-failed) stop "the prefix list is in state $state" ;;
    esac
    sleep "${SGAUDIT_WAIT:-3}"
  done
  stop 'the prefix list is not ready'
}

ordered() { tr -s '[:space:]' '\n' <<<"$1" | LC_ALL=C sort; }

# Puts groups on an interface that still carries the ones it should: set_groups READ CHANGE WANTED BEFORE set|undo
set_groups() {
  local now
  now=$(ask describe-network-interfaces "$1" 'NetworkInterfaces[].Groups[].GroupId') || stop 'it can not be read'
  if [[ -z $now && $5 == undo ]]; then
    say '  nothing is left to undo'
  elif [[ $(ordered "$now") == "$(ordered "$3")" ]]; then
    say '  is so already'
  elif [[ $(ordered "$now") == "$(ordered "$4")" ]]; then
    request '' modify-network-interface-attribute "$2"
  else
    stop "the interface carries other groups than when this was planned: ${now:-none}"
  fi
}

# Gives 1 where an entry of a network ACL is not there, and stops where it is not as this script makes it:
# entry READ QUERY EXPECTED
entry() {
  local now
  now=$(ask describe-network-acls "$1" "$2") || stop 'the network ACL can not be read'
  now=$(tr '\t' ' ' <<<"$now")
  if [[ $now == None || -z $now ]]; then
    return 1
  fi
  [[ $now == "$3" ]] || stop "another entry has its number: $now"
}

# Takes away the permissions that this run added to a group: revoke_own READ GROUP ingress|egress
revoke_own() {
  local ids id list='' pick='[?!IsEgress]'
  if [[ $3 == egress ]]; then
    pick='[?IsEgress]'
  fi
  ids=$(ask describe-security-group-rules "$1" "SecurityGroupRules$pick.SecurityGroupRuleId") ||
    stop 'the permissions can not be read'
  for id in $ids; do
    list+="${list:+, }\"$id\""
  done
  if [[ -z $list ]]; then
    say '  nothing is left to undo'
    return 0
  fi
  request "$GONE" "revoke-security-group-$3" "{\"GroupId\": \"$2\", \"SecurityGroupRuleIds\": [$list]}" ||
    stop 'some of them were taken away just now'
}

one_or_none() {
  [[ $1 != *[[:space:]]* ]] || stop "more than one thing was made by this run: $1"
}

check_place() {
  local account region
  if [[ -n $ACCOUNT ]]; then
    account=$(aws sts get-caller-identity --region "$REGION" --query Account --output text) || stop 'no credentials'
    [[ $account == "$ACCOUNT" ]] || stop "this is for account $ACCOUNT, and the credentials are of $account"
  fi
  region=${AWS_REGION:-${AWS_DEFAULT_REGION:-}}
  [[ -n $region ]] || region=$(aws configure get region) || region=''
  [[ -z $region || $region == "$REGION" ]] || stop "this is for Region $REGION, and the Region in use is $region"
}

do_1() {
  say 'op-1: let tcp 32768-60999 out to 10.30.1.0/24 at ml-private-b (acl-0b95a9737c3116df4)'
  if request NetworkAclEntryAlreadyExists create-network-acl-entry '{"NetworkAclId": "acl-0b95a9737c3116df4", "RuleNumber": 32766, "Egress": true, "Protocol": "6", "RuleAction": "allow", "CidrBlock": "10.30.1.0/24", "PortRange": {"From": 32768, "To": 60999}}'; then return 0; fi
  entry '{"Filters": [{"Name": "network-acl-id", "Values": ["acl-0b95a9737c3116df4"]}]}' 'NetworkAcls[0].Entries[?to_string(RuleNumber)=='"'"'32766'"'"' && Egress] | [0].[Protocol, RuleAction, CidrBlock, Ipv6CidrBlock, PortRange.From, PortRange.To, IcmpTypeCode.Type, IcmpTypeCode.Code]' '6 allow 10.30.1.0/24 None 32768 60999 None None' || stop 'the network ACL is changing'
  say '  is there already'
}

undo_1() {
  say 'undo op-1: let tcp 32768-60999 out to 10.30.1.0/24 at ml-private-b (acl-0b95a9737c3116df4)'
  if ! entry '{"Filters": [{"Name": "network-acl-id", "Values": ["acl-0b95a9737c3116df4"]}]}' 'NetworkAcls[0].Entries[?to_string(RuleNumber)=='"'"'32766'"'"' && Egress] | [0].[Protocol, RuleAction, CidrBlock, Ipv6CidrBlock, PortRange.From, PortRange.To, IcmpTypeCode.Type, IcmpTypeCode.Code]' '6 allow 10.30.1.0/24 None 32768 60999 None None'; then say '  nothing is left to undo'; return 0; fi
  request InvalidNetworkAclEntry.NotFound delete-network-acl-entry '{"NetworkAclId": "acl-0b95a9737c3116df4", "RuleNumber": 32766, "Egress": true}' || say '  is so already'
}

usage() { say "usage: bash ${0##*/} [--undo]" >&2; }

case "$#${1:-}" in
  0)
    check_place
    do_1
    say 'done: 1 steps'
    ;;
  1--undo)
    check_place
    undo_1
    say 'undone'
    ;;
  1--help)
    usage
    ;;
  *)
    usage
    exit 2
    ;;
esac
