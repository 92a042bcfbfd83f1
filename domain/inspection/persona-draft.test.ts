import { beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../contracts/json.js';
import { loadTraitsReader } from '../../adapters/inspection/traits-reader.js';
import type { TraitsReader } from './behaviour/traits.js';
import { offlineEmbedding } from './embedding.js';
import { checkPersona, draftPersona, type PastCall } from './persona-draft.js';
import { embedPersona, exampleCalls } from './personas.js';

const TEN = Date.parse('2026-11-16T10:00:00Z');
let count = 0;
const call = (tool: string, given: JsonObject = {}, ran = true): PastCall => {
  count += 1;
  const at = new Date(TEN + count * 60_000).toISOString();
  return { at, correlation_id: `call-${count}`, tool, arguments: given, ran };
};
let readTraits: TraitsReader;
beforeAll(async () => {
  readTraits = await loadTraitsReader();
});

describe('a drafted persona', () => {
  it('has an example of each kind of call that ran, frequent ones first, in a form that Brain reads', () => {
    const calls = [
      call('read_file', { path: 'a.txt' }),
      call('list_files', {}),
      call('list_files', { path: 'src' }),
      call('list_files', { path: 'lib' }),
      call('delete_file', { path: 'a.txt' }, false),
    ];
    const drafted = draftPersona('files-bot', calls, [{ name: 'list_files' }, { name: 'drop_table' }]);
    expect(exampleCalls(drafted)).toEqual([
      { tool: 'list_files', arguments: { path: 'src' } },
      { tool: 'list_files', arguments: {} },
      { tool: 'read_file', arguments: { path: 'a.txt' } },
    ]);
    expect(drafted).toContain('## Listed, and in none of these calls\n\n- drop_table\n');
    expect(drafted).not.toContain('delete_file');
  });

  it('holds no secret, no long text and nothing that ends its block', () => {
    const hostile = {
      password: 'hunter2-hunter2',
      note: `${'x'.repeat(500)}`,
      mail: 'ann@acme.example',
      '```': '```\n# I',
    };
    const drafted = draftPersona('files-bot\n```', [call('send', hostile)], [{ name: 'a\n## b' }]);
    expect(drafted).not.toMatch(/hunter2|ann@acme|x{100}/);
    expect(exampleCalls(drafted)).toHaveLength(1);
    expect(drafted).not.toMatch(/^## b/m);
  });

  it('leaves arguments out that are too large for an example', () => {
    expect(
      exampleCalls(draftPersona('a', [call('send', { list: Array.from({ length: 5_000 }, () => 'x') })], [])),
    ).toEqual([{ tool: 'send', arguments: {} }]);
  });

  it('is made from the list of tools where nothing ran, and lets calls like that pass', async () => {
    const inputSchema = {
      type: 'object',
      properties: {
        title: { type: 'string' },
        priority: { type: 'string', enum: ['low', 'high'] },
        count: { type: 'integer' },
        labels: { type: 'array', items: { type: 'string' } },
        where: { type: 'object', properties: { repo: { type: 'string', default: 'main' } } },
        open: { type: ['boolean', 'null'] },
      },
    };
    const drafted = draftPersona(
      'dev-agent',
      [call('list_issues', {}, false)],
      [{ name: 'create_issue', inputSchema }, { name: 'list_issues' }],
    );
    expect(exampleCalls(drafted)).toEqual([
      {
        tool: 'create_issue',
        arguments: {
          title: 'example',
          priority: 'low',
          count: 1,
          labels: ['example'],
          where: { repo: 'main' },
          open: true,
        },
      },
      { tool: 'list_issues', arguments: {} },
    ]);
    expect(drafted).toContain('Made from the list of its tools');
    const stored = await embedPersona(drafted, offlineEmbedding, new Date(TEN));
    const calls = [
      call('create_issue', {
        title: 'The build fails',
        priority: 'high',
        count: 3,
        labels: ['ci'],
        where: { repo: 'x' },
        open: false,
      }),
      call('list_issues', {}),
    ];
    expect(await checkPersona(stored, calls, { embedding: offlineEmbedding, readTraits, tenant: '' })).toEqual([]);
    const other = [call('drop_production_database', { force: true, everything: 'yes' })];
    const drifted = await checkPersona(stored, other, { embedding: offlineEmbedding, readTraits, tenant: '' });
    expect(drifted).toHaveLength(1);
  });

  it('is none where nothing ran, and nothing is listed', () => {
    expect(() => draftPersona('files-bot', [call('read_file', {}, false)], [])).toThrow('no call of files-bot ran');
  });
});

describe('a checked persona', () => {
  const check = async (markdown: string, calls: readonly PastCall[]) =>
    checkPersona(await embedPersona(markdown, offlineEmbedding, new Date(TEN)), calls, {
      embedding: offlineEmbedding,
      readTraits,
      tenant: 'acme',
    });

  it('passes the calls it was drafted from', async () => {
    const calls = [call('read_file', { path: 'a.txt' }), call('list_files', { path: 'src' }), call('list_files', {})];
    expect(await check(draftPersona('files-bot', calls, []), calls)).toEqual([]);
  });

  it('names the calls that would drift, with their reasons', async () => {
    const usual = Array.from({ length: 20 }, (_, at) =>
      call('wire_transfer', { amount: 40 + at, to: `DE-1111-000${at % 2}` }),
    );
    const persona = draftPersona('pay-bot', usual, []);
    const far = call('wire_transfer', { amount: 4_000_000, to: 'GB-9999-4711' }, false);
    const other = call('get_weather', { city: 'Rome' }, false);
    expect(await check(persona, [...usual, far, other])).toEqual([
      expect.objectContaining({
        correlation_id: far.correlation_id,
        would: 'wait',
        reasons: [
          expect.stringMatching(/^amount \d+ times the median of 16 calls of this tool$/),
          'first time to this destination: 16 calls of this tool went to 2 others',
        ],
      }),
      expect.objectContaining({
        tool: 'get_weather',
        would: 'be denied',
        reasons: [expect.stringMatching(/from the nearest example call$/)],
      }),
    ]);
  });
});
