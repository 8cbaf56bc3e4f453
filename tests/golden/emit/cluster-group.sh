#!/usr/bin/env bash
# sgaudit 1, run 20261201t093000-abc123, planned at 2026-12-01T09:30:00Z
# Carries the plan out with the AWS CLI, step by step, and stops at the first error. What is there already
# counts as done, so that it can be run again. With --undo it takes back, in reverse, what it has made.
# It does not look for what has changed since the plan was made; sgaudit apply does.
#
# account 111122223333, Region us-east-1
# cluster: tags ["cluster=train"]; interfaces primary; family ipv4
# pairs of members before: 6 open, 0 partial, 6 blocked, 0 unknown
# pairs of members after:  12 open, 0 partial, 0 blocked, 0 unknown
# opens nothing beyond what is required
# whether interfaces outside the cluster carry the same groups was not read
# not safe without a look:
#   op-4, op-5, op-6 and op-7: it changes which groups an interface carries
set -euo pipefail
export AWS_PAGER='' AWS_CLI_AUTO_PROMPT=off

readonly ACCOUNT=111122223333 REGION=us-east-1
readonly GONE='InvalidPermission.NotFound InvalidSecurityGroupRuleId.NotFound'
id_1=''

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

find_1() {
  id_1=$(ask describe-security-groups '{"Filters": [{"Name": "group-name", "Values": ["sgaudit-20261201t093000-abc123"]}, {"Name": "vpc-id", "Values": ["vpc-0babb8f5593f13cf1"]}]}' 'SecurityGroups[?Tags[?Key=='"'"'sgaudit:run'"'"' && Value=='"'"'20261201t093000-abc123'"'"']].GroupId') || stop 'AWS can not be read'
  one_or_none "$id_1"
}

do_1() {
  say 'op-1: make a security group for the cluster alone'
  find_1
  if [[ -n $id_1 ]]; then
    say '  is there already'
  else
    id_1=$(ask create-security-group '{"GroupName": "sgaudit-20261201t093000-abc123", "Description": "members of --tag cluster=train reach one another; sgaudit", "VpcId": "vpc-0babb8f5593f13cf1", "TagSpecifications": [{"ResourceType": "security-group", "Tags": [{"Key": "sgaudit:managed", "Value": "true"}, {"Key": "sgaudit:run", "Value": "20261201t093000-abc123"}, {"Key": "sgaudit:cluster", "Value": "--tag cluster=train"}]}]}' GroupId) || stop 'it was refused'
  fi
  aws ec2 wait security-group-exists --region "$REGION" --group-ids "$id_1" || stop "it is not there"
}

undo_1() {
  say 'undo op-1: make a security group for the cluster alone'
  if [[ -z $id_1 ]]; then say '  nothing is left to undo'; return 0; fi
  delete InvalidGroup.NotFound delete-security-group '{"GroupId": "'"$id_1"'"}'
}

do_2() {
  say 'op-2: take away the egress permission to 0.0.0.0/0 that a new group begins with'
  request 'InvalidPermission.NotFound InvalidSecurityGroupRuleId.NotFound' revoke-security-group-egress '{"GroupId": "'"$id_1"'", "IpPermissions": [{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}]}' || say '  is so already'
}

undo_2() {
  say 'undo op-2: take away the egress permission to 0.0.0.0/0 that a new group begins with'
  if [[ -z $id_1 ]]; then say '  nothing is left to undo'; return 0; fi
  say '  goes with what it belongs to'
}

