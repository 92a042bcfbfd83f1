import { describe, expect, it } from '@jest/globals';
import { render } from 'preact-render-to-string';
import { rulesOf } from '../../../domain/policy/rule-metadata.js';
import type { Visit } from '../../visit.js';
import { Source } from '../../ui/source.js';
import { policyAddress } from './address.js';
import { POLICIES } from './policies.js';

const FILE = `package gate.authz

# METADATA
# title: Share
deny contains sprintf("Violation: %d of %v is %5.2f%%.", [a, b, c]) if { # too much
	x
}

# METADATA
# title: Raw
review contains message if { # why
	message := \`Review: "a\\b".\`
}

# METADATA
# title: Computed
deny contains reason if {
	reason := data.reasons[_]
}

# METADATA
# title: No verdict
helper if x
`;

type Verdicts = readonly { reasons?: string[]; review_reasons?: string[] }[] | [null];

/** The last column, by the title of the rule. */
async function lastDay(...verdicts: Verdicts) {
  return Object.fromEntries(
    [...(await pageOf(...verdicts)).matchAll(/#L\d+">([^<]+)<.*?<td[^>]* class="number"[^>]*>(.*?)<\/td>/gs)].map(
      ([, title, cell]) => [title, cell],
    ),
  );
}

async function pageOf(...verdicts: Verdicts): Promise<string> {
  const visit = {
    nowMs: 0,
    has: () => false,
    services: {
      policy: {
        list: () =>
          Promise.resolve({
            origin: { wasm_sha256: 'a', loaded_at: '2026-01-01T00:00:00.000Z', opa_version: '1' },
            bundle: { version: '1', hash_sha256: 'sha256:0b' },
            not_in_force: null,
            takes_no_change: null,
            policies: [
              { name: 'own.rego', as_shipped: false, protected: true, active: true, rules: rulesOf(FILE) },
              { name: 'off.rego', as_shipped: false, protected: false, active: false, rules: rulesOf(FILE) },
            ],
          }),
      },
      ledger: {
        saidByRules: () =>
          verdicts[0] === null
            ? Promise.reject(new Error('away'))
            : Promise.resolve(verdicts.map((policy_decision) => ({ policy_decision }))),
      },
    },
  } as unknown as Visit;
  return render((await POLICIES.show(visit)).body);
}

describe('how often a rule spoke, on the page of rules', () => {
  it('is counted whatever its words are formatted with, and unknown, with why, where they are computed', async () => {
    expect(
      await lastDay(
        { reasons: ['Violation: 3 of [1, 2] is 12.50%.', 'something computed'] },
        { reasons: ['Violation: 4 of x is 1.00%.'], review_reasons: ['Review: "a\\b".'] },
      ),
    ).toEqual({
      Share: '2',
      Raw: '1',
      Computed: expect.stringMatching(/^<abbr title="The words of this rule are computed: [^"]+"[^>]*>\?<\/abbr>$/),
    });
  });

  it('is told of rules that speak of a call; what they are made of is folded below them', async () => {
    const html = await pageOf();
    const [rules, definitions] = html.split('<details>');
    expect(rules).not.toContain('No verdict');
    expect(definitions).toContain('What the rules above are made of: 1 definition<');
    expect(definitions).toContain('No verdict');
  });

  it('leads to its line, or to the last line that has a place on its page', () => {
    const html = render(<Source text={'x\n'.repeat(6_000)} />);
    for (const [line, place] of [
      [7, 'L7'],
      [5_000, 'L5000'],
      [5_001, 'L5000'],
    ] as const) {
      expect([line, policyAddress('own.rego', line)]).toEqual([line, `/policies/own.rego#${place}`]);
      expect(html).toContain(`id="${place}"`);
    }
  });

  it('is unknown while the ledger is away', async () => {
    expect(await lastDay(null)).toMatchObject({
      Share: expect.stringMatching(/title="The ledger is away\."[^>]*>\?</),
    });
  });
});
