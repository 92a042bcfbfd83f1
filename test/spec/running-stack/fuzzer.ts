import { serviceCertificate } from '../../support/service-certificates.js';
import { execFile, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openLite } from '../../support/lite.js';
import { browserAt } from '../../support/lite-browser.js';
import { needs } from '../../support/needs.js';
import { gate } from '../../support/running-stack.js';

const SCHEMATHESIS = process.env['GATE_TEST_SCHEMATHESIS'] ?? 'schemathesis';
const isThere = spawnSync(SCHEMATHESIS, ['--version']).status === 0;
const run = isThere ? it : it.skip;
/** The same generated requests again: `GATE_TEST_SEED=<seed>`. */
const SEED = Number(process.env['GATE_TEST_SEED'] ?? randomInt(2 ** 31));
/** How many times longer than written below. A usual run takes a third of it: the seed is another one each time. */
const TIMES = Number(process.env['GATE_TEST_FUZZ_TIMES'] ?? 1 / 3);

/** What must hold of every answer: no 5xx, a documented status, type and form. */
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_schema_conformance',
];

let folder: string;
let lite: Awaited<ReturnType<typeof openLite>>;
beforeAll(async () => {
  if (!isThere) return;
  folder = mkdtempSync(join(tmpdir(), 'gate-fuzz-'));
  lite = await openLite();
}, 60_000);
afterAll(async () => {
  await lite?.close();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

/** Asks a service everything that its document tells, for so many seconds. */
const fuzzed = (document: string, url: string, seconds: number, more: Readonly<Record<string, string>> = {}) =>
  new Promise<{ readonly code: number; readonly said: string }>((resolve) => {
    const options = {
      '--url': url,
      '--seed': String(SEED),
      '--max-time': String(Math.ceil(seconds * TIMES)),
      '--phases': 'coverage,fuzzing',
      '--checks': CHECKS.join(),
      '--request-timeout': '20',
      '--generation-database': 'none',
      // A stream ends when its reader leaves; its own tests read it.
      '--exclude-path-regex': 'stream',
      ...more,
    };
    const given = ['run', document, '--no-color', ...Object.entries(options).flat()];
    execFile(SCHEMATHESIS, given, { cwd: folder, maxBuffer: 2 ** 26 }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : error ? 2 : 0, said: stdout + stderr }),
    );
  });

type Workload = 'agent' | 'console' | 'proxy';

/** Who asks, since each may ask for its own routes only, and for how long. */
const ASKED: readonly (readonly [
  service: 'proxy' | 'brain' | 'policy' | 'ledger' | 'hil' | 'identity' | 'sandbox',
  as: Workload,
  seconds: number,
])[] = [
  ['proxy', 'agent', 8],
  ['proxy', 'console', 5],
  ['brain', 'proxy', 4],
  ['policy', 'proxy', 4],
  ['policy', 'console', 6],
  ['ledger', 'proxy', 8],
  ['ledger', 'console', 8],
  ['hil', 'console', 12],
  ['hil', 'proxy', 6],
  ['identity', 'console', 4],
  ['sandbox', 'proxy', 4],
];
const asProxy = async () => {
  const { certFile: cert, keyFile: key } = await serviceCertificate(gate.stateDir, 'proxy');
  return { cert, key };
};
describe(`a fuzzer that reads the OpenAPI documents, seed ${SEED}`, () => {
  run.each(ASKED)(
    `finds no 5xx and no answer that the document does not tell: %s, asked by %s${needs('schemathesis', isThere)}`,
    async (service, as, seconds) => {
      const { development } = gate;
      const { cert, key } =
        as === 'agent' ? development.proxy : as === 'console' ? development.console_workload : await asProxy();
      const { code, said } = await fuzzed(
        `${development.health[service]}/openapi.json`,
        development[service].url,
        seconds,
        {
          '--tls-verify': development.proxy.ca,
          '--request-cert': cert,
          '--request-cert-key': key,
          '--header': `Authorization: Bearer ${development.operator_token}`,
          '-H': 'X-Gate-Tenant-Scope: acme',
        },
      );
      expect([code, code === 0 ? '' : said]).toEqual([0, '']);
    },
    120_000 * Math.max(1, TIMES),
  );

  run(
    `finds none in the console, asked by who is signed in${needs('schemathesis', isThere)}`,
    async () => {
      const { console: at, health, operator_token: token } = gate.development;
      const browser = browserAt(at.url);
      expect(await browser.post('/login', { csrf: '', token })).toMatchObject({ status: 303 });
      const { code, said } = await fuzzed(`${health.console}/openapi.json`, at.url, 12, {
        '--header': `Cookie: ${browser.cookie()}`,
        '-H': `Origin: ${at.url}`,
        // What ends the session would leave the rest to strangers.
        '--exclude-path-regex': 'stream|/logout|/me/end',
      });
      expect([code, code === 0 ? '' : said]).toEqual([0, '']);
    },
    120_000 * Math.max(1, TIMES),
  );

  run(
    `finds none in lite${needs('schemathesis', isThere)}`,
    async () => {
      const { url } = lite.lite;
      const { code, said } = await fuzzed(`${url}/openapi.json`, url, 8);
      expect([code, code === 0 ? '' : said]).toEqual([0, '']);
    },
    120_000 * Math.max(1, TIMES),
  );
});
