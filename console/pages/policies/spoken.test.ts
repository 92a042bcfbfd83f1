import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { loadPolicySet } from '../../../adapters/policy/load-policy-set.js';
import { readPolicyFiles, shippedPolicyDirectory } from '../../../adapters/policy/policy-sources.js';
import { rulesOf } from '../../../domain/policy/rule-metadata.js';
import { timesSpoken } from './spoken.js';

const verdict = (reasons: readonly string[], review_reasons: readonly string[] = []) => ({
  policy_decision: { reasons: [...reasons], review_reasons: [...review_reasons] },
});
const counted = (words: readonly string[], ...verdicts: ReturnType<typeof verdict>[]) =>
  Object.fromEntries(timesSpoken(words, verdicts));

describe('how often a rule spoke', () => {
  it('counts verdicts, not lines, of what denies and of what asks a person', () => {
    expect(counted(['A', 'B'], verdict(['A', 'A']), verdict([], ['A', 'B']), verdict([]))).toEqual({ A: 2, B: 1 });
  });

  it('gives a line to the words that say most by themselves, and to no others', () => {
    const words = ['Review: %s', 'Review: wire of %s to %s.', 'Review: wire'];
    expect(
      counted(words, verdict(['Review: wire of 5 to x.']), verdict(['Review: wire']), verdict(['Review: y'])),
    ).toEqual({
      'Review: %s': 1,
      'Review: wire of %s to %s.': 1,
      'Review: wire': 1,
    });
  });

  it('does not take words that stand somewhere in a line for the line', () => {
    expect(counted(['wire', 'no %s here'], verdict(['a wire b', 'no', 'no  her', 'say no x here']))).toEqual({
      wire: 0,
      'no %s here': 0,
    });
  });

  it.each([
    ['ab%sba', 'aba', 0],
    ['ab%sba', 'abba', 1],
    ['%s', '', 1],
    ['%sx%sx', 'xx', 1],
    ['%sx%sx', 'x', 0],
  ])('%j in %j: %d', (words, line, times) => {
    expect(counted([words], verdict([line]))).toEqual({ [words]: times });
  });

  it('leaves out a verdict that says nothing readable', () => {
    expect(timesSpoken(['A'], [{ policy_decision: null }, { policy_decision: { reasons: 'A' } }]).get('A')).toBe(0);
  });
});

describe('the rules that ship with Gate', () => {
  const directory = shippedPolicyDirectory();
  const CALL = {
    tool_type: 'list_files',
    agent_history: { last_tool: null, recent_sequence: [] },
    intent_score: 0.1,
    agent_id: 'acme/files-bot',
    agent_kind: 'mcp',
    method: 'call_tool',
    current_time: '2026-11-18T10:00:00.000Z',
    recent_request_count: 1,
    arguments: {},
  };
  const wordsOf = async () =>
    (await readPolicyFiles(directory))
      .filter(({ content_type }) => content_type === 'rego')
      .flatMap(({ body }) => rulesOf(body))
      .filter(({ rule }) => rule === 'deny' || rule === 'review')
      .map(({ reason }) => reason);

  it('have words that are whole: each ends a sentence, or with what the rule fills in', async () => {
    const words = await wordsOf();
    expect(words.length).toBeGreaterThan(40);
    expect(words.filter((reason) => reason === null || !/(?:\.|%s)$/.test(reason))).toEqual([]);
    expect(words).toContain(
      "Review: the arguments may order a destructive deed (%s). Read them as the tool's reader will: approve what is about something else, deny what gives the order.",
    );
    expect(words).toContain('Violation: Token velocity: more calls in %ss than the limit %s.');
  });

  it('are counted for every reason that they give: each is of one of them', async () => {
    const words = (await wordsOf()).filter((reason) => reason !== null);
    const policies = await loadPolicySet({ directory });
    const names = readdirSync(join(directory, 'cases')).filter((name) => !name.startsWith('tools-of-public-servers'));
    const said = new Set<string>();
    for (const name of names) {
      const cases = parse(readFileSync(join(directory, 'cases', name), 'utf8')) as readonly { input: object }[];
      for (const { input } of cases) {
        const { decision } = policies.judge({ ...CALL, ...input });
        for (const line of [...decision.reasons, ...decision.review_reasons]) said.add(line);
      }
    }
    for (const family of [
      'persona drift',
      'Intent score',
      'order a destructive deed',
      'injection detector',
      'velocity',
    ])
      expect([family, [...said].some((line) => line.includes(family))]).toEqual([family, true]);
    const uncounted = [...said].filter((line) => ![...timesSpoken(words, [verdict([line])]).values()].includes(1));
    expect(uncounted).toEqual([]);
  });
});
