import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { commandLine } from '../test/support/command.js';

describe('gate console', () => {
  let folder: string;
  let server: Server;
  let url: string;
  let asked: string[];
  let answer: { status: number; text: string };
  const { done, stop } = commandLine(() => folder);
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gate-console-'));
    asked = [];
    answer = { status: 200, text: '{"path":"/login?link=abc","expires_in_secs":600}' };
    server = createServer((request, response) => {
      asked.push(`${request.method} ${request.url} ${request.headers.authorization}`);
      response.writeHead(answer.status).end(answer.text);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    mkdirSync(join(folder, '.gate'));
    told({});
  });
  const told = (of: object): void => {
    const stack = { console: { url, ...of }, operator_token: 'first', other_operators: { second: 'other' } };
    writeFileSync(join(folder, '.gate', 'dev.json'), JSON.stringify(stack));
  };
  afterEach(async () => {
    await stop();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('prints a link under the name that browsers know, for the first operator or the named one', async () => {
    const link = `${url.replace('127.0.0.1', 'localhost')}/login?link=abc\n`;
    expect(await done(['console'])).toEqual({ code: 0, out: link });
    expect(await done(['console', '--as', 'second'])).toEqual({ code: 0, out: link });
    expect(asked).toEqual(['POST /auth/links Bearer first', 'POST /auth/links Bearer other']);
  });

  it('says who is known where nobody of that name is, which is wrong usage', async () => {
    expect(await done(['console', '--as', 'third'])).toEqual({ code: 2, out: expect.stringContaining('second') });
    expect(asked).toEqual([]);
  });

  it('prints a link under the name of the settings', async () => {
    told({ opened_at: 'https://gate.example', sign_in: 'operator-token' });
    expect(await done(['console'])).toEqual({ code: 0, out: 'https://gate.example/login?link=abc\n' });
  });

  it('says with what people sign in where it is no token, and asks for no link', async () => {
    told({ opened_at: 'https://localhost:8085', sign_in: 'operator-mtls' });
    const said = expect.stringMatching(/with a certificate in the browser.*open https:\/\/localhost:8085/);
    expect(await done(['console'])).toEqual({ code: 1, out: said });
    expect(asked).toEqual([]);
  });

  it('says whose token it asked with where nobody has that, and nothing of it with another refusal', async () => {
    answer = { status: 401, text: '{"error":"unauthenticated","reason":"The operator token is missing or wrong."}' };
    const file = join(folder, '.gate', 'dev.json');
    const { code, out } = await done(['console']);
    expect([code, out]).toEqual([3, expect.stringContaining(`that of ${file}, and not among GATE_HIL_OPERATORS`)]);
    expect(out).toMatch(/add it there \(name@tenant:token\) and start Gate again, or sign in with `.* login`/);
    answer = { status: 401, text: '{"error":"unauthenticated","reason":"another tenant"}' };
    expect((await done(['console'])).out).toBe('gate: unauthenticated: another tenant\n');
  });

  it('a refusal keeps its code, and nobody there is 5', async () => {
    answer = { status: 401, text: '{"error":"unauthenticated","reason":"none"}' };
    expect(await done(['console'])).toEqual({ code: 3, out: expect.stringContaining('unauthenticated') });
    server.close();
    server.closeAllConnections();
    expect(await done(['console'])).toEqual({ code: 5, out: expect.stringContaining('is Gate started?') });
  });
});
