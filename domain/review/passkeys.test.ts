import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { AssertionJson, RegistrationJson } from '../../contracts/approval.js';
import { softwareAuthenticator } from '../../test/support/authenticator.js';
import { sha256Hex } from '../crypto/digest.js';
import { createPasskeys } from './passkeys.js';
import type { NewPasskey, PasskeyStore } from './passkey-store.js';

const CONSOLE = { rpId: 'console.example', origin: 'https://console.example' };
const ANA = { subject: 'operator:ana', tenant: 'acme' };
const CHALLENGE = Buffer.alloc(32, 3).toString('base64url');

/** One ceremony that goes on for ever, of whatever purpose. */
function ceremony(purpose: 'first' | 'login') {
  const stored: NewPasskey[] = [];
  const store: Partial<PasskeyStore> = {
    attempt: () =>
      Promise.resolve({
        ...ANA,
        id_sha256: sha256Hex('c'),
        challenge_sha256: sha256Hex(CHALLENGE),
        purpose,
        created_ms: 0,
        expires_ms: 1,
      }),
    complete: (_, passkey) => Promise.resolve(stored.push(passkey) > 0),
    of: () => Promise.resolve(stored),
    used: () => Promise.resolve(true),
    end: () => Promise.resolve(true),
    roleOf: () => Promise.resolve(null),
  };
  const passkeys = createPasskeys({
    store: store as PasskeyStore,
    relyingParty: { id: CONSOLE.rpId, origin: CONSOLE.origin },
    required: 'all',
    sessionKey: Buffer.alloc(32, 7),
    mayApprove: () => true,
    clock: () => 0,
  });
  const registers = (made: RegistrationJson) => passkeys.finishRegistration('c', ANA, made);
  return { stored, registers, logsIn: (given: AssertionJson) => passkeys.finishLogin('c', 'acme', given) };
}

type Member = readonly [name: string, value: string];
const hexOf = (text = ''): string => Buffer.from(text, 'base64url').toString('hex');
const keys = {
  ec: generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).publicKey.export({ format: 'jwk' }),
  ed: generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }),
  rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' }),
  short: generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' }),
};
const KINDS: Readonly<Record<'ES256' | 'EdDSA' | 'RS256', readonly Member[]>> = {
  ES256: [
    ['01', '02'],
    ['03', '26'],
    ['20', '01'],
    ['21', `5820${hexOf(keys.ec.x)}`],
    ['22', `5820${hexOf(keys.ec.y)}`],
  ],
  EdDSA: [
    ['01', '01'],
    ['03', '27'],
    ['20', '06'],
    ['21', `5820${hexOf(keys.ed.x)}`],
  ],
  RS256: [
    ['01', '03'],
    ['03', '390100'],
    ['20', `590100${hexOf(keys.rsa.n)}`],
    ['21', `43${hexOf(keys.rsa.e)}`],
  ],
};
const coseOf = (members: readonly Member[]): Buffer =>
  Buffer.from(`${(0xa0 + members.length).toString(16)}${members.flat().join('')}`, 'hex');
/** One of each type of CBOR (RFC 8949), empty, short, long and deep; and what is cut off. */
const VALUES = [
  'f5 f4 f6 f7 00 0a 1bffffffffffffffff 20 3bffffffffffffffff fb3ff8000000000000 fb7ff0000000000000 f90000 40 4100',
  `5820${'00'.repeat(32)} 5821${'01'.repeat(33)} 590400${'ff'.repeat(1024)} 60 6178 7820${'61'.repeat(32)}`,
  `80 8101 a0 a10102 c11a00000000 c24101 5b00000000ffffffff 9b00000000ffffffff bb00000000ffffffff ${'81'.repeat(900)}00 1c ff 58`,
].flatMap((line) => line.split(' '));

/** Any 32 bytes may be a key of Ed25519. */
const isPoint = (name: string, value: string): boolean => name === '21' && value.startsWith('5820');

describe.each(Object.entries(KINDS))('a key of %s that a browser sends', (_, members) => {
  it('is stored as it is', async () => {
    const { stored, registers } = ceremony('first');
    await registers(softwareAuthenticator(CONSOLE).create(CHALLENGE, { key: coseOf(members) }));
    expect(stored).toMatchObject([{ public_key: coseOf(members).toString('base64url') }]);
  });

  it.each(members.map(([name], at) => [name, at] as const))(
    'is refused without its member %s, and with one of another type or size',
    async (_name, at) => {
      const { stored, registers } = ceremony('first');
      const others = members.filter((__, place) => place !== at);
      const [name, own] = members[at] as Member;
      const given = [
        others,
        ...VALUES.filter((value) => value !== own && !isPoint(name, value)).map((value) =>
          members.with(at, [name, value]),
        ),
      ];
      for (const each of given) {
        const made = softwareAuthenticator(CONSOLE).create(CHALLENGE, { key: coseOf(each) });
        const refused = { code: 'passkey_refused' };
        await expect(registers(made).then(() => coseOf(each).toString('hex'))).rejects.toMatchObject(refused);
      }
      expect(stored).toEqual([]);
    },
  );
});