do_3() {
  say 'op-3: let the new group receive tcp 29500,32768-60999 from itself'
  if request InvalidPermission.Duplicate authorize-security-group-ingress '{"GroupId": "'"$id_1"'", "IpPermissions": [{"IpProtocol": "tcp", "FromPort": 29500, "ToPort": 29500, "UserIdGroupPairs": [{"GroupId": "'"$id_1"'", "Description": "sgaudit 20261201t093000-abc123: --tag cluster=train"}]}, {"IpProtocol": "tcp", "FromPort": 32768, "ToPort": 60999, "UserIdGroupPairs": [{"GroupId": "'"$id_1"'", "Description": "sgaudit 20261201t093000-abc123: --tag cluster=train"}]}], "TagSpecifications": [{"ResourceType": "security-group-rule", "Tags": [{"Key": "sgaudit:managed", "Value": "true"}, {"Key": "sgaudit:run", "Value": "20261201t093000-abc123"}, {"Key": "sgaudit:cluster", "Value": "--tag cluster=train"}, {"Key": "sgaudit:finding", "Value": "3cc76bf2549726e645a8e1ccdd03442d"}]}]}'; then return 0; fi
  say '  some of it is so already: one at a time'
  request InvalidPermission.Duplicate authorize-security-group-ingress '{"GroupId": "'"$id_1"'", "IpPermissions": [{"IpProtocol": "tcp", "FromPort": 29500, "ToPort": 29500, "UserIdGroupPairs": [{"GroupId": "'"$id_1"'", "Description": "sgaudit 20261201t093000-abc123: --tag cluster=train"}]}], "TagSpecifications": [{"ResourceType": "security-group-rule", "Tags": [{"Key": "sgaudit:managed", "Value": "true"}, {"Key": "sgaudit:run", "Value": "20261201t093000-abc123"}, {"Key": "sgaudit:cluster", "Value": "--tag cluster=train"}, {"Key": "sgaudit:finding", "Value": "3cc76bf2549726e645a8e1ccdd03442d"}]}]}' || say '  is so already'
  request InvalidPermission.Duplicate authorize-security-group-ingress '{"GroupId": "'"$id_1"'", "IpPermissions": [{"IpProtocol": "tcp", "FromPort": 32768, "ToPort": 60999, "UserIdGroupPairs": [{"GroupId": "'"$id_1"'", "Description": "sgaudit 20261201t093000-abc123: --tag cluster=train"}]}], "TagSpecifications": [{"ResourceType": "security-group-rule", "Tags": [{"Key": "sgaudit:managed", "Value": "true"}, {"Key": "sgaudit:run", "Value": "20261201t093000-abc123"}, {"Key": "sgaudit:cluster", "Value": "--tag cluster=train"}, {"Key": "sgaudit:finding", "Value": "3cc76bf2549726e645a8e1ccdd03442d"}]}]}' || say '  is so already'
}

undo_3() {
  say 'undo op-3: let the new group receive tcp 29500,32768-60999 from itself'
  if [[ -z $id_1 ]]; then say '  nothing is left to undo'; return 0; fi
  revoke_own '{"Filters": [{"Name": "group-id", "Values": ["'"$id_1"'"]}, {"Name": "tag:sgaudit:run", "Values": ["20261201t093000-abc123"]}]}' "$id_1" ingress
}

do_4() {
  say 'op-4: put the new group on eni-0f9e40c6e381e87ca of train-0 (i-0f7b457a6770c3bdc)'
  set_groups '{"Filters": [{"Name": "network-interface-id", "Values": ["eni-0f9e40c6e381e87ca"]}]}' '{"NetworkInterfaceId": "eni-0f9e40c6e381e87ca", "Groups": ["sg-027f4976061e0c2e1", "'"$id_1"'"]}' 'sg-027f4976061e0c2e1 '"$id_1" sg-027f4976061e0c2e1 set
}

undo_4() {
  say 'undo op-4: put the new group on eni-0f9e40c6e381e87ca of train-0 (i-0f7b457a6770c3bdc)'
  if [[ -z $id_1 ]]; then say '  nothing is left to undo'; return 0; fi
  set_groups '{"Filters": [{"Name": "network-interface-id", "Values": ["eni-0f9e40c6e381e87ca"]}]}' '{"NetworkInterfaceId": "eni-0f9e40c6e381e87ca", "Groups": ["sg-027f4976061e0c2e1"]}' sg-027f4976061e0c2e1 'sg-027f4976061e0c2e1 '"$id_1" undo
}

