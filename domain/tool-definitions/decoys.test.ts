import { describe, expect, it } from '@jest/globals';
import type { Decoy } from '../identity/decoys.js';
import type { Upstream } from '../upstream/upstream.js';
import { decoySetOf } from '../identity/decoy-readings.js';
import { decoyNamesakes } from './decoy-namesakes.js';
import { withDecoys } from './decoys.js';

const decoy = (name: string, over: Partial<Decoy> = {}): Decoy => ({
  id: name,
  tenant: 'acme',
  name,
  kind: 'tool',
  value: null,
  isAdvertised: true,
  action: 'none',
  schemaJson: null,
  description: null,
  ...over,
});
const CALLER = { tenant: 'acme', agent: 'bot' };
const LIMITS = { timeoutMs: 1_000 };

async function shown(result: object | string, decoys: readonly Decoy[], method = 'tools/list', failed = false) {
  const text = `{"jsonrpc":"2.0","id":1,"result":${typeof result === 'string' ? result : JSON.stringify(result)}}`;
  const upstream: Pick<Upstream, 'control'> = {
    control: () => Promise.resolve({ kind: 'reply', statusCode: 200, text, failed }),
  };
  const told = withDecoys(upstream, (tenant) => (tenant === 'acme' ? decoys : []));
  const reply = await told.control(CALLER, { jsonrpc: '2.0', id: 1, method }, LIMITS);
  if (reply.kind !== 'reply') throw new Error(reply.kind);
  return { text: reply.text, isAsItWas: reply.text === text, ...(JSON.parse(reply.text) as { result: unknown }) };
}

describe('a list of tools with decoys', () => {
  const tools = ['a', 'b', 'c'].map((name) => ({ name, inputSchema: { type: 'object' } }));

  it('has each with what it is shown with, and a schema of nothing where it has none', async () => {
    const bait = decoy('bait', { description: 'Does it.', schemaJson: '{"type":"object","required":["x"]}' });
    const { result } = await shown({ tools, ttl: 1 }, [bait, decoy('plain')]);
    const { tools: given, ...rest } = result as { tools: object[] };
    expect(rest).toEqual({ ttl: 1 });
    expect(given).toHaveLength(5);
    expect(given).toEqual(
      expect.arrayContaining([
        ...tools,
        { name: 'bait', description: 'Does it.', inputSchema: { type: 'object', required: ['x'] } },
        { name: 'plain', inputSchema: { type: 'object', properties: {} } },
      ]),
    );
    expect((await shown({ tools, ttl: 1 }, [bait, decoy('plain')])).result).toEqual(result);
  });

  it('leaves out one whose name a tool has', async () => {
    expect((await shown({ tools }, [decoy('b')])).result).toEqual({ tools });
    const escaped = '{"tools":[{"name":"\\u0062"}]}';
    expect((await shown(escaped, [decoy('b')])).result).toEqual({ tools: [{ name: 'b' }] });
  });

  it('has them where it says with `null` that it does not go on', async () => {
    const { result } = await shown({ tools: [], nextCursor: null }, [decoy('bait')]);
    expect(result).toMatchObject({ tools: [{ name: 'bait' }], nextCursor: null });
  });

  it.each<[string, Parameters<typeof shown>]>([
    ['that goes on', [{ tools, nextCursor: 'x' }, [decoy('bait')]]],
    ['of no decoys', [{ tools }, []]],
    ['that failed', [{ tools }, [decoy('bait')], 'tools/list', true]],
    ['of something else', [{ tools }, [decoy('bait')], 'prompts/list']],
    ['of no known form', [{ other: 1 }, [decoy('bait')]]],
  ])('is as it was where it is one %s', async (_what, asked) => {
    expect((await shown(...asked)).isAsItWas).toBe(true);
  });
});

describe('a tool that has the name of a decoy', () => {
  it('is told to operators, also of a trap, in another spelling and on any page, once an hour', async () => {
    let now = 0;
    const said: string[] = [];
    const onListed = decoyNamesakes({
      decoysOf: (tenant) => decoySetOf(tenant === 'acme' ? [decoy('trap', { isAdvertised: false })] : []),
      onNamesake: (tenant, tool, { name }) => said.push(`${tenant} ${tool} ${name}`),
      now: () => now,
    });
    const text = '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"},{"name":"TRAP"},{"x":1}],"nextCursor":"2"}}';
    const upstream: Pick<Upstream, 'control'> = {
      control: () => Promise.resolve({ kind: 'reply', statusCode: 200, text, failed: false }),
    };
    const list = (tenant = 'acme') =>
      withDecoys(upstream, () => [], onListed).control(
        { tenant, agent: 'bot' },
        { jsonrpc: '2.0', id: 1, method: 'tools/list' },
        LIMITS,
      );
    expect(await list()).toMatchObject({ text });
    await list();
    await list('other');
    expect(said).toEqual(['acme TRAP trap']);
    now += 3_600_000;
    await list();
    expect(said).toHaveLength(2);
  });
});
