"""A script for bash and the AWS CLI that carries the plan out, or undoes it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sgaudit.errors import UsageError
from sgaudit.fix.emit.shell import ALREADY, command, references, referred, singles, word
from sgaudit.fix.emit.text import comment, heading, step
from sgaudit.fix.operations import RUN_TAG
from sgaudit.fix.plan import Call, Operation, Plan

SETTINGS = """\
set -euo pipefail
export AWS_PAGER='' AWS_CLI_AUTO_PROMPT=off

"""
FUNCTIONS = r"""
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
"""
ENTRY_FIELDS = (
    ("Protocol",),
    ("RuleAction",),
    ("CidrBlock",),
    ("Ipv6CidrBlock",),
    ("PortRange", "From"),
    ("PortRange", "To"),
    ("IcmpTypeCode", "Type"),
    ("IcmpTypeCode", "Code"),
)
Lines = Iterator[str]


def render(plan: Plan) -> Iterator[str]:
    """
    Write the script.

    Raises:
        UsageError: the plan does not say in which Region it is to be carried out.
    """
    if not plan.region:
        raise UsageError("--emit aws-cli: the snapshot does not say its Region", hint="put Region into the snapshot")
    writer = _Writer(plan)
    yield "#!/usr/bin/env bash\n"
    yield from comment(
        heading(
            plan,
            "Carries the plan out with the AWS CLI, step by step, and stops at the first error. What is there already",
            "counts as done, so that it can be run again. With --undo it takes back, in reverse, what it has made.",
            "It does not look for what has changed since the plan was made; sgaudit apply does.",
        )
    )
    yield SETTINGS
    yield f"readonly ACCOUNT={shlex.quote(plan.account_id)} REGION={shlex.quote(plan.region)}\n"
    yield f"readonly GONE={shlex.quote(ALREADY['RevokeSecurityGroupIngress'])}\n"
    yield "".join(f"{name}=''\n" for name in writer.ids.values())
    yield FUNCTIONS
    positions = range(1, len(plan.operations) + 1)
    for position in positions:
        yield from writer.functions(position)
    yield '\nusage() { say "usage: bash ${0##*/} [--undo]" >&2; }\n\n'
    yield 'case "$#${1:-}" in\n'
    yield "  0)\n    check_place\n"
    yield "".join(f"    do_{position}\n" for position in positions)
    yield f"    say {shlex.quote(f'done: {len(plan.operations)} steps')}\n    ;;\n"
    yield "  1--undo)\n    check_place\n"
    yield "".join(f"    find_{writer.position(name)}\n" for name in writer.ids)
    yield "".join(f"    undo_{position}\n" for position in reversed(positions))
    yield "    say 'undone'\n    ;;\n"
    yield "  1--help)\n    usage\n    ;;\n"
    yield "  *)\n    usage\n    exit 2\n    ;;\nesac\n"


def _string(text: str) -> str:
    """Write a raw string of JMESPath."""
    return "'" + text.replace("'", "\\'") + "'"


class _Writer:
    """Writes the functions of each operation. Used up by one plan."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._positions = {operation.id: number for number, operation in enumerate(plan.operations, 1)}
        self.ids = {
            operation.id: f"id_{number}"
            for number, operation in enumerate(plan.operations, 1)
            if operation.call.api in CREATORS
        }
        """The variable that holds the id of what an operation creates."""

    def position(self, operation_id: str) -> int:
        """Count an operation from 1."""
        return self._positions[operation_id]

    def functions(self, position: int) -> Iterator[str]:
        """Write what does one operation and what undoes it."""
        operation = self._plan.operations[position - 1]
        do, undo = BODIES.get(operation.call.api, (_Writer.generic, _Writer.generic_undo))
        if operation.call.api in CREATORS:
            yield from self._function(f"find_{position}", self.find(operation))
        yield from self._function(f"do_{position}", self._said(operation, "", do(self, operation)))
        lines = self._guarded(operation, undo(self, operation))
        yield from self._function(f"undo_{position}", self._said(operation, "undo ", lines))

    def _function(self, name: str, lines: Lines) -> Lines:
        yield f"\n{name}() {{\n"
        yield from (f"  {line}\n" for line in lines)
        yield "}\n"

    def _said(self, operation: Operation, before: str, lines: Lines) -> Lines:
        yield f"say {shlex.quote(before + step(operation))}"
        yield from lines

    def _guarded(self, operation: Operation, lines: Lines) -> Lines:
        """Undo nothing of what can't be there, because what it hangs on was never made."""
        needed = {self.ids[name] for name in referred(operation.call.params)}
        if operation.id in self.ids:
            needed.add(self.ids[operation.id])
        for name in sorted(needed):
            yield f'if [[ -z ${name} ]]; then say "  nothing is left to undo"; return 0; fi'.replace('"', "'")
        yield from lines

    def _json(self, value: Any) -> str:
        return word(value, self.ids)

    def _line(self, verb: str, codes: str, call: Call) -> str:
        return f"{verb} {shlex.quote(codes)} {command(call.api)} {self._json(call.params)}"

    def _all_or_each(self, call: Call) -> Lines:
        """Send the whole; where some of it is so already, send each alone, since EC2 has then done nothing."""
        codes = ALREADY.get(call.api, "")
        parts = singles(call)
        if not codes:
            yield self._line("request", codes, call)
        elif len(parts) < 2:
            yield f"{self._line('request', codes, call)} || say '  is so already'"
        else:
            yield f"if {self._line('request', codes, call)}; then return 0; fi"
            yield "say '  some of it is so already: one at a time'"
            yield from (f"{self._line('request', codes, part)} || say '  is so already'" for part in parts)

    def generic(self, operation: Operation) -> Lines:
        """Send the request."""
        return self._all_or_each(operation.call)

    def generic_undo(self, operation: Operation) -> Lines:
        """Send the request that undoes it."""
        if operation.inverse is None:
            yield "say '  goes with what it belongs to'" if referred(operation.call.params) else "say '  stays'"
        else:
            yield from self._all_or_each(operation.inverse)

    def authorize_undo(self, operation: Operation) -> Lines:
        """Take away what carries the run's tag; what somebody else has added stays."""
        params = operation.call.params
        tags = [tag for item in params.get("TagSpecifications", ()) for tag in item["Tags"]]
        if {"Key": RUN_TAG, "Value": self._plan.run} not in tags:
            yield from self.generic_undo(operation)
            return
        filters = [
            {"Name": "group-id", "Values": [params["GroupId"]]},
            {"Name": f"tag:{RUN_TAG}", "Values": [self._plan.run]},
        ]
        way = "egress" if operation.call.api.endswith("Egress") else "ingress"
        group = references([params["GroupId"]], self.ids)
        yield f"revoke_own {self._json({'Filters': filters})} {group} {way}"

    def find(self, operation: Operation) -> Lines:
        """Look for what an operation of this run has created."""
        name, params = self.ids[operation.id], operation.call.params
        run = f"[?Tags[?Key=={_string(RUN_TAG)} && Value=={_string(self._plan.run)}]]"
        if operation.call.api == "CreateSecurityGroup":
            filters = {"group-name": params["GroupName"], "vpc-id": params["VpcId"]}
            read, query = "describe-security-groups", f"SecurityGroups{run}.GroupId"
        else:
            filters = {"prefix-list-name": params["PrefixListName"]}
            read = "describe-managed-prefix-lists"
            query = f"PrefixLists{run} | [?!starts_with(State, 'delete')].PrefixListId"
        asked = self._json({"Filters": [{"Name": key, "Values": [value]} for key, value in filters.items()]})
        yield f"{name}=$(ask {read} {asked} {shlex.quote(query)}) || stop 'AWS can not be read'"
        yield f'one_or_none "${name}"'

    def create_group(self, operation: Operation) -> Lines:
        """Create a group, and wait until all of EC2 knows it."""
        name = self.ids[operation.id]
        yield from self._create(operation, "GroupId")
        yield f'aws ec2 wait security-group-exists --region "$REGION" --group-ids "${name}" || stop "it is not there"'

    def create_list(self, operation: Operation) -> Lines:
        """Create a prefix list, and wait until it can be used."""
        yield from self._create(operation, "PrefixList.PrefixListId")
        yield f"settle {self._json({'PrefixListIds': [{'Ref': operation.id}]})}"

    def _create(self, operation: Operation, query: str) -> Lines:
        name, call = self.ids[operation.id], operation.call
        yield f"find_{self.position(operation.id)}"
        yield f"if [[ -n ${name} ]]; then"
        yield "  say '  is there already'"
        yield "else"
        yield f"  {name}=$(ask {command(call.api)} {self._json(call.params)} {query}) || stop 'it was refused'"
        yield "fi"

    def delete(self, operation: Operation) -> Lines:
        """Delete what was created."""
        if operation.inverse is not None:
            yield self._line("delete", ALREADY.get(operation.inverse.api, ""), operation.inverse)

    def set_groups(self, operation: Operation) -> Lines:
        """Set the groups of an interface that carries those that the plan saw."""
        yield from self._groups(operation, undo=False)

    def set_groups_undo(self, operation: Operation) -> Lines:
        """Set the groups back, if they are those that the plan set."""
        yield from self._groups(operation, undo=True)

    def _groups(self, operation: Operation, *, undo: bool) -> Lines:
        if operation.inverse is None:
            yield from self.generic_undo(operation) if undo else self.generic(operation)
            return
        there, back = operation.call, operation.inverse
        if undo:
            there, back = back, there
        asked = self._json(_where("network-interface-id", there.params["NetworkInterfaceId"]))
        wanted, before = (references(call.params["Groups"], self.ids) for call in (there, back))
        yield f"set_groups {asked} {self._json(there.params)} {wanted} {before} {'undo' if undo else 'set'}"

    def create_entry(self, operation: Operation) -> Lines:
        """Create an entry of a network ACL; one like it counts as done."""
        yield f"if {self._line('request', ALREADY[operation.call.api], operation.call)}; then return 0; fi"
        yield f"entry {self._entry(operation.call.params)} || stop 'the network ACL is changing'"
        yield "say '  is there already'"

    def delete_entry(self, operation: Operation) -> Lines:
        """Delete an entry, if it is still as it was made."""
        inverse = operation.inverse
        if inverse is None:
            yield "say '  stays'"
            return
        yield f"if ! entry {self._entry(operation.call.params)}; then say '  nothing is left to undo'; return 0; fi"
        yield from self._all_or_each(inverse)

    def _entry(self, params: Mapping[str, Any]) -> str:
        egress = "Egress" if params["Egress"] else "!Egress"
        fields = ", ".join(".".join(field) for field in ENTRY_FIELDS)
        number = _string(str(params["RuleNumber"]))
        query = f"NetworkAcls[0].Entries[?to_string(RuleNumber)=={number} && {egress}] | [0].[{fields}]"
        expected = " ".join(str(_field(params, field)) for field in ENTRY_FIELDS)
        asked = self._json(_where("network-acl-id", params["NetworkAclId"]))
        return f"{asked} {shlex.quote(query)} {shlex.quote(expected)}"


def _where(name: str, value: str) -> dict[str, Any]:
    """Ask by a filter: what is gone then gives no answer in place of an error."""
    return {"Filters": [{"Name": name, "Values": [value]}]}


def _field(params: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = params
    for key in path:
        value = None if value is None else value.get(key)
    return value


Body = Callable[[_Writer, Operation], Lines]
CREATORS = frozenset({"CreateSecurityGroup", "CreateManagedPrefixList"})
BODIES: Mapping[str, tuple[Body, Body]] = {
    "AuthorizeSecurityGroupIngress": (_Writer.generic, _Writer.authorize_undo),
    "AuthorizeSecurityGroupEgress": (_Writer.generic, _Writer.authorize_undo),
    "CreateSecurityGroup": (_Writer.create_group, _Writer.delete),
    "CreateManagedPrefixList": (_Writer.create_list, _Writer.delete),
    "ModifyNetworkInterfaceAttribute": (_Writer.set_groups, _Writer.set_groups_undo),
    "CreateNetworkAclEntry": (_Writer.create_entry, _Writer.delete_entry),
}
"""By request: what does it and what undoes it; others are sent as they are."""
