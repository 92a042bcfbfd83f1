import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { parse } from 'yaml';
import { PROJECT_ROOT } from '../../config/project-root.js';
import type { StubGate } from '../../sdks/typescript/agent-sdk/test/stub-gate.js';

export interface Expected {
  readonly verdict?: Readonly<Record<string, unknown>>;
  readonly fault?: 'transport' | 'config' | 'malformed';
  readonly code?: string;
}
export interface AnswerCase extends Expected {
  readonly name: string;
  readonly first?: readonly (number | 'cut' | 'slow' | 'huge')[];
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly text?: string;
  readonly attempts?: number;
}
export interface LiveCase extends Expected {
  readonly name: string;
  readonly calls: readonly { readonly name: string; readonly arguments: unknown }[];
  readonly mode?: 'observe';
  readonly gate_mode?: 'observe';
  readonly ttl_secs?: number;
  readonly again?: 'same' | 'other';
  readonly then?: 'approve' | 'deny';
  readonly outcome?: string;
}

/** The table that the SDKs of every language run. */
export const WIRE_CASES = parse(readFileSync(join(PROJECT_ROOT, 'sdks/wire-cases.yaml'), 'utf8')) as {
  readonly answers: readonly AnswerCase[];
  readonly live: readonly LiveCase[];
};

/** The stub answers as the row says, from here on. */
export function answersAs(stub: StubGate, row: AnswerCase): void {
  stub.asked.length = 0;
  stub.answer = (_asked, response) => {
    const step = row.first?.[stub.asked.length - 1];
    if (step === 'cut') response.destroy();
    else if (step === 'slow') response.writeHead(200).write('{');
    else if (step === 'huge') response.writeHead(200).end('x'.repeat(2 ** 20 + 1));
    else if (step !== undefined) response.writeHead(step).end('{"error":"provider_unavailable"}');
    else response.writeHead(row.status, row.headers).end(row.text ?? (row.body && JSON.stringify(row.body)));
  };
}

/** Whatever happens, it was one request: the same id and the same bytes, as often as the row says. */
export function expectOneRequest({ asked }: StubGate, { attempts }: AnswerCase): void {
  if (attempts !== undefined) expect(asked).toHaveLength(attempts);
  expect(new Set(asked.map(({ text, headers }) => text + String(headers['x-gate-idempotency-id']))).size).toBe(1);
  expect(asked.every(({ path }) => path === '/mcp')).toBe(true);
}

/** The members of a verdict that a row names, in the words of the wire. */
export const wantedOf = ({ verdict = {} }: Expected): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(verdict).map(([name, value]) => [name, value === '*' ? expect.stringMatching(/./) : value]),
  );