describe('what a browser sends of a passkey', () => {
  it('is refused with a key of RSA that is too short', async () => {
    const members = [...KINDS.RS256.slice(0, 2), ['20', `5880${hexOf(keys.short.n)}`], ['21', '43010001']] as const;
    const made = softwareAuthenticator(CONSOLE).create(CHALLENGE, { key: coseOf(members as readonly Member[]) });
    await expect(ceremony('first').registers(made)).rejects.toMatchObject({ code: 'passkey_refused' });
  });

  const TEXTS = ['AA', 'bnVsbA', 'e30', 'W10', '_w', 'MQ', 'A'.repeat(2_048)];
  const said = (over: object): string =>
    Buffer.from(
      JSON.stringify({ type: 'webauthn.create', challenge: CHALLENGE, origin: CONSOLE.origin, ...over }),
    ).toString('base64url');
  const CLIENTS = ['type', 'challenge', 'origin'].flatMap((name) =>
    [null, true, 1, {}, [], '', 'x'.repeat(9_999), undefined].map((value) => said({ [name]: value })),
  );

  it('is refused where what a registration says is cut off, of another form or of another type', async () => {
    const { stored, registers } = ceremony('first');
    const whole = softwareAuthenticator(CONSOLE).create(CHALLENGE);
    const object = Buffer.from(whole.response.attestationObject, 'base64url');
    const cut = [1, 2, 10, 28, 31, 40, 64, 68, 84, 86, 87, 120, 200].map((at) =>
      object.subarray(0, at).toString('base64url'),
    );
    // Each byte of the head turned around, up to the length of the id: types, lengths, flags.
    const turned = Array.from({ length: 88 }, (_, at) => {
      const copy = Buffer.from(object);
      copy.writeUInt8(copy.readUInt8(at) ^ 0xff, at);
      return copy.toString('base64url');
    });
    const deep = Buffer.from('81'.repeat(24_000), 'hex').toString('base64url');
    const bodies = [
      ...[...TEXTS, ...cut, ...turned, deep].map((attestationObject) => ({ ...whole.response, attestationObject })),
      ...[...TEXTS, ...CLIENTS].map((clientDataJSON) => ({ ...whole.response, clientDataJSON })),
    ];
    for (const response of bodies) {
      const outcome = await registers({ ...whole, response }).catch((error: unknown) => error);
      // The counter and the maker's id may be any.
      if ('credential_id' in (outcome as object)) continue;
      expect(outcome).toMatchObject({ code: 'passkey_refused' });
    }
    await expect(registers({ ...whole, rawId: 'AA' })).rejects.toMatchObject({ code: 'passkey_refused' });
    // Sixteen bytes of the maker's id, four of the counter, flags and extensions that say nothing.
    expect(stored.length).toBeLessThan(30);
  });

  it('is refused where what a login says is cut off, of another form or of another type', async () => {
    const [first, login] = [ceremony('first'), ceremony('login')];
    const device = softwareAuthenticator(CONSOLE);
    await first.registers(device.create(CHALLENGE));
    login.stored.push(...first.stored);
    const whole = device.get(CHALLENGE);
    const data = Buffer.from(whole.response.authenticatorData, 'base64url');
    const datas = [...TEXTS, ...[0, 1, 31, 32, 33, 36].map((at) => data.subarray(0, at).toString('base64url'))];
    for (const flags of [0x00, 0x45, 0x85, 0xc5, 0xff]) {
      const copy = Buffer.from(data);
      copy.writeUInt8(flags, 32);
      datas.push(copy.toString('base64url'), Buffer.concat([copy, Buffer.alloc(300, 0x81)]).toString('base64url'));
    }
    const responses = [
      ...datas.map((authenticatorData) => ({ ...whole.response, authenticatorData })),
      ...[...TEXTS, ...CLIENTS].map((clientDataJSON) => ({ ...whole.response, clientDataJSON })),
      ...[...TEXTS, whole.response.signature.slice(0, 40)].map((signature) => ({ ...whole.response, signature })),
    ];
    for (const response of responses)
      await expect(login.logsIn({ ...whole, response })).rejects.toMatchObject({ code: 'passkey_refused' });
    await expect(login.logsIn({ ...whole, id: 'AA' })).rejects.toMatchObject({ code: 'passkey_refused' });
    expect(await login.logsIn(whole)).toMatchObject({ subject: ANA.subject });
  });
});
