import type { Judged } from './judged.js';

/** What the page says of the functions of policies. */
export interface Functions {
  /** Those that rules may use. */
  readonly allowed: readonly string[];
  /** Those of OPA that are refused when a policy is checked. */
  readonly refused: readonly string[];
  readonly opa: string;
}

const HEAD = `# Functions of policies

<!-- Printed by GATE_TEST_BUILTINS=write npm run test:only -- test/spec/opa-cases; a test compares. -->

Rules run in the wasm runtime of OPA. It has the functions that \`policies/capabilities.json\` names; a policy that calls another one is refused when
it is checked, with its line and column, so that no call fails for want of one. Here is what the cases of OPA's own suite show of them: each is
compiled as a policy is and evaluated as one, in a test.
`;

/** Text as a cell of a table has it. */
const cell = (value: unknown): string => {
  const text = (typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing')).replaceAll(/\s+/g, ' ');
  return `\`${text.slice(0, 90).replaceAll('|', '\\|').replaceAll('`', "'")}${text.length > 90 ? '…' : ''}\``;
};

/** The cases that call a function by its name. */
export function casesOf(name: string, all: readonly Judged[]): readonly Judged[] {
  const called = new RegExp(`(?<![\\w.])${name.replaceAll('.', '\\.')}\\(`);
  return all.filter(({ of }) => called.test([...(of.modules ?? []), of.query].join('\n')));
}

export function pageOf(all: readonly Judged[], { allowed, refused, opa }: Functions): string {
  const count = (kind: Judged['kind']): number => all.filter((one) => one.kind === kind).length;
  const rows = allowed.map((name) => {
    const cases = casesOf(name, all).filter(({ kind }) => kind !== 'refused');
    return `| \`${name}\` | ${cases.length} | ${cases.filter(({ kind }) => kind === 'as_opa').length} |`;
  });
  const others = all.flatMap((one) =>
    one.kind === 'other_answer' ? [`| ${cell(one.of.note)} | ${cell(one.of.want_result)} | ${cell(one.got)} |`] : [],
  );
  const failed = all.flatMap((one) =>
    one.kind === 'failed' ? [`| ${cell(one.of.note)} | ${cell(one.message)} |`] : [],
  );
  const otherwise = all.flatMap((one) =>
    one.kind === 'refused' && !one.message.startsWith('undefined function')
      ? [`| ${cell(one.of.note)} | ${cell(one.message)} |`]
      : [],
  );
  return [
    HEAD,
    `OPA ${opa}, ${all.length} cases: ${count('as_opa')} as in OPA, ${count('refused')} refused when checked, ${count('other_answer')} with another answer, ${count('failed')} that cannot be evaluated.\n`,
    '## What rules may call\n',
    'Operators (`+`, `==`, `in`) have names, too, and few cases call them by these.\n',
    ['| Function | Cases | As in OPA |', '| --- | --- | --- |', ...rows, ''].join('\n'),
    '## What is refused\n',
    `${refused.map((name) => `\`${name}\``).join(', ')}.\n`,
    '## Another answer than in OPA\n',
    'Numbers are those of JavaScript where they come back or pass through `sprintf`, so that integers beyond 2^53 are rounded, and `sprintf` writes what is no text and no number in a form of its own, and fails on null: `lib.as_text(value)` of `data.gate.lib` makes a text of every value.\n',
    ['| Case | OPA | Here |', '| --- | --- | --- |', ...others, ''].join('\n'),
    '## Not evaluated\n',
    'A call that such a rule is evaluated for is denied.\n',
    ['| Case | What is said |', '| --- | --- |', ...failed, ''].join('\n'),
    '## Refused for another reason\n',
    'Among them cases whose data a policy cannot replace (`with` of a document that is nowhere).\n',
    ['| Case | What is said |', '| --- | --- |', ...otherwise, ''].join('\n'),
  ].join('\n');
}
