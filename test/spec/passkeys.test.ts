import { randomUUID } from 'node:crypto';
import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type AssertionJson, assertionJson, registrationJson } from '../../contracts/approval.js';
import type { PendingRequest } from '../../contracts/review.js';
import { approvalStatementOf, challengeOf } from '../../domain/review/approval-challenge.js';
import { createPasskeys, type Passkeys } from '../../domain/review/passkeys.js';
import { softwareAuthenticator } from '../support/authenticator.js';
import { chromiumPath, openBrowser } from '../support/browser.js';
import { commandLine } from '../support/command.js';
import { editFile } from '../support/lite.js';
import { needs } from '../support/needs.js';
import { openPipeline, type PipelineFixture } from '../support/pipeline-fixture.js';

// Only answered by the test itself; browsers take http for this name.
const ORIGIN = 'http://localhost:8090';
const ANA = { subject: 'operator:ana', tenant: 'acme' };
const executable = chromiumPath();

let gate: PipelineFixture;
let passkeys: Passkeys;
let row: PendingRequest;
const commands = commandLine(() => gate.folder);

beforeEach(async () => {
  gate = await openPipeline({
    script: { tier: 'yellow', approvalTier: 'strict' },
    passkeys: (store) => {
      const relyingParty = { id: 'localhost', origin: ORIGIN };
      passkeys = createPasskeys({
        store,
        relyingParty,
        required: 'strict',
        sessionKey: Buffer.alloc(32, 7),
        mayApprove: () => true,
        clock: Date.now,
      });
      return passkeys;
    },
  });
  const call = await gate.call();
  await gate.run(call);
  const parked = await gate.reviews.byCorrelation(call.correlation_id);
  if (!parked) throw new Error('the call is not parked');
  row = parked;
}, 60_000);
afterEach(async () => {
  await commands.stop();
  await gate.close();
}, 60_000);

const approve = (passkey: AssertionJson) =>
  gate.decide({
    id: row.id,
    tenant: 'acme',
    decision: 'approve',
    reason: null,
    decided_via: 'console',
    request_id: randomUUID(),
    passkey,
    principal: (tenant) => ({
      ...ANA,
      tenant,
      method: 'console-bearer',
      credential: 'token of ana',
      credential_kind: 'console-bearer',
    }),
  });
const asked = () => passkeys.requestFor(ANA, approvalStatementOf(row, ANA.subject, { decision: 'approve' }));
const verify = (ledger = 'ledger.db', ...more: string[]) =>
  commands.done(['verify', '--approval', row.correlation_id, '--ledger', ledger, ...more]);

describe('a decision that a passkey signed', () => {
  it('is checked offline from a copy of the ledger with the public key alone, and no altered one passes', async () => {
    const device = softwareAuthenticator({ rpId: 'localhost', origin: ORIGIN });
    const begun = await passkeys.startRegistration(ANA);
    await passkeys.finishRegistration(begun.ceremony, ANA, device.create(begun.publicKey.challenge));
    const statement = approvalStatementOf(row, ANA.subject, { decision: 'approve' });
    await approve(device.get(challengeOf(statement)));
    await gate.host.idle();
    const { folder } = gate;
    await writeFile(join(folder, 'ana.pem'), device.publicKeyPem);
    await writeFile(
      join(folder, 'other.pem'),
      softwareAuthenticator({ rpId: 'localhost', origin: ORIGIN }).publicKeyPem,
    );
    const copy = async (name: string, change: string) => {
      await copyFile(join(folder, 'ledger.db'), join(folder, name));
      await copyFile(join(folder, 'ledger.db-wal'), join(folder, `${name}-wal`)).catch(() => undefined);
      editFile(join(folder, name), `update ledger_entries set ${change} where event_kind = 'hil.approved'`);
      return verify(name);
    };
    const set = (path: string, value: string) => `policy_decision = json_set(policy_decision, '$.${path}', '${value}')`;
    const [told, own, other, name, payload, text] = await Promise.all([
      verify(),
      verify('ledger.db', '--approver-key', 'other.pem', 'ana.pem'),
      verify('ledger.db', '--approver-key', 'other.pem'),
      copy('name.db', set('decided_by', 'operator:ben')),
      copy('payload.db', set('approval.statement.payload_digest', `sha256:${'0'.repeat(64)}`)),
      copy('text.db', "reasoning = 'Ana said yes'"),
    ]);
    expect(told).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^seq \d+ hil\.approved by operator:ana: signed by the passkey [0-9a-f]{16} at http/),
    });
    expect(own.code).toBe(0);
    expect(other).toMatchObject({ code: 2, out: expect.stringContaining('another key than those that were given') });
    expect(name).toMatchObject({ code: 2, out: expect.stringContaining('another approver than the row names') });
    expect(payload).toMatchObject({ code: 2, out: expect.stringContaining('another challenge') });
    expect(text).toMatchObject({ code: 2, out: expect.stringContaining('not what its hash says') });
  }, 120_000);
});

describe(`a passkey in a browser${needs('chromium', executable !== null)}`, () => {
  (executable === null ? it.skip : it)(
    'is registered and signs a decision, which runs the call and is proved by its row',
    async () => {
      const browser = await openBrowser(executable ?? '');
      try {
        const page = await browser.newPage();
        await page.route(`${ORIGIN}/**`, (route) =>
          route.fulfill({ contentType: 'text/html', body: '<title>Gate</title>' }),
        );
        await page.goto(ORIGIN);
        const devtools = await page.context().newCDPSession(page);
        await devtools.send('WebAuthn.enable');
        await devtools.send('WebAuthn.addVirtualAuthenticator', {
          options: {
            protocol: 'ctap2',
            transport: 'internal',
            hasResidentKey: true,
            hasUserVerification: true,
            isUserVerified: true,
            automaticPresenceSimulation: true,
          },
        });
        /** What a console's page does with the options. */
        const inPage = (ceremony: 'create' | 'get', options: object): Promise<unknown> =>
          page.evaluate(`(async () => {
            const options = ${JSON.stringify(options)};
            const made = ${ceremony === 'create'}
              ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
              : await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
            return made.toJSON();
          })()`);
        const begun = await passkeys.startRegistration(ANA, { displayName: 'Ana' });
        const made = registrationJson.parse(await inPage('create', begun.publicKey));
        await passkeys.finishRegistration(begun.ceremony, ANA, made);
        const signed = assertionJson.parse(await inPage('get', await asked()));
        expect(await approve(signed)).toMatchObject({ status: 'approved', approver_provenance: 'webauthn' });
      } finally {
        await browser.close();
      }
      await gate.host.idle();
      expect(gate.executed).toHaveLength(1);
      expect(await verify()).toMatchObject({ code: 0, out: expect.stringContaining(`at ${ORIGIN}, counter`) });
    },
    120_000,
  );
});
