import { describe, expect, it } from '@jest/globals';
import type { InspectionResponse, InspectRequest } from '../../contracts/inspection.js';
import { createInspector } from './inspector.js';
import { inspectLargeApart, isLarge, scanLargeApart } from './large-apart.js';
import { noPersonas } from './personas.js';

const asking = (content: string): InspectRequest =>
  ({
    agent_id: 'writer',
    tenant: 'acme',
    method: 'tools/call',
    params: { name: 'write_file', arguments: { path: 'a', content } },
    prior_requests: [],
  }) as unknown as InspectRequest;
const inspecting = () => createInspector({ personas: noPersonas });

describe('a large request', () => {
  it('is one with more than 16,384 characters, wherever they are', () => {
    expect(isLarge([asking('x'.repeat(16_000))])).toBe(false);
    expect(isLarge([asking('x'.repeat(17_000))])).toBe(true);
    const holding = (value: unknown) => isLarge([{ method: 'm', params: { value } as never }]);
    expect(holding({ ['k'.repeat(17_000)]: 1 })).toBe(true);
    expect(holding(Array.from({ length: 17_000 }, () => null))).toBe(true);
    expect(holding(Array.from({ length: 200 }, () => ['y'.repeat(90)]))).toBe(true);
    expect(holding(Array.from({ length: 100 }, () => ['y'.repeat(90)]))).toBe(false);
  });

  it('alone is inspected apart, by its agent; an ordinary one goes no further', async () => {
    const asked: string[] = [];
    const apart = (calls: readonly InspectRequest[], agent: string): Promise<readonly InspectionResponse[]> => {
      asked.push(agent);
      return Promise.all(calls.map((call) => inspecting().inspect(call)));
    };
    const inspector = inspectLargeApart(inspecting(), apart);
    const [ordinary, large] = [asking('hello'), asking('lorem ipsum '.repeat(2_000))];
    expect(await inspector.inspect(ordinary)).toEqual(await inspecting().inspect(ordinary));
    expect(asked).toEqual([]);
    expect(await inspector.inspect(large)).toEqual(await inspecting().inspect(large));
    expect(asked).toEqual(['acme/writer']);
  });

  it('is told of to who asked where it could not be inspected', async () => {
    const inspector = inspectLargeApart(inspecting(), () => Promise.reject(new Error('too late')));
    await expect(inspector.inspect(asking('x'.repeat(17_000)))).rejects.toThrow('too late');
  });
});

describe('a large answer', () => {
  it('alone is looked at apart; an ordinary one goes no further', async () => {
    const asked: number[] = [];
    const apart = {
      scanResponse: async ({ response_body: { length } }: { readonly response_body: string }) => {
        asked.push(length);
        return { detected_entities: [], spans: [], span_unit: 'utf8_bytes' as const };
      },
      scanRequest: async ({ request_body: { length } }: { readonly request_body: string }) => {
        asked.push(length);
        return { detected_entities: [], spans: [], span_unit: 'utf8_bytes' as const };
      },
    };
    const scanner = scanLargeApart('standard', apart as never);
    const card = '{"card":"4111 1111 1111 1111"}';
    const of = { agent_id: 'writer', tenant: 'acme', method: 'tools/call', span_unit: 'utf8_bytes' } as const;
    expect(await scanner.scanResponse({ ...of, response_body: card, lanes: ['data'] })).toMatchObject({
      detected_entities: ['CREDIT_CARD'],
    });
    expect(await scanner.scanRequest({ ...of, request_body: card })).toMatchObject({
      detected_entities: ['CREDIT_CARD'],
    });
    expect(asked).toEqual([]);
    await scanner.scanResponse({ ...of, response_body: 'x'.repeat(17_000), lanes: ['data'] });
    await scanner.scanRequest({ ...of, request_body: 'x'.repeat(18_000) });
    expect(asked).toEqual([17_000, 18_000]);
  });
});
