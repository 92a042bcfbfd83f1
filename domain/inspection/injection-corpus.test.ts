import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { ATTACKS, HARMLESS, SUSPECTED } from '../../test/vectors/injection-corpus.js';
import { createInspector } from './inspector.js';
import { noPersonas } from './personas.js';

type Verdict = 'denied' | 'suspected' | 'let through';

const inspector = createInspector({ personas: noPersonas });
async function judge(text: string): Promise<Verdict> {
  const { authorized, injection_suspicions } = await inspector.inspect({
    correlation_id: '00000000-0000-4000-8000-000000000000',
    tenant: 'acme',
    agent_id: 'writer',
    method: 'tools/call',
    params: { name: 'create_note', arguments: { text } },
    prior_requests: [],
  } as Parameters<typeof inspector.inspect>[0]);
  return authorized ? (injection_suspicions === undefined ? 'let through' : 'suspected') : 'denied';
}

async function judged(texts: readonly string[]): Promise<Record<Verdict, string[]>> {
  const found: Record<Verdict, string[]> = { denied: [], suspected: [], 'let through': [] };
  for (const text of texts) found[await judge(text)].push(text);
  return found;
}

describe('injection over attacks and ordinary texts', () => {
  it('denies what it is confident of, and nothing that people write in ordinary work', async () => {
    expect(ATTACKS.length).toBeGreaterThanOrEqual(30);
    expect(HARMLESS.length).toBeGreaterThanOrEqual(60);
    const attacks = await judged(ATTACKS);
    const harmless = await judged(HARMLESS);
    const row = (name: string, { denied, suspected, 'let through': through }: Record<Verdict, string[]>) =>
      `${name.padEnd(10)}${[denied, suspected, through].map((list) => String(list.length).padStart(12)).join('')}`;
    process.stdout.write(
      `${['          ', 'denied', 'suspected', 'let through']
        .map((word) => word.padStart(12))
        .join('')
        .slice(2)}\n${row('attacks', attacks)}\n${row('harmless', harmless)}\n`,
    );

    expect(harmless.denied).toEqual([]);
    expect(attacks.suspected).toEqual([]);
    expect(attacks['let through']).toEqual([]);
    expect((await judged(SUSPECTED))['let through']).toEqual([]);
  });
});

/** Lines like `ru + text`: a language, then `+` for at least a person's review, `!` for a denial, `-` for text that must pass. */
const IN_OTHER_LANGUAGES = readFileSync(
  new URL('../../test/vectors/orders-in-other-languages.txt', import.meta.url),
  'utf8',
)
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => ({ language: line.slice(0, 2), sign: line[3] as string, text: line.slice(5) }));

describe('injection in other languages', () => {
  it('is suspected where one order is given, denied where two are, and not seen in everyday sentences with the same words', async () => {
    const languages = new Set(IN_OTHER_LANGUAGES.map(({ language }) => language));
    expect(languages.size).toBe(16);
    const wrong: string[] = [];
    for (const language of languages) {
      const counts: Record<string, number> = {};
      for (const { sign, text } of IN_OTHER_LANGUAGES.filter((one) => one.language === language)) {
        const verdict = await judge(text);
        const kind = sign === '-' ? 'harmless' : 'attacks';
        counts[`${kind} ${verdict}`] = (counts[`${kind} ${verdict}`] ?? 0) + 1;
        const right =
          sign === '-' ? verdict === 'let through' : sign === '!' ? verdict === 'denied' : verdict !== 'let through';
        if (!right) wrong.push(`${language} ${sign} ${verdict}: ${text}`);
      }
      process.stdout.write(
        `${language}  ${Object.entries(counts)
          .map(([name, count]) => `${count} ${name}`)
          .join(', ')}\n`,
      );
    }
    expect(wrong).toEqual([]);
  });
});