do_5() {
  say 'op-5: put the new group on eni-05aa0d263ce9822ba of train-1 (i-004e6089490f81690)'
  set_groups '{"Filters": [{"Name": "network-interface-id", "Values": ["eni-05aa0d263ce9822ba"]}]}' '{"NetworkInterfaceId": "eni-05aa0d263ce9822ba", "Groups": ["sg-027f4976061e0c2e1", "'"$id_1"'"]}' 'sg-027f4976061e0c2e1 '"$id_1" sg-027f4976061e0c2e1 set
}

undo_5() {
  say 'undo op-5: put the new group on eni-05aa0d263ce9822ba of train-1 (i-004e6089490f81690)'
  if [[ -z $id_1 ]]; then say '  nothing is left to undo'; return 0; fi
  set_groups '{"Filters": [{"Name": "network-interface-id", "Values": ["eni-05aa0d263ce9822ba"]}]}' '{"NetworkInterfaceId": "eni-05aa0d263ce9822ba", "Groups": ["sg-027f4976061e0c2e1"]}' sg-027f4976061e0c2e1 'sg-027f4976061e0c2e1 '"$id_1" undo
}

do_6() {
  say 'op-6: put the new group on eni-045976b9d7b182629 of train-2 (i-0246c7926d4bda3e1)'
  set_groups '{"Filters": [{"Name": "network-interface-id", "Values": ["eni-045976b9d7b182629"]}]}' '{"NetworkInterfaceId": "eni-045976b9d7b182629", "Groups": ["sg-027f4976061e0c2e1", "'"$id_1"'"]}' 'sg-027f4976061e0c2e1 '"$id_1" sg-027f4976061e0c2e1 set
}

undo_6() {
  say 'undo op-6: put the new group on eni-045976b9d7b182629 of train-2 (i-0246c7926d4bda3e1)'
  if [[ -z $id_1 ]]; then say '  nothing is left to undo'; return 0; fi
  set_groups '{"Filters": [{"Name": "network-interface-id", "Values": ["eni-045976b9d7b182629"]}]}' '{"NetworkInterfaceId": "eni-045976b9d7b182629", "Groups": ["sg-027f4976061e0c2e1"]}' sg-027f4976061e0c2e1 'sg-027f4976061e0c2e1 '"$id_1" undo
}

do_7() {
  say 'op-7: put the new group on eni-0e62b2d603d259b59 of train-3 (i-06615864c0aca04b4)'
  set_groups '{"Filters": [{"Name": "network-interface-id", "Values": ["eni-0e62b2d603d259b59"]}]}' '{"NetworkInterfaceId": "eni-0e62b2d603d259b59", "Groups": ["sg-074ba6e79e5c495ec", "'"$id_1"'"]}' 'sg-074ba6e79e5c495ec '"$id_1" sg-074ba6e79e5c495ec set
}

undo_7() {
  say 'undo op-7: put the new group on eni-0e62b2d603d259b59 of train-3 (i-06615864c0aca04b4)'
  if [[ -z $id_1 ]]; then say '  nothing is left to undo'; return 0; fi
  set_groups '{"Filters": [{"Name": "network-interface-id", "Values": ["eni-0e62b2d603d259b59"]}]}' '{"NetworkInterfaceId": "eni-0e62b2d603d259b59", "Groups": ["sg-074ba6e79e5c495ec"]}' sg-074ba6e79e5c495ec 'sg-074ba6e79e5c495ec '"$id_1" undo
}

usage() { say "usage: bash ${0##*/} [--undo]" >&2; }

case "$#${1:-}" in
  0)
    check_place
    do_1
    do_2
    do_3
    do_4
    do_5
    do_6
    do_7
    say 'done: 7 steps'
    ;;
  1--undo)
    check_place
    find_1
    undo_7
    undo_6
    undo_5
    undo_4
    undo_3
    undo_2
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
