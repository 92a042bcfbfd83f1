import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { buildPersonas } from '../../scripts/build-personas.js';
import { cosine, offlineEmbedding } from '../../domain/inspection/embedding.js';
import { wrongCases } from '../../domain/inspection/persona-cases.js';
import { callParams, exampleCalls, type StoredVector } from '../../domain/inspection/personas.js';
import { loadPersonas, readPersonaCases, shippedPersonaDirectory } from './persona-files.js';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'gate-personas-'));
  await cp(shippedPersonaDirectory(), directory, { recursive: true });
});
afterEach(() => rm(directory, { recursive: true }));
const file = (name: string) => join(directory, 'acme', name);
const now = new Date('2026-11-18T10:00:00Z');

describe('the shipped personas come with on- and off-persona cases', () => {
  it.each(['support-bot', 'build-bot'])('every case of %s comes out on its side', async (agent) => {
    const persona = (await loadPersonas()).find('acme', agent);
    const cases = await readPersonaCases(file(`${agent}.md`));
    expect(cases?.on.length).toBeGreaterThan(3);
    expect(cases?.off.length).toBeGreaterThan(3);
    expect(
      await wrongCases(cases as NonNullable<typeof cases>, persona?.stored as StoredVector, offlineEmbedding),
    ).toEqual([]);
  });

  it('are not examples themselves', async () => {
    for (const agent of ['support-bot', 'build-bot']) {
      const examples = exampleCalls(await readFile(file(`${agent}.md`), 'utf8')).map((call) => JSON.stringify(call));
      const cases = await readPersonaCases(file(`${agent}.md`));
      for (const call of cases?.on ?? []) expect(examples).not.toContain(JSON.stringify(call));
    }
  });

  it('are current: building again changes nothing', async () => {
    const result = await buildPersonas({ directory, check: true });
    expect(result.faults).toEqual([]);
    expect(result.lines).toHaveLength(2);
  });
});

describe('stored vectors are never silently replaced', () => {
  it('marks a persona whose text changed, until its vector is made again', async () => {
    const text = await readFile(file('build-bot.md'), 'utf8');
    await writeFile(file('build-bot.md'), `${text}\nAlso waters the plants.\n`);
    const persona = (await loadPersonas({ directory })).find('acme', 'build-bot');
    expect([persona?.stored, persona?.fault]).toEqual([null, expect.stringContaining('npm run personas')]);
    expect((await buildPersonas({ directory, check: true })).faults).toEqual([
      expect.stringContaining('acme/build-bot'),
    ]);
    const built = await buildPersonas({ directory, now });
    expect(built.lines).toEqual([expect.stringContaining('wrote the vector'), expect.stringContaining('fits')]);
    expect((await loadPersonas({ directory })).find('acme', 'build-bot')?.stored?.created_at).toBe(now.toISOString());
  });

  it('writes no vector whose cases come out wrong', async () => {
    await rm(file('build-bot.vector.json'));
    await writeFile(
      file('build-bot.cases.json'),
      JSON.stringify({ on: [{ tool: 'wire_transfer', arguments: {} }], off: [] }),
    );
    const { faults } = await buildPersonas({ directory, now });
    expect(faults).toEqual([expect.stringContaining('an on-persona call must be below 0.45')]);
    expect((await loadPersonas({ directory })).find('acme', 'build-bot')?.stored).toBeNull();
  });

  it.each([
    ['is missing', null],
    ['is no JSON', 'vector'],
    ['is of another shape', '{"vector":[1]}'],
  ])('has no vector when the file %s', async (_name, text) => {
    if (text === null) await rm(file('build-bot.vector.json'));
    else await writeFile(file('build-bot.vector.json'), text);
    const persona = (await loadPersonas({ directory })).find('acme', 'build-bot');
    expect(persona).toMatchObject({ stored: null, fault: expect.stringContaining('no usable vector') });
  });

  it('has no vector when one has another length than stated', async () => {
    const stored = JSON.parse(await readFile(file('build-bot.vector.json'), 'utf8')) as StoredVector;
    await writeFile(file('build-bot.vector.json'), JSON.stringify({ ...stored, vector: [1] }));
    expect((await loadPersonas({ directory })).find('acme', 'build-bot')?.fault).toMatch(/dimensions/);
  });
});

describe('which persona an agent has', () => {
  it('is that of its tenant, else the one for every tenant', async () => {
    await cp(file('build-bot.md'), join(directory, 'support-bot.md'));
    const personas = await loadPersonas({ directory });
    expect(personas.names).toEqual(['acme/build-bot', 'acme/support-bot', 'support-bot']);
    expect(personas.find('acme', 'support-bot')?.text).toContain('# support-bot');
    expect(personas.find('globex', 'support-bot')?.text).toContain('# build-bot');
    expect(personas.find(null, 'build-bot')).toBeNull();
    expect(personas.find('globex', 'README')).toBeNull();
  });
  it('cannot be loaded from a folder that is not there', async () => {
    await expect(loadPersonas({ directory: join(directory, 'nowhere') })).rejects.toThrow('nowhere');
  });
});

describe('example calls of a persona file', () => {
  const fence = (lines: string) => `# a\n\n\`\`\`jsonl example-calls\n${lines}\n\`\`\`\n`;
  it('are one per line, arguments optional', () => {
    expect(exampleCalls(fence('{"tool":"a"}\n\n{"tool":"b","arguments":{"x":1}}'))).toEqual([
      { tool: 'a', arguments: {} },
      { tool: 'b', arguments: { x: 1 } },
    ]);
  });
  it.each([fence('{"tool":'), fence('{"name":"a"}'), fence('{"tool":"a","more":1}')])(
    'name the line that does not parse',
    (text) => {
      expect(() => exampleCalls(text)).toThrow('example call {');
    },
  );
  it('must exist', () => {
    expect(() => exampleCalls('# a\n```json\n{"tool":"a"}\n```\n')).toThrow('no example call');
  });
});

describe('the offline embedding', () => {
  const embed = (tool: string, args = {}) =>
    offlineEmbedding.embed({
      method: 'call_tool',
      tool,
      params: callParams({ tool, arguments: args }),
    }) as readonly number[];
  it('is frozen: changing it makes every stored vector worthless, so it needs a new model name', () => {
    const vector = embed('read_file', { path: 'a.txt' });
    const marks = vector.flatMap((value, at) => (value === 0 ? [] : [`${at}:${value.toFixed(3)}`]));
    expect(marks.slice(0, 4)).toEqual(['38:-0.023', '50:0.023', '55:0.058', '56:0.023']);
  });
  it('reads tools by their words', () => {
    expect(cosine(embed('readFile'), embed('files.read'))).toBeCloseTo(1, 6);
  });
  it('does not let padding with values move a call by more than their weight', () => {
    const padded = Array.from({ length: 500 }, (_, index) => `customer balance ${index}`);
    expect(cosine(embed('read_file', { path: 'a' }), embed('read_file', { path: padded }))).toBeGreaterThan(0.9);
  });
  it('has no direction for vectors of zeros', () => {
    expect(cosine([0, 0], [1, 0])).toBeNull();
  });
});
