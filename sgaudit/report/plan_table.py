"""A plan as people read it."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from sgaudit.fix.plan import Safety, Strategy
from sgaudit.report import request_words
from sgaudit.report.tables import table
from sgaudit.rules import words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.fix.plan import Operation, Plan
    from sgaudit.report.terminal import Style

VERDICTS = ("open", "partial", "blocked", "unknown")
MOST_EXTRAS = 12
FEW = 4
"""Operations of one kind below which each has lines of its own."""


def render(plan: Plan, style: Style, *, requests: bool = False) -> Iterator[str]:
    """
    Write before and after, the operations, what else is opened, and what can't be fixed.

    Args:
        plan: the plan.
        style: how it looks.
        requests: tell of each operation what its request says, as the reasons of a plan that was edited may not.
    """
    operations = _requests(plan, style) if requests else _operations(plan, style)
    for block in (_head(plan, style), operations, _extra(plan, style), _unfixable(plan, style)):
        lines = list(block)
        if lines:
            yield "\n".join(lines) + "\n\n"
    yield last_line(plan, style) + "\n"


def _head(plan: Plan, style: Style) -> Iterator[str]:
    place = " ".join(part for part in (plan.account_id and f"account {plan.account_id}", plan.region) if part)
    yield style.paint(style.safe(f"plan {plan.run}" + (f"  ({place})" if place else "")), "bold")
    if plan.strategy is not Strategy.NONE:
        how = "no smaller set of permissions does it" if plan.exact else "the permissions were chosen greedily"
        yield style.wrap(f"strategy {plan.strategy}: {how}")
    yield ""
    rows = [
        ["before", *(f"{plan.before.get(verdict, 0):,}" for verdict in VERDICTS)],
        ["after", *(f"{plan.after.get(verdict, 0):,}" for verdict in VERDICTS)],
    ]
    yield from table(["ordered pairs", *VERDICTS], rows, right=(1, 2, 3, 4))


def _operations(plan: Plan, style: Style) -> Iterator[str]:
    for _, group in groupby(plan.operations, key=lambda item: _alike(item) or item.id):
        operations = list(group)
        if len(operations) < FEW:
            for operation in operations:
                yield from operation_lines(operation, style)
        else:
            yield from _several(operations, style)


def _requests(plan: Plan, style: Style) -> Iterator[str]:
    """Write each operation with what its request says; those that say the same of many interfaces as one."""
    for _, group in groupby(plan.operations, key=lambda item: _alike_request(item) or item.id):
        operations = list(group)
        if len(operations) < FEW:
            for operation in operations:
                yield from operation_lines(operation, style)
                yield _request_line(request_words.of(operation), style)
        else:
            yield from _several(operations, style)
            names = ", ".join(str(item.call.params["NetworkInterfaceId"]) for item in operations)
            yield _request_line(f"{request_words.of_groups(operations[0])} {names}", style)


def _request_line(text: str, style: Style) -> str:
    return style.wrap(f"request: {text}", indent="  ", hanging="    ")


def _alike_request(operation: Operation) -> str:
    alike = _alike(operation)
    return f"{alike} {request_words.of_groups(operation)}" if alike and request_words.known(operation) else ""


def _alike(operation: Operation) -> str:
    """Tell operations that put one group on many interfaces by what they share."""
    same = operation.call.api == "ModifyNetworkInterfaceAttribute"
    return f"{operation.call.api} {operation.unsafe_because} {sorted(operation.quota.items())}" if same else ""


def _several(operations: list[Operation], style: Style) -> Iterator[str]:
    """Write operations that differ in the interface alone as one."""
    first, last = operations[0], operations[-1]
    look = "green" if first.safety is Safety.SAFE else "yellow"
    yield f"{first.id} to {last.id} {style.paint(str(first.safety), 'bold', look)} {first.call.api}"
    names = [str(item.call.params["NetworkInterfaceId"]) for item in operations]
    yield style.wrap(f"put the new group on {len(names)} interfaces: {words.listed(names, 4)}", indent="  ")
    yield from _details(first, style)


def operation_lines(operation: Operation, style: Style) -> Iterator[str]:
    """Write one operation."""
    look = "green" if operation.safety is Safety.SAFE else "yellow"
    yield f"{operation.id} {style.paint(str(operation.safety), 'bold', look)} {operation.call.api}"
    yield style.wrap(operation.reason, indent="  ")
    yield from _details(operation, style)


def _details(operation: Operation, style: Style) -> Iterator[str]:
    if operation.unsafe_because:
        yield style.wrap(f"unsafe: {operation.unsafe_because}", indent="  ")
    quota = operation.quota
    if quota:
        yield style.wrap(
            f"quota: {quota['name']}: {quota['before']} -> {quota['after']} of {quota['limit']}", indent="  "
        )


def _extra(plan: Plan, style: Style) -> Iterator[str]:
    if not plan.operations:
        return
    if not plan.extra:
        yield "nothing else becomes reachable" + ("" if plan.outside_known else ", as far as interfaces were read")
        return
    yield "what else becomes reachable:"
    for extra in plan.extra[:MOST_EXTRAS]:
        pairs = f" ({words.number(extra.pairs, 'pair')})" if extra.pairs else ""
        yield style.wrap(
            f"- {extra.source} to {extra.target} on {extra.protocol} {extra.ports}{pairs}", indent="  ", hanging="    "
        )
    if len(plan.extra) > MOST_EXTRAS:
        yield f"  and {len(plan.extra) - MOST_EXTRAS} more; -f json has all of them"
    if not plan.outside_known:
        yield style.wrap("Not all interfaces of the VPC were read: others that carry these groups are not counted.")


def _unfixable(plan: Plan, style: Style) -> Iterator[str]:
    for item in plan.unfixable:
        yield style.wrap(f"not fixable: {item.rule}: {item.title}", hanging="  ")
        yield style.wrap(f"{style.sign('→', '=>')} {item.reason}", indent="  ", hanging="     ")


def last_line(plan: Plan, style: Style) -> str:
    """Say it in one line."""
    if not plan.operations:
        text = "nothing to change" if not plan.unfixable else "nothing that sgaudit can change"
        return style.paint(text, "bold", "green" if not plan.unfixable else "yellow")
    unsafe = sum(operation.safety is Safety.UNSAFE for operation in plan.operations)
    text = f"{words.number(len(plan.operations), 'operation')}, {unsafe} unsafe"
    text += f"; {words.number(plan.required, 'pair')} become open as required"
    if plan.unfixable:
        text += f"; {words.number(len(plan.unfixable), 'finding')} can't be fixed"
    return style.paint(text, "bold")
