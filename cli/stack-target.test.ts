import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { ensureTestPki } from '../test/support/service-certificates.js';
import { allOf } from './agent-standing.js';
import { CliError } from './errors.js';
import { stackTarget } from './stack-target.js';

describe('what commands ask of a stack piece by piece', () => {
  let folder: string;
  let server: Server;
  let answer: (response: ServerResponse) => void;
  const asked: string[] = [];
  const before = process.env.GATE_STATE_DIR;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gate-stack-target-'));
    const pki = await ensureTestPki({ stateDir: folder, trustDomain: 'gate.local' });
    const { identity, console: asking } = pki.services;
    const tls = { cert: identity.cert, key: identity.key, ca: pki.ca, requestCert: true };
    server = createServer(tls, (request, response) => {
      asked.push(`${request.headers.authorization} ${String(request.headers['x-gate-tenant-scope'])} ${request.url}`);
      request.resume();
      answer(response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const known = {
      operator_token: 'secret',
      proxy: { url, ca: pki.caFile, agent_spiffe: 'spiffe://gate.local/tenant/acme/agent/a/instance/i' },
      console_workload: { cert: asking.certFile, key: asking.keyFile },
      identity: { url },
      policy: { url },
    };
    await writeFile(join(folder, 'dev.json'), JSON.stringify(known));
    process.env.GATE_STATE_DIR = folder;
  });
  afterEach(() => {
    asked.length = 0;
  });
  afterAll(async () => {
    if (before === undefined) delete process.env.GATE_STATE_DIR;
    else process.env.GATE_STATE_DIR = before;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await rm(folder, { recursive: true, force: true });
  });

  const stops = () => allOf(stackTarget('acme').each('/stops', { query: { tenant: 'acme', state: 'suspended' } }));
  const faultOf = (read: Promise<unknown>): Promise<unknown> =>
    read.then(
      () => null,
      (error: unknown) => error,
    );

  it('is a list to its last page, as the operator and for the tenant', async () => {
    const pages = [[{ id: 'a' }, { id: 'b' }], [{ id: 'c' }], []];
    answer = (response) => void response.end(JSON.stringify(pages[asked.length - 1]));
    expect(await stops()).toEqual([{ id: 'a' }, { id: 'b' }, { id: 'c' }]);
    expect(asked).toEqual(
      ['', '&after=b', '&after=c'].map((after) => `Bearer secret acme /stops?tenant=acme&state=suspended${after}`),
    );
  });

  it.each<[string, number, string, number, string]>([
    ['a refusal', 403, '{"error":"role_too_low","reason":"operators alone"}', 3, 'role_too_low: operators alone'],
    ['a page of somebody else', 502, '<html>', 5, 'HTTP 502'],
  ])('ends with %s, by its exit code', async (_, status, text, exitCode, said) => {
    answer = (response) => void response.writeHead(status).end(text);
    const error = await faultOf(stops());
    expect(error).toBeInstanceOf(CliError);
    expect(error).toMatchObject({ exitCode, message: expect.stringContaining(said) });
    expect(asked).toHaveLength(1);
  });

  it('ends where the service breaks off', async () => {
    answer = (response) => response.destroy();
    const error = await faultOf(stops());
    expect(error).toMatchObject({ exitCode: 5, message: expect.stringContaining('does not answer at https://') });
    expect(String(error)).not.toContain('secret');
  });

  it('goes to no other service of the stack', async () => {
    answer = (response) => void response.end('{}\n');
    const lines = stackTarget().lines('/policies/mine', { query: { tenant: 'acme' }, body: { since: 'a' } });
    const error = await faultOf(allOf(lines));
    expect(error).toMatchObject({ exitCode: 5, message: expect.stringContaining('the server is ') });
    expect(asked).toEqual([]);
  });
});
