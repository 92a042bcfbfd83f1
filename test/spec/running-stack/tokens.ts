import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../contracts/json.js';
import { gate } from '../../support/running-stack.js';
import { bareEnvironment, GATE_PROGRAM } from '../../support/stack.js';

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

describe('a development stack', () => {
  const gateToken = async (...args: string[]): Promise<string> => {
    const env = { ...bareEnvironment(), GATE_STATE_DIR: gate.stateDir };
    return (await promisify(execFile)(process.execPath, [GATE_PROGRAM, 'token', ...args], { env })).stdout.trim();
  };
  const claims = (token: string) =>
    JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as JsonObject;

  it('prints a token with which an agent without a certificate calls', async () => {
    const token = await gateToken();
    expect(claims(token)).toMatchObject({ tenant: 'acme', sub: 'support-bot' });
    const answer = await gate.stranger().call('list_files', {}, { headers: bearer(token) });
    expect(answer.status).toBe(200);
    expect(await gate.rows(answer.correlationId)).toEqual(
      expect.arrayContaining([expect.objectContaining({ event_kind: 'proxy.verdict', agent_id: 'support-bot' })]),
    );
  }, 60_000);

  it('prints one for whatever agent and time is asked for, and refuses invalid names', async () => {
    const token = await gateToken('dev-agent', '--tenant', 'globex', '--hours', '0.001');
    expect(claims(token)).toMatchObject({ tenant: 'globex', sub: 'dev-agent' });
    await expect(gateToken('../x')).rejects.toMatchObject({ code: 2 });
    await expect(gateToken('--hours', '0')).rejects.toMatchObject({ code: 2 });
  }, 60_000);

  it('keeps the key to itself', () => {
    expect(statSync(gate.development.token_issuer?.key ?? '').mode & 0o777).toBe(0o600);
  });
});
