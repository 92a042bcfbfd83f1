import { describe, expect, it } from '@jest/globals';
import { rulesOf } from './rule-metadata.js';

const reasonOf = (rule: string): string | null | undefined => rulesOf(`package gate.authz\n\n${rule}\n`)[0]?.reason;

describe('the reason of a rule', () => {
  it.each([
    ['written out', 'deny contains "Violation: no." if x', 'Violation: no.'],
    ['formatted', 'review contains sprintf("Review: %s to %s.", [a, b]) if x', 'Review: %s to %s.'],
    [
      'joined with what the rule fills in',
      'deny contains concat("", ["Violation: over", why]) if {\n\tx\n}',
      'Violation: over%s',
    ],
    [
      'joined over several lines, between calls and lists',
      'deny contains message if {\n\tmessage := concat("", [\n\t\t"Violation: more in ", # "a, ]"\n\t\tformat_int(max([1, x]), 10),\n\t\t"s than ",\n\t\tdata.limit[_],\n\t\t".",\n\t])\n}',
      'Violation: more in %ss than %s.',
    ],
    ['joined with a separator', 'deny contains concat(", ", ["Violation: a", b, "c"]) if x', 'Violation: a, %s, c'],
    [
      'joined with a separator that is computed',
      'deny contains concat(s, ["Violation: a", "b"]) if x',
      'Violation: a%sb',
    ],
    [
      'not at the beginning of a list',
      'deny contains message if {\n\tmessage := pick("", ["Violation: a", b])\n}',
      'Violation: a',
    ],
    [
      'formatted by any verb, with percent signs',
      'deny contains sprintf("Violation: %d of %v is %5.2f%%, %q, %-8[1]s%%s.", [a]) if x',
      'Violation: %s of %s is %s%, %s, %s%s.',
    ],
    [
      'written out with percent signs, which stand as they are',
      'deny contains "Violation: 5%% and %d." if x',
      'Violation: 5%% and %d.',
    ],
    ['a raw string', 'deny contains `Violation: "a\\b".` if x', 'Violation: "a\\b".'],
    ['formatted from a raw string', 'deny contains sprintf(`Violation: %d.`, [a]) if x', 'Violation: %s.'],
    [
      'joined from formats',
      'deny contains concat("", [sprintf("Violation: %d%%", [a]), `, `, sprintf("of %v", [max([b])]), f(")")]) if x',
      'Violation: %s%, of %s%s',
    ],
    [
      'after a comment behind the brace',
      'deny contains message if { # why\n\tmessage := "Violation: no."\n}',
      'Violation: no.',
    ],
    ['with a number sign in it, at a brace', 'deny contains "Violation: #1." if {\n\tx\n}', 'Violation: #1.'],
    ['no text', 'deny contains message if x', null],
    ['an escape that only Rego has', 'deny contains "Violation: \\x41" if x', null],
  ])('%s', (_, rule, reason) => {
    expect(reasonOf(rule)).toBe(reason);
  });
});
